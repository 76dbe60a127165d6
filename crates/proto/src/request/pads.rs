//! The verb for scratchpads, with its arguments.

use serde::{Deserialize, Serialize};

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
