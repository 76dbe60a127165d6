//! The signals of an attached client, and what each asks for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::process::Signal;
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};

use crate::signals::{Again, Signals as Registered};

/// Signals that end an attached client, most urgent first: every one that would end it anyway and that a
/// program can send. Signals for processor faults are not among them: a handler would return to the fault.
const ENDING: [i32; 15] = [
    SIGTERM,
    SIGHUP,
    SIGINT,
    SIGQUIT,
    SIGABRT,
    SIGUSR1,
    SIGUSR2,
    SIGALRM,
    SIGVTALRM,
    SIGPROF,
    SIGXCPU,
    SIGXFSZ,
    SIGIO,
    Signal::POWER.as_raw(),
    Signal::STKFLT.as_raw(),
];

/// What signals have asked for since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The terminal has another size.
    pub(super) resized: bool,
    /// The client was stopped and continues.
    pub(super) continued: bool,
    /// The client is asked to stop.
    pub(super) stop: bool,
    /// The client is asked to end by this signal.
    pub(super) end: Option<i32>,
}

/// The signals an attached client listens for.
#[derive(Debug)]
pub(super) struct Signals(Registered);

impl Signals {
    pub(super) fn register() -> io::Result<Self> {
        let all = [&ENDING[..], &[SIGWINCH, SIGCONT, SIGTSTP]].concat();
        Registered::register(&all, Again::Waits).map(Self)
    }

    /// Returns what signals have asked for since the last call.
    pub(super) fn take(&mut self) -> Asked {
        let mut asked = Asked::default();
        for signal in self.0.take() {
            match signal {
                SIGWINCH => asked.resized = true,
                SIGCONT => asked.continued = true,
                SIGTSTP => asked.stop = true,
                ending => asked.end = asked.end.or(Some(ending)),
            }
        }
        asked
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
