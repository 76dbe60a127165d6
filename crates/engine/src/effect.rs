//! What the engine wants done: data for the daemon to carry out, in order.
//!
//! This is the closed list.

use std::collections::BTreeMap;

use proto::agent::MailId;
use proto::event::Announcement;
use proto::rights::Identity;
use proto::{Evidence, Failure, Name, ProcessId, Reply, RunNumber, Size};

use crate::input::{Caller, HookDecision, JobId, RunKey, Ticket, ViewerId, WaitId};
use crate::record::{ProcessRecord, Record};
use crate::rights::audience::Audience;

/// Something to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Start a holder with this child; answer with `Started`, `StartFailed` or `Untrusted`.
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
    /// End the tree of a run; `Exited` (if it was alive) and `TreeGone` or `TreeSurvived` will follow. Ordered again, it
    /// shortens the grace.
    Kill {
        /// Which run.
        run: RunKey,
        /// The signal that asks.
        signal: i32,
        /// How long it may take after that before it is killed.
        grace_ms: u32,
    },
    /// End only the child of a run; `Exited` will follow.
    EndChild {
        /// Which run.
        run: RunKey,
        /// With which signal.
        signal: i32,
    },
    /// The holder did not answer: end it and its tree from outside; `TreeGone` will follow.
    Sweep {
        /// Which run.
        run: RunKey,
    },
    /// The holder is no longer needed.
    Release {
        /// Which run.
        run: RunKey,
        /// End what is left of its tree; otherwise background jobs stay.
        end_tree: bool,
        /// The reason that its viewers get.
        reason: &'static str,
    },
    /// Keep what a run that another one follows has printed, then let its holder go and end what is left of its tree.
    Retire(FormerRun),
    /// Let a viewer go.
    LetGo {
        /// Of which run.
        run: RunKey,
        /// Which.
        viewer: ViewerId,
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
    ReportExit {
        /// Which run.
        run: RunKey,
        /// How.
        exit: proto::Exit,
        /// The log's end.
        final_offset: u64,
        /// It is started again: its viewers wait for the next run.
        restarts: bool,
        /// After how many milliseconds, if it is started again by itself; its viewers get the number.
        restarts_in_ms: Option<u64>,
    },
    /// Type for a program, if what the screen shows at that very moment allows it; answer with `TypingDone`.
    Type {
        /// Into which run.
        run: RunKey,
        /// Which piece of typing this is.
        job: JobId,
        /// What.
        what: Keystrokes,
        /// On which conditions.
        guard: Guard,
    },
    /// Answer a dialog that the vendor's server takes answers for; answer with `TypingDone`.
    AnswerServer {
        /// Of which run.
        run: RunKey,
        /// Which piece of typing it stands for.
        job: JobId,
        /// The dialog that must be open.
        dialog: String,
        /// The names of the option that was chosen.
        choice: Vec<String>,
    },
    /// Hand a message to the vendor's own channel; answer with `HandedOver`.
    HandOver {
        /// To which run.
        run: RunKey,
        /// Which message.
        mail: MailId,
        /// Its text.
        text: String,
    },
    /// Look in the vendor's transcript, or ask its server, whether the agent took this text as a prompt; answer with `PromptSought`.
    FindPrompt {
        /// In which run.
        run: RunKey,
        /// Which message.
        mail: MailId,
        /// Its text.
        text: String,
        /// When it was sent, in milliseconds since the epoch.
        since: u64,
    },
    /// Find what the agent said at the end of this turn; answer with `Result`.
    CollectResult {
        /// Of which run.
        run: RunKey,
        /// Which turn.
        turn: u64,
        /// When the turn before it ended, in milliseconds since the epoch: its prompt was written after that.
        since: u64,
        /// When it ended.
        until: u64,
        /// It was interrupted, perhaps before the agent said anything.
        is_interrupted: bool,
    },
    /// Read the last lines of the screen, in which a program shows why it ended or what it waits for; answer with
    /// `LastLines`.
    ReadLastLines {
        /// Of which run.
        run: RunKey,
    },
    /// Tell a person who may be looking elsewhere.
    Notify {
        /// About which run.
        run: RunKey,
        /// In one line.
        title: String,
        /// More.
        body: String,
    },
    /// Two sources disagreed for too long: keep the screen as a sample.
    KeepDrift {
        /// Of which run.
        run: RunKey,
        /// Who won.
        winner: Box<Evidence>,
        /// Who said something else.
        other: Box<Evidence>,
    },
    /// Report `PortOpen` when a run's tree listens on this port.
    AwaitPort {
        /// Which run.
        run: RunKey,
        /// Which port.
        port: u16,
    },
    /// Write down who asked for what and what was decided.
    Audit(AuditNote),
    /// Make it durable before anything after it is done.
    Record(Record),
    /// Send an event to the subscribers that may get it.
    Announce(AddressedEvent),
    /// Answer a request.
    Reply {
        /// Which.
        ticket: Ticket,
        /// With what.
        result: Box<Result<CommandAnswer, Failure>>,
    },
    /// The daemon may end.
    Stop,
}

