//! Events (about processes, with a revision) and notices (about one connection's own stream), which the
//! daemon sends unasked.
//!
//! Events are hints and the snapshot is the truth: a client that fell behind gets `resync` and asks for the
//! list again.

use serde::{Deserialize, Serialize};

use crate::terminal::TerminalReport;
use crate::{Exit, ProcessId, ProcessView, RunNumber, Size};

/// An event with its position in the order of all events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    /// Grows by one with each event.
    pub revision: u64,
    /// What happened.
    pub what: Event,
}

/// Something happened to processes, messages, inbox items, timers, pads or tasks.
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
    /// An entry was removed; its id is no longer valid.
    Removed {
        /// Which.
        id: ProcessId,
    },
    /// Everything of a closed process is gone: no descendant lives.
    Done {
        /// Which.
        id: ProcessId,
    },
    /// The delivery of a message changed.
    Mail(crate::agent::Receipt),
    /// A turn of an agent is over and its result is available.
    TurnEnded {
        /// Which process.
        id: ProcessId,
        /// Which turn.
        turn: u64,
    },
    /// Something needs a person.
    ItemOpened(Box<crate::agent::InboxItem>),
    /// It no longer needs a person.
    ItemClosed {
        /// Which item.
        item: u64,
    },
    /// A timer fired, was cancelled, paused or resumed.
    Timer(Box<crate::timers::TimerView>),
    /// A scratchpad has a new revision, by any author.
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
    /// A task was made, dropped or brought back, or what is recorded of it changed.
    TaskChanged {
        /// Its number.
        task: u64,
        /// Its name.
        name: String,
        /// True once it is dropped.
        dropped: bool,
    },
    /// A caller wants a process shown.
    Selected {
        /// Which.
        id: ProcessId,
        /// The process that wants it; none if a person does. A face must not give the keyboard to what a process selects.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<ProcessId>,
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
        /// First byte that is missing.
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
        /// True if the viewer's terminal has exactly that size, so that it gets the bytes as they are;
        /// otherwise the daemon composes the screen for the viewer.
        fits: bool,
    },
    /// The viewer's terminal, on which the daemon draws, is about to show its other screen or other colours.
    /// The client must undo them when it restores the terminal.
    Screen {
        /// Which stream.
        stream: u32,
        /// True for the alternate screen.
        alternate: bool,
        /// True if the terminal got other colours, which must be undone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        colored: bool,
    },
    /// The viewer's terminal, which the daemon reads, has answered the queries about itself.
    Answered {
        /// Which stream.
        stream: u32,
        /// What it said.
        report: TerminalReport,
    },
    /// So much of the viewer's input has reached the child's terminal. Only for a viewer that asked for it.
    Typed {
        /// Which stream.
        stream: u32,
        /// Bytes of input since the viewer attached.
        bytes: u64,
    },
    /// The output from this offset on arrived at this time.
    Time {
        /// Which stream.
        stream: u32,
        /// The first byte.
        offset: u64,
        /// Milliseconds since the epoch; none when no daemon was running at that time.
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
        /// Why: `exited`, `closed`, `taken_over`, `complete`, `shutdown`, `lost`; `detached` and `hung_up`
        /// for a passed terminal; `restarted` when the next run follows, `let_go` when another command
        /// detached the viewer.
        reason: String,
        /// For viewers: the lowest row of their terminal with content, counted from 1; the client writes
        /// below it. None when it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_row: Option<u16>,
    },
}
