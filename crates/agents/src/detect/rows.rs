//! The text of a screen, cut into rows and regions. It reads the rendered grid, never bytes, so that rules
//! judge what a person sees.

use std::ops::Range;

use term::{Attributes, Cell, Color, Screen, Wraps};

use super::region::Region;

/// The visible rows of a screen, without the blank ones at its end.
pub(crate) struct Rows {
    text: String,
    /// Where each row begins in the text.
    starts: Vec<usize>,
}

impl Rows {
    /// Reads a screen.
    pub(crate) fn of(screen: &Screen) -> Self {
        Self::cut(screen.text(Wraps::Keep))
    }

    fn cut(text: String) -> Self {
        let starts = std::iter::once(0).chain(memchr_newlines(&text).map(|end| end + 1)).collect();
        Self { text, starts }
    }

    /// Returns how many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the text of some rows, without the last one's end.
    pub(crate) fn text(&self, rows: &Range<usize>) -> &str {
        let start = self.starts.get(rows.start).copied().unwrap_or(self.text.len());
        let end = self.starts.get(rows.end).map_or(self.text.len(), |next| next.saturating_sub(1));
        self.text.get(start..end.max(start)).unwrap_or_default()
    }

    /// Returns one row.
    pub(crate) fn row(&self, row: usize) -> &str {
        self.text(&(row..row + 1))
    }

    /// Returns the rows of a region; empty for the title and for what is not on the screen.
    pub(crate) fn region(&self, region: Region, composer: Option<usize>) -> Range<usize> {
        let all = self.len();
        match region {
            Region::Whole => 0..all,
            Region::Bottom(rows) => all.saturating_sub(usize::from(rows))..all,
            Region::AbovePrompt(rows) => {
                composer.map_or(0..0, |composer| self.above(composer, usize::from(rows)))
            }
            Region::Title | Region::Osc => 0..0,
        }
    }

    /// Returns the lowest rows with text above a row: full-screen programs leave a gap between their output
    /// and their composer.
    fn above(&self, row: usize, count: usize) -> Range<usize> {
        let with_text = (0..row).rev().filter(|above| !self.row(*above).trim().is_empty());
        with_text.take(count).last().unwrap_or(row)..row
    }

    /// Returns the row of the screen for an offset into the text of some rows.
    pub(crate) fn row_at(&self, rows: &Range<usize>, offset: usize) -> usize {
        let start = self.starts.get(rows.start).copied().unwrap_or(self.text.len());
        self.starts.partition_point(|row| *row <= start + offset).saturating_sub(1)
    }
}

fn memchr_newlines(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index)
}

/// Returns true if a row has only blanks and frames.
pub(crate) fn is_empty_row(row: &str) -> bool {
    row.chars().all(is_frame)
}

/// Returns true if a character is a blank or part of a drawn frame.
pub(crate) fn is_frame(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{2500}'..='\u{257f}' | '▀' | '▄')
}

/// One row's cells, each with its offset in the row's text.
pub(crate) struct StyledRow {
    cells: Vec<(usize, Cell)>,
}

impl StyledRow {
    /// Reads a row of a screen.
    pub(crate) fn of(screen: &Screen, row: usize) -> Self {
        let mut offset = 0;
        let cells = screen.row_cells(u16::try_from(row).unwrap_or(u16::MAX)).into_iter().map(|cell| {
            let at = offset;
            // Hidden cells are blanks in the text.
            let hidden = cell.style.attributes.contains(Attributes::HIDDEN);
            offset += if hidden { usize::from(cell.width) } else { cell.text.len() };
            (at, cell)
        });
        Self { cells: cells.collect() }
    }

    /// Returns true if every character of a part of the row's text is faint.
    pub(crate) fn is_faint(&self, part: &Range<usize>) -> bool {
        self.visible_cells(part).all(|cell| cell.style.attributes.contains(Attributes::DIM))
    }

    /// Returns the background that most of the row has.
    pub(crate) fn ground(&self) -> Option<Color> {
        let count = |ground: Color| self.cells.iter().filter(|(_, cell)| ground_of(cell) == ground).count();
        self.cells.iter().map(|(_, cell)| ground_of(cell)).max_by_key(|ground| count(*ground))
    }

    /// Returns the background at an offset of the row's text.
    pub(crate) fn ground_at(&self, offset: usize) -> Option<Color> {
        self.cells.iter().find(|(at, cell)| *at == offset && cell.width > 0).map(|(_, cell)| ground_of(cell))
    }

    fn visible_cells(&self, part: &Range<usize>) -> impl Iterator<Item = &Cell> {
        let (start, end) = (part.start, part.end);
        self.cells
            .iter()
            .filter(move |(at, _)| (start..end).contains(at))
            .map(|(_, cell)| cell)
            .filter(|cell| !cell.text.trim().is_empty())
    }
}

/// Returns the visible background of a cell.
fn ground_of(cell: &Cell) -> Color {
    if cell.style.attributes.contains(Attributes::INVERSE) { cell.style.fg } else { cell.style.bg }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_cut_by_rows() {
        let rows = Rows::cut("a\nb\n\nprompt\nfoot".to_owned());
        assert_eq!(rows.text(&rows.region(Region::Bottom(2), None)), "prompt\nfoot");
        assert_eq!(rows.text(&rows.region(Region::Bottom(99), None)), "a\nb\n\nprompt\nfoot");
        assert_eq!(rows.text(&rows.region(Region::AbovePrompt(1), Some(3))), "b\n");
        assert_eq!(rows.text(&rows.region(Region::AbovePrompt(9), Some(3))), "a\nb\n");
        assert_eq!(rows.text(&rows.region(Region::AbovePrompt(9), Some(0))), "");
        assert_eq!(rows.text(&rows.region(Region::AbovePrompt(2), None)), "");
        assert_eq!(rows.row(1), "b");
        assert_eq!(rows.row(9), "");
    }

    #[test]
    fn a_place_in_a_region_knows_its_row() {
        let rows = Rows::cut("a\nbc\n\nd".to_owned());
        let region = rows.region(Region::Bottom(3), None);
        assert_eq!((rows.row_at(&region, 0), rows.row_at(&region, 1), rows.row_at(&region, 4)), (1, 1, 3));
    }
}