/// The answer to a command.
#[derive(Clone, Debug)]
pub enum CommandAnswer {
    /// It goes to the client as it is.
    Reply(Reply),
    /// The daemon continues on the data plane.
    Located(Located),
    /// To a hook: what the agent is to do.
    Hook(HookDecision),
    /// To a verb that the daemon goes on with: who asks.
    CallerIdentity(Box<CallerIdentity>),
    /// To a question about tasks.
    Tasks(Vec<crate::tasks::TaskWithProcesses>),
    /// The caller of a wait or list needs nothing more from the data plane than live numbers.
    Listed {
        /// The revision the list was taken at.
        revision: u64,
        /// The list.
        processes: Vec<proto::ProcessView>,
    },
}

/// Who asks, and what its process was started with.
#[derive(Clone, Debug, PartialEq)]
pub struct CallerIdentity {
    /// Who it is.
    pub identity: Identity,
    /// The search path of its process.
    pub path: Option<String>,
    /// The shell of its process.
    pub shell: Option<String>,
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

/// A run that is over and that another run of its process follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerRun {
    /// Which run.
    pub run: RunKey,
    /// When it was started, in milliseconds since the epoch.
    pub started_at: u64,
    /// How it ended; none: that is not known.
    pub exit: Option<proto::Exit>,
}

/// One decision for the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditNote {
    /// Who asked; none: Quarterdeck itself.
    pub caller: Option<Caller>,
    /// Where a person is who asked: the process they sit in by its name, or the label of a remote person in quotes.
    pub via: Option<String>,
    /// For what.
    pub verb: &'static str,
    /// On which process.
    pub target: Option<String>,
    /// What was decided: `allowed`, or the code of the refusal.
    pub decision: String,
    /// Why, or with which arguments.
    pub detail: String,
}

/// An event and who gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressedEvent {
    /// The event.
    pub announcement: Announcement,
    /// The subscribers that get it.
    pub audience: Audience,
}

/// What is typed for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keystrokes {
    /// Text as one paste; done when it has drained and the screen has settled.
    Paste(String),
    /// Keys by name; done when they have drained.
    Keys(Vec<String>),
}

/// On which conditions a program may type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The dialog that must be open; none: no dialog may be.
    pub dialog: Option<String>,
    /// What the composer must hold.
    pub composer: ComposerIs,
    /// No person may have typed for this long.
    pub person_quiet_ms: u64,
}

impl Guard {
    /// Returns the conditions for something that waits until the composer can be seen.
    #[must_use]
    pub fn before_composer(self) -> Self {
        let composer = match self.composer {
            ComposerIs::Ready => ComposerIs::NoDraft,
            composer => composer,
        };
        Self { composer, ..self }
    }
}

/// What the composer must be seen to hold before a program may type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComposerIs {
    /// Anything: the typing is not meant for it, or it cannot be seen.
    Any,
    /// Anything but the shell mode.
    NoShell,
    /// Neither a draft nor the shell mode. A composer that cannot be seen is allowed.
    NoDraft,
    /// It is seen, and no person has a draft in it.
    Ready,
    /// It is seen and empty.
    Empty,
    /// It is seen and holds this text, or what the program shows in place of it.
    Holds(String),
}

/// What an agent's run is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentStart {
    /// The vendor session to continue; none: a new one.
    pub resume: Option<String>,
    /// Requests for permission to use a tool come to the inbox.
    pub permissions_wait: bool,
    /// Which model it is to use, in the vendor's words.
    pub model: Option<String>,
    /// What it may do without asking.
    pub mode: Option<proto::request::PermissionMode>,
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
    /// With which environment: the whole of it that is text.
    pub env: Vec<(String, String)>,
    /// What of it is not text: name and value in hexadecimal digits.
    pub env_hex: BTreeMap<String, String>,
    /// For an agent that a process started: the environment of the person behind it, of which the manifest takes what it
    /// names.
    pub person_env: BTreeMap<String, String>,
    /// In a terminal of this size.
    pub size: Size,
    /// What a later daemon needs to adopt it without a database.
    pub record: ProcessRecord,
    /// For agents: what else it is started with.
    pub agent: Option<AgentStart>,
    /// What was allowed of it on the disk: it is not started when anything else is found there. None: its
    /// starter needs no permission.
    pub content: Option<String>,
    /// For agents: no person has allowed more than a manifest that is built in.
    pub needs_built_in: bool,
}

/// Shorthand used all over the engine.
impl RunKey {
    /// The key of a process's run.
    #[must_use]
    pub fn new(process: ProcessId, run: RunNumber) -> Self {
        Self { process, run }
    }
}
