//! Tasks end to end: a real repository, the real `qd`, a daemon that is killed in the middle.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod day;
mod init;
mod killed;
mod stage;
mod watch;
