//! The size of a run's terminal, and the next one: a storm of sizes is coalesced.

use std::time::{Duration, Instant};

use proto::Size;

/// The shortest time between two resizes of the terminal; the first and the last always happen.
const RESIZE: Duration = Duration::from_millis(16);

/// The size of one terminal.
#[derive(Debug)]
pub(super) struct TerminalSize {
    size: Size,
    wanted: Option<Size>,
    /// When the next size may be applied.
    free_at: Instant,
}

impl TerminalSize {
    pub(super) fn new(size: Size, now: Instant) -> Self {
        Self { size, wanted: None, free_at: now }
    }

    /// Returns the size now.
    pub(super) fn get(&self) -> Size {
        self.size
    }

    /// Returns the size now in cells, within what a screen can have.
    pub(super) fn grid(&self) -> term::GridSize {
        term::GridSize::clamped(self.size.cols.into(), self.size.rows.into())
    }

    /// Requests another size in place of an earlier request.
    pub(super) fn want(&mut self, size: Size) {
        self.wanted = (size != self.size).then_some(size);
    }

    /// Returns the requested size and makes it the size now, unless the last change is too recent.
    pub(super) fn take(&mut self, now: Instant) -> Option<Size> {
        let size = self.wanted.take_if(|_| self.free_at <= now)?;
        (self.size, self.free_at) = (size, now + RESIZE);
        Some(size)
    }

    /// Returns when a requested size may be applied.
    pub(super) fn due(&self) -> Option<Instant> {
        self.wanted.map(|_| self.free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_size_of_a_storm_is_applied_at_once_and_the_last_one_soon() {
        let sizes = [80, 90, 100, 110].map(|cols| Size { cols, rows: 24 });
        let now = Instant::now();
        let mut size = TerminalSize::new(sizes[0], now);
        assert_eq!((size.take(now), size.due()), (None, None));
        size.want(sizes[1]);
        assert_eq!(size.take(now), Some(sizes[1]));
        size.want(sizes[2]);
        size.want(sizes[3]);
        assert_eq!((size.take(now), size.due()), (None, Some(now + RESIZE)));
        assert_eq!(size.take(now + RESIZE), Some(sizes[3]));
        assert_eq!((size.get(), size.due()), (sizes[3], None));
    }

    #[test]
    fn a_request_for_the_size_there_is_ends_an_earlier_one() {
        let (small, large) = (Size { cols: 80, rows: 24 }, Size { cols: 90, rows: 24 });
        let mut size = TerminalSize::new(small, Instant::now());
        size.want(large);
        size.want(small);
        assert_eq!(size.due(), None);
    }
}
