//! What the door may use of a hosted run: its screen under a short lock, its ring, its progress. Only the
//! worker writes to the ring's control words and the terminal.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::RunKey;
use holder::RingReader;
use proto::{Exit, Size};
use rustix::termios::{LocalModes, tcgetattr};
use term::{Limits, Screen};
use tokio::sync::{Semaphore, watch};

use super::log_times::LogTimes;
use super::unread_answers::AnswerGauge;
use super::versions::Versions;

/// How far a run has come: a value to wait on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The offset up to which the screen has been fed.
    pub(crate) seen: u64,
    /// The screen's version.
    pub(crate) version: u64,
    /// The terminal's size; none before a worker has the run.
    pub(crate) size: Option<Size>,
    /// The log's end, once the child is over.
    pub(crate) exited_at: Option<u64>,
    /// How it ended and the log's end, once the engine has announced it.
    pub(crate) reported_exit: Option<(Exit, u64)>,
    /// Nothing more will come: the run was released or lost.
    pub(crate) is_over: bool,
    /// The screen shows what there was when the run was hosted. False only while a daemon that has just
    /// started restores what an earlier one left.
    pub(crate) is_ready: bool,
}

/// One hosted run, as the door sees it.
pub(crate) struct ScreenHandle {
    /// Which run.
    pub(crate) run: RunKey,
    /// Its output by offset.
    pub(crate) ring: Arc<RingReader>,
    /// How far it has come.
    pub(crate) progress: watch::Sender<Progress>,
    /// The holder's pid.
    pub(crate) holder_pid: i32,
    /// The holder's start time, as the kernel counts; `None` when it was gone already.
    pub(crate) holder_start_time: Option<u64>,
    /// The child's pid.
    pub(crate) child_pid: i32,
    /// Allows one program at a time to write: a paste in pieces is not interleaved with another's.
    pub(crate) typing_permit: Arc<Semaphore>,
    /// The limits of its screen.
    pub(crate) limits: Limits,
    /// The terminal's answers that the child has not read.
    pub(crate) answers: AnswerGauge,
    /// The terminal, for its modes.
    master: OwnedFd,
    /// The versions that readers have got; a std mutex, held for one access.
    versions: Mutex<Versions>,
    /// The times of output; a std mutex, held for one access.
    times: Mutex<LogTimes>,
    /// A std mutex: held for one slice of parsing or one extraction of text, never across an await.
    screen: Mutex<Screen>,
}

impl ScreenHandle {
    pub(crate) fn new(run: RunKey, screen: Screen, hello: HelloParts) -> Self {
        let progress = Progress { version: screen.version(), ..Progress::default() };
        Self {
            run,
            ring: hello.ring,
            progress: watch::Sender::new(progress),
            holder_pid: hello.holder_pid,
            holder_start_time: holder::proc_stat::start_time(hello.holder_pid),
            child_pid: hello.child_pid,
            typing_permit: Arc::new(Semaphore::new(1)),
            limits: hello.limits,
            answers: AnswerGauge::default(),
            master: hello.master,
            versions: Mutex::default(),
            times: Mutex::default(),
            screen: Mutex::new(screen),
        }
    }

    /// Returns the screen. It survives a panic while it was locked: the emulator resets itself.
    pub(crate) fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the versions of the screen that readers have got.
    pub(crate) fn versions(&self) -> MutexGuard<'_, Versions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the times of output.
    pub(crate) fn times(&self) -> MutexGuard<'_, LogTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the screen can be shown.
    pub(crate) async fn ready(&self) {
        // The handle has the sender, so it cannot be gone.
        let mut progress = self.progress.subscribe();
        drop(progress.wait_for(|progress| progress.is_ready || progress.is_over).await);
    }

    /// Returns the terminal's master side, for keystrokes.
    pub(crate) fn master(&self) -> &OwnedFd {
        &self.master
    }

    /// Returns true if the child reads whole lines without echo: most likely a password.
    pub(crate) fn is_secret(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|modes| {
            modes.local_modes.contains(LocalModes::ICANON) && !modes.local_modes.contains(LocalModes::ECHO)
        })
    }

    /// Returns true if the child still reads whole lines, of which the kernel keeps 4,095 bytes and drops the
    /// rest.
    pub(crate) fn is_canonical(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
    }
}

/// What a handle needs of a holder's hello.
pub(crate) struct HelloParts {
    pub(crate) ring: Arc<RingReader>,
    pub(crate) holder_pid: i32,
    pub(crate) child_pid: i32,
    pub(crate) master: OwnedFd,
    pub(crate) limits: Limits,
}
