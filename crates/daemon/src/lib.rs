//! The daemon around the engine: one per user, disposable at any moment.
//!
//! It has the tasks, the socket, the screens and the links to holders. It has no UI words and does not use
//! the network (it only talks to the server inside an agent's program, on the loopback). Crash, kill -9 and
//! upgrade all end in `adopt`, which is used every day.
//!
//! All async work is one thread, so whatever may wait for the disk, a program or a lock has a thread of its
//! own: a named one below, or a `worker` of `threads` for the length of a call.
//!
//! | task | owns | receives | sends | when others are slow | ends when |
//! |---|---|---|---|---|---|
//! | engine task (1, async) | `Engine`, tickets | commands in turns of their callers (`call_queue`), bounded facts, the alarm | effects, events with a revision | commands wait in their caller's queue; the workers keep facts | `Effect::Stop` |
//! | `screens-N` (2-4 threads) | rings, emulators, viewers, input | orders, rings, links, viewers | facts, frames | never waits | the process ends |
//! | `patterns`, `patterns-slow` (2 threads) | searches for patterns | new text, bounded | matches | a search that falls too far behind ends with an error | the process ends |
//! | `agents-watch` (1 thread) | agents' files: how far they were read, texts of turns | bounded orders, inotify, its own deadlines | facts | waits for the engine task; orders beyond its queue are refused and logged, and the engine stops waiting | the process ends |
//! | agent server (1 async task per agent whose vendor has a server) | one stream of events | the vendor's server | facts, orders to `agents-watch` | waits for the engine task; the vendor's server waits for it | its run is over or released |
//! | `agent-version` (1 thread per launch, short) | nothing | one program's output | a fact | no task waits for it | the program has answered, or its time is over |
//! | probe (1 async task per holder of an earlier daemon that has not answered) | its greeting | the holder's answer, a request to end the run | results to the adoption, which has the run hosted | waits for it | the holder has answered or is gone |
//! | `port` (1 async task per awaited port) | nothing | a timer: the kernel announces no listening socket | a fact | waits for the engine task | the port is open, or its run is over |
//! | `pads-watch` (1 thread) | which project each watch is | inotify on the scratchpads | announcements, through the store's pads | waits for the engine task | the process ends |
//! | `store` (1 thread) | the database | bounded batches, requests for the audit log | acks, readers | the engine task waits: losing a record is worse | its queue closes; a panic of it ends the daemon |
//! | sweeper (on a `worker`, 1 per lost holder, short) | nothing | the list of processes | signals to what the run left | no task waits for it | nothing of the run is found |
//! | `worker` (1 thread that stays, up to 31 `extra-worker`s while there is work) | nothing | work that may block | its results | work waits for a free one; when the system gives no thread, for the one that stays | the process ends; an `extra-worker` after two idle seconds |
//! | `stdin` (1 thread in an ephemeral daemon) | standard input | its end | that it has ended | one task waits for it | it has ended |
//! | signals (1, async; 2 in an ephemeral daemon) | nothing | TERM, INT, HUP; the end of standard input | one command | waits for the engine task | it has sent it |
//! | door (1, async) | the listening socket | connections | a task per connection | refuses over the limit | the engine task ends |
//! | connection (1 per client, async) | its stream | frames | frames | lagging events become `resync`, log overruns become gaps | the peer closes |
//!
//! Reading order: `start` (becoming the only daemon), `adopt` (what an earlier one left), `engine_task` (the
//! engine's task), `effect_runner`, `screens` (the data plane), `agents` (vendors' programs outside of their
//! terminals), `project`, `presets`, `policy` and `trust_subject` (what agents may start), `pads`, `door`
//! (the socket's side).

mod adopt;
mod agents;
mod alarm;
mod call_queue;
mod caller;
mod clock;
mod daemon_lock;
mod database_origin;
mod directory_lock;
mod door;
mod effect_runner;
mod engine_task;
mod failpoint;
mod held_deliveries;
mod idle_trim;
mod launch;
mod line_pattern;
mod log;
mod notify;
mod pads;
mod policy;
mod ports;
mod presets;
mod project;
mod project_search;
mod records;
mod screens;
mod settings;
mod sockets;
mod start;
mod tasks;
mod threads;
mod tokens;
mod toml_fault;
mod trust_subject;
mod urls;
mod warnings;

use std::path::PathBuf;

use proto::Dirs;

pub use ::agents::catalogue::built_in_text as built_in_manifest;
pub use database_origin::is_inside_a_run_of;
pub use failpoint::Failpoint;
pub use presets::check_presets;
pub use project_search::{FoundProject, find_projects};
pub use settings::{ProjectSettings, Settings, TaskSettings, UserPath, check_init_file, check_settings};
pub use start::{refuse_setuid, run};
pub use tasks::failpoint::TaskFailpoint;
pub use tasks::fetch::fetch;
pub use trust_subject::finds_program;

/// The options of a daemon.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// Its directories.
    pub dirs: Dirs,
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
    /// Another process has the lock and does not answer.
    #[error("another process holds {} and does not answer as a daemon: end it (pid {pid}) or wait", lock.display())]
    Held {
        /// The lock file, or the data directory.
        lock: PathBuf,
        /// The pid of its holder, with the program's name if it is known.
        pid: String,
    },
    /// Files may not grow.
    #[error(
        "files may have at most {} KiB here (ulimit -f), and the daemon needs 64 MiB: run `ulimit -f unlimited`, or raise the \
         limit in the shell's start-up files",
        .0 / 1024
    )]
    SmallFiles(u64),
    /// A process of a run could not be told from a person.
    #[error(
        "the limit of file locks of this shell (ulimit -Hx) has been lowered, so that processes of Quarterdeck could not be \
         told from people: start qd from a login without that limit"
    )]
    LockLimit,
    /// This process is inside a run.
    #[error(
        "a daemon inside a process of Quarterdeck may not use a database that was made outside, because what this process \
         says would count as said by a person. Run any qd command outside of it, use --ephemeral, or set QD_DATA_DIR to a \
         new directory"
    )]
    Inside,
    /// This process is outside every run, and the database was made inside one.
    #[error(
        "the database in {} was made by a daemon inside a process of Quarterdeck, so what it contains may not come \
         from a person: move the directory away, or set QD_DATA_DIR to another one",
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
        "files in {} cannot be locked ({source}), so two daemons could use one database: set QD_DATA_DIR \
         and QD_RUNTIME_DIR to directories on a local disk",
        directory.display()
    )]
    NoLocks {
        /// Where the lock was to be.
        directory: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// No socket can be opened.
    #[error("no socket can be opened in {}: {source}; set QD_DATA_DIR to a directory on a local disk", dirs.display())]
    NoSocket {
        /// The data directory.
        dirs: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The program file has the set-user-id or set-group-id bit.
    #[error("refusing to run with changed user or group id: remove the setuid bit from qd")]
    Setuid,
    /// Another error of the system.
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
