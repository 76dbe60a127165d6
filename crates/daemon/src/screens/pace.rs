//! Decides when a run's ring is checked: at once for a keystroke's echo, in batches for a flood.
//!
//! A child that floods moves the ring's end some 20,000 times a second, 4 KiB at a time. Waking for each
//! costs context switches on both sides; checking once a millisecond avoids them (its share of the speed was
//! not measured alone). A person does not notice: the first bytes after quiet are always handled at once.

use std::time::{Duration, Instant};

/// The time between two checks of a flooding run.
const BATCH: Duration = Duration::from_millis(1);
/// More than this in one batch time is a flood. A keystroke's echo or a TUI's frame is far less.
const FLOOD_BYTES: usize = 24 * 1024;

/// The pace of one run.
#[derive(Debug)]
pub(crate) struct Pace {
    window_start: Instant,
    window_bytes: usize,
    look_at: Option<Instant>,
    flood: Flood,
}

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self { window_start: now, window_bytes: 0, look_at: None, flood: Flood::default() }
    }

    /// Records handled bytes; returns true to wait a moment before the next check instead of asking for a
    /// wake-up.
    pub(crate) fn took(&mut self, bytes: usize, now: Instant) -> bool {
        if now.duration_since(self.window_start) > BATCH * 2 {
            self.window_start = now;
            self.window_bytes = 0;
        }
        self.window_bytes += bytes;
        let is_flood = self.window_bytes > FLOOD_BYTES;
        self.look_at = is_flood.then(|| now + BATCH);
        if is_flood {
            self.window_start = now;
            self.window_bytes = bytes.min(FLOOD_BYTES);
        }
        self.flood.note_look(is_flood, now);
        is_flood
    }

    /// Returns when to check again without a wake-up.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.look_at
    }

    /// Records a check.
    pub(crate) fn looked(&mut self) {
        self.look_at = None;
    }

    /// Records that a check found nothing.
    pub(crate) fn found_nothing(&mut self, now: Instant) {
        self.flood.note_look(false, now);
    }

    /// Returns true if the run floods.
    pub(crate) fn flood(&self) -> &Flood {
        &self.flood
    }
}

/// A flood that has lasted this long is skimmed: viewers get repaints instead of every byte. It is some two
/// megabytes by then; before that every byte is drawn, by the thread that has to read the flood.
const SKIM_AFTER: Duration = Duration::from_millis(20);
/// A flood is over after this long without one: a child that is not scheduled for a moment has not stopped.
const CALM: Duration = Duration::from_millis(20);

/// Whether a run floods, and since when.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    since: Option<Instant>,
    last: Option<Instant>,
}

impl Flood {
    /// Records the result of one check.
    fn note_look(&mut self, is_flood: bool, now: Instant) {
        if is_flood {
            self.since.get_or_insert(now);
            self.last = Some(now);
        } else if self.last.is_none_or(|last| now.duration_since(last) > CALM) {
            self.since = None;
        }
    }

    /// Returns true during a flood.
    pub(crate) fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// Returns true if it has lasted so long that every byte would only be drawn to be scrolled away.
    pub(crate) fn has_lasted(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) > SKIM_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_survives_a_pause_of_its_child_and_ends_with_calm() {
        let (mut flood, start) = (Flood::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        flood.note_look(true, at(0));
        flood.note_look(false, at(10));
        flood.note_look(true, at(15));
        assert!(!flood.has_lasted(at(20)));
        flood.note_look(true, at(59));
        flood.note_look(false, at(70));
        assert!(flood.has_lasted(at(70)) && flood.is_on());
        flood.note_look(false, at(80));
        assert!(!flood.has_lasted(at(200)) && !flood.is_on());
    }

    #[test]
    fn an_echo_is_never_batched_and_a_flood_is() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        assert!(!pace.took(1, start));
        assert!(!pace.took(4096, start + Duration::from_millis(50)));
        let now = start + Duration::from_millis(100);
        assert!((0..8).any(|_| pace.took(4096, now)));
        assert_eq!(pace.due(), Some(now + BATCH));
        assert!(!pace.took(10, now + Duration::from_millis(40)));
    }
}
