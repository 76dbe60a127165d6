//! Signals as bytes: what the terminal and the system want of an attached client.
//!
//! Owns the handlers while attached. Refuses doing anything in a handler: it sets a flag and writes one byte to a
//! socket that the loop polls.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use signal_hook::SigId;
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::low_level::{pipe, unregister};

/// Signals that end an attached client, most urgent first: every one that would end it anyway and that somebody can have
/// sent. Those by which the processor tells a fault are not among them: whoever catches one comes back to the fault.
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

/// What signals have asked for since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The terminal has another size.
    pub(super) resized: bool,
    /// The client was stopped and goes on.
    pub(super) continued: bool,
    /// The client shall stop.
    pub(super) stop: bool,
    /// The client shall end because of this signal.
    pub(super) end: Option<i32>,
}

/// The registered signals; unregistered when dropped.
#[derive(Debug)]
pub(super) struct Signals {
    bell: UnixStream,
    flags: Vec<(i32, Arc<AtomicBool>)>,
    ids: Vec<SigId>,
}

impl Signals {
    pub(super) fn register() -> io::Result<Self> {
        let (bell, writer) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let mut signals = Self { bell, flags: Vec::new(), ids: Vec::new() };
        for signal in ENDING.into_iter().chain([SIGWINCH, SIGCONT, SIGTSTP]) {
            let flag = Arc::new(AtomicBool::new(false));
            // The flag first: by the time the byte is read it is set.
            signals.ids.push(signal_hook::flag::register(signal, Arc::clone(&flag))?);
            signals.ids.push(pipe::register(signal, writer.try_clone()?)?);
            signals.flags.push((signal, flag));
        }
        Ok(signals)
    }

    /// What was asked since the last call.
    pub(super) fn take(&mut self) -> Asked {
        let mut bytes = [0; 64];
        while matches!(self.bell.read(&mut bytes), Ok(count) if count > 0) {}
        let mut asked = Asked::default();
        for (signal, flag) in &self.flags {
            if !flag.swap(false, Ordering::SeqCst) {
                continue;
            }
            match *signal {
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
        self.bell.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            unregister(id);
        }
    }
}
