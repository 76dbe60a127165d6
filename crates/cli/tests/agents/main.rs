//! Agents, end to end: over the real socket, with a fake agent's program in a real terminal. Each test is named after
//! the row of the guarantee or hazard it proves.

mod delivery;
mod dialogs;
mod files;
mod hooks;
mod killed;
mod launch;
mod spoofing;

use std::ffi::OsStr;

use proto::Size;
use testkit::{Crew, Pty};

/// A daemon with fake agents.
fn crew() -> Crew {
    Crew::start(env!("CARGO_BIN_EXE_qd"), env!("CARGO_BIN_EXE_qd-agent-test"))
}

/// A person's terminal, attached to a process that has shown this.
fn attach(crew: &Crew, name: &str, shown: &[u8]) -> Pty {
    let mut pty = Pty::open(Size { cols: 80, rows: 24 });
    let variables = crew.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    pty.spawn(OsStr::new(env!("CARGO_BIN_EXE_qd")), &["attach", name], &variables);
    pty.expect(shown);
    pty
}
