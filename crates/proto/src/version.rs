//! The protocol version and the rule for meeting another one. There are no feature flags: a client asks for
//! what it needs and gets `unsupported` otherwise.

/// The protocol of this build. It grows when an older peer would misunderstand a newer one; added requests
/// and added optional fields do not count.
pub const PROTOCOL: u16 = 1;

/// The product version, for people.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns true if a peer with protocol `theirs` can be served. `status` and `shutdown` are answered
/// regardless, so that a new `qd` can always inspect and end an old daemon.
#[must_use]
pub fn is_compatible(theirs: u16) -> bool {
    theirs == PROTOCOL
}
