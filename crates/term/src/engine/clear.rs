//! Erasing and filling the screen. The cost follows the text on the screen: blank rows are skipped whole, and
//! nothing is allocated.
//!
//! The emulator's `dirty` bit of a row is meant for a renderer that we do not use. Every write sets it and it
//! moves with the row, so a row without it is known to be blank.

use rio_vt::ansi::ClearMode;
use rio_vt::crosswords::grid::row::Row;
use rio_vt::crosswords::grid::{Dimensions, GridSquare};
use rio_vt::crosswords::pos::Line;
use rio_vt::crosswords::square::Square;
use rio_vt::performer::handler::Handler;

use super::terminal::Terminal;

impl Terminal {
    /// Erases part of the screen. The emulator would forget row 0 when the cursor is in row 1.
    pub(super) fn erase_screen(&mut self, mode: ClearMode) {
        match mode {
            ClearMode::All => return self.erase_all(),
            ClearMode::Saved => return self.inner.clear_screen(mode),
            ClearMode::Above | ClearMode::Below => {}
        }
        let row = usize::try_from(self.inner.grid.cursor.pos.row.0).unwrap_or(0);
        let is_above = matches!(mode, ClearMode::Above);
        let rows = if is_above { row + 1 } else { self.inner.grid.screen_lines().saturating_sub(row) };
        self.work.rows(&self.inner.grid, rows, rows);
        self.inner.clear_screen(mode);
        self.end_waiting();
        if is_above && row == 1 {
            self.inner.grid.reset_region(Line(0)..Line(1));
        }
    }

    /// Erases everything. On the main grid the text moves into the history; a blank screen adds nothing to
    /// it.
    fn erase_all(&mut self) {
        let rows = self.inner.grid.screen_lines();
        self.inner.grid.sync_template_style();
        let unknown = self.visible_rows().filter(|row| row.dirty).count();
        let used = match self.main {
            None => rows - self.visible_rows().rev().take_while(|row| is_blank(row)).count(),
            Some(_) => 0,
        };
        self.work.rows(&self.inner.grid, unknown + used, unknown + used);
        if used > 0 {
            self.inner.grid.scroll_up(&(Line(0)..Line(rows as i32)), used);
        }
        let template = self.inner.grid.cursor.template;
        let mut fill = Square::default();
        GridSquare::reset(&mut fill, &template);
        let fills_nothing = fill == Square::default();
        for line in 0..rows as i32 {
            let row = &mut self.inner.grid[Line(line)];
            if row.dirty || !fills_nothing {
                row.reset(&template);
                row.dirty = !fills_nothing;
            }
        }
        self.end_waiting();
        self.inner.mark_fully_damaged();
    }

    fn visible_rows(&self) -> impl DoubleEndedIterator<Item = &Row<Square>> {
        let grid = &self.inner.grid;
        (0..grid.screen_lines() as i32).map(move |line| &grid[Line(line)])
    }

    /// DECALN: fills the screen with the letter E.
    pub(super) fn fill_for_alignment(&mut self) {
        self.work.screens(&self.inner.grid, 1);
        let mut letter = Square::default();
        letter.set_c('E');
        for line in 0..self.inner.grid.screen_lines() as i32 {
            self.inner.grid[Line(line)][..].fill(letter);
        }
        self.inner.mark_fully_damaged();
    }
}

/// Returns true if the row has no text.
fn is_blank(row: &Row<Square>) -> bool {
    !row.dirty || row.is_clear()
}
