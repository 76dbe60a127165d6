//! What is announced without being asked each time.
//!
//! Owns events (about the crew, with a revision) and notices (about one connection's own stream).
//! Refuses carrying the truth alone: events are hints, the snapshot is the truth, and a client that fell behind is
//! told to resync.

use serde::{Deserialize, Serialize};

use crate::terminal::TerminalReport;
use crate::{Exit, ProcessId, ProcessView, RunNumber, Size};

/// An event with its place in the order of all events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    /// Grows by one with each event.
    pub revision: u64,
    /// What happened.
    pub what: Event,
}

/// Something happened in the crew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A process appeared or something about it changed.
    Changed(Box<ProcessView>),
    /// A run is over and its last byte has been logged.
    Exited {
        /// Which process.
        id: ProcessId,
        /// Which run.
        run: RunNumber,
        /// How.
        exit: Exit,
        /// The log's end.
        final_offset: u64,
    },
    /// An entry was removed; its id means nothing from here on.
    Removed {
        /// Which.
        id: ProcessId,
    },
    /// Everything that belonged to a closed process is gone: no descendant lives.
    Done {
        /// Which.
        id: ProcessId,
    },
    /// What became of a message changed.
    Mail(crate::agent::Receipt),
    /// A turn of an agent is over and its result can be asked for.
    TurnEnded {
        /// Which process.
        id: ProcessId,
        /// Which turn.
        turn: u64,
    },
    /// Something needs a person.
    ItemOpened(Box<crate::agent::InboxItem>),
    /// It no longer does.
    ItemClosed {
        /// Which item.
        item: u64,
    },
    /// A timer fired, was cancelled, paused or resumed.
    Timer(Box<crate::crew::TimerView>),
    /// A scratchpad has a new revision, whoever wrote it.
    PadChanged {
        /// The key of its project.
        project: String,
        /// Which.
        name: String,
        /// Its revision now; 0 when it is gone.
        revision: u64,
        /// Who wrote it.
        author: String,
    },
    /// Somebody wants a process shown.
    Selected {
        /// Which.
        id: ProcessId,
    },
    /// Events were skipped because this client was slow: ask for the list again.
    Resync {},
}

/// Something about this connection's own stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// Bytes between these offsets will not come: they were overwritten, or skipped for a repaint.
    Gap {
        /// Which stream.
        stream: u32,
        /// First byte that does not come.
        from: u64,
        /// First byte after it.
        to: u64,
    },
    /// The terminal has another size now.
    Resized {
        /// Which stream.
        stream: u32,
        /// The new size.
        size: Size,
        /// Whether the viewer's terminal has exactly that size, so bytes come as they are; otherwise the screen is
        /// composed for the viewer.
        fits: bool,
    },
    /// The viewer's terminal, which the daemon draws on, is about to show its other screen or other colours: what whoever
    /// restores the terminal has to leave.
    Screen {
        /// Which stream.
        stream: u32,
        /// Whether it is the alternate screen.
        alternate: bool,
        /// Whether the terminal was given other colours, which have to be taken back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        colored: bool,
    },
    /// The viewer's terminal, which the daemon reads, has answered what it was asked about itself.
    Answered {
        /// Which stream.
        stream: u32,
        /// What it said.
        report: TerminalReport,
    },
    /// The output from this offset on came at this time.
    Time {
        /// Which stream.
        stream: u32,
        /// The first byte.
        offset: u64,
        /// Milliseconds since the epoch; none when no daemon was there to see it come.
        at_ms: Option<u64>,
    },
    /// The run is over; every byte of it was sent before this.
    Exit {
        /// Which stream.
        stream: u32,
        /// How.
        exit: Exit,
        /// The log's end.
        offset: u64,
    },
    /// Nothing more comes on this stream.
    End {
        /// Which stream.
        stream: u32,
        /// Why: `exited`, `closed`, `taken_over`, `complete`, `shutdown`, `lost`; `detached` and `hung_up` for a terminal
        /// that was passed; `restarted` when the next run follows, `let_go` when another command detached the viewer.
        reason: String,
        /// For viewers: the lowest row of their terminal that shows something, counted from 1; what is said next goes
        /// below it. None: that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_row: Option<u16>,
    },
}
