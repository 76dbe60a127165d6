//! What ends a stream from this side while nothing comes from the other: a signal, or a reader that has gone.
//! The face decides what they mean. Stopping and continuing (Ctrl-Z) are not handled: they act on this
//! program as on any other.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::connection::broken;
use crate::signals::{Again, Signals};
use crate::{ClientError, ready};

/// Signals that end a program, most urgent first.
const ENDING: [i32; 4] = [SIGTERM, SIGHUP, SIGQUIT, SIGINT];

/// Why a stream ends although there may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The reader of the output is gone.
    Unread,
    /// This signal came.
    Signal(i32),
}

/// What a stream watches besides the daemon. By default nothing: signals end the program as usual.
#[derive(Debug, Default)]
pub struct Stops {
    signals: Option<Signals>,
    output: Option<BorrowedFd<'static>>,
}

impl Stops {
    /// Watches for the end of the reader of this descriptor.
    #[must_use]
    pub fn unread(self, output: BorrowedFd<'static>) -> Self {
        Self { output: Some(output), ..self }
    }

    /// Watches for the signals that end programs; from now on they end nothing by themselves.
    pub fn signals(self) -> io::Result<Self> {
        // A signal that comes again before the first was handled ends the program: it is stuck in writing to
        // a reader that does not read.
        Ok(Self { signals: Some(Signals::register(&ENDING, Again::Ends)?), ..self })
    }

    /// Waits until `socket` can be read, if there is one, or a stop has come, at most this long.
    pub(crate) fn wait(
        &mut self,
        socket: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> Result<Option<StreamEnd>, ClientError> {
        if self.is_unread(socket, timeout)? {
            return Ok(Some(StreamEnd::Unread));
        }
        let came = self.signals.as_mut().map(Signals::take).unwrap_or_default();
        Ok(came.first().copied().map(StreamEnd::Signal))
    }

    /// Waits; returns true if the reader of the output is gone.
    fn is_unread(
        &self,
        socket: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> Result<bool, ClientError> {
        let mut fds = Vec::with_capacity(3);
        // First, so that its index is known. A descriptor without requested events still reports its end.
        fds.extend(self.output.map(|output| PollFd::from_borrowed_fd(output, PollFlags::empty())));
        let readable = socket.into_iter().chain(self.signals.as_ref().map(|signals| signals.as_fd()));
        fds.extend(readable.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        ready::wait(&mut fds, timeout).map_err(broken)?;
        Ok(self.output.is_some() && fds.first().is_some_and(|output| !output.revents().is_empty()))
    }
}
