//! Writes the cells of the most frequent operations directly: text that ends before the last column, and erasing to the
//! end of a row. Where a wide character, a wrap or another character set is concerned, nothing is done here and
//! the emulator's own operation follows.
//!
//! The emulator's operations do the same, and look at images and selections too, which a screen never has.

use rio_vt::config::colors::{AnsiColor, NamedColor};
use rio_vt::crosswords::grid::{Dimensions, GridSquare};
use rio_vt::crosswords::pos::{Charsets, Column};
use rio_vt::crosswords::square::{Square, Wide};

use super::terminal::Terminal;

impl Terminal {
    /// Prints ASCII text that ends before the last column of its row, over narrow characters. Returns false, with
    /// nothing printed, for any other text.
    #[inline]
    pub(super) fn print_within_row(&mut self, text: &[u8]) -> bool {
        let grid = &mut self.inner.grid;
        let (line, col) = (grid.cursor.pos.row, grid.cursor.pos.col.0);
        let end = col + text.len();
        if grid.cursor.should_wrap || end >= grid.columns() || grid.cursor.charsets != Charsets::default() {
            return false;
        }
        grid.sync_template_style();
        let pen = pen_cell(grid.cursor.template);
        let row = &mut grid[line];
        let cells = &mut row[Column(col)..Column(end)];
        if has_wide(cells) {
            return false;
        }
        for (cell, byte) in cells.iter_mut().zip(text) {
            *cell = Square::from_template(pen, char::from(*byte));
        }
        row.has_extras |= pen.extras_id().is_some();
        row.has_styles |= pen.carries_style();
        grid.cursor.pos.col = Column(end);
        self.inner.damage_line(line.0 as usize);
        true
    }

    /// Erases from the cursor to the end of its row with the terminal's own background. Returns false, with nothing
    /// erased, where that would cut a wide character or the background is another.
    #[inline]
    pub(super) fn erase_to_end(&mut self) -> bool {
        let grid = &mut self.inner.grid;
        let (line, col) = (grid.cursor.pos.row, grid.cursor.pos.col.0);
        let is_plain = grid.cursor.pending_style.bg == AnsiColor::Named(NamedColor::Background);
        // A wide character in the first column is tied to the row above it.
        if grid.cursor.should_wrap || col < 2 || !is_plain {
            return false;
        }
        let row = &mut grid[line];
        if matches!(row[Column(col - 1)].wide(), Wide::Wide) {
            return false;
        }
        row[Column(col)..].fill(Square::default());
        self.inner.damage_line(line.0 as usize);
        true
    }
}

/// Returns the cell of a pen without its character.
#[inline]
fn pen_cell(template: Square) -> Square {
    let mut cell = Square::default();
    cell.set_style_id(template.style_id());
    cell.set_extras_id(template.extras_id());
    cell.set_cell_flags(template.cell_flags());
    cell
}

/// Returns true if one of the cells is half of a wide character.
#[inline]
fn has_wide(cells: &[Square]) -> bool {
    // Of the two bits that say how wide a cell is, one is set in both halves of a wide character; none or both are set
    // elsewhere. Cells are combined without a branch between them, so that the compiler combines several at once.
    let differs = cells.iter().fold(0, |all, cell| all | (cell.raw() ^ (cell.raw() >> 1)));
    differs & with_width(Wide::Wide).raw() != 0
}

