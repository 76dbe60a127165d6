//! Resizing: lines of the main grid wrap again, the alternate grid is cut. It also repairs what the emulator
//! does wrong there: it pushes rows out at the top while rows at the bottom are empty, and loses a cursor
//! that goes with them.

use rio_vt::crosswords::grid::{Dimensions, Grid, GridSquare};
use rio_vt::crosswords::pos::{Column, Line};
use rio_vt::crosswords::square::{Square, Wide};

use super::region::ScrollRegion;
use super::terminal::{Terminal, dimensions};
use crate::size::GridSize;

impl Terminal {
    pub(super) fn resize(&mut self, size: GridSize) {
        let (cols, rows) = (usize::from(size.cols), usize::from(size.rows));
        note_occupied(&mut self.inner.grid);
        let reflows = self.main.is_none();
        // Rows first, as the emulator does it: only then the first row of the screen is known.
        self.inner.resize(dimensions(GridSize { cols: self.size().cols, rows: size.rows }));
        let places = Places::of(&self.inner.grid, cols).filter(|_| reflows);
        let together = saved_is_here(&self.inner.grid);
        self.inner.resize(dimensions(size));
        places.inspect(|places| places.find(&mut self.inner.grid));
        place_cursors(&mut self.inner.grid, together && reflows);
        if let Some(main) = self.main.as_mut() {
            resize_hidden(main, rows, cols);
            mend_edge(&mut self.inner.grid);
        }
        self.region = ScrollRegion::whole(rows);
        self.tabs.resize(cols);
    }
}

/// Resizes the main grid while the other one is shown.
fn resize_hidden(main: &mut Grid<Square>, rows: usize, cols: usize) {
    note_occupied(main);
    main.resize(true, rows, main.columns());
    let places = Places::of(main, cols);
    let together = saved_is_here(main);
    main.resize(true, rows, cols);
    places.inspect(|places| places.find(main));
    place_cursors(main, together);
}

/// The position of a cell, in terms that survive wrapping.
struct CellPosition {
    /// Lines, wrapped or not, that end below its own.
    lines_below: usize,
    /// Cells of its line before it.
    cells_before: usize,
}

impl CellPosition {
    fn of(grid: &Grid<Square>, row: i32, col: usize) -> CellPosition {
        let last = grid.bottommost_line().0;
        let ends = (row..=last).filter(|&row| !is_wrapped(grid, row)).count();
        let top = grid.topmost_line().0;
        let above = (top..row).rev().take_while(|&row| is_wrapped(grid, row)).map(|row| cells(grid, row));
        CellPosition { lines_below: ends.saturating_sub(1), cells_before: above.sum::<usize>() + col }
    }

    /// Returns the current row and column of this position. A column beyond the last is the end of a full
    /// row.
    fn find(&self, grid: &Grid<Square>) -> (i32, usize) {
        let (top, bottom) = (grid.topmost_line().0, grid.bottommost_line().0);
        let is_end = |&row: &i32| !is_wrapped(grid, row);
        let last = (top..=bottom).rev().filter(is_end).nth(self.lines_below).unwrap_or(top);
        let first = (top..last).rev().find(is_end).map_or(top, |row| row + 1);
        let mut col = self.cells_before;
        for row in first..last {
            match col.checked_sub(cells(grid, row)) {
                Some(rest) => col = rest,
                None => return (row, col),
            }
        }
        (last, col)
    }
}

/// The positions that must not be lost when rows of the screen are split.
struct Places {
    /// The first row of the screen.
    top: CellPosition,
    cursor: CellPosition,
}

impl Places {
    /// Returns `None` if no row of the screen is going to be split.
    fn of(grid: &Grid<Square>, cols: usize) -> Option<Places> {
        let is_longer = |row: i32| occupied(grid, row) > cols;
        if !(0..grid.screen_lines() as i32).any(is_longer) {
            return None;
        }
        let cursor = &grid.cursor;
        let col = cursor.pos.col.0 + usize::from(cursor.should_wrap);
        Some(Places {
            top: CellPosition::of(grid, 0, 0),
            cursor: CellPosition::of(grid, cursor.pos.row.0, col),
        })
    }

