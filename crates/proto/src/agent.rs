//! What clients see of an agent: its state with the evidence, dialogs, receipts, turns and inbox items. The
//! engine weighs evidence; a vendor's manifest describes its screen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use crate::context_use::Context;
use crate::process::UnreadAnswers;
use crate::{Name, ProcessId};

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Its program runs but has not shown that it accepts prompts.
    Starting,
    /// A turn is under way: the model answers or a tool runs.
    Working,
    /// A turn is under way and the vendor reports that the model thinks.
    Thinking,
    /// It cannot continue before a dialog is answered.
    Blocked,
    /// Its turn is over but it waits for something of its own: a timer, another agent.
    Waiting,
    /// It accepts a prompt.
    Idle,
    /// Its last turn failed, or it cannot start a turn.
    Error,
    /// Its program has ended.
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

    /// Returns true while a turn is under way.
    #[must_use]
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Working | Self::Thinking | Self::Blocked)
    }

    /// Returns the word for it.
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
    /// Permission to use a tool.
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
    /// The system: the child has ended.
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
    /// Nothing was printed for a long time.
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

/// One piece of evidence for a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Where it comes from; each source has one piece of evidence at a time.
    pub source: Source,
    /// Which rule, report or event of that source.
    pub rule: String,
    /// The state that it shows; `None` means unknown: the previous state stays.
    pub state: Option<AgentState>,
    /// What a blocked agent needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<BlockedKind>,
    /// Its message, made printable: the command to approve, the question, the error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The dialog it sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Dialog>,
    /// Shells, tools and agents that still run although no turn is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<u32>,
    /// The vendor refuses turns for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// How long it counts; left out: until the source reports something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

impl Evidence {
    /// Creates evidence for a state, with nothing else known.
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
    /// When it accepts turns again, in milliseconds since the epoch, if it said so.
    pub reset_at: Option<u64>,
}

/// A dialog as the screen shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialog {
    /// Identifies the dialog: an answer names it, so that a late answer cannot reach another dialog.
    pub digest: String,
    /// The question, in one line.
    pub title: String,
    /// The details: the command, the file, the question's text.
    #[serde(default)]
    pub body: String,
    /// The possible answers; empty when they could not be read.
    pub options: Vec<DialogOption>,
}

/// One possible answer of a dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogOption {
    /// The words that `answer` accepts for it: its number, and its meaning (`allow`, `always`, `deny`).
    pub names: Vec<String>,
    /// Its text on the screen.
    pub label: String,
    /// The keys that choose it.
    pub keys: Vec<String>,
}

/// An agent's part of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// The manifest it was started from.
    pub manifest: String,
    /// What it is doing.
    pub state: AgentState,
    /// Since when, in milliseconds since the epoch.
    pub since: u64,
    /// The evidence that won; none while it is starting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Opinion>,
    /// The strongest evidence for another state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<Opinion>,
    /// Shells, tools and agents that still run although no turn is under way.
    #[serde(default)]
    pub background: u32,
    /// The screen cannot be judged; the state is the one before it.
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
    /// What its launch lacks, one sentence each: tools, hooks, a tested version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<String>,
    /// The key that makes a new line in its composer, if its manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_line: Option<String>,
}

/// The evidence of one source, with its age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// What it says.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// When the source reported it, in milliseconds since the epoch.
    pub at: u64,
    /// True while it still counts.
    pub counts: bool,
}

/// Reply to `explain`: all evidence, what won and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Which process.
    pub id: ProcessId,
    /// Its name.
    pub name: Name,
    /// The result.
    pub agent: AgentView,
    /// The evidence of every source, strongest first, with those that no longer count.
    pub opinions: Vec<Opinion>,
    /// One sentence: which evidence won over which, and by which rule.
    pub why: String,
    /// The vendor's version, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How often sources have disagreed for more than a second in this run.
    pub drifts: u32,
    /// What the composer holds, as far as the screen shows it.
    pub composer: Composer,
    /// The terminal's answers that the agent has not read; absent when it has read all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_answers: Option<UnreadAnswers>,
}

/// What the composer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Composer {
    /// It is not visible.
    #[default]
    Unknown,
    /// Nothing.
    Empty,
    /// Text that was not submitted.
    Draft,
    /// Enter would run its content as a shell command.
    Shell,
}

impl Composer {
    /// Returns the word for it.
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

/// Identifies one message, for as long as its receipt is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MailId(pub u64);

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of a message's delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum Delivery {
    /// It waits for a moment at which it can be delivered.
    Queued {
        /// What it waits for, in words.
        reason: String,
    },
    /// It is being typed or sent.
    Delivering,
    /// The agent accepted it as a prompt.
    Submitted {
        /// The turn it began.
        turn: u64,
    },
    /// The agent's own channel accepted it; the agent reads it in this turn.
    Delivered {
        /// The turn it reached.
        turn: u64,
    },
    /// It was not delivered and will not be.
    Refused {
        /// Why.
        reason: String,
    },
    /// It may or may not have reached the agent, and nothing that can be checked shows which. It is not tried
    /// again.
    Unknown {
        /// What is known.
        reason: String,
    },
    /// It waited longer than it was allowed to.
    Expired,
}

