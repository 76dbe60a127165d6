//! Tasks end to end: a real repository, the real `qd`, a daemon that is killed in the middle.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod agents;
mod collect;
mod cost;
mod day;
mod drops;
mod import;
mod init;
mod killed;
mod modes;
mod odd;
mod projects;
mod stage;
mod watch;
mod workspaces;
