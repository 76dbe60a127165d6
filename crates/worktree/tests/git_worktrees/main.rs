//! The crate against real repositories in temporary directories. No test may make git run a hook: every stage checks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod compare;
mod create;
mod deleted_branch;
mod diff;
mod discover;
mod hostile;
mod kills;
mod land;
mod leftovers;
mod parsers;
mod remove;
mod restore;
mod stage;
mod status;