/// The state of a delivery in words, the same in every face and message.
impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued { reason } => write!(f, "queued: {reason}"),
            Self::Delivering => f.write_str("being delivered"),
            Self::Submitted { turn } => write!(f, "submitted, turn {turn}"),
            Self::Delivered { turn } => write!(f, "delivered into turn {turn}"),
            Self::Refused { reason } => write!(f, "refused: {reason}"),
            Self::Unknown { reason } => write!(f, "unknown: {reason}"),
            Self::Expired => f.write_str("expired"),
        }
    }
}

impl Delivery {
    /// Returns true if the delivery will not change any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Queued { .. } | Self::Delivering)
    }
}

/// Reply to `tell`: the state of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Which message.
    pub mail: MailId,
    /// The recipient.
    pub to: ProcessId,
    /// The process that sent it; none: a person, or Quarterdeck itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ProcessId>,
    /// The sender in words: a process's name at that time, `human`, `system`, or `timer:` and a label.
    #[serde(default)]
    pub sender: String,
    /// When it was sent, in milliseconds since the epoch.
    #[serde(default)]
    pub at: u64,
    /// The state of its delivery.
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
    /// It was interrupted.
    Interrupted,
    /// It failed.
    Failed,
    /// The program ended in the middle of it.
    Exited,
}

/// Reply to `result`: one turn and the agent's text at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Which process.
    pub id: ProcessId,
    /// Which turn, counted from 1 over all runs.
    pub turn: u64,
    /// How it ended.
    pub end: TurnEnd,
    /// The agent's final text; empty while the turn runs, or when no source had it.
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

/// The kind of an inbox item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A dialog on an agent's screen.
    Dialog,
    /// A hook that waits for permission to use a tool.
    Permission,
    /// A question that an agent asked through Quarterdeck.
    Question,
    /// An agent failed, ran out of quota or ended badly.
    Failure,
    /// A process wants to start something that no person has approved yet.
    Trust,
    /// An agent asks for a person's attention.
    Attention,
}

impl ItemKind {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dialog => "dialog",
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Failure => "failure",
            Self::Trust => "trust",
            Self::Attention => "attention",
        }
    }
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
    /// The question, in one line.
    pub title: String,
    /// The details: the command, the question's text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The possible answers; a failure accepts `dismiss`.
    pub options: Vec<DialogOption>,
    /// Since when, in milliseconds since the epoch.
    pub at: u64,
    /// When it is answered automatically, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Expiry>,
}

/// What happens to an item that gets no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// The answer it then gets.
    pub answer: String,
}

/// One manifest, and which of its features work on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOffer {
    /// The manifest's name, which `spawn --kind agent` accepts.
    pub name: String,
    /// The program it runs, as found on the search path; none when it is not installed.
    pub program: Option<String>,
    /// The version that the program reports.
    pub version: Option<String>,
    /// Where the manifest comes from: `built in`, or the files merged into it.
    pub origin: Vec<String>,
    /// What works with it, one word each: `mcp hooks resume native_delivery context quota dialogs`.
    pub abilities: Vec<String>,
    /// What is wrong with it here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Only faulty manifest files describe it, so it cannot be started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_faulty: bool,
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
    fn every_state_reads_back_from_its_word() {
        for state in AgentState::ALL {
            assert_eq!(state.word().parse(), Ok(state));
        }
        assert!("busy".parse::<AgentState>().is_err());
    }

    #[test]
    fn a_delivery_has_one_text_for_every_face() {
        let reason = "a dialog is open".to_owned();
        assert_eq!(Delivery::Queued { reason: reason.clone() }.to_string(), "queued: a dialog is open");
        assert_eq!(Delivery::Submitted { turn: 3 }.to_string(), "submitted, turn 3");
        assert_eq!(Delivery::Delivered { turn: 3 }.to_string(), "delivered into turn 3");
        assert_eq!(Delivery::Unknown { reason }.to_string(), "unknown: a dialog is open");
    }

    #[test]
    fn a_receipt_is_flat_json() {
        let receipt = Receipt {
            mail: MailId(4),
            from: None,
            sender: "human".to_owned(),
            at: 5,
            to: ProcessId::from_entropy(1),
            delivery: Delivery::Submitted { turn: 7 },
        };
        let json = serde_json::to_value(&receipt).unwrap();
        assert_eq!((json["status"].as_str(), json["turn"].as_u64()), (Some("submitted"), Some(7)));
    }
}
