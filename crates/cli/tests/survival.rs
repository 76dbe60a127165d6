//! Nothing is lost: the daemon is killed, holders are killed, disks fill up, programs are replaced, and every
//! process continues. Over the real socket, with real terminals and real kills.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[cfg(debug_assertions)]
#[path = "survival/failpoints.rs"]
mod failpoints;
#[cfg(debug_assertions)]
#[path = "survival/foreground.rs"]
mod foreground;
#[path = "survival/killed_daemon.rs"]
mod killed_daemon;
#[path = "survival/killed_holder.rs"]
mod killed_holder;
#[path = "survival/moments.rs"]
mod moments;
#[path = "survival/planned.rs"]
mod planned;
#[path = "survival/silent_holder.rs"]
mod silent_holder;
#[path = "survival/spoiled.rs"]
mod spoiled;
#[path = "survival/story.rs"]
mod story;
#[path = "survival/timers.rs"]
mod timers;
#[cfg(debug_assertions)]
#[path = "survival/torn_writes.rs"]
mod torn_writes;
#[path = "survival/unwatched.rs"]
mod unwatched;

const QD: &str = env!("CARGO_BIN_EXE_qd");
