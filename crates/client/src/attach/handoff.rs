//! Passes the terminal to the daemon and takes it back. While the daemon has the terminal, this process
//! neither reads it nor draws on it, and nothing is restored before the daemon has released it.

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

/// How long a daemon may take to release the terminal.
const LET_GO: Duration = Duration::from_secs(1);

/// Which side reads the terminal and draws on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalOwner {
    /// This process.
    Us,
    /// Neither: it was offered to the daemon by the call with this id, which is not answered yet.
    Offered(u64),
    /// The daemon.
    Daemon,
}

impl Session<'_> {
    /// Offers the terminal to a daemon that accepts it. Pending output is drawn first; if the terminal does
    /// not accept that, it stays ours.
    pub(super) fn offer_terminal(&mut self) -> Result<(), ClientError> {
        if self.terminal_owner != TerminalOwner::Us {
            // The daemon that had it died, perhaps in the middle of a sequence.
            self.drawing.push(CANCEL);
        }
        self.terminal_owner = TerminalOwner::Us;
        self.draw()?;
        if !self.attached.takes_terminal || !self.terminal.is_one() || !self.drawing.is_empty() {
            return Ok(());
        }
        let request = PassedTerminal {
            detach_keys: self.options.keys.clone(),
            clipboard: self.options.clipboard == Clipboard::Writable,
            questions: self.questions(),
            undecided: String::from_utf8_lossy(&self.keys.undecided()).into_owned(),
        };
        let request = Request::View(View::Terminal(request));
        // A daemon that has closed the connection has sent all it had to send, the end of the run perhaps. Who
        // reads the connection next finds it.
        if let Ok(id) = self.connection.send_with(request, self.terminal.lend()) {
            self.terminal_owner = TerminalOwner::Offered(id);
        }
        Ok(())
    }

    /// Handles an answer: to the offer, or a sign of life.
    pub(super) fn heed_answer(&mut self, answer: &Answer) -> Result<(), ClientError> {
        if self.terminal_owner != TerminalOwner::Offered(answer.id) {
            return self.note_answer(answer.id);
        }
        self.unshown.clear();
        match answer.outcome {
            Outcome::Ok(_) => {
                self.terminal_owner = TerminalOwner::Daemon;
                self.keys.forget_undecided();
            }
            Outcome::Error(_) => {
                self.terminal_owner = TerminalOwner::Us;
                self.give_back()?;
                // What was sent to us meanwhile was not shown.
                self.ask(View::Repaint(Empty {}))?;
            }
        }
        Ok(())
    }

    /// Waits until the daemon has released the terminal: it does so when it sees that we send nothing more,
    /// and closes the terminal before the connection. A daemon that was silent already is not waited for: it
    /// leaves a terminal alone that is not raw.
    pub(super) fn take_terminal_back(&mut self) {
        if std::mem::replace(&mut self.terminal_owner, TerminalOwner::Us) == TerminalOwner::Us
            || self.is_seized()
        {
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
            // Only what must be undone still matters.
            while let Ok(Some(incoming)) = self.connection.next_arrived() {
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
