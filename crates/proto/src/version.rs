//! Who may talk to whom: the protocol number and the rule for meeting another one.
//!
//! Owns the number. Refuses feature flags: a client asks for what it needs and gets `unsupported` otherwise.

/// The protocol this build speaks. It grows when an older peer would misunderstand a newer one;
/// added requests and added optional fields do not count.
pub const PROTOCOL: u16 = 1;

/// The product version, for people.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether a peer that speaks `theirs` can be served. `status` and `shutdown` are answered regardless,
/// so that a new `qd` can always look at and end an old daemon.
#[must_use]
pub fn is_compatible(theirs: u16) -> bool {
    theirs == PROTOCOL
}
