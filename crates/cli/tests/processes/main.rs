//! Processes over the real socket and real terminals: every guarantee of the contract is one test with its row's name.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod background;
mod day;
mod endings;
mod environment;
mod events;
mod exits;
mod hidden;
mod input;
mod kept;
mod last_words;
mod limits;
mod pages;
mod pastes;
mod reading;
mod sizes;
mod survivors;
mod telling;
mod unread_answers;
mod updates;
mod verbs;
mod waits;

use testkit::MarkedDaemon;

/// Returns a daemon of its own for every test.
fn stage() -> MarkedDaemon {
    MarkedDaemon::start(env!("CARGO_BIN_EXE_qd"))
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
