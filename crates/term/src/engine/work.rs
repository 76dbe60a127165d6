//! Counts the cost of operations, so that a worker can give each of its screens the same share: three bytes
//! may clear a million cells, and a million bytes may be a million cheap letters.
//!
//! A unit is about what one byte of ordinary text costs. Estimates err upwards: an operation may cost less
//! than is counted for it, but never many times more.

use rio_vt::crosswords::grid::{Dimensions, Grid};
use rio_vt::crosswords::square::Square;

use super::region::ScrollRegion;

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

/// The cost of everything that one terminal has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    spent: u64,
    /// The cost at the emulator's last sweep for marks and links that are no longer shown.
    swept_at: u64,
}

impl Work {
    /// Returns the cost so far.
    #[inline]
    pub(super) fn spent(self) -> u64 {
        self.spent
    }

    /// Returns the same cost for a terminal that begins anew.
    pub(super) fn carried_over(self) -> Work {
        Work { spent: self.spent, swept_at: 0 }
    }

    #[inline]
    pub(super) fn spend(&mut self, units: u64) {
        self.spent = self.spent.saturating_add(units);
    }

    /// Counts one filled row.
    #[inline]
    pub(super) fn row(&mut self, grid: &Grid<Square>) {
        self.spend(units(grid.columns() / CELLS));
    }

    /// Counts one row whose cells move.
    pub(super) fn moved_row(&mut self, grid: &Grid<Square>) {
        self.spend(units(grid.columns() / MOVED_CELLS));
    }

    /// Counts rows that may move, and how many of them are filled.
    pub(super) fn rows(&mut self, grid: &Grid<Square>, moved: usize, filled: usize) {
        let cells = moved.min(filled) * grid.columns();
        self.spend(units(grid.screen_lines()) * ROW + units(cells / CELLS));
    }

    /// Counts lines that may scroll in a region that is a part of the screen.
    pub(super) fn scrolled(&mut self, grid: &Grid<Square>, region: ScrollRegion, lines: usize) {
        let row = grid.cursor.pos.row.0;
        if row + i32::try_from(lines).unwrap_or(i32::MAX) >= region.bottom() as i32 {
            self.spend(units(lines) * units(grid.screen_lines()) * ROW);
        }
    }

    /// Counts a line feed.
    #[inline]
    pub(super) fn line_feed(&mut self, grid: &Grid<Square>, region: ScrollRegion) {
        if region.ends_with(grid.cursor.pos.row.0) {
            self.row(grid);
            if region.is_part() {
                self.spend(units(grid.screen_lines()) * ROW);
            }
        }
    }

    /// Counts a character that is handled by itself, and the row below if it may go there.
    pub(super) fn slow_character(&mut self, grid: &Grid<Square>) {
        self.spend(SLOW_CHARACTER);
        if grid.cursor.pos.col.0 + 2 > grid.columns() {
            self.row(grid);
        }
    }

    /// Counts grids that may be filled.
    pub(super) fn screens(&mut self, grid: &Grid<Square>, number: usize) {
        let (rows, cols) = (grid.screen_lines(), grid.columns());
        self.spend(units(number) * (units(rows) * ROW + units(rows * cols / CELLS)));
    }

    /// Counts the lookup of a mark or a link, with its share of the occasional scan of the whole grid.
    pub(super) fn extras(&mut self, grid: &Grid<Square>) {
        self.spend(EXTRAS + units(all_cells(grid) / EXTRAS_CADENCE / CELLS));
    }

    /// Returns true if a mark or a link may take an entry in the emulator's table. When every entry is in
    /// use, the emulator scans all history for each new one, so it may do that only as often as the stream
    /// has paid for it.
    pub(super) fn may_add_extras(&mut self, grid: &Grid<Square>) -> bool {
        if !grid.extras_table.under_pressure() {
            return true;
        }
        let look = units(all_cells(grid) / CELLS);
        let is_paid = self.spent >= self.swept_at.saturating_add(look);
        if is_paid {
            self.swept_at = self.spent;
            self.spend(look);
        }
        is_paid
    }
}

fn all_cells(grid: &Grid<Square>) -> usize {
    grid.total_lines() * grid.columns()
}

#[cfg(test)]
mod tests {
    use rio_vt::crosswords::pos::Line;

    use super::*;

    /// Returns what an operation costs on a grid of 80 by 24 with the cursor in this row.
    fn cost(row: i32, act: impl FnOnce(&mut Work, &Grid<Square>)) -> u64 {
        let mut grid = Grid::new(24, 80, 0);
        grid.cursor.pos.row = Line(row);
        let mut work = Work::default();
        act(&mut work, &grid);
        work.spent()
    }

    #[test]
    fn a_line_feed_costs_only_where_it_scrolls_and_more_within_margins() {
        let (whole, part) = (ScrollRegion::whole(24), ScrollRegion::new(0, 10, 24));
        assert_eq!(cost(5, |work, grid| work.line_feed(grid, whole)), 0);
        assert_eq!(cost(23, |work, grid| work.line_feed(grid, whole)), 10);
        assert_eq!(cost(9, |work, grid| work.line_feed(grid, part)), 10 + 24 * ROW);
    }

    #[test]
    fn clearing_costs_by_the_cells_and_a_huge_count_by_the_rows_there_are() {
        let few = cost(0, |work, grid| work.rows(grid, 24, 1));
        let many = cost(0, |work, grid| work.rows(grid, 24, usize::MAX));
        assert_eq!((few, many), (24 * ROW + 10, 24 * ROW + 240));
    }

    #[test]
    fn the_cost_never_wraps_and_a_terminal_that_begins_anew_keeps_it() {
        let mut work = Work::default();
        work.spend(u64::MAX);
        work.spend(1);
        assert_eq!(work.carried_over().spent(), u64::MAX);
    }
}
