//! Agents, end to end: over the real socket, with a fake agent's program in a real terminal. Each test is named after
//! the row of the guarantee or hazard it proves.

mod delivery;
mod dialogs;
mod files;
mod hooks;
mod killed;
mod launch;

use testkit::Crew;

/// A daemon with fake agents.
fn crew() -> Crew {
    Crew::start(env!("CARGO_BIN_EXE_qd"), env!("CARGO_BIN_EXE_qd-agent-test"))
}
