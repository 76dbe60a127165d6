//! What clients see of the audit log: its rows, and whether the chain of hashes is whole.

use serde::{Deserialize, Serialize};

/// One row of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// The caller: `human`, a process id with its run, `nobody`, `quarterdeck`.
    pub caller: String,
    /// For what.
    pub verb: String,
    /// The target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What was decided.
    pub decision: String,
    /// Why, or with which arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The row's hash, over the one before it.
    pub hash: String,
}

/// A page of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPage {
    /// Oldest first.
    pub rows: Vec<AuditEntry>,
    /// The result of checking the whole chain, if the request asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<AuditVerdict>,
}

/// The result of checking the chain of hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditVerdict {
    /// Every row fits.
    Intact {
        /// The number of the oldest row that is kept; 1 while none was deleted.
        #[serde(default = "first_row")]
        first: u64,
        /// How many rows there are.
        rows: u64,
        /// The hash of the newest.
        head: String,
    },
    /// From this row on the log was changed.
    Broken {
        /// Counted from one, deleted rows included.
        row: u64,
        /// What is wrong.
        reason: String,
    },
}

fn first_row() -> u64 {
    1
}
