//! Signals as events for a loop: handlers set flags and write a byte to a descriptor that the loop polls
//! beside its sockets. The handlers are registered as long as the value lives.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::low_level::{pipe, unregister};

/// What a signal does that comes again before the first was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Nothing more than the first.
    Waits,
    /// Its default action: this program is stuck.
    Ends,
}

/// The registered signals; unregistered when dropped.
#[derive(Debug)]
pub struct Signals {
    cancel_fd: UnixStream,
    flags: Vec<(i32, Arc<AtomicBool>)>,
    ids: Vec<SigId>,
}

impl Signals {
    /// Registers handlers for these, most urgent first.
    pub fn register(signals: &[i32], again: Again) -> io::Result<Self> {
        let (cancel_fd, writer) = UnixStream::pair()?;
        cancel_fd.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let mut registered = Self { cancel_fd, flags: Vec::new(), ids: Vec::new() };
        for &signal in signals {
            let flag = Arc::new(AtomicBool::new(false));
            if again == Again::Ends {
                let ends = signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))?;
                registered.ids.push(ends);
            }
            // The flag is set before the byte is written, so it is set when the byte is read.
            registered.ids.push(signal_hook::flag::register(signal, Arc::clone(&flag))?);
            registered.ids.push(pipe::register(signal, writer.try_clone()?)?);
            registered.flags.push((signal, flag));
        }
        Ok(registered)
    }

    /// The signals since the last call, most urgent first.
    pub fn take(&mut self) -> Vec<i32> {
        let mut bytes = [0; 64];
        while matches!(self.cancel_fd.read(&mut bytes), Ok(count) if count > 0) {}
        let came = self.flags.iter().filter(|(_, flag)| flag.swap(false, Ordering::SeqCst));
        came.map(|(signal, _)| *signal).collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.cancel_fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            unregister(id);
        }
    }
}
