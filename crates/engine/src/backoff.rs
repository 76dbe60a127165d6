//! How soon a failed command starts again, and when it is given up.
//!
//! Owns the arithmetic: 1 s doubling to 60 s, at most five starts a minute, then parked. Refuses starting anything.

const FIRST_MS: u64 = 1_000;
const LAST_MS: u64 = 60_000;
const WINDOW_MS: u64 = 60_000;
const STARTS_PER_WINDOW: usize = 5;
/// A run that lived this long counts as healthy: the next failure starts from the first delay again.
const HEALTHY_MS: u64 = 60_000;

/// What to do about a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Start it at this moment.
    StartAt(u64),
    /// Leave it for a person.
    Park,
}

/// The recent starts of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    starts: Vec<u64>,
    delay_ms: u64,
}

impl Backoff {
    /// A run has started.
    pub(crate) fn started(&mut self, now: u64) {
        self.starts.retain(|start| now.saturating_sub(*start) < WINDOW_MS);
        self.starts.push(now);
    }

    /// A run has failed.
    pub(crate) fn failed(&mut self, now: u64) -> Verdict {
        let lived = self.starts.last().map_or(0, |start| now.saturating_sub(*start));
        if lived >= HEALTHY_MS {
            *self = Self::default();
        }
        let recent = self.starts.iter().filter(|start| now.saturating_sub(**start) < WINDOW_MS).count();
        if recent >= STARTS_PER_WINDOW {
            return Verdict::Park;
        }
        self.delay_ms = (self.delay_ms * 2).clamp(FIRST_MS, LAST_MS);
        Verdict::StartAt(now + self.delay_ms)
    }
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
                Verdict::StartAt(at) => now = at,
                Verdict::Park => break,
            }
        }
        assert_eq!((starts, now), (5, 15_000));
    }

    #[test]
    fn a_healthy_run_resets_the_delay() {
        let mut backoff = Backoff::default();
        backoff.started(0);
        assert_eq!(backoff.failed(10), Verdict::StartAt(1_010));
        backoff.started(1_010);
        assert_eq!(backoff.failed(100_000), Verdict::StartAt(101_000));
    }
}
