//! Counts the cost of operations, so that a worker can give each of its screens the same share: three bytes
//! may clear a million cells, and a million bytes may be a million cheap letters.
//!
//! A unit is about what one byte of ordinary text costs. Estimates err upwards: an operation may cost less
//! than is counted for it, but never many times more.

use rio_vt::crosswords::grid::Dimensions;

use super::terminal::Terminal;

/// A character that is handled by itself: its width, and what it joins.
pub(super) const SLOW_CHARACTER: u64 = 16;
/// Copying a title.
pub(super) const TITLE: u64 = 512;
/// Resetting everything but text.
pub(super) const SOFT_RESET: u64 = 32;
/// Cells filled by one unit.
const CELLS: usize = 8;
/// Cells that move within their row, one by one.
const MOVED_CELLS: usize = 2;
/// A row that is moved or scanned as a whole.
const ROW: u64 = 2;
/// Looking up a mark or a link.
const EXTRAS: u64 = 32;
/// After this many new marks and links the emulator scans every cell for unused ones.
const EXTRAS_CADENCE: usize = 4096;

fn units(amount: usize) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}

impl Terminal {
    #[inline]
    pub(super) fn spend(&mut self, units: u64) {
        self.work = self.work.saturating_add(units);
    }

    /// Counts one filled row.
    #[inline]
    pub(super) fn spend_row(&mut self) {
        self.spend(units(self.inner.grid.columns() / CELLS));
    }

    /// Counts one row whose cells move.
    pub(super) fn spend_moved_row(&mut self) {
        self.spend(units(self.inner.grid.columns() / MOVED_CELLS));
    }

    /// Counts rows that may move, and how many of them are filled.
    pub(super) fn spend_rows(&mut self, moved: usize, filled: usize) {
        let cells = moved.min(filled) * self.inner.grid.columns();
        self.spend(units(self.inner.grid.screen_lines()) * ROW + units(cells / CELLS));
    }

    /// Counts lines that may scroll in a region that is a part of the screen.
    pub(super) fn spend_region(&mut self, lines: usize) {
        let row = self.inner.grid.cursor.pos.row.0;
        if row + i32::try_from(lines).unwrap_or(i32::MAX) >= self.region.1 as i32 {
            self.spend(units(lines) * units(self.inner.grid.screen_lines()) * ROW);
        }
    }

    /// Counts a line feed.
    #[inline]
    pub(super) fn spend_line_feed(&mut self) {
        if self.inner.grid.cursor.pos.row.0 + 1 == self.region.1 as i32 {
            self.spend_row();
            if self.region_is_part {
                self.spend(units(self.inner.grid.screen_lines()) * ROW);
            }
        }
    }

    /// Returns true if the next wide character goes to the row below.
    pub(super) fn is_at_edge(&self) -> bool {
        self.inner.grid.cursor.pos.col.0 + 2 > self.inner.grid.columns()
    }

    /// Counts grids that may be filled.
    pub(super) fn spend_screens(&mut self, number: usize) {
        let (rows, cols) = (self.inner.grid.screen_lines(), self.inner.grid.columns());
        self.spend(units(number) * (units(rows) * ROW + units(rows * cols / CELLS)));
    }

    /// Counts the lookup of a mark or a link, with its share of the occasional scan of the whole grid.
    pub(super) fn spend_extras(&mut self) {
        self.spend(EXTRAS + units(self.all_cells() / EXTRAS_CADENCE / CELLS));
    }

    fn all_cells(&self) -> usize {
        self.inner.grid.total_lines() * self.inner.grid.columns()
    }

    /// Sets the scroll region: its first row and the row after its last.
    pub(super) fn set_region(&mut self, top: usize, bottom: usize) {
        self.region = (top, bottom);
        self.region_is_part = top != 0 || bottom != self.inner.grid.screen_lines();
    }

    /// Returns true if a mark or a link may take an entry in the emulator's table. When every entry is in
    /// use, the emulator scans all history for each new one, so it may do that only as often as the stream
    /// has paid for it.
    pub(super) fn has_room_for_marks(&mut self) -> bool {
        if !self.inner.grid.extras_table.under_pressure() {
            return true;
        }
        let look = units(self.all_cells() / CELLS);
        let is_paid = self.work >= self.extras_swept_at.saturating_add(look);
        if is_paid {
            self.extras_swept_at = self.work;
            self.spend(look);
        }
        is_paid
    }
}
