//! When a picture is drawn: echo at once, the first change after a rest at once, floods at a pace. Pure; the caller has
//! the clock.

use std::time::{Duration, Instant};

/// Least time between two pictures that are no echo.
const FRAME: Duration = Duration::from_millis(16);
/// Least time between two pictures of the echo of one key.
const ECHO_FRAME: Duration = Duration::from_millis(4);
/// A change so soon after a key is its echo.
const ECHO_WINDOW: Duration = Duration::from_millis(100);
/// A change of more rows is no echo.
const ECHO_ROWS: usize = 8;

/// What changed since the last picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Rows of the focused pane.
    pub(crate) focused_rows: usize,
    /// Something else, which the person does not wait for.
    pub(crate) elsewhere: bool,
    /// The person did something to the deck itself.
    pub(crate) chrome: bool,
}

impl Change {
    pub(crate) fn is_any(self) -> bool {
        self.chrome || self.elsewhere || self.focused_rows > 0
    }

    /// Returns true if it is one row of the program that has the keyboard.
    pub(crate) fn is_row(self) -> bool {
        self == Self { focused_rows: 1, ..Self::default() }
    }
}

/// When the last picture and the last key were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    drawn_at: Option<Instant>,
    typed_at: Option<Instant>,
    /// No picture had the echo of the last key yet.
    owes_echo: bool,
}

impl Pace {
    pub(crate) fn typed(&mut self, now: Instant) {
        (self.typed_at, self.owes_echo) = (Some(now), true);
    }

    /// Notes that a picture has this change.
    pub(crate) fn drawn(&mut self, change: Change, now: Instant) {
        self.owes_echo &= !self.is_echo(change, now);
        self.drawn_at = Some(now);
    }

    /// When to draw a change: now, or at the returned moment.
    pub(crate) fn due(&self, change: Change, now: Instant) -> Instant {
        let Some(drawn_at) = self.drawn_at else { return now };
        let is_echo = self.is_echo(change, now);
        // Each key is worth one picture at once, however soon after the last.
        if is_echo && self.owes_echo {
            return now;
        }
        (drawn_at + if is_echo { ECHO_FRAME } else { FRAME }).max(now)
    }

    fn is_echo(&self, change: Change, now: Instant) -> bool {
        let is_soon = self.typed_at.is_some_and(|typed| now.saturating_duration_since(typed) < ECHO_WINDOW);
        is_soon && (change.chrome || (1..=ECHO_ROWS).contains(&change.focused_rows))
    }
}

/// A program that has read nothing for so long is not waited for: keys of the deck may be behind what was typed for it.
const STALL: Duration = Duration::from_millis(500);
/// Most bytes that are kept for such a program; what is beyond them stays in the terminal, and with it every key behind it.
const READ_AHEAD_MAX: usize = 16 << 20; // 16 MiB

/// What waits for a program that does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// It takes no more for now.
    pub(crate) is_full: bool,
    pub(crate) bytes: usize,
    /// How many bytes went to it so far.
    pub(crate) sent: u64,
}

/// When keys are read although the program that gets them is full. A program that reads slowly makes the terminal wait; one
/// that does not read at all must not keep the prefix from the deck.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadAhead {
    /// How many bytes had gone when it was full first, and when that was.
    stalled: Option<(u64, Instant)>,
}

impl ReadAhead {
    /// From when on keys are read; none while there is no room for what may come.
    pub(crate) fn keys_from(&mut self, waiting: Waiting, now: Instant) -> Option<Instant> {
        if !waiting.is_full {
            self.stalled = None;
            return Some(now);
        }
        let stalled = self.stalled.filter(|(sent, _)| *sent == waiting.sent);
        let (_, since) = *self.stalled.insert(stalled.unwrap_or((waiting.sent, now)));
        (waiting.bytes < READ_AHEAD_MAX).then_some(since + STALL)
    }
}

/// Least time between two sizes of one process: a border that is dragged must not make it draw without end.
const SIZE_PAUSE: Duration = Duration::from_millis(20);

/// When a pane had its last size, and when it takes one that came too soon.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SizePace {
    sized_at: Option<Instant>,
    due: Option<Instant>,
}

