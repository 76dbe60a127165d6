//! The requests: one struct per verb, with the limits on its text. The engine decides whether a target exists
//! and whether a caller may.

mod agents;
mod audit;
mod inbox;
mod offer;
mod pads;
mod parse;
mod rights;
mod task;
mod timers;
mod trust;
mod typing;
mod viewing;
mod workspace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::process::Ready;
use crate::repeat::Repeat;
use crate::rights::Budget;
use crate::verbs::{AnswerTime, VerbSpec, verb};
use crate::{AgentState, Kind, Limit, Size, Stop};

pub use agents::{
    AgentRequest, AskAgents, AskReceipt, AskResult, CancelMessage, CheckManifest, Explain, GiveAnswer, Hook,
    Interrupt, OnTimeout, PermissionMode, PermissionWait, Recording, Resume, Sample, Tell,
};
pub use audit::Audit;
pub use inbox::{Ask, Attention};
pub use offer::Offer;
pub use pads::{Pad, PadAct};
pub use parse::{nests_deeper, parse_call};
pub use rights::{Grant, Revoke};
pub use task::{
    CollectTasks, CreateTask, DiffTask, DropTask, ImportTask, ImportedRun, LandTask, ReviewAct, ReviewTask,
    Task, TaskAct, TaskTarget,
};
pub use timers::{ChangeTimer, SetTimer, TimerChange, TimerWatch, TimerWhen};
pub use trust::{Distrust, Presets, Trust, TrustWhat};
pub use typing::{MAX_WRITE_KEY, TypedInput, Write, WriteKey};
pub use viewing::{Attach, Detach, PassedTerminal, Questions, See, Select, SizePolicy, View};
pub use workspace::{ChangeWorkspace, WorkspaceChange};

/// One request with the number that its reply will carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Chosen by the client; unique among its unanswered calls.
    pub id: u64,
    /// What is asked.
    pub request: Request,
}

macro_rules! define_request {
    (engine { $($engine:tt)* } door { $($door:tt)* }) => {
        define_request! { $($engine)* $($door)* }
    };
    ($(
        $(#[doc = $doc:literal])*
        $verb:ident $(($($arguments:tt)+))? $word:ident $(as $method:ident)?
            -> $reply:ident $(or $other:ident)?: $result:ty $(, of $field:ident)? $(, within $time:ident)?
            $(, repeat $repeat:ident)?;
    )*) => {
        /// Every verb of the door, as [`mod@crate::verbs`] declares them.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Request {
            $(
                $(#[doc = $doc])*
                $verb(<verb::$verb as VerbSpec>::Arguments),
            )*
        }

        impl Request {
            /// The verb's word, for logs and errors.
            #[must_use]
            pub fn verb(&self) -> &'static str {
                match self {
                    $(Self::$verb(_) => verb::$verb::WORD,)*
                }
            }

            /// Returns the effect of sending it a second time, and gives it a key if it takes one and has none.
            pub fn make_repeatable(&mut self, fresh_key: &mut dyn FnMut() -> String) -> Repeat {
                match self {
                    $(Self::$verb(arguments) => verb::$verb::make_repeatable(arguments, fresh_key),)*
                }
            }

            /// How soon it is answered.
            #[must_use]
            pub fn answer_time(&self) -> AnswerTime {
                match self {
                    $(Self::$verb(_) => verb::$verb::ANSWER,)*
                }
            }
        }
    };
}
crate::verbs!(define_request);

/// A verb without arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty {}

/// A process named by id or by name, as the caller typed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(pub String);

impl From<&str> for Target {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Arguments of `hello`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The client's protocol.
    pub protocol: u16,
    /// The client's name and version, for the log.
    #[serde(default)]
    pub client: String,
    /// The token of the run that the client runs in. A wrong one makes the caller `nobody`; without one the
    /// daemon uses the caller's lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// What this connection may do at most from now on. It is added to the limit that the connection has
    /// already, so it can only take away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The device or the token of a remote person, for the audit log. It gives no right, and the first one of
    /// a connection stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A size with optional halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRequest {
    /// Columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u32>,
    /// Rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
}

impl SizeRequest {
    /// The clamped size, with each missing half from `base`.
    #[must_use]
    pub fn or(self, base: Size) -> Size {
        let narrow =
            |request: Option<u32>, base: u16| request.map_or(base, |n| u16::try_from(n).unwrap_or(u16::MAX));
        Size { cols: narrow(self.cols, base.cols), rows: narrow(self.rows, base.rows) }.clamped()
    }
}

impl From<Size> for SizeRequest {
    fn from(size: Size) -> Self {
        Self { cols: Some(size.cols.into()), rows: Some(size.rows.into()) }
    }
}

