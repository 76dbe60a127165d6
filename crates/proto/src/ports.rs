//! What clients see of the ports on which a process listens.

use serde::{Deserialize, Serialize};

/// To `ports`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The ports on which the process's tree listens, as the kernel reports them.
    pub ports: Vec<PortView>,
    /// The web addresses that it has printed, newest first, each once, at most 50. They are unverified.
    #[serde(default)]
    pub urls: Vec<String>,
}

/// A port on which a process's tree listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortView {
    /// The port.
    pub port: u16,
    /// The address it is bound to.
    pub address: String,
    /// Which process of the system listens.
    pub pid: i32,
    /// That one's program.
    pub program: String,
}
