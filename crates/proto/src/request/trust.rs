//! The verbs for presets and trust, with their arguments.

use serde::{Deserialize, Serialize};

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
