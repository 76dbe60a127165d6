//! The small per-run process that owns a PTY and its process tree, and the daemon's side of the wire to it.
//!
//! A **holder** is one OS process per run. It opens the PTY, starts the child, reads its output into a ring
//! in shared memory, writes its input, reaps its tree and outlives every daemon. Holders are forked by the
//! **forkserver** (`qd hold`), one per daemon, so that they share the memory that loading the program has
//! cost. There is no async, no serde and no emulator here, and no knowledge of processes, tasks or clients.
//! It is the only crate with `unsafe`.
//!
//! | file | what it has |
//! |---|---|
//! | `config` | the configuration of one run, and its encoding |
//! | `wire`, `codec` | the frozen frames between daemon and holder; decoders that accept any input |
//! | `ring` | the output by absolute offset in a sealed memfd: writer, reader, the rule for a full ring |
//! | `launch`, `link`, `reconnect`, `lost_holder` | the daemon's side: start a holder, talk to it, link again, clean up after a killed one |
//! | `program`, `exec` | finds a program as the system would; executes one |
//! | `forkserver` | the process that forks a holder for every request of the launcher |
//! | `entry`, `hold` | the holder's side: set-up and the event loop |
//! | `pty`, `signals`, `proc_stat`, `descendants` | the kernel's side: PTY and child, signals, one process, a process tree |
//! | `run_mark` | the mark by which a process of a run is recognised when its holder is gone |
//! | `user_umask` | the umask of the person's shell, for programs that run without a holder |
//! | `origin` | the process at the other end of a socket, and its ancestors |
//! | `fdpass`, `text_pages` | bytes and descriptors over a socket; program text returned to the kernel |
//! | `input`, `keyed_inputs`, `kill_steps`, `exit`, `listener`, `peer`, `socket_check` | one concern of the loop each |
//!
//! Invariants: forkserver and holder are single-threaded (so `fork`, `umask`, `chdir` and the parent-death
//! signal are safe); the forkserver has nothing of any run, so its death is no loss; the holder is the only
//! reader of the PTY master; an exit is announced after the last byte; a signal goes only to a process whose
//! lineage was checked while a pidfd pinned it.

pub mod config;
pub mod descendants;
pub mod launch;
pub mod link;
pub mod lost_holder;
pub mod origin;
pub mod proc_stat;
pub mod ring;
pub mod run_mark;
pub mod user_umask;
pub mod wire;

mod codec;
mod entry;
mod exec;
mod exit;
mod fdpass;
mod forkserver;
mod hold;
mod input;
mod keyed_inputs;
mod kill_steps;
mod listener;
mod peer;
mod program;
mod pty;
mod reconnect;
mod signals;
mod socket_check;
mod text_pages;

pub use config::{RunConfig, clamp_size};
pub use forkserver::hold;
pub use launch::{Announced, LaunchError, Launcher, Started};
pub use link::{HolderHello, Link, LinkError, PendingHello};
pub use lost_holder::{
    RUN_TOKEN_VARIABLE, Swept, Unkilled, end_silent_holder, is_held, listening_in, sweep_lost_run,
};
pub use program::find_program;
pub use ring::{ArmOutcome, ReadOutcome, RingReader};
pub use signals::{can_close_at_exec, close_inherited, trim_memory};
pub use text_pages::give_back_text;
pub use wire::{
    ExitStatus, FromHolder, HANGUP, HelloFields, INPUT_WINDOW, KeyState, PendingInput, RunExit, SignalTarget,
    ToHolder, WIRE_VERSION, WIRE_WITH_END, WIRE_WITH_KEYS,
};
