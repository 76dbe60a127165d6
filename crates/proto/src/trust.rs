//! What clients see of trust: what agents may start without approval.

use serde::{Deserialize, Serialize};

use crate::project::Project;

/// Something that agents may start without approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustView {
    /// SHA-256 over its content, in hex.
    pub digest: String,
    /// The project it was granted for.
    pub project: Project,
    /// The preset, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The agent whose manifest it is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What it runs, as the person saw it.
    pub command: String,
    /// Since when, in milliseconds since the epoch.
    pub at: u64,
}
