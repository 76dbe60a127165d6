//! The scroll region: the rows between the margins, and where a cursor that moves by rows stops.

/// The rows that scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScrollRegion {
    top: usize,
    bottom: usize,
    is_part: bool,
}

impl ScrollRegion {
    /// Returns the region of these rows; `bottom` is the row after the last, `rows` the height of the screen.
    pub(super) fn new(top: usize, bottom: usize, rows: usize) -> ScrollRegion {
        ScrollRegion { top, bottom, is_part: top != 0 || bottom != rows }
    }

    /// Returns the region of a screen without margins.
    pub(super) fn whole(rows: usize) -> ScrollRegion {
        ScrollRegion::new(0, rows, rows)
    }

    /// Returns the first row.
    #[inline]
    pub(super) fn top(self) -> usize {
        self.top
    }

    /// Returns the row after the last.
    #[inline]
    pub(super) fn bottom(self) -> usize {
        self.bottom
    }

    /// Returns how many rows it has.
    #[inline]
    pub(super) fn height(self) -> usize {
        self.bottom - self.top
    }

    /// Returns true if it is not the whole screen: then each line that scrolls costs as many rows as it has.
    #[inline]
    pub(super) fn is_part(self) -> bool {
        self.is_part
    }

    /// Returns true for its last row, where a line feed scrolls.
    #[inline]
    pub(super) fn ends_with(self, row: i32) -> bool {
        row + 1 == self.bottom as i32
    }

    /// Returns true if the row is inside.
    #[inline]
    pub(super) fn contains(self, row: i32) -> bool {
        (self.top as i32..self.bottom as i32).contains(&row)
    }

    /// Returns the nearest row inside.
    #[inline]
    pub(super) fn clamp(self, row: i32) -> i32 {
        row.clamp(self.top as i32, self.bottom as i32 - 1)
    }

    /// Returns the row that a move by `delta` rows ends in. A margin stops a cursor that comes from inside
    /// the region; the edge of the screen stops any other.
    #[inline]
    pub(super) fn row_after(self, row: i32, delta: i32, last_row: i32) -> i32 {
        let (top, bottom) = (self.top as i32, self.bottom as i32 - 1);
        let first = if row >= top { top } else { 0 };
        let last = if row <= bottom { bottom } else { last_row };
        match delta {
            ..0 => (row + delta).max(first),
            0.. => (row + delta).min(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_stops_a_cursor_from_inside_and_the_edge_any_other() {
        let region = ScrollRegion::new(5, 10, 24);
        let moved = |row, delta| region.row_after(row, delta, 23);
        assert_eq!((moved(7, -100), moved(7, 100)), (5, 9));
        assert_eq!((moved(2, -100), moved(2, 100)), (0, 9), "above the region");
        assert_eq!((moved(20, -100), moved(20, 100)), (5, 23), "below the region");
        assert_eq!((moved(9, -1), moved(9, 0)), (8, 9));
    }

    #[test]
    fn only_a_part_of_the_screen_is_a_part() {
        assert!(!ScrollRegion::whole(24).is_part() && !ScrollRegion::new(0, 24, 24).is_part());
        assert!(ScrollRegion::new(1, 24, 24).is_part() && ScrollRegion::new(0, 23, 24).is_part());
    }

    #[test]
    fn rows_outside_come_to_the_nearest_margin() {
        let region = ScrollRegion::new(5, 10, 24);
        assert_eq!([0, 5, 7, 9, 10].map(|row| region.clamp(row)), [5, 5, 7, 9, 9]);
        assert_eq!([4, 5, 9, 10].map(|row| region.contains(row)), [false, true, true, false]);
        assert!(region.ends_with(9) && !region.ends_with(8) && region.height() == 5);
    }
}
