//! The verbs for timers, scratchpads, questions, grants, trust, presets and the audit log, with their
//! arguments.

use serde::{Deserialize, Serialize};

use super::Target;
use crate::crew::Right;

/// When a timer fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerWhen {
    /// After this many milliseconds.
    After(u64),
    /// When one of these becomes idle after now.
    IdleAny(TimerWatch),
    /// When all of these are idle, which they may be already.
    IdleAll(TimerWatch),
}

/// The processes that a timer watches, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerWatch {
    /// Which processes.
    pub processes: Vec<Target>,
    /// Fire at the latest after this many milliseconds.
    pub max_wait_ms: u64,
}

/// Arguments of `set_timer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetTimer {
    /// The process that it wakes; left out: the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Target>,
    /// When.
    pub when: TimerWhen,
    /// The text of the message to the owner.
    pub body: String,
    /// Its name, for people and for the header of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Chosen by the caller: the same key again returns the same timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The change to a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerChange {
    /// It never fires.
    Cancel,
    /// It keeps the remaining time.
    Pause,
    /// It continues with the remaining time.
    Resume,
}

/// Arguments of `change_timer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTimer {
    /// Which.
    pub timer: u64,
    /// What.
    pub change: TimerChange,
}

/// The change to a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceChange {
    /// It is made.
    Create,
    /// It gets this name; its tasks and processes stay in it.
    Rename(String),
    /// It goes. Nothing may belong to it.
    Remove,
}

/// Arguments of `change_workspace`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeWorkspace {
    /// Its name.
    pub name: String,
    /// What.
    pub change: WorkspaceChange,
}

/// Arguments of `pad`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pad {
    /// A directory of the project; left out: the caller's own. A process has only its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What is done.
    pub act: PadAct,
}

/// The operation on scratchpads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PadAct {
    /// Which there are.
    List(super::Empty),
    /// Its text, or that of an older revision.
    Read {
        /// Which.
        name: String,
        /// As it was then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<u64>,
    },
    /// Replaces its text, or creates it.
    Write {
        /// Which.
        name: String,
        /// Its whole text.
        content: String,
        /// The revision that the caller has seen, 0 for none; left out: any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_revision: Option<u64>,
    },
    /// Appends to it, or creates it.
    Append {
        /// Which.
        name: String,
        /// What.
        text: String,
    },
    /// Removes it; its history stays.
    Delete {
        /// Which.
        name: String,
        /// The revision that the caller has seen; left out: any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_revision: Option<u64>,
    },
    /// Gives it another name.
    Rename {
        /// Which.
        name: String,
        /// Its new name.
        to: String,
    },
    /// Every revision that is kept.
    History {
        /// Which.
        name: String,
    },
}

/// Arguments of `ask`: a question to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// What is asked.
    pub question: String,
    /// The possible answers; empty means any text.
    #[serde(default)]
    pub options: Vec<String>,
    /// The same key from the same run asks once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Arguments of `attention`: a request for the person's attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Why.
    pub reason: String,
    /// The same key from the same run asks once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Arguments of `select`: clients show this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Select {
    /// Which.
    pub target: Target,
}

/// Arguments of `see`: a person has seen what a process shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct See {
    /// Which.
    pub target: Target,
    /// Up to this turn of an agent. Left out with `version`: everything until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The version of its screen, as a read returned it: what ended after that stays unseen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// Arguments of `ports`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// Of which process.
    pub target: Target,
}

/// Arguments of `grant`: a right beyond the tree. Only people grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Who may.
    pub to: Target,
    /// What.
    pub right: Right,
    /// The process that it covers.
    pub over: Target,
}

/// Arguments of `revoke`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoke {
    /// Which grant.
    pub grant: u64,
}

/// Arguments of `agents`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskAgents {
    /// A person's search path, with which programs are found; a process has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Arguments of `presets`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presets {
    /// A directory of the project; left out: the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// A person's search path, with which programs are found; a process has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Arguments of `trust`: what agents may start from now on. Only people trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// A directory of the project; left out: the daemon's home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What.
    pub what: TrustWhat,
    /// The person's search path, with which programs are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What is trusted, each with its content at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustWhat {
    /// A preset.
    Preset(String),
    /// An agent's manifest that is not built in.
    Agent(String),
    /// The project's own list of commands that need no approval.
    Policy(super::Empty),
}

/// Arguments of `distrust`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distrust {
    /// The digest of what was trusted, or the beginning of it.
    pub digest: String,
}

/// Arguments of `audit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// From this moment on, in milliseconds since the epoch.
    #[serde(default)]
    pub since: u64,
    /// At most this many rows, the newest; 200 when left out, 10,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Also check the whole chain of hashes.
    #[serde(default)]
    pub verify: bool,
}
