//! Attaches again when the daemon died or the process was restarted, in the same terminal.
//!
//! Input that was on its way to a dead daemon is dropped with a bell, because half a command is worse than
//! none. Keys typed on a passed terminal meanwhile are read here, so that the detach keys work, and are sent
//! to the next daemon as a whole; if none comes they are dropped with a bell.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use proto::frame::DataKind;
use proto::request::{Attach, SizeRequest, Target};
use proto::terminal::{BELL, DetachIntent};
use proto::{ErrorCode, Reply, Request};
use rustix::event::{PollFd, PollFlags};

use super::Left;
use super::asking::ANSWERS_DEADLINE;
use super::attach_once::attach_request;
use super::handoff::TerminalOwner;
use super::session::{Session, TYPED_AT_ONCE, is_passing};
use crate::connection::broken;
use crate::reconnect_policy::{Attempts, DaemonStart, RetryLimit, is_final};
use crate::verbs::unexpected;
use crate::wait_limit::WaitLimit;
use crate::{ClientError, ready};

/// The most typed bytes that are kept for the next daemon; more stay in the terminal.
const MAX_KEPT: usize = 16 << 10; // 16 KiB

impl Session<'_> {
    /// Handles a broken connection: the run is over, or the daemon died and another one comes.
    pub(super) fn lost(&mut self) -> Result<Option<Left>, ClientError> {
        if let Some(exit) = self.exit {
            self.draw_all();
            return Ok(Some(Left::Exited(exit)));
        }
        let is_ours = self.terminal_owner == TerminalOwner::Us;
        if self.connection.unsent() > 0 && self.reads_keys() {
            self.drawing.push(BELL);
            self.draw()?;
        }
        self.give_back()?;
        let mut kept = Vec::new();
        if !is_ours && let Some(left) = self.read_rest_of_answers(&mut kept)? {
            return Ok(Some(left));
        }
        let mut attempts = Attempts::new(RetryLimit::Person, Instant::now());
        let mut before = None;
        let error = loop {
            let error = match self.attach_again(&attempts, &mut kept) {
                Ok(Some(left)) => return Ok(Some(left)),
                Ok(None) if is_ours => return self.drop_typed(),
                Ok(None) => return Ok(None),
                Err(error) => error,
            };
            let pause = match attempts.pause_after(&error, Instant::now()) {
                Some(pause) => pause,
                None if is_final(&error) => break error,
                // An attempt that the deadline has cut off knows less than the one before it.
                None => break before.unwrap_or(error),
            };
            before = Some(error);
            if let Some(left) = self.pause(pause, &mut kept)? {
                return Ok(Some(left));
            }
        };
        if !kept.is_empty() || self.terminal.has_unread() {
            self.drawing.push(BELL);
            self.draw()?;
        }
        Err(error)
    }

    /// Reads the answers that the terminal still owes. The daemon may have died in the middle of one, and the
    /// next daemon would take its rest for keys.
    fn read_rest_of_answers(&mut self, kept: &mut Vec<u8>) -> Result<Option<Left>, ClientError> {
        self.keys.expect_rest_of_answer();
        let deadline = Instant::now() + ANSWERS_DEADLINE;
        while self.keys.is_waiting_for_answers() && self.has_input {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if let Some(left) = self.pause(left, kept)? {
                return Ok(Some(left));
            }
        }
        Ok(None)
    }

    /// Waits for the next run of a restarted process and shows it. If none comes, the restart is why this one
    /// has ended.
    pub(super) fn await_next_run(&mut self, reason: String) -> Result<Option<Left>, ClientError> {
        let run = self.attached.run;
        let mut kept = Vec::new();
        let mut attempts = Attempts::new(RetryLimit::Person, Instant::now());
        while let Some(pause) = attempts.next_pause(Instant::now()) {
            match self.attach_again(&attempts, &mut kept) {
                Ok(left) if self.attached.run != run => return Ok(left),
                // It is still the old run, or there is none yet.
                Ok(_) => {}
                Err(ClientError::Failed(failure)) if failure.code == ErrorCode::NotRunning => {}
                Err(error) if is_final(&error) => break,
                Err(_) => {}
            }
            if let Some(left) = self.pause(pause, &mut kept)? {
                return Ok(Some(left));
            }
        }
        Ok(Some(Left::Ended(reason)))
    }

    /// Attaches again, and sends what was typed meanwhile before the daemon has the terminal.
    fn attach_again(&mut self, attempts: &Attempts, kept: &mut Vec<u8>) -> Result<Option<Left>, ClientError> {
        // A signal ends the attempt; the pause after it handles the signal.
        let cancel_fd = self.signals.as_fd();
        let deadline = attempts.attempt_deadline(Instant::now());
        let mut connection =
            self.address.connect_unless(DaemonStart::AfterCrash, deadline, Some(cancel_fd))?;
        let size = self.terminal.size().map_or_else(SizeRequest::default, SizeRequest::from);
        let target = Target(self.attached.id.to_string());
        let request = Attach { take_over: false, ..attach_request(self.options, target, size) };
        let request = Request::Attach(request);
        let wait_limit = WaitLimit::with(&request).until(deadline).listening(cancel_fd);
        self.attached = match connection.call_with(request, wait_limit)? {
            Reply::Attached(attached) => attached,
            other => return Err(unexpected("attach", &other)),
        };
        (self.stream, self.exit) = (self.attached.stream, None);
        self.connection = connection;
        if !kept.is_empty() && !self.options.read_only {
            self.connection.send_data(self.stream, 0, kept)?;
        }
        kept.clear();
        self.send_report()?;
        self.offer_terminal()?;
        self.connection.stream().set_nonblocking(true).map_err(ClientError::Broken)?;
        self.last_kind = Some(DataKind::Output);
        self.take_arrived()
    }

    /// Waits a little for the daemon while it handles keys and signals.
    fn pause(&mut self, pause: Duration, kept: &mut Vec<u8>) -> Result<Option<Left>, ClientError> {
        let is_ours = self.terminal_owner == TerminalOwner::Us;
        let keys = if is_ours || kept.len() < MAX_KEPT { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = vec![PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN)];
        if self.has_input {
            fds.push(PollFd::from_borrowed_fd(self.terminal.input(), keys));
        }
        ready::wait(&mut fds, Some(pause)).map_err(broken)?;
        let is_typed = fds.get(1).is_some_and(|input| !input.revents().is_empty());
        match self.heed_signals()? {
            Some(left) => Ok(Some(left)),
            None if !is_typed => Ok(None),
            None if is_ours => self.drop_typed(),
            None => self.keep_typed(kept),
        }
    }

    /// Reads what was typed without a daemon, for the next one.
    fn keep_typed(&mut self, kept: &mut Vec<u8>) -> Result<Option<Left>, ClientError> {
        let mut buffer = [0; MAX_KEPT];
        let room = MAX_KEPT.saturating_sub(kept.len()).max(1);
        match self.terminal.read(&mut buffer[..room]) {
            Ok(0) => Ok(self.input_ended()),
            Ok(count) if self.keys.watch(&buffer[..count], kept) == DetachIntent::Detach => {
                Ok(Some(Left::Detached))
            }
            Ok(_) => Ok(None),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(ClientError::Broken(error)),
        }
    }

    /// Drops what was typed without a daemon, except the detach keys.
    fn drop_typed(&mut self) -> Result<Option<Left>, ClientError> {
        let mut buffer = [0; TYPED_AT_ONCE];
        let mut dropped = Vec::new();
        while self.has_input && self.terminal.has_unread() {
            match self.terminal.read(&mut buffer) {
                Ok(0) => return Ok(self.input_ended()),
                Ok(count) if self.keys.watch(&buffer[..count], &mut dropped) == DetachIntent::Detach => {
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
