//! Asks the terminal about itself: its colours, for children that ask for them, and the form of its cursor,
//! which is restored at the end.
//!
//! The terminal is asked when the attachment begins, and again when it changes between light and dark. Only
//! the end of the attachment waits for the answers, because a shell would take them for keys.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use proto::request::{Questions, View};
use proto::terminal::answers::QUESTIONS;
use proto::terminal::{BELL, TerminalReport};
use rustix::event::{PollFd, PollFlags};

use super::session::Session;
use crate::{ClientError, ready};

/// How long after the query the end of the attachment, or the next daemon, waits for a terminal's answers.
pub(super) const ANSWERS_DEADLINE: Duration = Duration::from_secs(1);

impl Session<'_> {
    /// Asks the terminal, if the daemon distinguishes answers from keys.
    pub(super) fn ask_terminal(&mut self) {
        if self.attached.takes_answers && self.terminal.is_screen() && self.terminal.is_typed_on() {
            self.drawing.extend_from_slice(QUESTIONS);
            self.keys.expect_answers();
            self.asked_at = Some(Instant::now());
        }
    }

    /// Returns what a daemon that gets the terminal must expect from it.
    pub(super) fn questions(&self) -> Questions {
        match self.asked_at {
            None => Questions::NotAsked,
            Some(_) if self.keys.is_waiting_for_answers() => Questions::Asked,
            Some(_) => Questions::Answered,
        }
    }

    /// Passes the terminal's answers on. A terminal that changed between light and dark is asked for its
    /// colours first.
    pub(super) fn note_answers(&mut self) -> Result<(), ClientError> {
        if self.keys.is_outdated() && self.filter.is_at_rest() && self.asked_at.is_some() {
            self.ask_terminal();
        }
        match self.keys.take_report() {
            Some(report) => {
                self.terminal.know(report);
                self.send_report()
            }
            None => Ok(()),
        }
    }

    /// Records answers that the daemon has read.
    pub(super) fn know_report(&mut self, report: TerminalReport) {
        self.terminal.know(report.clone());
        self.keys.know_answers(report);
    }

    /// Sends the terminal's answers to the daemon, if there are any.
    pub(super) fn send_report(&mut self) -> Result<(), ClientError> {
        let report = self.keys.report().clone();
        if self.attached.takes_answers && !report.is_colorless() && !self.keys.is_waiting_for_answers() {
            self.ask(View::Report(report))?;
        }
        Ok(())
    }

    /// Reads the answers that have not come yet, so that no shell takes them for keys. Keys typed meanwhile
    /// are dropped with a bell.
    pub(super) fn await_answers(&mut self) {
        let Some(deadline) = self.asked_at.map(|asked_at| asked_at + ANSWERS_DEADLINE) else { return };
        let mut dropped = Vec::new();
        while self.keys.is_waiting_for_answers() && self.has_input {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [
                PollFd::from_borrowed_fd(self.terminal.input(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            ];
            let count = ready::wait(&mut fds, Some(left)).unwrap_or(0);
            if count == 0 || fds[0].revents().is_empty() {
                break;
            }
            let mut buffer = [0; 4096];
            match self.terminal.read(&mut buffer) {
                Ok(count) if count > 0 => drop(self.keys.watch(&buffer[..count], &mut dropped)),
                Ok(_) => break,
                Err(error) if super::session::is_passing(&error) => {}
                Err(_) => break,
            }
        }
        if let Some(report) = self.keys.take_report() {
            self.terminal.know(report);
        }
        if !dropped.is_empty() {
            self.drawing.push(BELL);
            // A terminal that does not accept a bell misses nothing.
            drop(self.draw());
        }
    }
}
