//! The verbs that only agents support, with their arguments. An agent is named by its manifest.

use serde::{Deserialize, Serialize};

use super::{Offer, Target};
use crate::agent::MailId;

/// The settings of an agent beside its argv.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRequest {
    /// Its first message, delivered as soon as it accepts one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Continue this vendor session instead of starting one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How permission requests are answered; left out: on the agent's screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionWait>,
    /// The model, by the vendor's name; left out: the vendor's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it may do without asking; left out: the vendor's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
}

/// What an agent may do without asking, narrowest first. A manifest describes how its vendor sets each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// It reads and plans, and changes nothing.
    Plan,
    /// It asks before it changes or runs something.
    Ask,
    /// It edits files without asking and asks before it runs something.
    Edit,
    /// It asks nothing.
    Auto,
}

impl PermissionMode {
    /// Every mode, narrowest first.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Ask, Self::Edit, Self::Auto];

    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Edit => "edit",
            Self::Auto => "auto",
        }
    }
}

impl std::str::FromStr for PermissionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = || Self::ALL.map(Self::word).join(", ");
        let found = Self::ALL.into_iter().find(|mode| mode.word() == text);
        found.ok_or_else(|| format!("a mode is one of {}, not {}", words(), crate::Printable(text)))
    }
}

/// Permission requests wait in the inbox instead of only on the agent's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionWait {
    /// How long one waits for an answer.
    pub timeout_ms: u64,
    /// The answer when there was none in time.
    #[serde(default)]
    pub on_timeout: OnTimeout,
}

impl PermissionWait {
    /// Returns true if requests are granted when no person answers.
    #[must_use]
    pub fn allows_on_timeout(self) -> bool {
        self.on_timeout == OnTimeout::Allow
    }
}

/// The answer to a permission request that got none in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// No.
    #[default]
    Deny,
    /// Yes.
    Allow,
    /// The agent asks on its own screen.
    Ask,
}

/// Arguments of `tell`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tell {
    /// Which agent.
    pub target: Target,
    /// What.
    pub text: String,
    /// Chosen by the caller: the same key again returns the same receipt and delivers nothing twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Reply at the latest after this long, with the receipt at that time; 0 replies at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Stop trying to deliver after this long; a day when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

/// Arguments of `receipt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskReceipt {
    /// Of which message.
    pub mail: MailId,
}

/// Arguments of `cancel_message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelMessage {
    /// Which message.
    pub mail: MailId,
}

/// Arguments of `interrupt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Which agent.
    pub target: Target,
}

/// Arguments of `result`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskResult {
    /// Of which agent.
    pub target: Target,
    /// The turn; left out: the newest that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
}

/// Arguments of `explain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explain {
    /// Which agent.
    pub target: Target,
}

/// Arguments of `answer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiveAnswer {
    /// Which item of the inbox.
    pub item: u64,
    /// One of its options: a number, a name (`allow`, `deny`), or the text of an option.
    pub choice: String,
    /// The caller's environment, for an answer that resumes an agent whose own is lost.
    #[serde(default, skip_serializing_if = "Offer::is_empty")]
    pub offer: Offer,
}

/// Arguments of `resume`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// Which agent.
    pub target: Target,
    /// The vendor session; left out: its last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The caller's environment, for an agent whose own is lost.
    #[serde(default, skip_serializing_if = "Offer::is_empty")]
    pub offer: Offer,
}

/// Arguments of `hook`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hook {
    /// The payload that the vendor's program wrote to the hook.
    pub payload: serde_json::Value,
    /// The event's name where the payload has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}

/// Arguments of `check_manifest`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckManifest {
    /// The manifest's text.
    pub text: String,
    /// The name of its file, which is the manifest's name.
    pub name: String,
    /// Recordings to try its rules on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<Recording>,
}

/// A recorded screen, as `sample` makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The name of its file, for messages about it.
    pub name: String,
    /// The text of its file.
    pub text: String,
}

/// Arguments of `sample`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Of which agent.
    pub target: Target,
    /// The state that the recording person sees; left out: the result of the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<crate::AgentState>,
}

/// Arguments of `agents`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskAgents {
    /// A person's search path, with which programs are found; a process has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}
