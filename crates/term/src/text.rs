//! The text of a screen and its history: visible text, lines by id, search. It reads the rendered grid, never
//! the bytes, so that an agent reads what a person sees: hidden text (SGR 8) is blank here too.

use std::ops::Range;

use regex::Regex;

use crate::cell::Attributes;
use crate::engine::{GridView, RowView, StyleKey, Width};
use crate::screen::Screen;

/// The number of a line of history or main screen; see [`Screen::first_line`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(pub u64);

/// How to treat lines that the terminal wrapped.
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
    /// True if the text continues in the next row; with [`Wraps::Join`] only when the range cut it off.
    pub wrapped: bool,
}

/// One match of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMatch {
    /// The id of the first row of the (joined) line the match is in.
    pub line: LineId,
    /// Byte offset of the match in `text`.
    pub start: usize,
    /// Byte offset after the match in `text`.
    pub end: usize,
    /// The line; for one longer than [`TextMatch::LINE_MAX`] the part around the match.
    pub text: String,
    /// Bytes of the line before `text`.
    pub skipped: usize,
    /// True if the line, or the match itself, continues after `text`.
    pub is_cut: bool,
}

impl TextMatch {
    /// Most of a line that a match carries, in bytes.
    pub const LINE_MAX: usize = 512;

    /// Returns a match with the part of its line that fits: all of it, or some text before the match and then
    /// as much as fits.
    fn in_line(id: LineId, line: &str, found: &regex::Match<'_>) -> TextMatch {
        let room = TextMatch::LINE_MAX.saturating_sub(found.len());
        let lead = if line.len() <= TextMatch::LINE_MAX { found.start() } else { room / 2 };
        // A match near the line's end leaves more room before it.
        let latest = line.len().saturating_sub(TextMatch::LINE_MAX);
        let from = line.ceil_char_boundary(found.start().saturating_sub(lead).min(latest));
        let to = line.floor_char_boundary(from + TextMatch::LINE_MAX);
        let text = line.get(from..to).unwrap_or_default().to_owned();
        let end = (found.end() - from).min(text.len());
        TextMatch { line: id, start: found.start() - from, end, skipped: from, is_cut: to < line.len(), text }
    }
}

/// Matches of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Oldest first.
    pub matches: Vec<TextMatch>,
    /// True if a limit cut more matches off.
    pub is_cut: bool,
}

impl Found {
    /// Finds matches of a pattern in lines: at most `limit`, with at most `bytes` of text. It works on copied
    /// lines, because a slow pattern must not hold up the screen.
    pub fn among(lines: &[Line], regex: &Regex, limit: usize, bytes: usize) -> Found {
        let (mut found, mut taken) = (Found::default(), 0);
        for line in lines {
            for hit in regex.find_iter(&line.text) {
                let one = TextMatch::in_line(line.id, &line.text, &hit);
                taken += one.text.len();
                if found.matches.len() >= limit || taken > bytes {
                    found.is_cut = true;
                    return found;
                }
                found.matches.push(one);
            }
        }
        found
    }
}

impl Screen {
    /// Returns the visible grid as text: trailing blanks and trailing empty lines are cut.
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

    /// Returns the id of the oldest line still there.
    ///
    /// Ids count the rows of the main grid, history first, and stay with their row while it scrolls.
    /// Rows that leave the history take their ids with them; clearing the history does the same to all
    /// of it, and the lines on the screen keep their ids. A change of the number of rows keeps every
    /// id. A change of the number of columns wraps lines again: ids are then assigned from the bottom up,
    /// the newest line keeps its id, or gets a higher one when there are more lines than before, and
    /// older ids may name other text. A full reset and a display reset never assign an id twice for lines
    /// that have scrolled.
    pub fn first_line(&self) -> LineId {
        LineId(self.line_base().wrapping_add(self.engine().main().evicted()))
    }

    /// Returns the id after the last row of the main screen.
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

    /// Returns the rows of the main grid, counted from the oldest, that a range of ids means.
    pub(crate) fn indexes(&self, range: &Range<LineId>) -> Range<usize> {
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
pub(crate) fn append_row(text: &mut String, row: RowView<'_>) {
    let mut key = StyleKey::DEFAULT;
    let mut hidden = false;
    let mut col = row.push_plain(0, text);
    while let Some(cell) = row.shown(col) {
        col += 1;
        if matches!(cell.width(), Width::Spacer | Width::LeadingSpacer) {
            continue;
        }
        if cell.exact_style_key() != key {
            key = cell.exact_style_key();
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
        col += row.push_plain(col, text);
    }
}
