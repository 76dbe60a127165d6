//! What is known of an agent: what it is doing, why that is believed, and what it was told.
//!
//! Owns the words for states, evidence, dialogs, receipts and turns. Refuses judging: the engine weighs evidence, and
//! what a vendor's screen means is written in its manifest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Name, ProcessId};

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Its program runs but has not shown that it takes prompts.
    Starting,
    /// A turn is under way: the model answers or a tool runs.
    Working,
    /// A turn is under way and the vendor says that the model thinks.
    Thinking,
    /// It cannot go on before somebody answers a dialog.
    Blocked,
    /// Its turn is over but it waits for something of its own: a timer, another agent.
    Waiting,
    /// It takes a prompt.
    Idle,
    /// Its last turn failed, or it cannot take a turn.
    Error,
    /// Its program is over.
    Exited,
}

impl AgentState {
    /// Every state, in the order of its life.
    pub const ALL: [Self; 8] = [
        Self::Starting,
        Self::Working,
        Self::Thinking,
        Self::Blocked,
        Self::Waiting,
        Self::Idle,
        Self::Error,
        Self::Exited,
    ];

    /// Whether a turn is under way.
    #[must_use]
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Working | Self::Thinking | Self::Blocked)
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Thinking => "thinking",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::Exited => "exited",
        }
    }
}

impl fmt::Display for AgentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for AgentState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|state| state.word() == text).ok_or_else(|| {
            format!(
                "a state is one of {}, not {}",
                Self::ALL.map(Self::word).join(" "),
                crate::Printable(text)
            )
        })
    }
}

/// What a blocked agent needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedKind {
    /// Leave to use a tool.
    Permission,
    /// An answer to a question.
    Question,
    /// A login or a key.
    Auth,
    /// An answer to a dialog that comes before the first prompt: folder trust, theme, telemetry.
    Onboarding,
}

/// Where a piece of evidence comes from, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The system: the child is over.
    Process,
    /// The program's own status reports (OSC 7501).
    ProgramStatus,
    /// The vendor's server or plugin.
    Server,
    /// A file in which the vendor keeps its state.
    StateFile,
    /// A live dialog on the screen.
    Dialog,
    /// A lifecycle hook.
    Hook,
    /// The terminal's title.
    Title,
    /// A progress report (OSC 9;4).
    Progress,
    /// A rule about the screen.
    Screen,
    /// Nothing was printed for long.
    Silence,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Process => "process",
            Self::ProgramStatus => "OSC 7501",
            Self::Server => "server",
            Self::StateFile => "state file",
            Self::Dialog => "dialog",
            Self::Hook => "hook",
            Self::Title => "title",
            Self::Progress => "OSC 9;4",
            Self::Screen => "screen",
            Self::Silence => "silence",
        })
    }
}

/// One thing that speaks for a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Where it comes from; each source has one opinion at a time.
    pub source: Source,
    /// Which rule, report or event of that source.
    pub rule: String,
    /// What it says; none: "do not know", the previous state is held.
    pub state: Option<AgentState>,
    /// What a blocked agent needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<BlockedKind>,
    /// What it says in words, made printable: the command to approve, the question, the error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The dialog it sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Dialog>,
    /// Shells, tools and agents that run on although no turn is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<u32>,
    /// The vendor refuses turns for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// It counts for this long; left out: until the source says something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

impl Evidence {
    /// Evidence for a state, with nothing else known.
    #[must_use]
    pub fn new(source: Source, rule: impl Into<String>, state: Option<AgentState>) -> Self {
        Self {
            source,
            rule: rule.into(),
            state,
            kind: None,
            message: String::new(),
            dialog: None,
            background: None,
            quota: None,
            max_age_ms: None,
        }
    }
}

/// The vendor refuses turns for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// When it takes turns again, in milliseconds since the epoch, if it said so.
    pub reset_at: Option<u64>,
}

/// A dialog as it stands on a screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// The same for the same dialog, another for every other: an answer names it, so that a stale one hits nothing.
    pub digest: String,
    /// What it asks, in one line.
    pub title: String,
    /// What it is about: the command, the file, the question's text.
    #[serde(default)]
    pub body: String,
    /// What may be answered; empty when they could not be read.
    pub options: Vec<DialogOption>,
}

/// One answer a dialog takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogOption {
    /// The words `answer` takes for it: its number, and what it means (`allow`, `always`, `deny`).
    pub names: Vec<String>,
    /// Its text on the screen.
    pub label: String,
    /// The keys that choose it.
    pub keys: Vec<String>,
}

/// What is known of an agent beyond its process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// The manifest it was started from.
    pub manifest: String,
    /// What it is doing.
    pub state: AgentState,
    /// Since when, in milliseconds since the epoch.
    pub since: u64,
    /// What won; none while it is starting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Opinion>,
    /// The strongest that says something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<Opinion>,
    /// Shells, tools and agents that run on although no turn is under way.
    #[serde(default)]
    pub background: u32,
    /// The screen shows something that cannot be judged; the state is the one before it.
    #[serde(default)]
    pub held: bool,
    /// The vendor refuses turns for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// The vendor's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How full its context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The newest turn; 0 before the first.
    pub turn: u64,
    /// Messages that wait to be delivered.
    pub mail: u32,
    /// What its launch lacks, one sentence each: tools, hooks, a version that was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
}

/// A source's opinion with its age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// What it says.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// When it said so, in milliseconds since the epoch.
    pub at: u64,
    /// Whether it still counts.
    pub counts: bool,
}

/// How full an agent's context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Tokens of the last turn.
    pub used: u64,
    /// Tokens there is room for; none when nobody says.
    pub window: Option<u64>,
    /// Tokens the session has taken in and given out.
    #[serde(default)]
    pub total: u64,
}

