//! What the engine wants done: data for the daemon to carry out, in order.
//!
//! Owns the closed list. Refuses doing anything.

use proto::event::Announcement;
use proto::{Failure, Name, ProcessId, Reply, RunNumber, Size};

use crate::input::{RunKey, Ticket, WaitId};
use crate::record::{ProcessRecord, Record};

/// Something to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Start a holder with this child; answer with `Started` or `StartFailed`.
    Start(Box<StartRun>),
    /// Set the terminal's size.
    Resize {
        /// Of which run.
        run: RunKey,
        /// To what.
        size: Size,
    },
    /// Send one signal to the foreground of a run.
    Signal {
        /// Which run.
        run: RunKey,
        /// Which signal.
        signal: i32,
    },
    /// End the tree of a run; `Exited` (if it was alive) and `TreeGone` will follow.
    Kill {
        /// Which run.
        run: RunKey,
        /// How long it may take to end by itself.
        grace_ms: u32,
    },
    /// The holder did not answer: end it and its tree from outside; `TreeGone` will follow.
    Sweep {
        /// Which run.
        run: RunKey,
        /// The mark its processes carry.
        token: String,
    },
    /// The holder is no longer needed.
    Release {
        /// Which run.
        run: RunKey,
        /// End what is left of its tree; otherwise background jobs stay.
        end_tree: bool,
        /// What its viewers are told.
        reason: &'static str,
    },
    /// Report `Matched` when this pattern appears in the run's output or on its screen.
    Watch {
        /// Which run.
        run: RunKey,
        /// For which wait.
        wait: WaitId,
        /// The pattern; it compiled when the wait was accepted.
        pattern: String,
        /// Look at the log from here first.
        since: Option<u64>,
    },
    /// Stop watching.
    Unwatch {
        /// In which run.
        run: RunKey,
        /// For which wait.
        wait: WaitId,
    },
    /// Tell the run's viewers how it ended, with the reason only the engine knows.
    TellExit {
        /// Which run.
        run: RunKey,
        /// How.
        exit: proto::Exit,
        /// The log's end.
        final_offset: u64,
    },
    /// Make it durable before anything after it is done.
    Record(Record),
    /// Tell every subscriber.
    Announce(Announcement),
    /// Answer a request.
    Reply {
        /// Which.
        ticket: Ticket,
        /// With what.
        result: Box<Result<Answer, Failure>>,
    },
    /// The daemon may end.
    Stop,
}

/// The answer to a command.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It goes to the client as it is.
    Reply(Reply),
    /// The daemon continues on the data plane.
    Located(Located),
    /// The caller of a wait or list needs nothing more from the data plane than live numbers.
    Listed {
        /// The revision the list was taken at.
        revision: u64,
        /// The list.
        processes: Vec<proto::ProcessView>,
        /// Whether events are wanted from here on.
        subscribe: bool,
    },
}

/// Which run a data-plane verb means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The run.
    pub run: RunKey,
    /// The process's name.
    pub name: Name,
    /// Its terminal's size.
    pub size: Size,
    /// Whether its child lives.
    pub is_live: bool,
    /// How it ended, if it has.
    pub exit: Option<proto::Exit>,
}

/// Everything a holder needs to start one run.
#[derive(Clone, Debug)]
pub struct StartRun {
    /// Which run.
    pub run: RunKey,
    /// What it runs.
    pub argv: Vec<String>,
    /// Where.
    pub cwd: String,
    /// With which environment: the whole of it.
    pub env: Vec<(String, String)>,
    /// In a terminal of this size.
    pub size: Size,
    /// What a later daemon needs to adopt it without a database.
    pub record: ProcessRecord,
}

/// Shorthand used all over the engine.
impl RunKey {
    /// The key of a process's run.
    #[must_use]
    pub fn new(process: ProcessId, run: RunNumber) -> Self {
        Self { process, run }
    }
}
