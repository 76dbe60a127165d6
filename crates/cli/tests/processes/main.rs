//! Processes over the real socket and real terminals: every guarantee of the contract is one test with its row's name.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod background;
mod day;
mod endings;
mod environment;
mod events;
mod exits;
mod foreground;
mod hidden;
mod input;
mod kept;
mod last_words;
mod limits;
mod pages;
mod pastes;
mod reading;
mod settings;
mod sizes;
mod survivors;
mod telling;
mod unread_answers;
mod updates;
mod verbs;
mod waits;

use std::ffi::OsStr;

use testkit::{MarkedDaemon, Pty};

/// Returns a daemon of its own for every test.
fn stage() -> MarkedDaemon {
    MarkedDaemon::start(env!("CARGO_BIN_EXE_qd"))
}

/// Starts `qd` on a terminal of 97 columns and 31 rows.
fn on_terminal(stage: &MarkedDaemon, words: &[&str]) -> Pty {
    let mut terminal = Pty::open(proto::Size { cols: 97, rows: 31 });
    let variables = stage.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    terminal.spawn(OsStr::new(env!("CARGO_BIN_EXE_qd")), words, &variables);
    terminal
}

/// Returns a shell script as argv.
fn sh(script: &str) -> Vec<String> {
    testkit::child::shell(script)
}

/// Returns a program with arguments as argv.
fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
