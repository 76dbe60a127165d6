//! Decides when a holder that keeps an ended run exits by itself: when no daemon can find it any more. A
//! holder with a running child never exits so.
//!
//! A logout or a person may empty the directory of the sockets. A holder whose child has ended and whose
//! socket is gone can never be adopted, and would stay for ever.

use std::time::{Duration, Instant};

/// How often an ended run without a daemon checks its own socket. No event announces its removal.
const LOOK: Duration = Duration::from_secs(30);

/// The checks of one holder.
#[derive(Debug, Default)]
pub(crate) struct OrphanExit {
    look_at: Option<Instant>,
}

impl OrphanExit {
    /// Returns true if the holder should exit: the run is over, no daemon is linked, and the socket is gone.
    pub(crate) fn is_certain(
        &mut self,
        is_waiting: bool,
        now: Instant,
        is_reachable: impl FnOnce() -> bool,
    ) -> bool {
        if !is_waiting {
            self.look_at = None;
            return false;
        }
        if self.look_at.is_some_and(|look_at| look_at > now) {
            return false;
        }
        self.look_at = Some(now + LOOK);
        !is_reachable()
    }

    /// Returns when to check again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.look_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ended_run_that_nobody_can_find_is_abandoned() {
        let (mut orphan_exit, now) = (OrphanExit::default(), Instant::now());
        assert!(!orphan_exit.is_certain(false, now, || false));
        assert_eq!(orphan_exit.deadline(), None);
        assert!(!orphan_exit.is_certain(true, now, || true));
        assert!(!orphan_exit.is_certain(true, now + LOOK / 2, || false), "it looks now and then, not always");
        assert!(orphan_exit.is_certain(true, now + LOOK, || false));
    }
}
