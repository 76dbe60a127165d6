//! Cuts the lines of history into pages: as much text as fits a limit, and where the next page begins. The
//! pages in order are the whole history, and no page exceeds its limit.

use std::ops::Range;

use crate::engine::{GridView, RowView};
use crate::screen::Screen;
use crate::text::{LineId, Wraps, append_row};

/// One page of history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePage {
    /// Lines, each ended by a line feed, except a last one that continues in the next page.
    pub text: String,
    /// The id of the first row in it.
    pub first: LineId,
    /// The id after the last row in it: where the next page begins.
    pub next: LineId,
    /// Bytes of a row that were left out because the row alone is longer than the limit.
    pub cut: usize,
}

impl Screen {
    /// Returns the lines with content: from the oldest to the last row of the main screen with text. Blank
    /// rows below it do not count: text may still be written there.
    pub fn written(&self) -> Range<LineId> {
        let main = self.engine().main();
        let rows = (0..main.rows()).rev();
        let blank_rows = rows.take_while(|row| main.screen_row(*row).is_none_or(is_blank)).count();
        let first = self.first_line();
        first..LineId(first.0 + (main.history() + main.rows() - blank_rows) as u64)
    }

    /// Returns the line that the next character of the main screen goes to. It and the lines after it may
    /// still change.
    pub fn line_being_written(&self, wraps: Wraps) -> LineId {
        let main = self.engine().main();
        let mut index = main.history() + usize::from(main.pen().row);
        let is_wrapped = |index: usize| main.row(index).is_some_and(|row| row.is_wrapped());
        while wraps == Wraps::Join && index > 0 && is_wrapped(index - 1) {
            index -= 1;
        }
        LineId(self.first_line().0 + index as u64)
    }

    /// Returns as many whole lines from the start of `range` as fit `limit` bytes. A line that does not fit
    /// by itself is cut between two of its rows, and a row that does not fit by itself at a character.
    pub fn page(&self, range: Range<LineId>, wraps: Wraps, limit: usize) -> LinePage {
        let rows = Rows { grid: self.engine().main(), first: self.first_line().0, wraps };
        let mut page = LinePage { text: String::new(), first: range.start, next: range.start, cut: 0 };
        let mut whole = (range.start, 0);
        for index in self.indexes(&range) {
            let row = rows.text(index);
            if page.text.len() + row.len() > limit {
                match (whole.1, page.text.len()) {
                    (0, 0) => page.cut_short(row, rows.id(index), limit),
                    (0, _) => {}
                    (length, _) => {
                        page.text.truncate(length);
                        page.next = whole.0;
                    }
                }
                return page;
            }
            page.text.push_str(&row);
            page.next = rows.id(index + 1);
            if row.ends_with('\n') {
                whole = (page.next, page.text.len());
            }
        }
        page
    }

    /// Returns the newest lines of a range that fit `limit` bytes.
    pub fn last_page(&self, range: Range<LineId>, wraps: Wraps, limit: usize) -> LinePage {
        let rows = Rows { grid: self.engine().main(), first: self.first_line().0, wraps };
        let mut page = LinePage { text: String::new(), first: range.end, next: range.end, cut: 0 };
        let mut newest_first = Vec::new();
        let mut length = 0;
        for index in self.indexes(&range).rev() {
            let row = rows.text(index);
            if length + row.len() > limit {
                if newest_first.is_empty() {
                    page.cut_short(row, rows.id(index), limit);
                    return page;
                }
                break;
            }
            length += row.len();
            page.first = rows.id(index);
            newest_first.push(row);
        }
        page.text = newest_first.into_iter().rev().collect();
        page
    }
}

impl LinePage {
    /// Fills the page with the beginning of one row.
    fn cut_short(&mut self, mut row: String, id: LineId, limit: usize) {
        let ending = if row.ends_with('\n') { "\n" } else { "" };
        let end = row.floor_char_boundary(limit.saturating_sub(ending.len()));
        self.cut = row.len() - ending.len() - end;
        row.truncate(end);
        row.push_str(ending);
        (self.text, self.first, self.next) = (row, id, LineId(id.0 + 1));
    }
}

/// The rows of a grid as pieces of text.
struct Rows<'a> {
    grid: GridView<'a>,
    /// The id of the oldest row.
    first: u64,
    wraps: Wraps,
}

impl Rows<'_> {
    fn id(&self, index: usize) -> LineId {
        LineId(self.first + index as u64)
    }

    /// Returns a row with its line feed. When lines are joined and this one continues, the row keeps its
    /// trailing blanks and gets no line feed.
    fn text(&self, index: usize) -> String {
        let mut text = String::new();
        let Some(row) = self.grid.row(index) else { return text };
        append_row(&mut text, row);
        let goes_on = row.is_wrapped() && self.grid.row(index + 1).is_some();
        if self.wraps == Wraps::Keep || !goes_on {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }
}

fn is_blank(row: RowView<'_>) -> bool {
    !row.is_wrapped() && row.shown_cells().all(|cell| cell.is_blank())
}

#[cfg(test)]
mod tests;
