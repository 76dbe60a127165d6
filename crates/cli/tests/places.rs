//! Quarterdeck's directories: two logins on one database, directories that vanish or are attacked, unusual
//! directories.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "places/attacked.rs"]
mod attacked;
#[path = "places/logins.rs"]
mod logins;
#[path = "places/strange.rs"]
mod strange;
#[path = "places/vanished.rs"]
mod vanished;

use std::path::Path;
use std::process::{Command, Output};

use testkit::TestDaemon;

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// Returns a `qd` command as another login runs it: the same data directory, another runtime directory.
fn from_other_login(daemon: &TestDaemon, runtime: &Path, arguments: &[&str]) -> Command {
    let mut command = daemon.command(arguments);
    command.env("QD_RUNTIME_DIR", runtime);
    command
}

/// Returns the whole output of a command.
fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

/// Returns the daemons that use this data directory.
fn daemons(daemon: &TestDaemon) -> Vec<i32> {
    let variable = format!("QD_DATA_DIR={}", daemon.dirs().data.display());
    let is_one = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        testkit::process_scan::command_line(*pid).contains("daemon")
            && environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
            && testkit::process_scan::is_alive(*pid)
    };
    testkit::process_scan::all_pids().into_iter().filter(is_one).collect()
}

/// Waits until one daemon is left, and returns its pid.
fn only_daemon(daemon: &TestDaemon) -> i32 {
    testkit::process_scan::eventually("the losers to end", || match daemons(daemon)[..] {
        [one] => Some(one),
        _ => None,
    })
}
