//! What ends a stream from this side while nothing comes from the other: a signal, or a reader that has had enough.
//!
//! Owns listening for both beside the socket. Refuses deciding what they mean: the face does. Stopping and going on
//! (Ctrl-Z) are not heard: they do to this program what they do to every other.

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
    /// Nobody reads what is printed any more.
    Unread,
    /// This signal came.
    Signal(i32),
}

/// What a stream listens for besides the daemon. By default nothing: signals end the program as they always do.
#[derive(Debug, Default)]
pub struct Stops {
    signals: Option<Signals>,
    output: Option<BorrowedFd<'static>>,
}

impl Stops {
    /// Listens for the end of whoever reads this descriptor.
    #[must_use]
    pub fn unread(self, output: BorrowedFd<'static>) -> Self {
        Self { output: Some(output), ..self }
    }

    /// Listens for the signals that end programs, which from here on end nothing by themselves.
    pub fn signals(self) -> io::Result<Self> {
        // One that comes again before it was heeded ends the program: it is stuck in writing what nobody takes.
        Ok(Self { signals: Some(Signals::register(&ENDING, Again::Ends)?), ..self })
    }

    /// Waits until `socket` can be read, if there is one, or a stop has come, for this long at most.
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

    /// Waits; whether nobody reads the output.
    fn is_unread(
        &self,
        socket: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> Result<bool, ClientError> {
        let mut fds = Vec::with_capacity(3);
        // First, so that its place is known. A descriptor that is asked for nothing still tells its end.
        fds.extend(self.output.map(|output| PollFd::from_borrowed_fd(output, PollFlags::empty())));
        let readable = socket.into_iter().chain(self.signals.as_ref().map(|signals| signals.as_fd()));
        fds.extend(readable.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        ready::wait(&mut fds, timeout).map_err(broken)?;
        Ok(self.output.is_some() && fds.first().is_some_and(|output| !output.revents().is_empty()))
    }
}
