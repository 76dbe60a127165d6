//! The text of a screen and its history: visible text, lines by id, search. Reads the rendered grid, never
//! the bytes, so that what an agent reads is what a person sees: hidden text (SGR 8) is blank here too.

use std::ops::Range;

use regex::Regex;

use crate::cell::Attributes;
use crate::engine::{GridView, RowView, StyleKey, Width};
use crate::screen::Screen;

/// The number of a line of history or main screen; see [`Screen::first_line`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(pub u64);

/// What to do with lines the terminal wrapped by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wraps {
    /// Every row is a line, as on the screen.
    #[default]
    Keep,
    /// Rows of one line are joined, as the program wrote it.
    Join,
}

/// One line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The id of its (first) row.
    pub id: LineId,
    /// Its text without trailing blanks.
    pub text: String,
    /// Whether the text goes on in the next row; with [`Wraps::Join`] only when the range cut it off.
    pub wrapped: bool,
}

/// One match of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The id of the first row of the (joined) line the match is in.
    pub line: LineId,
    /// Byte offset of the match in the text of that line.
    pub start: usize,
    /// Byte offset after the match.
    pub end: usize,
    /// The matching text.
    pub text: String,
}

impl Screen {
    /// The visible grid as text: trailing blanks and trailing empty lines are cut.
    pub fn text(&self, wraps: Wraps) -> String {
        let grid = self.engine().visible();
        let first = grid.history();
        let mut text = String::new();
        for (index, line, _) in LineReader::new(grid, first..first + grid.rows(), wraps) {
            if index > first {
                text.push('\n');
            }
            text.push_str(&line);
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// The id of the oldest line still there.
    ///
    /// Ids count the rows of the main grid, history first, and stay with their row while it scrolls.
    /// Rows that leave the history take their ids with them; clearing the history does the same to all
    /// of it, and the lines on the screen keep their ids. A change of the number of rows keeps every
    /// id. A change of the number of columns wraps lines anew: ids are then dealt from the bottom up,
    /// the newest line keeps its id, or gets a higher one when there are more lines than before, and
    /// older ids may name other text. A full reset and a display reset never hand out an id twice for lines
    /// that have scrolled.
    pub fn first_line(&self) -> LineId {
        LineId(self.line_base().wrapping_add(self.engine().main().evicted()))
    }

    /// The id after the last row of the main screen.
    pub fn next_line(&self) -> LineId {
        let main = self.engine().main();
        LineId(self.first_line().0 + (main.history() + main.rows()) as u64)
    }

    /// Lines of history and main screen by id, as far as they exist. With [`Wraps::Join`] a line that
    /// began before the range is given from the range's start on.
    pub fn lines(&self, range: Range<LineId>, wraps: Wraps) -> Vec<Line> {
        let first = self.first_line().0;
        LineReader::new(self.engine().main(), self.indexes(&range), wraps)
            .map(|(index, text, wrapped)| Line { id: LineId(first + index as u64), text, wrapped })
            .collect()
    }

    /// Matches of a pattern in the joined lines of a range, oldest first, at most `limit`.
    pub fn search(&self, regex: &Regex, range: Range<LineId>, limit: usize) -> Vec<Match> {
        let first = self.first_line().0;
        let mut matches = Vec::new();
        for (index, line, _) in LineReader::new(self.engine().main(), self.indexes(&range), Wraps::Join) {
            for found in regex.find_iter(&line).take(limit - matches.len()) {
                matches.push(Match {
                    line: LineId(first + index as u64),
                    start: found.start(),
                    end: found.end(),
                    text: found.as_str().to_owned(),
                });
            }
            if matches.len() >= limit {
                break;
            }
        }
        matches
    }

    /// The rows of the main grid, counted from the oldest, that a range of ids means.
    fn indexes(&self, range: &Range<LineId>) -> Range<usize> {
        let (first, next) = (self.first_line().0, self.next_line().0);
        let index = |id: LineId| (id.0.clamp(first, next) - first) as usize;
        index(range.start)..index(range.end)
    }
}

/// Reads rows as lines, joining when asked.
struct LineReader<'a> {
    grid: GridView<'a>,
    rows: Range<usize>,
    wraps: Wraps,
}

impl<'a> LineReader<'a> {
    fn new(grid: GridView<'a>, rows: Range<usize>, wraps: Wraps) -> LineReader<'a> {
        LineReader { grid, rows, wraps }
    }
}

impl Iterator for LineReader<'_> {
    /// Index of the first row, text, whether the text goes on after the last row read.
    type Item = (usize, String, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.rows.next()?;
        let mut row = self.grid.row(index)?;
        let mut text = String::with_capacity(row.len());
        while self.wraps == Wraps::Join && row.is_wrapped() && !self.rows.is_empty() {
            append_row(&mut text, row);
            row = self.grid.row(self.rows.next()?)?;
        }
        append_row(&mut text, row);
        text.truncate(text.trim_end_matches(' ').len());
        Some((index, text, row.is_wrapped()))
    }
}

/// Appends every cell of a row, blanks included.
fn append_row(text: &mut String, row: RowView<'_>) {
    let mut key = StyleKey::DEFAULT;
    let mut hidden = false;
    for cell in row.shown_cells() {
        if matches!(cell.width(), Width::Spacer | Width::LeadingSpacer) {
            continue;
        }
        if cell.style_key() != key {
            key = cell.style_key();
            hidden = row.style(key).attributes.contains(Attributes::HIDDEN);
        }
        match cell.character() {
            '\0' | '\t' => text.push(' '),
            _ if hidden => text.push_str(if cell.width() == Width::Wide { "  " } else { " " }),
            character => {
                text.push(character);
                text.extend(cell.marks());
            }
        }
    }
}