    /// Pulls rows that were pushed out back as far as there are empty rows at the bottom, and sets the cursor.
    fn find(&self, grid: &mut Grid<Square>) {
        let (lines, cols) = (grid.screen_lines(), grid.columns());
        let (row, col) = self.cursor.find(grid);
        let is_used = |&line: &i32| line == row || occupied(grid, line) > 0;
        let empty = (0..lines as i32).rev().take_while(|line| !is_used(line)).count();
        let pushed = usize::try_from(-self.top.find(grid).0).unwrap_or(0);
        let pulled = pushed.min(empty).min(lines - 1);
        // A cursor further down would keep empty rows.
        grid.cursor.pos.row = Line(0);
        if pulled > 0 {
            grid.resize(true, lines + pulled, cols);
            grid.cursor.pos.row = Line(0);
            grid.resize(true, lines, cols);
        }
        let row = row + pulled as i32;
        grid.cursor.pos.row = Line(row.clamp(0, lines as i32 - 1));
        grid.cursor.pos.col = Column(col.min(cols - 1));
        grid.cursor.should_wrap = col >= cols;
    }
}

fn is_wrapped(grid: &Grid<Square>, row: i32) -> bool {
    grid[Line(row)].last().is_some_and(|square| square.wrapline())
}

/// Returns the cells of a row that can hold text: without the one into which a wide character did not fit.
fn cells(grid: &Grid<Square>, row: i32) -> usize {
    let row = &grid[Line(row)];
    let gap = row.last().is_some_and(|square| matches!(square.wide(), Wide::LeadingSpacer));
    row.len() - usize::from(gap)
}

/// Returns the cells of a row up to the last that holds something.
fn occupied(grid: &Grid<Square>, row: i32) -> usize {
    let squares = &grid[Line(row)].inner;
    squares.iter().rposition(|square| !square.is_empty()).map_or(0, |last| last + 1)
}

/// Makes all rows agree on how far they were written, because wrapping relies on it. A row filled with a
/// background counts as not written at all, and a restored one as written; touching the last cell with
/// content makes both alike.
fn note_occupied(grid: &mut Grid<Square>) {
    for line in grid.topmost_line().0..grid.screen_lines() as i32 {
        let row = &mut grid[Line(line)];
        if let Some(last) = row.inner.iter().rposition(|square| !square.is_empty()) {
            let _touched: &mut Square = &mut row[Column(last)];
        }
    }
}

/// Removes half of a wide character that a narrower alternate grid leaves in the last column. The emulator
/// would clear the cell before it when it is overwritten.
fn mend_edge(grid: &mut Grid<Square>) {
    let last_column = grid.last_column();
    for line in 0..grid.screen_lines() as i32 {
        let cell = &mut grid[Line(line)][last_column];
        if matches!(cell.wide(), Wide::Wide) {
            cell.clear();
        }
    }
}

/// Returns true if the saved cursor equals the cursor. Then both move together, so that a program that used
/// the alternate screen comes back to the line that it left.
fn saved_is_here(grid: &Grid<Square>) -> bool {
    grid.saved_cursor.pos == grid.cursor.pos && grid.saved_cursor.should_wrap == grid.cursor.should_wrap
}

/// Repairs cursors: wrapping can leave a pending wrap in the middle of a row, or a saved cursor outside the
/// grid.
fn place_cursors(grid: &mut Grid<Square>, together: bool) {
    let (last_column, rows) = (grid.last_column(), grid.screen_lines() as i32);
    if together {
        grid.saved_cursor.pos = grid.cursor.pos;
        grid.saved_cursor.should_wrap = grid.cursor.should_wrap;
    }
    for cursor in [&mut grid.cursor, &mut grid.saved_cursor] {
        cursor.pos.col = cursor.pos.col.min(last_column);
        cursor.pos.row = Line(cursor.pos.row.0.clamp(0, rows - 1));
        cursor.should_wrap &= cursor.pos.col == last_column;
    }
}
