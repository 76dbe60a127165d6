//! Character widths that the emulator's table has wrong, and characters that join the one before them.

use rio_vt::crosswords::Mode;
use rio_vt::crosswords::grid::Dimensions;
use rio_vt::crosswords::square::{CellFlags, ContentTag, Wide};
use rio_vt::performer::handler::Handler;

use super::terminal::{MARKS_MAX, Terminal};
use super::work::SLOW_CHARACTER;

/// The variation selector that asks for emoji presentation.
const EMOJI_LOOKS: char = '\u{fe0f}';
const TEXT_LOOKS: char = '\u{fe0e}';

/// Returns the right width of a character that the emulator's table has wrong. Conjoining vowels and finals
/// of Hangul join the initial before them; hexagrams and counting rods take one cell, as terminals have
/// always drawn them.
pub(super) fn right_width(point: u32) -> Option<u8> {
    match point {
        0xd7b0..=0xd7c6 | 0xd7cb..=0xd7fb => Some(0),
        0x4dc0..=0x4dff | 0x1d360..=0x1d378 => Some(1),
        _ => None,
    }
}

/// Prints characters of which none joins the one before it, all at once.
pub(super) fn input_separate(terminal: &mut Terminal, codepoints: &[u32]) {
    let Some(last) = codepoints.last() else { return };
    terminal.repetition.last = char::from_u32(*last);
    if terminal.region.is_part() {
        let lines = codepoints.len() * 2 / terminal.inner.grid.columns() + 1;
        terminal.work.scrolled(&terminal.inner.grid, terminal.region, lines);
    }
    terminal.inner.input_codepoints(codepoints);
}

impl Terminal {
    /// Returns true if a character is a variation selector for the one before it. Without clusters the
    /// emulator keeps selectors only after what it considers a picture, and drops them after digits and old
    /// symbols, which have an emoji form too.
    pub(super) fn joins_as_selector(&self, character: char) -> bool {
        matches!(character, EMOJI_LOOKS | TEXT_LOOKS) && !self.inner.mode().contains(Mode::GRAPHEME_CLUSTER)
    }

    /// Adds a character to the cell before the cursor. The cell keeps its width.
    pub(super) fn join(&mut self, character: char) {
        self.work.spend(SLOW_CHARACTER);
        if self.inner.grid.cursor.pos.col.0 == 0 || !self.work.may_add_extras(&self.inner.grid) {
            return;
        }
        let (row, col) = self.marked_cell();
        let grid = &mut self.inner.grid;
        let cell = grid[row][col];
        if cell.content_tag() != ContentTag::Codepoint || matches!(cell.c(), '\0' | ' ' | '\t') {
            return;
        }
        let mut extras =
            cell.extras_id_checked().and_then(|id| grid.extras_table.get(id)).cloned().unwrap_or_default();
        if extras.zerowidth.len() >= MARKS_MAX {
            return;
        }
        extras.zerowidth.push(character);
        let id = grid.alloc_extras(extras);
        let cell = &mut grid[row][col];
        cell.set_extras_id(Some(id).filter(|&id| id != 0));
        cell.insert_cell_flag(CellFlags::GRAPHEME);
        grid[row].has_extras = true;
        self.inner.damage_cursor();
        self.work.extras(&self.inner.grid);
    }

    /// Prints a one-cell character in place of one whose width the emulator has right.
    pub(super) fn input_narrow(&mut self, character: char) {
        self.work.slow_character(&self.inner.grid);
        match self.inner.mode().contains(Mode::INSERT) {
            true => self.insert('x'),
            false => self.inner.input('x'),
        }
        let (row, col) = self.marked_cell();
        let cell = &mut self.inner.grid[row][col];
        if !matches!(cell.wide(), Wide::Spacer) {
            cell.set_c(character);
        }
    }
}
