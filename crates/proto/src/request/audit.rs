//! The verb that reads the audit log, with its arguments.

use serde::{Deserialize, Serialize};

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
