//! When Enter may follow a paste: once the screen has been unchanged for a while, and at the latest after a limit. A
//! program may take an Enter that comes earlier for a part of the paste.

use std::time::{Duration, Instant};

/// The default time for which the screen must be unchanged. A manifest's own time counts only for messages.
pub(crate) const SETTLE: Duration = Duration::from_millis(agents::deliver::LEAST_SETTLE_MS);
/// The longest wait for a message: a screen that never stands still has long shown the paste.
pub(super) const MESSAGE_LIMIT: Duration = Duration::from_secs(5);
/// The longest wait for a call that types; shorter, because a caller waits for the reply.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(2);

/// The wait for a screen that stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settle {
    quiet: Duration,
    latest: Instant,
    /// Grows with what is shown.
    mark: u64,
    still_since: Instant,
    /// False while a paste that will be visible is not yet: a busy program may leave its screen unchanged for longer than
    /// the quiet time before it has even read the paste.
    is_shown: bool,
}

impl Settle {
    /// Begins with the present mark of the screen.
    pub(crate) fn begin(mark: u64, quiet: Duration, limit: Duration, now: Instant) -> Self {
        Self { quiet, latest: now + limit, mark, still_since: now, is_shown: true }
    }

    /// Waits until the paste is visible, too.
    pub(super) fn until_shown(self) -> Self {
        Self { is_shown: false, ..self }
    }

    /// Returns true while the paste has to become visible.
    pub(super) fn is_hidden(&self) -> bool {
        !self.is_shown
    }

    /// Notes that the paste is visible.
    pub(super) fn shown(&mut self) {
        self.is_shown = true;
    }

    /// Notes the present mark of the screen.
    pub(crate) fn observe(&mut self, mark: u64, now: Instant) {
        if self.mark != mark {
            (self.mark, self.still_since) = (mark, now);
        }
    }

    /// Returns true if Enter may be pressed.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.due()
    }

    /// Returns when that is if nothing changes.
    pub(crate) fn due(&self) -> Instant {
        if self.is_shown { self.latest.min(self.still_since + self.quiet) } else { self.latest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_millis(100);

    #[test]
    fn every_change_begins_the_quiet_time_anew_until_the_limit() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut settle = Settle::begin(1, QUIET, Duration::from_millis(250), start);
        assert!(!settle.is_over(at(99)) && settle.is_over(at(100)));
        settle.observe(1, at(50));
        assert_eq!(settle.due(), at(100), "the same mark is no change");
        settle.observe(2, at(90));
        assert_eq!(settle.due(), at(190));
        settle.observe(3, at(180));
        assert_eq!(settle.due(), at(250), "the limit");
    }

    #[test]
    fn a_paste_that_will_be_visible_is_waited_for() {
        let start = Instant::now();
        let mut settle = Settle::begin(1, QUIET, Duration::from_secs(5), start).until_shown();
        assert!(settle.is_hidden() && !settle.is_over(start + Duration::from_secs(4)));
        settle.shown();
        assert!(settle.is_over(start + QUIET));
    }
}
