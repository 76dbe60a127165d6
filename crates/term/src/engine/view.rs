//! Read access to a grid: rows and cells by value, without copying the grid. Styles are resolved on demand,
//! because most cells share one.

use std::ops::Range;

use rio_vt::crosswords::grid::row::{Row, SemanticPrompt};
use rio_vt::crosswords::grid::{Dimensions, Grid};
use rio_vt::crosswords::pos::Line;
use rio_vt::crosswords::square::{ContentTag, Extras, Square, Wide};

use super::convert;
use super::rebuild::PenState;
use crate::cell::Style;

/// The bits of a raw cell that hold its character.
const CHARACTER: u64 = (1 << 21) - 1;

/// Which part of a character a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// One cell.
    Narrow,
    /// The first of two cells.
    Wide,
    /// The second of two cells.
    Spacer,
    /// The cell left empty because a wide character did not fit and wrapped.
    LeadingSpacer,
}

/// Identifies a style; equal keys mean equal styles within one grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StyleKey(u64);

impl StyleKey {
    /// The key of the default style in every grid.
    pub(crate) const DEFAULT: StyleKey = StyleKey(0);
    const FILL: u64 = 0b11 << 30;
    /// The cell has no character, so only the background of its style is visible.
    const BLANK: u64 = 1;

    /// Returns true if the cell has only a background.
    pub(crate) fn is_fill(self) -> bool {
        self.0 & Self::FILL != 0
    }
}

/// One cell, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct CellView<'a> {
    square: Square,
    extras: Option<&'a Extras>,
}

impl<'a> CellView<'a> {
    /// Returns the base character; `\0` in a cell never written, `\t` where a tab began.
    pub(crate) fn character(&self) -> char {
        match self.square.content_tag() {
            ContentTag::Codepoint => self.square.c(),
            ContentTag::BgPalette | ContentTag::BgRgb => '\0',
        }
    }

    /// Characters that joined the base one.
    pub(crate) fn marks(&self) -> &'a [char] {
        self.extras.map_or(&[], |extras| extras.zerowidth.as_slice())
    }

    /// Returns id and target of the hyperlink.
    pub(crate) fn link(&self) -> Option<(&'a str, &'a str)> {
        let link = self.extras?.hyperlink.as_ref()?;
        Some((link.id(), link.uri()))
    }

    /// Returns which part of a character it is.
    pub(crate) fn width(&self) -> Width {
        match self.square.wide() {
            Wide::Narrow => Width::Narrow,
            Wide::Wide => Width::Wide,
            Wide::Spacer => Width::Spacer,
            Wide::LeadingSpacer => Width::LeadingSpacer,
        }
    }

    /// Returns the key of the style that is visible. The emulator fills scrolled and erased rows with the
    /// whole pen, of which only the background shows.
    #[inline]
    pub(crate) fn style_key(&self) -> StyleKey {
        let exact = self.exact_style_key();
        match has_blank_style(self.square) && !exact.is_fill() {
            true => StyleKey(exact.0 | StyleKey::BLANK),
            false => exact,
        }
    }

    /// Returns the key of the style that the cell has.
    pub(crate) fn exact_style_key(&self) -> StyleKey {
        const UPPER: u64 = 0xffff_ffff_0000_0000;
        match self.square.content_tag() {
            ContentTag::Codepoint => StyleKey(u64::from(self.square.style_id()) << 32),
            ContentTag::BgPalette | ContentTag::BgRgb => {
                StyleKey(self.square.raw() & (UPPER | StyleKey::FILL))
            }
        }
    }

    /// Returns true if the text continues in the next row.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.square.wrapline()
    }

    /// Returns true if the cell has no character of its own: it is blank, or a tab skipped it.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self.character(), '\0' | '\t' | ' ')
            && self.extras.is_none()
            && self.width() == Width::Narrow
    }
}

/// One row, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct RowView<'a> {
    grid: &'a Grid<Square>,
    row: &'a Row<Square>,
}

impl<'a> RowView<'a> {
    /// Returns the number of cells.
    pub(crate) fn len(&self) -> usize {
        self.row.len()
    }

