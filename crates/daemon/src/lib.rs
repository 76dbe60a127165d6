//! The body around the engine: one daemon per user, disposable at any moment.
//!
//! Owns the tasks, the socket, the screens and the links to holders. Refuses UI words and the network (all it talks to is
//! the server inside an agent's program, on the loopback), and refuses being precious: crash, kill -9 and upgrade all end
//! in `adopt`, which is used every day.
//!
//! All async work is one thread, so whatever may wait for the disk, a program or a lock has a thread of its own: a named one
//! below, or a `worker` of `threads` for the length of a call.
//!
//! | task | owns | hears | says | when others are slow | ends when |
//! |---|---|---|---|---|---|
//! | engine task (1, async) | `Engine`, tickets | bounded asks and facts, the alarm | effects, events with a revision | asks wait in their queue; facts are kept by the workers | `Effect::Stop` |
//! | `screens-N` (2-4 threads) | rings, emulators, viewers, input | orders, rings, links, viewers | facts, frames | never waits | the process ends |
//! | `patterns`, `patterns-slow` (2 threads) | searches for patterns | text that is new, bounded | what was found | who falls too far behind ends, and is told | the process ends |
//! | `agents-watch` (1 thread) | agents' files: how far they were read, texts of turns | bounded orders, inotify, its own deadlines | facts | waits for the engine task; orders it cannot take are refused and logged, and the engine gives up waiting | the process ends |
//! | `agent-server` (1 thread per agent whose vendor has a server) | one stream of events | the vendor's server | facts, orders to `agents-watch` | waits for the engine task; the vendor's server waits for it | its run is over or let go |
//! | `agent-version` (1 thread per launch, short) | nothing | one program's output | a fact | is waited for by nobody | the program has answered, or its time is over |
//! | probe (1 async task per holder that an earlier daemon left and that has not answered) | its greeting | the holder's answer, a wish to end the run | one word to the adoption, which has the run hosted | waits for it | the holder has answered or is gone |
//! | `port` (1 async task per awaited port) | nothing | a timer: the kernel announces no listening socket | a fact | waits for the engine task | the port is open, or its run is over |
//! | `pads-watch` (1 thread) | which project each watch is | inotify on the scratchpads | announcements, through the store's pads | waits for the engine task | the process ends |
//! | `store` (1 thread) | the database | bounded batches, requests for a look at the audit log | acks, looks | the engine task waits: losing a record is worse | its queue closes; a panic of it ends the daemon |
//! | sweeper (on a `worker`, 1 per lost holder, short) | nothing | the list of processes | signals to what the run left | is waited for by nobody | nothing of the run is found |
//! | `worker` (1 thread that stays, up to 31 `extra-worker`s while there is work) | nothing | pieces of work that may wait | what comes of them | work waits for a free one; when the system gives no thread, for the one that stays | the process ends; an `extra-worker` after two idle seconds |
//! | `stdin` (1 thread in an ephemeral daemon) | standard input | its end | that it has ended | is waited for by one task | it has ended |
//! | signals (1, async; 2 in an ephemeral daemon) | nothing | TERM, INT, HUP; the end of standard input | one ask | waits for the engine task | it has asked |
//! | door (1, async) | the listening socket | connections | a task per connection | refuses over the limit | the engine task ends |
//! | connection (1 per client, async) | its stream | frames | frames | lagging events become `resync`, log overruns become gaps | the peer closes |
//!
//! Reading order: `start` (becoming the only daemon), `adopt` (what an earlier one left), `engine` (the engine's shell),
//! `effect_runner`, `screens` (the data plane), `agents` (vendors' programs outside of their terminals), `project`, `presets`,
//! `policy` and `trust_subject` (what agents may start), `pads`, `door` (the way in).

mod adopt;
mod agents;
mod alarm;
mod caller;
mod clock;
mod daemon_lock;
mod door;
mod effect_runner;
mod engine_task;
mod failpoint;
mod idle_trim;
mod launch;
mod log;
mod notify;
mod pads;
mod pattern;
mod policy;
mod ports;
mod presets;
mod project;
mod records;
mod screens;
mod settings;
mod sockets;
mod start;
mod threads;
mod tokens;
mod trust_subject;
mod urls;

use std::path::PathBuf;

use proto::Dirs;

pub use ::agents::catalogue::built_in_text as built_in_manifest;
pub use failpoint::Failpoint;
pub use settings::Settings;
pub use start::{refuse_setuid, run};

/// What a daemon is started with.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// Where its things are.
    pub places: Dirs,
    /// It lives as long as its standard input, keeps nothing on disk, and ends every process when it ends.
    pub ephemeral: bool,
    /// The executable its holders are started from.
    pub exe: PathBuf,
}

/// Why a daemon could not run.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// A directory is not private or cannot be made.
    #[error("{0}")]
    Place(#[from] store::PrivateDirError),
    /// The database cannot be used.
    #[error("{0}")]
    Store(#[from] store::StoreError),
    /// Another daemon has the lock and does not answer.
    #[error("another daemon holds {} and does not answer: end it (pid {pid}) or wait", lock.display())]
    Held {
        /// The lock file.
        lock: PathBuf,
        /// The pid written in it.
        pid: String,
    },
    /// Files may not grow.
    #[error(
        "files may have at most {} KiB here (ulimit -f), and the daemon needs 64 MiB: run `ulimit -f unlimited`, or raise the \
         limit in the shell's start-up files",
        .0 / 1024
    )]
    SmallFiles(u64),
    /// This process lives in a run.
    #[error(
        "no daemon is started from inside a process of Quarterdeck on a database that was made outside: what this process \
         says would count as a person's word. Run any qd command outside of it, use --ephemeral, or set QD_DATA_DIR to a \
         new directory"
    )]
    Inside,
    /// This process does not live in a run, and the database was made in one.
    #[error(
        "the database in {} was made by a daemon inside a process of Quarterdeck, so a person may not have said what \
         stands in it: move the directory away, or set QD_DATA_DIR to another one",
        .0.display()
    )]
    MadeInside(PathBuf),
    /// The same on another computer that shares this directory.
    #[error(
        "a daemon on another computer ({host}, pid {pid}) holds {}: use `qd` there, or set QD_DATA_DIR to a directory \
         of this computer",
        lock.display()
    )]
    HeldElsewhere {
        /// The lock file.
        lock: PathBuf,
        /// The pid written in it.
        pid: String,
        /// The computer's name written in it.
        host: String,
    },
    /// A file system without locks.
    #[error(
        "files in {} cannot be locked ({source}), so nothing would keep two daemons from one database: set QD_DATA_DIR \
         and QD_RUNTIME_DIR to directories on a local disk",
        directory.display()
    )]
    NoLocks {
        /// Where the lock was to be.
        directory: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No socket can be opened.
    #[error("no socket can be opened in {}: {source}; set QD_DATA_DIR to a directory on a local disk", places.display())]
    NoSocket {
        /// The data directory.
        places: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The program file has the set-user-id or set-group-id bit.
    #[error("refusing to run with changed user or group id: remove the setuid bit from qd")]
    Setuid,
    /// The system said no.
    #[error("{what}: {source}")]
    System {
        /// While doing what.
        what: String,
        /// What it said.
        source: std::io::Error,
    },
}

impl DaemonError {
    fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
