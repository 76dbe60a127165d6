//! Who may come in, what a child can see, and what exhaustion does: over the real socket, with real users, limits and
//! terminals. Rows that need another user or another owner run when the tests run as root, and say so when they cannot.

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
#[path = "security/inside.rs"]
mod inside;
#[path = "security/limits.rs"]
mod limits;
#[path = "security/origin.rs"]
mod origin;
#[path = "security/ports.rs"]
mod ports;
#[path = "security/seclusion.rs"]
mod seclusion;
#[path = "security/shares.rs"]
mod shares;
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

/// Somebody else.
const NOBODY: &str = "65534";

/// Whether another user can be played.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("not checked: only root can act as another user");
    }
    is_root
}

/// What a finished command said, both ways.
fn said(output: &std::process::Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}
