//! What can happen to the engine: the closed list.
//!
//! Inputs never carry bytes of output: a fact reports that there was some.

use proto::agent::{Context, MailId, Source, TurnEnd};
use proto::project::Project;
use proto::request::Spawn;
use proto::{Event, Evidence, Failure, Limit, ProcessId, RunNumber, Size};

pub use crate::command::Command;
use crate::record::ProcessRecord;
pub use proto::observed::{HookDecision, HookMoment, ScreenSeen};

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
    Person,
    /// A person who sits in this run: a terminal, or a command, that acts for the person who opened it.
    Via(RunKey),
    /// Something inside this run.
    Process(RunKey),
    /// A caller that could not be identified.
    Nobody,
}

impl Caller {
    /// The process that asks; none for people.
    #[must_use]
    pub fn process(self) -> Option<ProcessId> {
        match self {
            Self::Process(run) => Some(run.process),
            Self::Person | Self::Via(_) | Self::Nobody => None,
        }
    }

    /// Returns true if a person asks, wherever they sit.
    #[must_use]
    pub fn is_person(self) -> bool {
        matches!(self, Self::Person | Self::Via(_))
    }
}

/// Who asks, under which label, and what it may do at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Who asks.
    pub caller: Caller,
    /// The device or the token of a remote person; a person at this machine has none.
    pub label: Option<String>,
    /// What its connection may do at most.
    pub limit: Limit,
}

impl Principal {
    /// A caller at this machine whose connection has no limit.
    #[must_use]
    pub fn unlimited(caller: Caller) -> Self {
        Self { caller, label: None, limit: Limit::default() }
    }
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
    /// A caller asked for something.
    Command {
        /// Who, and within which limit.
        principal: Principal,
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
        fact: RunFact,
    },
    /// A holder from an earlier daemon was found and linked.
    Adopted {
        /// The record that it keeps.
        record: Box<ProcessRecord>,
        /// The child's pid.
        pid: i32,
        /// How the child ended and where its log ends, if it has.
        exit: Option<(ChildExit, u64)>,
    },
    /// The connection that held this ticket is gone, and its answer with it.
    CallerGone {
        /// Which.
        ticket: Ticket,
    },
    /// Something happened that the engine decides nothing about; it gets its place in the order of events.
    Announce(Box<Event>),
    /// [`crate::Engine::next_deadline`] has come.
    DeadlinePassed,
}

/// A spawn with what only the daemon can see of it: the project's files and real paths.
#[derive(Clone, Debug, Default)]
pub struct SpawnOrder {
    /// What was asked, with a preset's words already in it.
    pub spawn: Spawn,
    /// The project its directory belongs to.
    pub project: Project,
    /// What a person would have to allow. Present whenever something is started that is not plainly an agent
    /// with a built-in manifest, in the project of the process that asks.
    pub trust_subject: Option<TrustSubject>,
}

impl From<Spawn> for SpawnOrder {
    fn from(spawn: Spawn) -> Self {
        Self { spawn, ..Self::default() }
    }
}

/// What is to be started, as a person judges it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustSubject {
    /// SHA-256 over everything that makes it what it is, in hex: any change is another trust subject.
    pub digest: String,
    /// The digest of the order: words, variables, directory, preset.
    pub frame: String,
    /// The part of it that lies on the disk: which program it is, and the contents of the files that are run; empty if not
    /// read.
    pub content: String,
    /// The whole command, for a person, with nothing hidden in it.
    pub command: String,
    /// The preset, if it is one.
    pub preset: Option<String>,
    /// The agent, if it is a manifest that is not built in.
    pub agent: Option<String>,
    /// The project it is for.
    pub project: Project,
    /// What the project's rules say about it.
    pub rule: Rule,
    /// The digest of the project's list of commands, if that covers it: it counts while a person trusts the list.
    pub listed: Option<String>,
}

/// What a project's rules say about a command that an agent brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// A person is asked, unless they have allowed this very thing before.
    #[default]
    Ask,
    /// Never.
    Deny,
}

/// A lifecycle event of an agent, read by its manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct HookNotice {
    /// What it says about the state.
    pub evidence: Option<Evidence>,
    /// What it marks.
    pub moment: HookMoment,
}

/// How a child ended, as the system reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildExit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// A process that could not be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Its pid.
    pub pid: i32,
    /// What it is called.
    pub name: String,
    /// The number of the user it belongs to.
    pub user: u32,
}

impl std::fmt::Display for Survivor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (pid {}, user {})", proto::Printable(&self.name), self.pid, self.user)
    }
}

