//! How soon a failed command starts again, and when it is given up.
//!
//! The pause is 1 s and doubles up to 60 s. After five starts within a minute the command is given up, also if several
//! daemons made those starts.

use serde::{Deserialize, Serialize};

const FIRST_MS: u64 = 1_000;
const LAST_MS: u64 = 60_000;
const WINDOW_MS: u64 = 60_000;
const STARTS_PER_WINDOW: usize = 5;
/// A run that lived this long counts as healthy: the next failure starts from the first delay again.
const HEALTHY_MS: u64 = 60_000;

/// What to do about a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartDecision {
    /// Start it at this moment.
    StartAt(u64),
    /// Leave it for a person.
    Park,
}

/// The recent starts of one command. It is written down with its process: otherwise every new daemon would begin to count
/// at nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backoff {
    /// On the uptime clock, oldest first, no more than may be in one window.
    starts: Vec<u64>,
    /// What the last failure had to wait; 0: there was none.
    delay_ms: u64,
}

impl Backoff {
    /// Returns true if there is nothing to write down.
    pub(crate) fn is_fresh(&self) -> bool {
        *self == Self::default()
    }

    /// A run has started.
    pub(crate) fn started(&mut self, now: u64) {
        self.starts.retain(|start| is_recent(*start, now));
        if self.starts.len() >= STARTS_PER_WINDOW {
            self.starts.remove(0);
        }
        self.starts.push(now);
    }

    /// In how many milliseconds a run that fails now would be started again; none: it would be given up.
    pub(crate) fn delay_after_failure(&self, now: u64) -> Option<u64> {
        match self.clone().failed(now) {
            RestartDecision::StartAt(at) => Some(at.saturating_sub(now)),
            RestartDecision::Park => None,
        }
    }

    /// A run has failed.
    pub(crate) fn failed(&mut self, now: u64) -> RestartDecision {
        let lived = self.starts.last().map_or(0, |start| now.saturating_sub(*start));
        if lived >= HEALTHY_MS {
            *self = Self::default();
        }
        let recent = self.starts.iter().filter(|start| is_recent(**start, now)).count();
        if recent >= STARTS_PER_WINDOW {
            return RestartDecision::Park;
        }
        self.delay_ms = self.delay_ms.saturating_mul(2).clamp(FIRST_MS, LAST_MS);
        RestartDecision::StartAt(now + self.delay_ms)
    }
}

/// Returns true if a start counts. One that lies ahead was counted before the machine was started again.
fn is_recent(start: u64, now: u64) -> bool {
    now.checked_sub(start).is_some_and(|age| age < WINDOW_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f10_a_crash_loop_starts_at_most_five_times_a_minute_then_parks() {
        let (mut backoff, mut now, mut starts) = (Backoff::default(), 0, 0);
        loop {
            backoff.started(now);
            starts += 1;
            match backoff.failed(now) {
                RestartDecision::StartAt(at) => now = at,
                RestartDecision::Park => break,
            }
        }
        assert_eq!((starts, now), (5, 15_000));
    }

    #[test]
    fn f10_starts_before_a_new_boot_do_not_count() {
        let mut backoff = Backoff::default();
        (0..5).for_each(|n| backoff.started(900_000 + n));
        assert_eq!(backoff.failed(900_010), RestartDecision::Park);
        backoff.started(20);
        assert!(matches!(backoff.failed(30), RestartDecision::StartAt(_)));
    }

    #[test]
    fn a_healthy_run_resets_the_delay() {
        let mut backoff = Backoff::default();
        backoff.started(0);
        assert_eq!(backoff.failed(10), RestartDecision::StartAt(1_010));
        backoff.started(1_010);
        assert_eq!(backoff.failed(100_000), RestartDecision::StartAt(101_000));
    }
}
