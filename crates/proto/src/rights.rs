//! What clients see of rights: who the caller is, the grants beyond the tree, and the budget of a tree.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::project::Project;
use crate::{Limit, Name, ProcessId, ProcessView};

/// How a person is written as a caller, a sender or an author: in JSON, in the audit log and in stored records.
pub const PERSON: &str = "human";

/// A right that a person may grant beyond the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Read screens and logs, wait for it.
    Read,
    /// Type, resize, signal, end, restart, rename; and read.
    Drive,
    /// Send it messages.
    Message,
}

impl Right {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Drive => "drive",
            Self::Message => "message",
        }
    }
}

/// One grant, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its number.
    pub grant: u64,
    /// The process that has the right.
    pub to: ProcessId,
    /// The right.
    pub right: Right,
    /// The process that it covers.
    pub over: ProcessId,
    /// Since when, in milliseconds since the epoch.
    pub at: u64,
}

/// One grant, with the names of both processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantView {
    /// The grant.
    #[serde(flatten)]
    pub grant: GrantRecord,
    /// The name of the process that has the right.
    pub to_name: Name,
    /// The name of the process that it covers.
    pub over_name: Name,
}

/// A grant in words.
impl fmt::Display for GrantView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} may {} {}", self.to_name, self.grant.right.word(), self.over_name)
    }
}

/// What a tree of processes may use. A limit that is left out is the daemon's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Processes it may spawn in its life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawns: Option<u32>,
    /// Processes that may live below it at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<u32>,
    /// How deep processes below it may be nested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// For how long it may spawn, in milliseconds since its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// How much of a budget is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    /// The limits in effect.
    pub limits: Budget,
    /// Processes it has spawned.
    pub spawns: u32,
    /// Processes that live below it.
    pub live: u32,
    /// How deep the caller is: 1 for a process a person started.
    pub depth: u32,
    /// Milliseconds since its start.
    pub wall_ms: u64,
}

/// How the daemon identifies the caller, and what it may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// `human`, or a process's id.
    pub caller: String,
    /// For a person in a terminal that acts for them: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Name>,
    /// For a process: true if callers from it have the rights of the person who opened it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acts_for_person: bool,
    /// The process, for callers that are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Box<ProcessView>>,
    /// The secret that only Quarterdeck writes into the header of a message to this run. Only the run itself
    /// gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The project it works in.
    #[serde(default)]
    pub project: Project,
    /// The tightest budget that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetUse>,
    /// Rights beyond the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<GrantView>,
    /// For a remote person: the label of the device or the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What the connection may do at most; left out when nothing is taken away.
    #[serde(default, skip_serializing_if = "Limit::is_none")]
    pub limit: Limit,
}
