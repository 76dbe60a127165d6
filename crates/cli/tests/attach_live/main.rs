//! `qd attach` in real terminals, against the real daemon: what a person sees, types and gets back.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod colors;
mod deck;
mod deck_away;
mod deck_copies;
mod deck_direct;
mod deck_drafts;
mod deck_facts;
mod deck_hostile;
mod deck_inbox;
mod deck_keys;
mod deck_mouse;
mod deck_own;
mod deck_paste;
mod deck_programs;
mod deck_restored;
mod deck_shared;
mod deck_speed;
mod deck_start;
mod deck_tasks;
mod deck_tmux;
mod host;
mod last_words;
mod leaving;
mod mirrors;
mod options;
mod passed;
mod queries;
mod shells;
mod showing;
mod shown_keys;
mod silence;
mod slow;
mod tmux;
mod typing;
mod window;
mod xterm;

use testkit::{MarkedDaemon, child};

/// Returns a daemon of its own for every test.
fn stage() -> MarkedDaemon {
    MarkedDaemon::start(env!("CARGO_BIN_EXE_qd"))
}

/// Returns a daemon in which `x` echoes each line.
fn running() -> MarkedDaemon {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    stage
}

/// `x` has no viewer any more, and continues.
fn runs_on_alone(stage: &MarkedDaemon) {
    stage.until_view("x", |view| view.terminal.viewers == 0);
    stage.type_text("x", "still here\n");
    stage.wait_pattern("x", "got:still here");
}

/// Returns a shell script as argv.
fn sh(script: &str) -> Vec<String> {
    child::shell(script)
}