/// Something that became known about a run.
#[derive(Clone, Debug)]
pub enum RunFact {
    /// Its holder started the child.
    Started {
        /// The child's pid.
        pid: i32,
    },
    /// It could not be started.
    StartFailed(Failure),
    /// It was not started, because it is not what was allowed: this is what it is now.
    Untrusted(Box<TrustSubject>),
    /// The child is over and its last byte is logged.
    Exited {
        /// How.
        exit: ChildExit,
        /// The log's end.
        final_offset: u64,
    },
    /// Nothing of its tree lives any more.
    TreeGone,
    /// The end of its tree is over, and these could not be ended.
    TreeSurvived(Vec<Survivor>),
    /// The holder vanished; what it left behind has been swept.
    Lost {
        /// The log's end, as far as it was seen.
        final_offset: u64,
        /// The processes that the sweep could not end.
        survivors: Vec<Survivor>,
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
    /// A viewer attached.
    ViewerJoined {
        /// Who.
        viewer: ViewerId,
        /// The size of its terminal.
        size: Size,
        /// Watching only.
        read_only: bool,
        /// It mirrors the size and never changes it.
        mirrors: bool,
        /// On whose behalf.
        by: Caller,
        /// The device or the token of a remote person.
        label: Option<String>,
        /// The pid of its client, if the kernel reports it.
        pid: Option<i32>,
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
    /// A viewer detached.
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
    /// The run is an agent's: what its manifest and its launch say.
    Launched(Launched),
    /// A source has an opinion.
    Evidence(Box<Evidence>),
    /// A source has none any more.
    Withdrawn(Source),
    /// The screen was looked at and something about it is new.
    ScreenSeen(Box<ScreenSeen>),
    /// The vendor's session became known.
    Session(String),
    /// The vendor's transcript or server has a new prompt.
    PromptWritten,
    /// Whether the vendor's transcript or server has this message.
    PromptSought {
        /// Which message.
        mail: MailId,
        /// It is there.
        found: bool,
    },
    /// What [`crate::Effect::ReadLastLines`] found on the screen.
    LastLines(String),
    /// How full the agent's context is.
    Context(Context),
    /// What became of an [`crate::Effect::Type`].
    TypingDone {
        /// Which.
        job: JobId,
        /// What.
        outcome: TypingOutcome,
    },
    /// What became of an [`crate::Effect::HandOver`].
    HandedOver {
        /// Which message.
        mail: MailId,
        /// What.
        outcome: HandOver,
    },
    /// What an agent said at the end of a turn.
    Result {
        /// Which turn.
        turn: u64,
        /// The text.
        text: String,
        /// Where it comes from.
        from: &'static str,
        /// How the turn ended, if the source of the text knows it.
        end: Option<TurnEnd>,
    },
    /// A watched pattern did not appear, and the run is over.
    Unmatched {
        /// Which wait.
        wait: WaitId,
    },
    /// A watched pattern costs so much that what is printed can no longer be looked through for it.
    Outrun {
        /// Which wait.
        wait: WaitId,
    },
    /// It listens on the port that shows that it is ready.
    PortOpen,
}

/// Names one piece of guarded typing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub u64);

/// What is known of an agent's run from its launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// The vendor session, when the launch chose or resumed one.
    pub session: Option<String>,
    /// The vendor's version, when it is known.
    pub version: Option<String>,
    /// The vendor has a channel of its own for messages.
    pub has_channel: bool,
    /// That channel also reaches an agent in the middle of a turn.
    pub channel_reaches_busy: bool,
    /// A hook marks the end of each turn and can hand over a message.
    pub delivers_at_turn_end: bool,
    /// Something marks each submitted prompt (a hook, a status report, a server): delivery counts on it.
    pub confirms_prompts: bool,
    /// Whether its manifest lets the composer be seen.
    pub composer: ComposerVisibility,
    /// A text that begins with this is a shell command to the program.
    pub shell_prefix: Option<String>,
    /// The keys that interrupt a turn; empty: the manifest names none.
    pub interrupt: Vec<String>,
    /// The keys that clear a composer with text in it; empty: the manifest names none.
    pub clear: Vec<String>,
    /// The key that makes a new line in its composer, if the manifest names it.
    pub new_line: Option<String>,
    /// How long it may take until it takes prompts; 0: no limit.
    pub patience_ms: u64,
    /// What the launch lacks, one sentence each.
    pub shortfalls: Vec<String>,
}

/// Whether an agent's composer can be seen, which decides whether messages may be typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComposerVisibility {
    /// The manifest describes it: messages are typed when it is seen empty.
    #[default]
    Seen,
    /// The manifest allows typing although the composer cannot be seen.
    Blind,
    /// The manifest does not describe it: messages are not typed.
    Undescribed,
}

/// The outcome of guarded typing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypingOutcome {
    /// Everything reached the terminal, and the screen has settled where that was asked for.
    Done,
    /// Nothing was typed: a dialog is open that is not the one to be answered.
    Dialog,
    /// Nothing was typed: the dialog to be answered is gone or another one.
    Stale,
    /// Nothing was typed: the terminal reads a secret.
    NoEcho,
    /// Nothing was typed: unsent text is in the composer.
    Draft,
    /// Nothing was typed: the composer is not on the screen.
    NoComposer,
    /// Nothing was typed: the composer is in shell mode.
    Shell,
    /// Nothing was typed: the composer does not hold the text that Enter is meant for.
    OtherText,
    /// Nothing was typed: a person typed a moment ago.
    PersonTyping,
    /// Only part reached the terminal.
    Partial,
    /// The run is over.
    Gone,
}

/// The outcome of handing a message to the vendor's own channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// It began a turn.
    Submitted,
    /// It was taken and is read in the turn that is under way.
    Delivered,
    /// The channel is not there now; nothing was handed over.
    Unavailable(String),
    /// It may or may not have been taken.
    Unknown(String),
}
