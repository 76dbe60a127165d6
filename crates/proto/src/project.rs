//! What clients see of a project: its directory and its key.

use serde::{Deserialize, Serialize};

/// A project: a directory and its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The first 16 hex digits of SHA-256 over the real path of its main checkout: the same in every worktree.
    pub key: String,
    /// The real path of this checkout.
    pub path: String,
}
