//! What clients see of a workspace.

use serde::{Deserialize, Serialize};

/// A workspace: an access scope. Tasks belong to one, and processes through them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceView {
    /// Its name.
    pub name: String,
    /// When it was made, in milliseconds since the epoch; none for `local`, which is always there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<u64>,
    /// How many tasks belong to it; dropped ones do not count.
    pub tasks: u32,
    /// How many processes belong to it.
    pub processes: u32,
}
