//! `qd attach` in real terminals, against the real daemon: what a person sees, types and gets back.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod leaving;
mod mirrors;
mod passed;
mod queries;
mod showing;
mod silence;
mod slow;
mod typing;
mod window;

use testkit::Stage;

/// A daemon of its own for every test.
fn stage() -> Stage {
    Stage::start(env!("CARGO_BIN_EXE_qd"))
}

/// A shell script as argv.
fn sh(script: &str) -> Vec<String> {
    testkit::child::shell(script)
}