    /// Returns the cell at a column.
    pub(crate) fn cell(&self, col: usize) -> Option<CellView<'a>> {
        let square = *self.row.inner.get(col)?;
        let extras = match self.row.has_extras {
            true => square.extras_id_checked().and_then(|id| self.grid.extras_table.get(id)),
            false => None,
        };
        Some(CellView { square, extras })
    }

    /// Returns the cell at a column as it is drawn. Half of a wide character without its other half is blank;
    /// so is a gap that is not at the end of a row. The emulator may leave both behind.
    pub(crate) fn shown(&self, col: usize) -> Option<CellView<'a>> {
        let mut cell = self.cell(col)?;
        let neighbour = |col: usize| self.row.inner.get(col).map(|square| square.wide());
        let whole = match cell.square.wide() {
            Wide::Narrow => true,
            Wide::LeadingSpacer => col + 1 == self.row.len(),
            Wide::Wide => neighbour(col + 1) == Some(Wide::Spacer),
            Wide::Spacer => col > 0 && neighbour(col - 1) == Some(Wide::Wide),
        };
        if !whole {
            cell.square.set_wide(Wide::Narrow);
            cell.square.set_c(' ');
            cell.extras = None;
        }
        Some(cell)
    }

    /// Returns all cells in order, as they are drawn.
    pub(crate) fn shown_cells(&self) -> impl Iterator<Item = CellView<'a>> + use<'a> {
        let row = *self;
        (0..self.len()).filter_map(move |col| row.shown(col))
    }

    /// Appends the text of the plain cells (one narrow ASCII character in the default style) from a column on
    /// and returns their number. Most rows have few others, and reading cell by cell costs several times as
    /// much.
    pub(crate) fn push_plain(&self, from: usize, text: &mut String) -> usize {
        // Everything else about a cell is in its higher bits.
        let cells = self.row.inner.get(from..).unwrap_or_default();
        let plain = cells.iter().map(|square| square.raw()).take_while(|raw| *raw < 0x80);
        let before = text.len();
        text.extend(plain.map(|raw| match raw as u8 {
            0 | b'\t' => ' ',
            character => char::from(character),
        }));
        text.len() - before
    }

    /// Returns the number of cells up to the last one that was ever written.
    pub(crate) fn touched_length(&self) -> usize {
        self.row.inner.iter().rposition(|square| !square.is_default()).map_or(0, |last| last + 1)
    }

    /// Returns how many cells at the beginning of a range are equal in everything.
    pub(crate) fn same_cells(&self, range: Range<usize>) -> usize {
        self.cells_like_first(range, u64::MAX)
    }

    /// Returns how many cells at the beginning of a range are equal in everything but the character.
    pub(crate) fn alike_cells(&self, range: Range<usize>) -> usize {
        self.cells_like_first(range, !CHARACTER)
    }

    /// Returns how many cells at the beginning of a range have these bits like the first one.
    #[inline]
    fn cells_like_first(&self, range: Range<usize>, bits: u64) -> usize {
        let cells = self.row.inner.get(range).unwrap_or_default();
        let first = cells.first().map_or(0, |square| square.raw() & bits);
        cells.iter().take_while(|square| square.raw() & bits == first).count()
    }

    /// Returns true if the text continues in the next row.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.row.last().is_some_and(|square| square.wrapline())
    }

    /// Returns true if a prompt begins in it.
    pub(crate) fn is_prompt(&self) -> bool {
        self.row.semantic_prompt == SemanticPrompt::Prompt
    }

    /// Returns the style behind a key of this row's grid.
    pub(crate) fn style(&self, key: StyleKey) -> Style {
        let mut square = Square::default();
        if key.is_fill() {
            let value = key.0 >> 32;
            match ContentTag::from_bits(key.0) {
                ContentTag::BgPalette => square.set_bg_palette(value as u8),
                ContentTag::Codepoint | ContentTag::BgRgb => {
                    square.set_bg_rgb(value as u8, (value >> 8) as u8, (value >> 16) as u8);
                }
            }
        } else {
            square.set_style_id((key.0 >> 32) as u16);
        }
        let style = convert::style(&self.grid.style_of(&square));
        match key.0 & StyleKey::BLANK {
            0 => style,
            _ => Style { bg: style.bg, ..Style::default() },
        }
    }
}

/// Returns true if this cell has a style and no character. It tests the raw bits because every drawn cell is
/// asked.
#[inline]
fn has_blank_style(square: Square) -> bool {
    const STYLE: u64 = 0xffff << 32;
    let raw = square.raw();
    raw & STYLE != 0 && matches!(raw & CHARACTER, 0 | 0x09)
}

/// One grid, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct GridView<'a> {
    grid: &'a Grid<Square>,
}

impl<'a> GridView<'a> {
    pub(super) fn new(grid: &'a Grid<Square>) -> GridView<'a> {
        GridView { grid }
    }

    /// Returns the number of visible rows.
    pub(crate) fn rows(&self) -> usize {
        self.grid.screen_lines()
    }

    /// Returns the number of rows above the visible ones.
    pub(crate) fn history(&self) -> usize {
        self.grid.history_size()
    }

    /// Returns how many rows have left the history since the grid was made.
    pub(crate) fn evicted(&self) -> u64 {
        self.grid.lines_evicted()
    }

    /// Returns a row, counted from the oldest one that is still kept.
    pub(crate) fn row(&self, index: usize) -> Option<RowView<'a>> {
        if index >= self.grid.total_lines() {
            return None;
        }
        let line = Line(index as i32 - self.history() as i32);
        Some(RowView { grid: self.grid, row: &self.grid[line] })
    }

    /// Returns a visible row.
    pub(crate) fn screen_row(&self, row: usize) -> Option<RowView<'a>> {
        self.row(self.history() + row)
    }

    /// Returns the pen and position the next character gets.
    pub(crate) fn pen(&self) -> PenState {
        PenState::of(self.grid, &self.grid.cursor)
    }

    /// Returns the saved pen and position (DECSC).
    pub(crate) fn saved_pen(&self) -> PenState {
        PenState::of(self.grid, &self.grid.saved_cursor)
    }
}
