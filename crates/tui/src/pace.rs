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
    /// Something else.
    pub(crate) elsewhere: bool,
    /// The person did something to the deck itself.
    pub(crate) chrome: bool,
}

/// When the last picture and the last key were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    drawn_at: Option<Instant>,
    typed_at: Option<Instant>,
}

impl Pace {
    pub(crate) fn typed(&mut self, now: Instant) {
        self.typed_at = Some(now);
    }

    pub(crate) fn drawn(&mut self, now: Instant) {
        self.drawn_at = Some(now);
    }

    /// When to draw a change: now, or at the returned moment.
    pub(crate) fn due(&self, change: Change, now: Instant) -> Instant {
        let Some(drawn_at) = self.drawn_at else { return now };
        let is_soon = self.typed_at.is_some_and(|typed| now.saturating_duration_since(typed) < ECHO_WINDOW);
        let is_echo = is_soon && (change.chrome || (1..=ECHO_ROWS).contains(&change.focused_rows));
        // Each key is worth one picture at once, however soon after the last.
        if is_echo && self.typed_at > self.drawn_at {
            return now;
        }
        (drawn_at + if is_echo { ECHO_FRAME } else { FRAME }).max(now)
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
        pace.drawn(start);
        pace.typed(start + ms(1));
        assert_eq!(pace.due(ROW, start + ms(2)), start + ms(2));
        pace.drawn(start + ms(2));
        assert_eq!(pace.due(ROW, start + ms(3)), start + ms(6));
        assert_eq!(pace.due(FLOOD, start + ms(40)), start + ms(40));
    }

    #[test]
    fn u3_a_flood_is_drawn_at_most_sixty_times_a_second() {
        let start = Instant::now();
        let mut pace = Pace::default();
        let mut drawn = 0;
        for step in 0..10_000u64 {
            let now = start + Duration::from_micros(step * 100);
            if pace.due(FLOOD, now) <= now {
                pace.drawn(now);
                drawn += 1;
            }
        }
        assert!((60..=63).contains(&drawn), "{drawn}");
    }
}