/// Arguments of `spawn`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// Its kind.
    #[serde(default)]
    pub kind: Kind,
    /// Its name; `<kind>-<n>` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its command; a terminal without one gets the user's shell.
    #[serde(default)]
    pub argv: Vec<String>,
    /// Its directory; by default the task's directory, else the daemon's home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its terminal's size; 80x24 where left out.
    #[serde(default)]
    pub size: SizeRequest,
    /// The environment to start from: the caller's own at this moment. Only people send one; what a process
    /// spawns starts from the allow-listed part of that process's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_env: Option<BTreeMap<String, String>>,
    /// Variables of it that are not text: name and value in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub base_env_hex: BTreeMap<String, String>,
    /// Variables declared for this process.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The task it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The access scope; `local` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Restart it when it fails, with back-off; commands only.
    #[serde(default)]
    pub auto_restart: bool,
    /// End it after this long without input, output or viewers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// For agents: further settings.
    #[serde(default)]
    pub agent: AgentRequest,
    /// A stored command of the project instead of `argv`; fields given beside it override its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Chosen by the caller: the same key again returns the process that was made and starts nothing twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Restart it when the daemon finds that its holder is gone, as after a reboot; commands of people only.
    #[serde(default)]
    pub restore: bool,
    /// How it shows that it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// What the tree below it may use; only people set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// How it is asked to end, when the request that ends it does not say.
    #[serde(default)]
    pub stop: Stop,
    /// True if callers from it have the rights of the person who starts it. Left out: true for terminals,
    /// false for commands. Never for agents, nor for what a process starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_me: Option<bool>,
}

impl Spawn {
    /// Returns true for an agent as its manifest has it: no further words, no variables, no preset, and no
    /// permission that is granted when no person answers. A process may start one without approval if that
    /// manifest is built in.
    #[must_use]
    pub fn is_plain_agent(&self) -> bool {
        self.kind == Kind::Agent
            && self.argv.len() == 1
            && self.env.is_empty()
            && self.preset.is_none()
            && !self.allows_on_timeout()
    }

    /// Returns true if permission requests of the agent are granted when no person answers.
    #[must_use]
    pub fn allows_on_timeout(&self) -> bool {
        self.agent.permissions.is_some_and(PermissionWait::allows_on_timeout)
    }
}

/// The kind of text to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadMode {
    /// The visible grid.
    #[default]
    Screen,
    /// Rendered lines by line id, scrollback included.
    History,
    /// The log by offset, as text made by the VT parser.
    Stream,
}

/// Which run of a process to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunChoice {
    /// The present one.
    #[default]
    Present,
    /// The newest earlier run that is kept.
    Previous,
    /// The run with this number.
    Number(u32),
}

impl RunChoice {
    /// Returns true for the present run.
    #[must_use]
    pub fn is_present(&self) -> bool {
        *self == Self::Present
    }
}

/// Arguments of `read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// Of which process.
    pub target: Target,
    /// Which of its runs.
    #[serde(default, skip_serializing_if = "RunChoice::is_present")]
    pub run: RunChoice,
    /// Which text.
    #[serde(default)]
    pub mode: ReadMode,
    /// From this offset (stream), line id (history) or, with `styles`, row of the screen. Left out: the newest that fit
    /// the limit, or the top of the screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Up to this offset (stream) or line id (history), itself not included. Left out: to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// At most this many bytes of text, at least 4; 12,000 when left out, 65,536 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Join lines that the terminal wrapped.
    #[serde(default)]
    pub join: bool,
    /// Styled rows in place of text (screen and history). The limit then counts JSON bytes, 65,536 when left
    /// out and 1,048,576 at most, and at least one row is returned.
    #[serde(default)]
    pub styles: bool,
}

/// Arguments of `search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// In which process.
    pub target: Target,
    /// A regular expression.
    pub pattern: String,
    /// At most this many matches; 100 when left out, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// At most this many bytes of text in all; 12,000 when left out, 65,536 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u32>,
}

/// The condition of a wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// A regular expression appears in the output or on the screen.
    Pattern(String),
    /// An agent is in one of these states.
    State(Vec<AgentState>),
    /// This turn of an agent is over.
    Turn(u64),
    /// The run is over.
    Exit(Empty),
    /// Nothing was printed for this many milliseconds.
    Silence(u64),
    /// It is ready, as its `ready` describes.
    Ready(Empty),
    /// This timer of the target has fired; the text is its body.
    Timer(u64),
    /// This question of the target was answered; the text is the answer.
    Item(u64),
}

/// How many of the targets must satisfy a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantifier {
    /// Every one.
    #[default]
    All,
    /// The first.
    Any,
}

