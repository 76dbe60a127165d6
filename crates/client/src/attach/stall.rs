//! A daemon that has the terminal and does nothing: stopped, stuck, or on a machine that drowns.
//!
//! Owns noticing it, and reading the keys in its place, so that the detach keys work. Refuses timers while nobody types,
//! and being woken by every key: one key in half a second is looked after. Refuses losing or reordering keys: a daemon
//! leaves a terminal alone that is not raw, and what is read here reaches it before it has the terminal again.

use std::time::{Duration, Instant};

use proto::request::{Empty, View};

use super::handoff::TerminalOwner;
use super::session::Session;
use crate::ClientError;

/// How long a key may lie in a terminal that the daemon has.
const UNREAD: Duration = Duration::from_millis(500);
/// How long a daemon may take to give a sign of life.
const SIGN: Duration = Duration::from_millis(500);

/// What is known about a daemon that has the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Watch {
    /// Nothing was typed since somebody read all there was.
    #[default]
    Resting,
    /// Something was typed: whether it has been read is looked at then.
    Typed(Instant),
    /// It was not read, and the daemon has until then to answer the call with this id.
    Asked(u64, Instant),
    /// It did not: this process reads the keys until the call with this id is answered.
    Seized(u64),
}

impl Session<'_> {
    /// Whether what is typed is to be read here.
    pub(super) fn reads_keys(&self) -> bool {
        self.keeper == TerminalOwner::Us || self.is_seized()
    }

    /// Whether the keys of a terminal that the daemon has are read here.
    pub(super) fn is_seized(&self) -> bool {
        matches!(self.watch, Watch::Seized(_))
    }

    /// When the daemon is looked after again.
    pub(super) fn watch_due(&self) -> Option<Instant> {
        match self.watch {
            Watch::Typed(due) | Watch::Asked(_, due) => Some(due),
            Watch::Resting | Watch::Seized(_) => None,
        }
    }

    /// Something was typed on the terminal that the daemon has.
    pub(super) fn note_typed(&mut self) {
        if self.watch == Watch::Resting {
            self.watch = Watch::Typed(Instant::now() + UNREAD);
        }
    }

    /// Looks after the daemon, if that is due.
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

    /// The daemon has answered a call. One that holds keys back, because its child does not take those before them, lives.
    pub(super) fn note_answer(&mut self, call: u64) -> Result<(), ClientError> {
        match self.watch {
            Watch::Asked(asked, _) if asked == call => self.watch = Watch::Typed(Instant::now() + 2 * UNREAD),
            Watch::Seized(asked) if asked == call => return self.hand_back(),
            _ => {}
        }
        Ok(())
    }

    /// Lets the daemon have the terminal again, once it has all that was read in its place: it would read what is typed
    /// next before that.
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

    /// The terminal is the daemon's again, or nobody's who could be silent.
    pub(super) fn give_back(&mut self) -> Result<(), ClientError> {
        if self.is_seized() {
            self.terminal.seize(false).map_err(ClientError::Broken)?;
        }
        self.watch = Watch::Resting;
        Ok(())
    }
}
