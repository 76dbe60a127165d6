//! Detects a daemon that has the terminal and does nothing (stopped, stuck, or on an overloaded machine), and
//! reads the keys in its place, so that the detach keys work.
//!
//! There is no timer while nothing is typed, and not every key wakes this process: one key in half a second
//! is checked. Keys are neither lost nor reordered: a daemon leaves a terminal alone that is not raw, and the
//! keys read here are sent to it before it gets the terminal again.

use std::time::{Duration, Instant};

use proto::request::{Empty, View};

use super::handoff::TerminalOwner;
use super::session::Session;
use crate::ClientError;

/// How long a key may stay unread in a terminal that the daemon has.
const UNREAD: Duration = Duration::from_millis(500);
/// How long a daemon may take to give a sign of life.
const SIGN: Duration = Duration::from_millis(500);

/// What is known about a daemon that has the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Watch {
    /// Nothing was typed since all input was read.
    #[default]
    Resting,
    /// Something was typed; at this time it is checked whether it was read.
    Typed(Instant),
    /// It was not read, and the daemon must answer the call with this id by this time.
    Asked(u64, Instant),
    /// It did not answer: this process reads the keys until the call with this id is answered.
    Seized(u64),
}

impl Session<'_> {
    /// Returns true if this process reads the keys.
    pub(super) fn reads_keys(&self) -> bool {
        self.terminal_owner == TerminalOwner::Us || self.is_seized()
    }

    /// Returns true if this process reads the keys of a terminal that the daemon has.
    pub(super) fn is_seized(&self) -> bool {
        matches!(self.watch, Watch::Seized(_))
    }

    /// Returns when the daemon is checked next.
    pub(super) fn watch_due(&self) -> Option<Instant> {
        match self.watch {
            Watch::Typed(due) | Watch::Asked(_, due) => Some(due),
            Watch::Resting | Watch::Seized(_) => None,
        }
    }

    /// Records that something was typed on the terminal that the daemon has.
    pub(super) fn note_typed(&mut self) {
        if self.watch == Watch::Resting {
            self.watch = Watch::Typed(Instant::now() + UNREAD);
        }
    }

    /// Checks the daemon, if that is due.
    pub(super) fn look_after_daemon(&mut self) -> Result<(), ClientError> {
        let now = Instant::now();
        if self.watch_due().is_none_or(|due| now < due) {
            return Ok(());
        }
        self.watch = match self.watch {
            _ if !self.terminal.has_unread() => Watch::Resting,
            Watch::Typed(_) => Watch::Asked(self.tell_size()?, now + SIGN),
            Watch::Asked(call, _) => {
                self.terminal.seize(true).map_err(ClientError::Broken)?;
                Watch::Seized(call)
            }
            other @ (Watch::Resting | Watch::Seized(_)) => other,
        };
        Ok(())
    }

    /// Records that the daemon has answered a call. A daemon that holds keys back, because its child does not
    /// read those before them, is alive.
    pub(super) fn note_answer(&mut self, call: u64) -> Result<(), ClientError> {
        match self.watch {
            Watch::Asked(asked, _) if asked == call => self.watch = Watch::Typed(Instant::now() + 2 * UNREAD),
            Watch::Seized(asked) if asked == call => return self.hand_back(),
            _ => {}
        }
        Ok(())
    }

    /// Lets the daemon have the terminal again once it has everything that was read in its place; otherwise
    /// it would read later keys first.
    fn hand_back(&mut self) -> Result<(), ClientError> {
        self.release_keys()?;
        if std::mem::take(&mut self.is_typed_for_daemon) {
            self.watch = Watch::Seized(self.tell_size()?);
            return Ok(());
        }
        self.give_back()?;
        self.ask(View::Repaint(Empty {}))?;
        Ok(())
    }

    /// Ends reading in the daemon's place.
    pub(super) fn give_back(&mut self) -> Result<(), ClientError> {
        if self.is_seized() {
            self.terminal.seize(false).map_err(ClientError::Broken)?;
        }
        self.watch = Watch::Resting;
        Ok(())
    }
}