/// Arguments of `wait`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// On which processes.
    pub targets: Vec<Target>,
    /// For what.
    pub until: Until,
    /// How many of them.
    #[serde(default)]
    pub quantifier: Quantifier,
    /// For patterns: include output from this offset on. Left out: from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// For patterns, in place of `since`: include what came after the screen had this version, as a read
    /// returned it. For one target only, because each screen has its own versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_version: Option<u64>,
    /// The time limit; left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl Wait {
    /// A wait for all of these processes, from now on, without a time limit.
    pub fn until(targets: Vec<Target>, until: Until) -> Self {
        let quantifier = Quantifier::All;
        Self { targets, until, quantifier, since: None, since_version: None, timeout_ms: None }
    }
}

/// Arguments of `resize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resize {
    /// Which process.
    pub target: Target,
    /// The new size; a missing half stays.
    pub size: SizeRequest,
}

/// Arguments of `kill`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kill {
    /// Which process.
    pub target: Target,
    /// A signal by number. Without a grace it is only sent; with one it is the signal that asks the tree to
    /// end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long the tree may take after that signal before it is killed; 0 kills at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u32>,
}

/// Arguments of `close`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Close {
    /// Which process.
    pub target: Target,
    /// End only the child and leave its background processes running.
    #[serde(default)]
    pub keep_background: bool,
    /// How it is asked to end.
    #[serde(default)]
    pub stop: Stop,
}

/// Arguments of `restart`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// Which process.
    pub target: Target,
    /// How the old run is asked to end.
    #[serde(default)]
    pub stop: Stop,
    /// The caller's environment, for a process whose own is lost.
    #[serde(default, skip_serializing_if = "Offer::is_empty")]
    pub offer: Offer,
}

/// Arguments of `rename`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rename {
    /// Which process.
    pub target: Target,
    /// Its new name.
    pub name: String,
}

/// Arguments of `follow`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Follow {
    /// Which process.
    pub target: Target,
    /// Which of its runs.
    #[serde(default, skip_serializing_if = "RunChoice::is_present")]
    pub run: RunChoice,
    /// From this offset; left out: from the oldest byte that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Continue until the run is over, instead of ending at the present end.
    #[serde(default)]
    pub live: bool,
    /// Begin with the output of this moment, in milliseconds since the epoch. Not together with `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Begin with this many last lines. Not together with `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<u32>,
    /// Send a notice with the time before output of another time.
    #[serde(default)]
    pub times: bool,
    /// Begin with a repaint of the present screen and continue after what it shows. Not together with another
    /// beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub screen: bool,
}

/// Arguments of `ports`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// Of which process.
    pub target: Target,
}

/// Arguments of `shutdown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shutdown {
    /// End every process too.
    #[serde(default)]
    pub kill: bool,
    /// How each of them is asked to end.
    #[serde(default)]
    pub stop: Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimal_spawn_parses_with_every_default() {
        let call = parse_call(br#"{"id":7,"request":{"spawn":{"argv":["true"]}}}"#).unwrap();
        let Request::Spawn(spawn) = call.request else { panic!("not a spawn") };
        assert_eq!((call.id, spawn.kind, spawn.size.or(Size::DEFAULT)), (7, Kind::Command, Size::DEFAULT));
    }

    #[test]
    fn an_agent_is_plain_only_as_its_manifest_has_it() {
        let plain = || Spawn { kind: Kind::Agent, argv: vec!["helper".to_owned()], ..Spawn::default() };
        assert!(plain().is_plain_agent());
        let changes: [fn(&mut Spawn); 6] = [
            |spawn| spawn.kind = Kind::Command,
            |spawn| spawn.argv.clear(),
            |spawn| spawn.argv.push("--all".to_owned()),
            |spawn| drop(spawn.env.insert("A".to_owned(), "b".to_owned())),
            |spawn| spawn.preset = Some("web".to_owned()),
            |spawn| {
                let allow = PermissionWait { timeout_ms: 1, on_timeout: OnTimeout::Allow };
                spawn.agent.permissions = Some(allow);
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut spawn = plain();
            change(&mut spawn);
            assert!(!spawn.is_plain_agent(), "change {number}");
        }
        let mut waits = plain();
        waits.agent.permissions = Some(PermissionWait { timeout_ms: 1, on_timeout: OnTimeout::default() });
        assert!(waits.is_plain_agent());
    }

    #[test]
    fn t2_each_missing_dimension_is_filled_on_its_own() {
        let request = SizeRequest { cols: Some(0), rows: None };
        assert_eq!(request.or(Size::DEFAULT), Size { cols: 2, rows: 24 });
        assert_eq!(
            SizeRequest { cols: None, rows: Some(u32::MAX) }.or(Size::DEFAULT),
            Size { cols: 80, rows: 1000 }
        );
    }
}
