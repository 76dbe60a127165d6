//! Giving the terminal to the daemon and taking it back.
//!
//! Owns who reads keys and draws. Refuses sharing: while the daemon has the terminal this process neither reads it nor
//! draws on it, and nothing is restored before the daemon has let go.

use std::net::Shutdown;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use proto::reply::Answer;
use proto::request::{Empty, PassedTerminal, View};
use proto::terminal::CANCEL;
use proto::{Notice, Outcome, Request};

use super::Clipboard;
use super::session::Session;
use crate::{ClientError, Incoming, ready};

/// How long a daemon that is asked for the terminal may take to let go of it.
const LET_GO: Duration = Duration::from_secs(1);

/// Who reads the terminal and draws on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalOwner {
    /// This process.
    Us,
    /// Nobody: it was offered to the daemon by the call with this id, which is not answered yet.
    Offered(u64),
    /// The daemon.
    Daemon,
}

impl Session<'_> {
    /// Offers the terminal to a daemon that takes it. What is on its way to the terminal is drawn first; a terminal that
    /// does not take it stays ours.
    pub(super) fn offer_terminal(&mut self) -> Result<(), ClientError> {
        if self.keeper != TerminalOwner::Us {
            // The daemon that had it died, perhaps in the middle of a sequence.
            self.drawing.push(CANCEL);
        }
        self.keeper = TerminalOwner::Us;
        self.draw()?;
        if !self.attached.takes_terminal || !self.terminal.is_one() || !self.drawing.is_empty() {
            return Ok(());
        }
        let request = PassedTerminal {
            detach_keys: self.options.keys.clone(),
            clipboard: self.options.clipboard == Clipboard::Writable,
            questions: self.questions(),
        };
        let id = self.connection.send_with(Request::View(View::Terminal(request)), self.terminal.lend())?;
        self.keeper = TerminalOwner::Offered(id);
        Ok(())
    }

    /// An answer; those that are waited for are the one to the offer and a sign of life.
    pub(super) fn heed_answer(&mut self, answer: &Answer) -> Result<(), ClientError> {
        if self.keeper != TerminalOwner::Offered(answer.id) {
            return self.note_answer(answer.id);
        }
        self.unshown.clear();
        match answer.outcome {
            Outcome::Ok(_) => self.keeper = TerminalOwner::Daemon,
            Outcome::Error(_) => {
                self.keeper = TerminalOwner::Us;
                self.give_back()?;
                // What was drawn for us meanwhile was not shown.
                self.ask(View::Repaint(Empty {}))?;
            }
        }
        Ok(())
    }

    /// Waits until the daemon has let go of the terminal: it does when it sees that nothing more comes from us, and closes
    /// the terminal before the connection. One that was silent already is not waited for: it leaves a terminal alone that
    /// is not raw.
    pub(super) fn take_terminal_back(&mut self) {
        if std::mem::replace(&mut self.keeper, TerminalOwner::Us) == TerminalOwner::Us || self.is_seized() {
            return;
        }
        let deadline = Instant::now() + LET_GO;
        let stream = self.connection.stream();
        // A connection that is broken already has no daemon behind it.
        if stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        while let Ok(true) = ready::readable_before(self.connection.as_fd(), deadline) {
            if !matches!(self.connection.fill(), Ok(count) if count > 0) {
                return;
            }
            // Nothing of it matters any more but what is to be undone.
            while let Ok(Some(incoming)) = self.connection.take() {
                match incoming {
                    Incoming::Notice(Notice::Screen { alternate, colored, .. }) => {
                        self.terminal.shows(alternate, colored);
                    }
                    Incoming::Notice(Notice::Answered { report, .. }) => self.know_report(report),
                    _ => {}
                }
            }
        }
    }
}
