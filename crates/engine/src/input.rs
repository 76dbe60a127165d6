//! What can happen to the engine: the closed list.
//!
//! Owns the shapes of inputs. Refuses carrying bytes of output: facts say that there were some.

use proto::request::{Attach, Close, Kill, Rename, Resize, Restart, Shutdown, Spawn, Target, Wait};
use proto::{Failure, ProcessId, RunNumber, Size};

use crate::record::ProcessRecord;
use crate::rights::Verb;

/// When something happened, on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since boot, suspend included; durations and deadlines live here.
    pub uptime_ms: u64,
    /// Milliseconds since the epoch; shown to people, never compared.
    pub wall_ms: u64,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A person: same user, and not a descendant of any holder.
    Human,
    /// Something inside this run.
    Process(RunKey),
    /// Somebody who could not be identified.
    Nobody,
}

/// Names one unanswered request; chosen by the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Names one viewer for as long as it is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewerId(pub u64);

/// Names one wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitId(pub u64);

/// Names one run of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey {
    /// The process.
    pub process: ProcessId,
    /// Which of its runs.
    pub run: RunNumber,
}

/// Something happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// Somebody asked for something.
    Command {
        /// Who.
        caller: Caller,
        /// Where the answer goes.
        ticket: Ticket,
        /// What.
        command: Command,
    },
    /// Something became known about a run. A fact about an older run is ignored.
    Fact {
        /// Which run.
        run: RunKey,
        /// What.
        fact: Fact,
    },
    /// A holder from an earlier daemon was found and linked.
    Adopted {
        /// What its meta says it holds.
        record: Box<ProcessRecord>,
        /// The child's pid.
        pid: i32,
        /// How the child ended and where its log ends, if it has.
        exit: Option<(ChildExit, u64)>,
    },
    /// The connection that held this ticket is gone; nobody reads the answer.
    CallerGone {
        /// Which.
        ticket: Ticket,
    },
    /// [`crate::Engine::next_deadline`] has come.
    DeadlinePassed,
}

/// What may be asked. Verbs of the data plane (`read`, `write`, `attach` …) come as [`Command::Locate`]: the engine
/// says whether and to which run, the daemon moves the bytes.
#[derive(Clone, Debug)]
pub enum Command {
    /// Start a process.
    Spawn(Box<Spawn>),
    /// What there is.
    List,
    /// What there is, and events from here on.
    Subscribe,
    /// Which run a data-plane verb means.
    Locate {
        /// The process.
        target: Target,
        /// What will be done to it.
        verb: Verb,
    },
    /// Which run an attach means; sets the size policy too.
    Attach(Attach),
    /// Answer when something has happened.
    Wait(Wait),
    /// Set a terminal's size.
    Resize(Resize),
    /// End a run or signal it.
    Kill(Kill),
    /// End a run and remove its entry.
    Close(Close),
    /// Start a new run.
    Restart(Restart),
    /// Give a new name.
    Rename(Rename),
    /// End the daemon.
    Shutdown(Shutdown),
}

/// How a child ended, as the system says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildExit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Something that became known about a run.
#[derive(Clone, Debug)]
pub enum Fact {
    /// Its holder started the child.
    Started {
        /// The child's pid.
        pid: i32,
    },
    /// It could not be started.
    StartFailed(Failure),
    /// The child is over and its last byte is logged.
    Exited {
        /// How.
        exit: ChildExit,
        /// The log's end.
        final_offset: u64,
    },
    /// Nothing of its tree lives any more.
    TreeGone,
    /// The holder vanished; what it left behind has been swept.
    Lost {
        /// The log's end, as far as it was seen.
        final_offset: u64,
    },
    /// The child printed something; coalesced.
    Output {
        /// The log's end.
        end: u64,
    },
    /// Something was typed; coalesced.
    Typed {
        /// By a person or a program.
        by: proto::Owner,
        /// The viewer it came through, if any.
        viewer: Option<ViewerId>,
    },
    /// The terminal's title changed.
    Title(String),
    /// Somebody attached.
    ViewerJoined {
        /// Who.
        viewer: ViewerId,
        /// The size of its terminal.
        size: Size,
        /// Watching only.
        read_only: bool,
    },
    /// A viewer's terminal has another size, or asks to own the size.
    ViewerResized {
        /// Who.
        viewer: ViewerId,
        /// The size of its terminal.
        size: Size,
        /// It becomes the size owner.
        owns: bool,
    },
    /// Somebody detached.
    ViewerLeft {
        /// Who.
        viewer: ViewerId,
    },
    /// A watched pattern appeared.
    Matched {
        /// Which wait.
        wait: WaitId,
        /// The line.
        text: String,
        /// The log's end at that moment.
        offset: u64,
    },
    /// A watched pattern did not appear, and the run is over.
    Unmatched {
        /// Which wait.
        wait: WaitId,
    },
}
