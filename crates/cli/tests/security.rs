//! Who may connect, what a child can see, and what exhaustion does: over the real socket, with real users,
//! limits and terminals. Tests that need another user run when the tests run as root, and print a line when
//! they cannot.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot be set up has failed, and one that cannot be run here says so"
)]

#[path = "security/acting.rs"]
mod acting;
#[path = "security/audit.rs"]
mod audit;
#[path = "security/displaced.rs"]
mod displaced;
#[path = "security/door.rs"]
mod door;
#[path = "security/identity.rs"]
mod identity;
#[path = "security/impostor.rs"]
mod impostor;
#[path = "security/inside.rs"]
mod inside;
#[path = "security/limits.rs"]
mod limits;
#[path = "security/origin.rs"]
mod origin;
#[path = "security/ports.rs"]
mod ports;
#[path = "security/revoked.rs"]
mod revoked;
#[path = "security/roles.rs"]
mod roles;
#[path = "security/seclusion.rs"]
mod seclusion;
#[path = "security/shares.rs"]
mod shares;
#[path = "security/smashed_ring.rs"]
mod smashed_ring;
#[path = "security/strings.rs"]
mod strings;
#[path = "security/terminals.rs"]
mod terminals;
#[path = "security/token.rs"]
mod token;
#[path = "security/verbs.rs"]
mod verbs;

const QD: &str = env!("CARGO_BIN_EXE_qd");
const AGENT: &str = env!("CARGO_BIN_EXE_qd-agent-test");

/// Another user.
const NOBODY: &str = "65534";

/// Returns true if another user can be used.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("not checked: only root can act as another user");
    }
    is_root
}

/// Returns the whole output of a finished command.
fn said(output: &std::process::Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}
