//! The time limit of a synchronized update (mode 2026): one that does not end is shown as it is.

use std::time::{Duration, Instant};

/// How long an update may be held back.
const SYNC: Duration = Duration::from_millis(150);

/// The update of one screen.
#[derive(Debug, Default)]
pub(super) struct SyncLimit {
    due: Option<Instant>,
}

impl SyncLimit {
    /// Records whether the screen holds an update back; its limit counts from the beginning.
    pub(super) fn update(&mut self, is_synchronizing: bool, now: Instant) {
        self.due = is_synchronizing.then(|| self.due.unwrap_or(now + SYNC));
    }

    /// Ends the limit.
    pub(super) fn forget(&mut self) {
        self.due = None;
    }

    /// Returns when the update is shown as it is.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns true, once, when the update has taken too long.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_during_an_update_does_not_extend_it() {
        let (mut limit, now) = (SyncLimit::default(), Instant::now());
        limit.update(true, now);
        limit.update(true, now + SYNC / 2);
        assert_eq!(limit.due(), Some(now + SYNC));
        assert!(!limit.is_over(now + SYNC / 2) && limit.is_over(now + SYNC));
        assert!(!limit.is_over(now + SYNC), "it is shown once");
        limit.update(true, now);
        limit.update(false, now);
        assert_eq!(limit.due(), None);
    }
}