#[inline]
fn with_width(width: Wide) -> Square {
    let mut cell = Square::default();
    cell.set_wide(width);
    cell
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rio_vt::ansi::LineClearMode;
    use rio_vt::crosswords::TermDamage;
    use rio_vt::crosswords::attr::Attr;
    use rio_vt::crosswords::pos::Line;
    use rio_vt::performer::handler::{Handler, Processor};

    use super::*;
    use crate::size::GridSize;

    #[test]
    fn both_halves_of_a_wide_character_are_found_wherever_they_are_and_nothing_else_is() {
        for width in [Wide::Narrow, Wide::Wide, Wide::Spacer, Wide::LeadingSpacer] {
            for place in 0..11 {
                let mut cells = [Square::default(); 11];
                cells[place] = with_width(width);
                cells[place].set_c('\u{1f600}');
                cells[place].set_style_id(u16::MAX);
                assert_eq!(has_wide(&cells), cells[place].needs_wide_cleanup(), "{width:?} at {place}");
            }
        }
        let mut colored = Square::default();
        colored.set_bg_rgb(255, 255, 255);
        assert!(!has_wide(&[colored]) && !has_wide(&[]));
    }

    fn terminal(stream: &str) -> Terminal {
        let mut terminal = Terminal::new(GridSize::clamped(12, 4), 10);
        Processor::default().advance(&mut terminal, stream.as_bytes());
        terminal.inner.reset_damage();
        terminal
    }

    /// Returns everything that printing and erasing may change.
    fn state(terminal: &mut Terminal) -> (Vec<String>, String, Option<Vec<usize>>) {
        let grid = &terminal.inner.grid;
        let lines = (-(grid.history_size() as i32)..grid.screen_lines() as i32).map(Line);
        let rows = lines.map(|line| format!("{:?}", grid[line])).collect();
        let cursor = &grid.cursor;
        let pen = (cursor.template, cursor.pending_style, cursor.style_dirty);
        let cursor = format!("{:?} {} {pen:?} {:?}", cursor.pos, cursor.should_wrap, grid.styles());
        let damage = match terminal.inner.damage() {
            TermDamage::Full => None,
            TermDamage::Partial(lines) => Some(lines.map(|line| line.line).collect()),
        };
        (rows, cursor, damage)
    }

    /// Streams that leave wide characters, colours, links, margins, sets and pending wraps behind.
    fn stream() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => "[ -~]{1,13}",
            3 => "[日本한é]{1,7}",
            2 => "\x1b\\[[1-4];[1-9]H",
            1 => "\x1b\\[[1-4];1[0-2]H",
            2 => "\x1b\\[(0|1|4|7|31|48;5;9|48;2;1;2;3|38;2;9;8;7|49)m",
            1 => "(\r\n|\x1b\\[K|\x1b\\[1K|\x1b\\[2X|\x1b\\[3@|\x1b\\[2P)",
            1 => "(\x1b\\(0|\x1b\\(B|\x0e|\x0f|\x1b\\[2;3r|\x1b\\[r|\x1b\\[\\?7l|\x1b\\[\\?7h|\x1b\\[\\?1049h|\x1b\\[\\?1049l)",
        ];
        proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn text_is_printed_as_the_emulator_prints_it(before in stream(), text in "[ -~]{1,13}") {
            let (mut ours, mut theirs) = (terminal(&before), terminal(&before));
            if !ours.print_within_row(text.as_bytes()) {
                ours.inner.input_ascii_str(&text);
            }
            theirs.inner.input_ascii_str(&text);
            prop_assert_eq!(state(&mut ours), state(&mut theirs));
        }

        #[test]
        fn the_end_of_a_row_is_erased_as_the_emulator_erases_it(before in stream()) {
            let (mut ours, mut theirs) = (terminal(&before), terminal(&before));
            if !ours.erase_to_end() {
                ours.inner.clear_line(LineClearMode::Right);
            }
            theirs.inner.clear_line(LineClearMode::Right);
            prop_assert_eq!(state(&mut ours), state(&mut theirs));
        }

        #[test]
        fn a_pen_is_reset_as_the_emulator_resets_it(before in stream(), text in "[ -~]{1,13}") {
            let (mut ours, mut theirs) = (terminal(&before), terminal(&before));
            ours.terminal_attribute(Attr::Reset);
            theirs.inner.terminal_attribute(Attr::Reset);
            for terminal in [&mut ours, &mut theirs] {
                terminal.inner.input_ascii_str(&text);
            }
            prop_assert_eq!(state(&mut ours), state(&mut theirs));
        }
    }

    #[test]
    fn ordinary_words_and_ends_of_rows_take_the_short_way() {
        let mut terminal = terminal("\x1b[31mone ");
        assert!(terminal.print_within_row(b"two") && terminal.erase_to_end());
        assert!(!terminal.print_within_row(b"too long"), "it would wrap");
    }
}