impl Context {
    /// How full, from 0 to 100.
    #[must_use]
    pub fn percent(&self) -> Option<u8> {
        let window = self.window.filter(|window| *window > 0)?;
        let percent = self.used.saturating_mul(100).saturating_add(window / 2) / window;
        u8::try_from(percent.min(100)).ok()
    }
}

/// To `explain`: every opinion, who won and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Which process.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// What came of it.
    pub agent: AgentView,
    /// Every source's opinion, strongest first, those that no longer count included.
    pub opinions: Vec<Opinion>,
    /// In one sentence: who won over whom, and by which rule.
    pub why: String,
    /// The vendor's version, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How often sources have disagreed for more than a second in this run.
    pub drifts: u32,
    /// What the composer holds, as far as the screen shows it.
    pub composer: Composer,
}

/// What the place where prompts are written holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Composer {
    /// It cannot be seen.
    #[default]
    Unknown,
    /// Nothing.
    Empty,
    /// Something that was not submitted.
    Draft,
    /// Whatever it holds, Enter would run it as a shell command.
    Shell,
}

impl Composer {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Empty => "empty",
            Self::Draft => "draft",
            Self::Shell => "shell",
        }
    }
}

/// Names one message for as long as anybody asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MailId(pub u64);

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum Delivery {
    /// It waits for a moment at which it can be delivered.
    Queued {
        /// What it waits for, in words.
        reason: String,
    },
    /// It is being typed or handed over.
    Delivering,
    /// The agent took it as a prompt.
    Submitted {
        /// The turn it began.
        turn: u64,
    },
    /// The agent's own channel took it; it reads it in this turn.
    Delivered {
        /// The turn it reached.
        turn: u64,
    },
    /// It was not delivered and will not be.
    Refused {
        /// Why.
        reason: String,
    },
    /// It may or may not have reached the agent, and nothing that can be looked up says which. It is not tried again.
    Unknown {
        /// What is known.
        reason: String,
    },
    /// It waited longer than it was to.
    Expired,
}

impl Delivery {
    /// Whether nothing more will come of it.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Queued { .. } | Self::Delivering)
    }
}

/// To `tell`: what is known of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Which message.
    pub mail: MailId,
    /// To whom.
    pub to: ProcessId,
    /// What became of it.
    #[serde(flatten)]
    pub delivery: Delivery,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// It is not over.
    Running,
    /// The agent finished.
    Done,
    /// Somebody interrupted it.
    Interrupted,
    /// It failed.
    Failed,
    /// The program ended in the middle of it.
    Exited,
}

/// To `result`: one turn and what the agent said at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Which process.
    pub id: ProcessId,
    /// Which turn, counted from 1 over all runs.
    pub turn: u64,
    /// How it ended.
    pub end: TurnEnd,
    /// The agent's final text; empty while the turn runs, or when nobody could read it.
    pub text: String,
    /// Where the text comes from: `transcript`, `server`, `hook` or `screen`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The message that began it, when one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<MailId>,
    /// When it began, in milliseconds since the epoch.
    pub began_at: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}

/// What an item of the inbox is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A dialog on an agent's screen.
    Dialog,
    /// A hook that waits for permission to use a tool.
    Permission,
    /// A question an agent asked through Quarterdeck.
    Question,
    /// An agent failed, ran out of quota or ended badly.
    Failure,
    /// A process wants to start something that nobody allowed yet.
    Trust,
    /// An agent says that a person should look.
    Attention,
}

/// One thing that needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxItem {
    /// What `answer` takes.
    pub item: u64,
    /// Whose.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// What it is about.
    pub kind: ItemKind,
    /// What is asked, in one line.
    pub title: String,
    /// What it is about: the command, the question's text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// What may be answered; a failure takes `dismiss`.
    pub options: Vec<DialogOption>,
    /// Since when, in milliseconds since the epoch.
    pub at: u64,
    /// When it is answered without anybody, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Expiry>,
}

/// What happens to an item nobody answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// The answer it then gets.
    pub answer: String,
}

/// One manifest and what of it works on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOffer {
    /// The manifest's name: what `spawn --kind agent` takes.
    pub name: String,
    /// The program it runs, as found on the search path; none when it is not installed.
    pub program: Option<String>,
    /// What the program says of its version.
    pub version: Option<String>,
    /// Where the manifest comes from: `built in`, or the files merged into it.
    pub origin: Vec<String>,
    /// What works with it, one word each: `mcp hooks resume native_delivery context quota dialogs`.
    pub abilities: Vec<String>,
    /// What is wrong with it here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// One fault of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFault {
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong and what would be right.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_rounded_and_never_above_a_hundred() {
        let context = |used, window| Context { used, window: Some(window), total: 0 }.percent();
        assert_eq!(context(60_000, 200_000), Some(30));
        assert_eq!(context(60_020, 258_400), Some(23));
        assert_eq!(context(300, 200), Some(100));
        assert_eq!(Context { used: 1, window: Some(0), total: 0 }.percent(), None);
    }

    #[test]
    fn every_state_reads_back_from_its_word() {
        for state in AgentState::ALL {
            assert_eq!(state.word().parse(), Ok(state));
        }
        assert!("busy".parse::<AgentState>().is_err());
    }

    #[test]
    fn a_receipt_is_flat_json() {
        let receipt = Receipt {
            mail: MailId(4),
            to: ProcessId::from_entropy(1),
            delivery: Delivery::Submitted { turn: 7 },
        };
        let json = serde_json::to_value(&receipt).unwrap();
        assert_eq!((json["status"].as_str(), json["turn"].as_u64()), (Some("submitted"), Some(7)));
    }
}
