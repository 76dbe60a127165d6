//! What clients see of scratchpads: the list, a text, its revisions.

use serde::{Deserialize, Serialize};

/// One scratchpad of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PadEntry {
    /// Its name.
    pub name: String,
    /// Its newest revision.
    pub revision: u64,
    /// Who wrote that.
    pub author: String,
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The result of an operation on scratchpads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PadOutcome {
    /// Which there are.
    Listed(Vec<PadEntry>),
    /// A text.
    Text {
        /// Which.
        name: String,
        /// The text.
        content: String,
        /// Of which revision.
        revision: u64,
        /// Who wrote it.
        author: String,
    },
    /// It was changed.
    Changed {
        /// Which.
        name: String,
        /// Its revision now.
        revision: u64,
    },
    /// Every revision that is kept, oldest first.
    History(Vec<PadEntry>),
}
