//! Coming back: the daemon died, and the person looks at the same terminal.
//!
//! Owns the wait for the next daemon. Refuses replaying: what this process has read while nobody listened is dropped with
//! a bell, because half a command is worse than none. What a passed terminal was typed meanwhile nobody has read: it is
//! still there for the next daemon, whole.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use proto::frame::DataKind;
use proto::request::{Attach, SizeWish, Target};
use proto::terminal::{BELL, Wish};
use proto::{ErrorCode, Reply, Request};
use rustix::event::{PollFd, PollFlags};

use super::Left;
use super::passing::Keeper;
use super::session::{RETURN_DEADLINE, Session, TYPED_AT_ONCE, attach_request, is_passing};
use crate::connection::broken;
use crate::patience::Patience;
use crate::verbs::unexpected;
use crate::{ClientError, ready};

/// Between two attempts to reach a daemon; keys and signals are heard meanwhile.
const RETURN_PAUSE: Duration = Duration::from_millis(50);

impl Session<'_> {
    /// The connection broke without a word: the run is over, or the daemon died and comes back.
    pub(super) fn lost(&mut self) -> Result<Option<Left>, ClientError> {
        if let Some(exit) = self.exit {
            self.draw_all();
            return Ok(Some(Left::Exited(exit)));
        }
        let is_ours = self.keeper == Keeper::Us;
        if !std::mem::take(&mut self.typed).is_empty() && is_ours {
            self.drawing.push(BELL);
            self.draw()?;
        }
        let deadline = Instant::now() + RETURN_DEADLINE;
        loop {
            match self.attach_again(deadline) {
                Ok(Some(left)) => return Ok(Some(left)),
                Ok(None) if is_ours => return self.drop_typed(),
                Ok(None) => return Ok(None),
                Err(error) if is_final(&error) || Instant::now() >= deadline => return Err(error),
                Err(_) => {}
            }
            if let Some(left) = self.pause()? {
                return Ok(Some(left));
            }
        }
    }

    fn attach_again(&mut self, deadline: Instant) -> Result<Option<Left>, ClientError> {
        // A signal ends the attempt: the pause after it heeds it.
        let bell = self.signals.as_fd();
        let mut connection = self.door.connect_unless(deadline, Some(bell))?;
        let size = self.terminal.size().map_or_else(SizeWish::default, SizeWish::from);
        let target = Target(self.attached.id.to_string());
        let request = Attach { take_over: false, ..attach_request(self.options, target, size) };
        let request = Request::Attach(request);
        let patience = Patience::with(&request).until(deadline).listening(bell);
        self.attached = match connection.call_with(request, patience)? {
            Reply::Attached(attached) => attached,
            other => return Err(unexpected("attach", &other)),
        };
        self.stream = self.attached.stream;
        self.connection = connection;
        self.offer_terminal()?;
        self.connection.stream().set_nonblocking(true).map_err(ClientError::Broken)?;
        self.last_kind = Some(DataKind::Output);
        self.take_arrived()
    }

    /// Waits a little for the daemon while keys, if they are ours, and signals are heard.
    fn pause(&mut self) -> Result<Option<Left>, ClientError> {
        let is_ours = self.keeper == Keeper::Us;
        let keys = if is_ours { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = [
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.terminal.input(), keys),
        ];
        ready::wait(&mut fds, Some(RETURN_PAUSE)).map_err(broken)?;
        let is_gone = !is_ours && !fds[1].revents().is_empty();
        match self.heed_signals()? {
            Some(left) => Ok(Some(left)),
            None if is_gone => Ok(Some(Left::HungUp)),
            None if is_ours => self.drop_typed(),
            None => Ok(None),
        }
    }

    /// Drops what was typed while nobody listened, except the wish to leave.
    fn drop_typed(&mut self) -> Result<Option<Left>, ClientError> {
        let mut buffer = [0; TYPED_AT_ONCE];
        let mut dropped = Vec::new();
        loop {
            let mut fds = [PollFd::from_borrowed_fd(self.terminal.input(), PollFlags::IN)];
            if ready::wait(&mut fds, Some(Duration::ZERO)).map_err(broken)? == 0 {
                break;
            }
            match self.terminal.read(&mut buffer) {
                Ok(0) => return Ok(Some(Left::HungUp)),
                Ok(count) if self.keys.watch(&buffer[..count], &mut dropped) == Wish::Detach => {
                    return Ok(Some(Left::Detached));
                }
                Ok(_) => {}
                Err(error) if is_passing(&error) => break,
                Err(error) => return Err(ClientError::Broken(error)),
            }
        }
        if !dropped.is_empty() {
            self.drawing.push(BELL);
            self.draw()?;
        }
        Ok(None)
    }
}

/// Asking again would be answered the same.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Version { .. } => true,
        ClientError::Failed(failure) => failure.code != ErrorCode::ShuttingDown,
        ClientError::Unreachable(_) | ClientError::Silent(_) | ClientError::Broken(_) => false,
    }
}
