//! When a holder that keeps an ended run may leave by itself: when nobody can find it any more. It knows nothing of
//! running children: those are never given up.
//!
//! The directory of the sockets may be emptied under us, by a logout or by hand. A holder whose child is over and whose
//! socket is gone can never be adopted, and would stay for ever.

use std::time::{Duration, Instant};

/// How often an ended run without a daemon looks for its own socket. Nothing announces its removal to us.
const LOOK: Duration = Duration::from_secs(30);

/// The looks of one holder.
#[derive(Debug, Default)]
pub(crate) struct OrphanExit {
    look_at: Option<Instant>,
}

impl OrphanExit {
    /// Whether to leave: the run is over, no daemon is linked, and the socket is gone.
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

    /// When to look again.
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
