//! The verb that changes workspaces, with its arguments.

use serde::{Deserialize, Serialize};

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