impl SizePace {
    /// Returns true if another size is taken now. One that is not is due later.
    pub(crate) fn admits(&mut self, is_other: bool, now: Instant) -> bool {
        let next = self.sized_at.map(|at| at + SIZE_PAUSE).filter(|next| *next > now);
        self.due = next.filter(|_| is_other);
        let is_admitted = is_other && next.is_none();
        if is_admitted {
            self.sized_at = Some(now);
        }
        is_admitted
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Change = Change { focused_rows: 1, elsewhere: false, chrome: false };
    const FLOOD: Change = Change { focused_rows: 50, elsewhere: true, chrome: false };

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn u1_echo_is_drawn_at_once_and_the_first_change_after_a_rest_too() {
        let start = Instant::now();
        let mut pace = Pace::default();
        assert_eq!(pace.due(FLOOD, start), start);
        pace.drawn(FLOOD, start);
        pace.typed(start + ms(1));
        assert_eq!(pace.due(ROW, start + ms(2)), start + ms(2));
        pace.drawn(ROW, start + ms(2));
        assert_eq!(pace.due(ROW, start + ms(3)), start + ms(6));
        assert_eq!(pace.due(FLOOD, start + ms(40)), start + ms(40));
    }

    #[test]
    fn u1_an_event_between_a_key_and_its_echo_does_not_make_the_echo_wait() {
        let start = Instant::now();
        let event = Change { focused_rows: 0, elsewhere: true, chrome: false };
        let mut pace = Pace::default();
        pace.drawn(FLOOD, start);
        pace.typed(start + ms(20));
        assert_eq!(pace.due(event, start + ms(21)), start + ms(21), "the first change after a rest");
        pace.drawn(event, start + ms(21));
        assert_eq!(pace.due(ROW, start + ms(22)), start + ms(22));
        pace.drawn(ROW, start + ms(22));
        assert_eq!(pace.due(ROW, start + ms(23)), start + ms(26), "one picture for each key");
    }

    #[test]
    fn u22_a_storm_of_sizes_reaches_a_process_at_most_fifty_times_a_second_and_the_last_one_always() {
        let start = Instant::now();
        let mut pace = SizePace::default();
        let taken = (0..1_000).filter(|step| pace.admits(true, start + ms(*step))).count();
        assert!(taken <= 51, "{taken}");
        let last = start + ms(999);
        let due = pace.due().unwrap_or(last);
        assert!(due <= last + SIZE_PAUSE && pace.admits(true, due.max(last + SIZE_PAUSE)));
        assert!(!pace.admits(false, due + ms(100)) && pace.due().is_none());
    }

    #[test]
    fn u3_a_flood_is_drawn_at_most_sixty_times_a_second() {
        let start = Instant::now();
        let mut pace = Pace::default();
        let mut drawn = 0;
        for step in 0..10_000u64 {
            let now = start + Duration::from_micros(step * 100);
            if pace.due(FLOOD, now) <= now {
                pace.drawn(FLOOD, now);
                drawn += 1;
            }
        }
        assert!((60..=63).contains(&drawn), "{drawn}");
    }

    #[test]
    fn a_program_that_reads_slowly_makes_the_terminal_wait_and_one_that_does_not_read_keeps_no_key_back() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let full = |bytes: usize, sent| Waiting { is_full: true, bytes, sent };
        let mut ahead = ReadAhead::default();
        assert_eq!(ahead.keys_from(Waiting { is_full: false, bytes: 9, sent: 0 }, at(0)), Some(at(0)));
        for step in 1..20 {
            let from = ahead.keys_from(full(2 << 20, step), at(step * 100));
            assert!(from.is_some_and(|from| from > at(step * 100)), "it reads: {step}");
        }
        assert_eq!(ahead.keys_from(full(2 << 20, 19), at(2_000)), Some(at(2_400)));
        assert!(ahead.keys_from(full(3 << 20, 19), at(2_400)).is_some_and(|from| from <= at(2_400)));
        assert_eq!(ahead.keys_from(full(READ_AHEAD_MAX, 19), at(9_000)), None, "the memory has a bound");
        assert!(ahead.keys_from(full(1 << 20, 20), at(9_100)).is_some_and(|from| from > at(9_100)));
    }
}
