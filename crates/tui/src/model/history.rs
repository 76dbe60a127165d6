//! Lines of a process to scroll, search, select and copy, in their colours.

mod page;

use proto::ProcessId;
use proto::styled::StyledRow;
use term::Cell;

use super::splits::PaneId;

/// Most lines that are kept while somebody scrolls.
const LINES_MAX: usize = 20_000;

/// A place in the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HistoryPosition {
    pub(crate) line: usize,
    pub(crate) col: usize,
}

/// How text is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SelectBy {
    #[default]
    Character,
    Line,
    Block,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HistoryLine {
    pub(crate) cells: Vec<Cell>,
    /// The text goes on in the next line.
    pub(crate) is_wrapped: bool,
    /// A shell's prompt begins here.
    pub(crate) is_prompt: bool,
}

/// What is looked for above the lines that are here, while older ones are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// The text of the search; the flag turns its direction round.
    Text { other_way: bool },
    /// A prompt.
    Prompt { is_back: bool },
    /// The first line that is kept.
    Top,
}

/// What a cell is to words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordClass {
    Blank,
    /// Letters, digits, and what names of files and addresses are made of.
    Word,
    Sign,
}

/// What the cell at a column is; the second half of a wide character is what its first half is.
pub(crate) fn word_class(cells: &[Cell], col: usize) -> WordClass {
    let Some(cell) = cells.get(col) else { return WordClass::Blank };
    if cell.width == 0 && col > 0 {
        return word_class(cells, col - 1);
    }
    match cell.text.chars().next() {
        None => WordClass::Blank,
        Some(character) if character.is_whitespace() => WordClass::Blank,
        Some(character) if character.is_alphanumeric() || "_-./~:@%+#=?&".contains(character) => {
            WordClass::Word
        }
        Some(_) => WordClass::Sign,
    }
}

/// The lines and the cursor in them.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) pane: PaneId,
    pub(crate) process: ProcessId,
    pub(crate) lines: Vec<HistoryLine>,
    /// The id of the first line, once the daemon has told it.
    pub(crate) first_id: Option<u64>,
    pub(crate) is_loading: bool,
    /// There is nothing above the first line.
    pub(crate) is_complete: bool,
    /// The first line that is shown.
    pub(crate) top: usize,
    pub(crate) rows: usize,
    pub(crate) cursor: HistoryPosition,
    pub(crate) anchor: Option<HistoryPosition>,
    pub(crate) select_by: SelectBy,
    /// What is looked for, and whether upwards.
    pub(crate) search: Option<(String, bool)>,
    /// What is looked for in lines that are on their way.
    pub(crate) sought: Option<Sought>,
    /// Opened by the wheel or the mouse: any other key closes it.
    pub(crate) is_casual: bool,
    /// Lines that the wheel was turned up by before they were here.
    owed: usize,
    /// The first key of two that go to the top was pressed.
    pub(crate) has_g: bool,
}

impl History {
    /// Begins with what a screen shows.
    pub(crate) fn new(pane: PaneId, process: ProcessId, lines: Vec<HistoryLine>) -> Self {
        let rows = lines.len();
        let cursor = HistoryPosition { line: page::used_rows(&lines).saturating_sub(1), col: 0 };
        Self {
            pane,
            process,
            lines,
            first_id: None,
            is_loading: false,
            is_complete: false,
            top: 0,
            rows,
            cursor,
            anchor: None,
            select_by: SelectBy::default(),
            search: None,
            sought: None,
            is_casual: false,
            owed: 0,
            has_g: false,
        }
    }

    /// Takes a page from the daemon: the first one is laid under what the screen showed, each other one goes above. What is in
    /// sight stays where it is.
    pub(crate) fn take_page(&mut self, rows: Vec<StyledRow>, missed: u64) {
        self.is_loading = false;
        let Some(first) = rows.first().map(|row| row.line) else {
            (self.is_complete, self.owed) = (true, 0);
            return;
        };
        let mut page: Vec<HistoryLine> = rows.iter().map(page::line_of).collect();
        let above = match self.first_id {
            None => page::lay_under(&mut page, &mut self.lines),
            Some(_) => isize::try_from(page.len()).unwrap_or(0),
        };
        self.lines.splice(0..0, page);
        let moved = usize::try_from(above).unwrap_or(0);
        self.top += moved;
        self.cursor.line += moved;
        if let Some(anchor) = &mut self.anchor {
            anchor.line += moved;
        }
        // A page that begins below the upper edge of the screen leaves the rows above it as they were seen.
        self.first_id = Some(first.saturating_sub(above.min(0).unsigned_abs() as u64));
        self.is_complete = first <= missed || self.lines.len() >= LINES_MAX;
        let owed = std::mem::take(&mut self.owed);
        self.wheel(-isize::try_from(owed).unwrap_or(0));
    }

    /// Returns true if older lines are wanted now.
    pub(crate) fn wants_more(&self) -> bool {
        let is_near = self.first_id.is_none() || self.top < self.rows || self.sought.is_some();
        !self.is_loading && !self.is_complete && is_near
    }

    /// Moves the cursor by lines and keeps it in sight.
    pub(crate) fn move_lines(&mut self, by: isize) {
        let most = self.lines.len().saturating_sub(1);
        self.cursor.line = self.cursor.line.saturating_add_signed(by).min(most);
        self.show_cursor();
    }

    /// Goes to the last line with text: the blank rows below it are no lines.
    pub(crate) fn go_to_last_line(&mut self) {
        self.cursor.line = page::used_rows(&self.lines).saturating_sub(1);
        self.show_cursor();
    }

    /// Scrolls by lines; the cursor goes along. Returns false at the bottom.
    pub(crate) fn scroll(&mut self, by: isize) -> bool {
        let most = self.lines.len().saturating_sub(self.rows);
        self.top = self.top.saturating_add_signed(by).min(most);
        self.cursor.line = self.cursor.line.clamp(self.top, self.top + self.rows.saturating_sub(1));
        self.top < most
    }

    /// Scrolls as the wheel does: what it was turned beyond the lines that are here is done when they are.
    pub(crate) fn wheel(&mut self, by: isize) -> bool {
        let up = by.min(0).unsigned_abs();
        let short = up.saturating_sub(self.top);
        let waits = if self.is_complete { 0 } else { short };
        self.owed = if by > 0 { 0 } else { self.owed + waits };
        self.scroll(by)
    }

    /// Returns true if the wheel was turned up and there is nothing above.
    pub(crate) fn is_turned_in_vain(&self) -> bool {
        self.is_complete && self.is_casual && self.anchor.is_none() && self.lines.len() <= self.rows
    }

    /// Scrolls by lines and takes the cursor along; at an end only the cursor goes on.
    pub(crate) fn page(&mut self, by: isize) {
        let most = self.lines.len().saturating_sub(self.rows);
        self.top = self.top.saturating_add_signed(by).min(most);
        self.move_lines(by);
    }

    pub(crate) fn show_cursor(&mut self) {
        if self.cursor.line < self.top {
            self.top = self.cursor.line;
        } else if self.cursor.line >= self.top + self.rows {
            self.top = self.cursor.line + 1 - self.rows.max(1);
        }
    }

    /// Lines without the blank rows at the end.
    pub(crate) fn count(&self) -> usize {
        page::used_rows(&self.lines)
    }

    pub(crate) fn text_of(&self, line: usize) -> String {
        self.lines.get(line).map(page::text_of).unwrap_or_default()
    }

    /// Goes to what is sought; returns false when it is not in these lines.
    pub(crate) fn seek(&mut self, sought: Sought) -> bool {
        let found = match sought {
            Sought::Text { other_way } => self.find(other_way),
            Sought::Prompt { is_back } => {
                let is_prompt = |line: &usize| self.lines[*line].is_prompt;
                let here = self.cursor.line.min(self.lines.len());
                let line = match is_back {
                    true => (0..here).rev().find(is_prompt),
                    false => (here + 1..self.lines.len()).find(is_prompt),
                };
                line.map(|line| HistoryPosition { line, col: 0 })
            }
            Sought::Top => self.is_complete.then_some(HistoryPosition { line: 0, ..self.cursor }),
        };
        if let Some(position) = found {
            self.cursor = position;
            self.show_cursor();
        }
        found.is_some()
    }

    /// True if the text that is looked for stands at the cursor.
    pub(crate) fn is_here(&self) -> bool {
        let Some((wanted, _)) = &self.search else { return false };
        let first = self.first_row(self.cursor.line);
        self.places_of(&wanted.to_lowercase(), first).contains(&self.cursor)
    }

    /// True if what is sought lies above the cursor.
    pub(crate) fn is_upwards(&self, sought: Sought) -> bool {
        match sought {
            Sought::Text { other_way } => {
                self.search.as_ref().is_some_and(|(_, is_back)| *is_back != other_way)
            }
            Sought::Prompt { is_back } => is_back,
            Sought::Top => true,
        }
    }

    /// The next place of the text that is looked for. Lines that the terminal wrapped are one line.
    fn find(&self, other_way: bool) -> Option<HistoryPosition> {
        let (wanted, _) = self.search.as_ref()?;
        let wanted = wanted.to_lowercase();
        let is_back = self.is_upwards(Sought::Text { other_way });
        let mut at = self.first_row(self.cursor.line);
        loop {
            let places = self.places_of(&wanted, at);
            let found = match is_back {
                true => places.iter().rev().find(|position| **position < self.cursor),
                false => places.iter().find(|position| **position > self.cursor),
            };
            if let Some(found) = found {
                return Some(*found);
            }
            at = match is_back {
                true => self.first_row(at.checked_sub(1)?),
                false => self.last_row(at) + 1,
            };
            if at >= self.lines.len() {
                return None;
            }
        }
    }

    /// The first row of the line that a row belongs to.
    fn first_row(&self, row: usize) -> usize {
        let goes_on = |row: &usize| self.lines.get(*row).is_some_and(|line| line.is_wrapped);
        (0..row).rev().take_while(goes_on).last().unwrap_or(row)
    }

    /// The last row of the line that a row belongs to.
    fn last_row(&self, row: usize) -> usize {
        (row..self.lines.len()).find(|row| !self.lines[*row].is_wrapped).unwrap_or(row)
    }

    /// Where a text in small letters stands in the line that begins at a row.
    fn places_of(&self, wanted: &str, first: usize) -> Vec<HistoryPosition> {
        let mut text = String::new();
        let mut cells: Vec<(usize, HistoryPosition)> = Vec::new();
        for line in first..=self.last_row(first).min(self.lines.len().saturating_sub(1)) {
            let row = self.lines.get(line).map_or(&[][..], |line| &line.cells);
            for (col, cell) in row.iter().enumerate().filter(|(_, cell)| cell.width > 0) {
                cells.push((text.len(), HistoryPosition { line, col }));
                text.push_str(&cell.text.as_str().to_lowercase());
            }
        }
        let position = |(at, _): (usize, &str)| {
            let cell = cells.partition_point(|(start, _)| *start <= at);
            cells.get(cell.saturating_sub(1)).map(|(_, position)| *position)
        };
        text.match_indices(wanted).filter_map(position).collect()
    }

    /// Moves to the next or the previous line without text, or to the end.
    pub(crate) fn paragraph(&mut self, is_back: bool) {
        let is_blank = |line: &usize| self.text_of(*line).is_empty();
        let here = self.cursor.line;
        let last = self.lines.len().saturating_sub(1);
        let found = match is_back {
            true => (0..=here).rev().skip_while(is_blank).find(is_blank).unwrap_or(0),
            false => (here..=last).skip_while(is_blank).find(is_blank).unwrap_or(last),
        };
        self.cursor = HistoryPosition { line: found, col: 0 };
        self.show_cursor();
    }

    /// The first and the last cell of the word at a place; none on a blank.
    pub(crate) fn word_at(&self, position: HistoryPosition) -> Option<(HistoryPosition, HistoryPosition)> {
        let cells = &self.lines.get(position.line)?.cells;
        let class = word_class(cells, position.col);
        let is_same = |col: &usize| word_class(cells, *col) == class;
        if class == WordClass::Blank {
            return None;
        }
        let first = (0..position.col).rev().take_while(is_same).last().unwrap_or(position.col);
        let last = (position.col..cells.len()).take_while(is_same).last().unwrap_or(position.col);
        Some((HistoryPosition { col: first, ..position }, HistoryPosition { col: last, ..position }))
    }

    /// The link at a place: the one the program gave, else an address in the text of the line.
    pub(crate) fn link_at(&self, position: HistoryPosition) -> Option<String> {
        let cells = &self.lines.get(position.line)?.cells;
        if let Some(link) = cells.get(position.col).and_then(|cell| cell.link.as_ref()) {
            return Some(link.to_string());
        }
        let is_text = |col: &usize| word_class(cells, *col) != WordClass::Blank;
        let first = (0..=position.col).rev().take_while(is_text).last()?;
        let text: String =
            (first..cells.len()).take_while(is_text).map(|col| cells[col].text.as_str()).collect();
        let start = ["https://", "http://"].iter().filter_map(|head| text.find(head)).min()?;
        let is_end = |character: char| "\"'<>)]}`".contains(character);
        let link = text[start..].split(is_end).next()?;
        Some(link.trim_end_matches(['.', ',', ';', ':', '!', '?']).to_owned())
    }

    /// Both ends of the selection, the first one first.
    pub(crate) fn selection(&self) -> Option<(HistoryPosition, HistoryPosition)> {
        let anchor = self.anchor?;
        Some((anchor.min(self.cursor), anchor.max(self.cursor)))
    }

    pub(crate) fn is_selected(&self, position: HistoryPosition) -> bool {
        let Some((first, last)) = self.selection() else { return false };
        let columns = first.col.min(last.col)..=first.col.max(last.col);
        match self.select_by {
            SelectBy::Line => (first.line..=last.line).contains(&position.line),
            SelectBy::Block => {
                (first.line..=last.line).contains(&position.line) && columns.contains(&position.col)
            }
            SelectBy::Character => first <= position && position <= last,
        }
    }

    /// The selected text: lines that the terminal wrapped are one line again.
    pub(crate) fn selected_text(&self) -> String {
        let Some((first, last)) = self.selection() else { return String::new() };
        let mut text = String::new();
        for line in first.line..=last.line {
            let Some(row) = self.lines.get(line) else { break };
            let is_in = |col: usize| self.is_selected(HistoryPosition { line, col });
            let cells = row.cells.iter().enumerate().filter(|(col, _)| is_in(*col));
            let piece: String = cells.map(|(_, cell)| cell.text.as_str()).collect();
            let is_joined = row.is_wrapped && self.select_by != SelectBy::Block && line < last.line;
            text.push_str(if is_joined { &piece } else { piece.trim_end() });
            if line < last.line && !is_joined {
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use term::{CellText, Style};

    use super::*;

    fn line(text: &str) -> HistoryLine {
        let cell = |character: char| Cell {
            text: CellText::new(character.encode_utf8(&mut [0; 4])),
            style: Style::default(),
            width: 1,
            link: None,
        };
        HistoryLine { cells: text.chars().map(cell).collect(), ..HistoryLine::default() }
    }

    fn history(lines: &[&str]) -> History {
        let lines = lines.iter().map(|text| line(text)).collect();
        History::new(PaneId(1), ProcessId::from_entropy(1), lines)
    }

    #[test]
    fn a_word_is_what_a_double_click_means() {
        let history = history(&["see src/auth.rs:41, (or not)"]);
        let word = |col| {
            let (first, last) = history.word_at(HistoryPosition { line: 0, col })?;
            Some(history.text_of(0)[first.col..=last.col].to_owned())
        };
        assert_eq!(word(6).as_deref(), Some("src/auth.rs:41"));
        assert_eq!(word(18).as_deref(), Some(","));
        assert_eq!((word(3), word(99)), (None, None));
    }

    #[test]
    fn a_link_is_the_programs_own_or_an_address_in_the_text() {
        let mut history = history(&["see (https://a.example/x?y=1), then go", "none"]);
        let link = |history: &History, line, col| history.link_at(HistoryPosition { line, col });
        assert_eq!(link(&history, 0, 9).as_deref(), Some("https://a.example/x?y=1"));
        assert_eq!((link(&history, 0, 1), link(&history, 1, 2)), (None, None));
        history.lines[1].cells[2].link = Some(std::sync::Arc::from("https://b.example"));
        assert_eq!(link(&history, 1, 2).as_deref(), Some("https://b.example"));
    }

    #[test]
    fn paragraphs_end_at_lines_without_text() {
        let mut history = history(&["a", "", "b", "b", "", "", "c"]);
        let mut lines = Vec::new();
        history.cursor = HistoryPosition::default();
        for is_back in [false, false, false, true, true, true] {
            history.paragraph(is_back);
            lines.push(history.cursor.line);
        }
        assert_eq!(lines, [1, 4, 6, 5, 1, 0]);
    }

    #[test]
    fn a_text_is_found_across_rows_that_were_wrapped_and_at_every_place_of_a_line() {
        let mut history = history(&["one TWO two", "a long wr", "apped line", "end"]);
        history.lines[1].is_wrapped = true;
        let mut search = |text: &str, is_back: bool, times: usize| {
            history.cursor =
                if is_back { HistoryPosition { line: 3, col: 9 } } else { HistoryPosition::default() };
            history.search = Some((text.to_owned(), is_back));
            let mut spots = Vec::new();
            for _ in 0..times {
                spots.push(history.seek(Sought::Text { other_way: false }).then_some(history.cursor));
            }
            spots
        };
        let position = |line, col| Some(HistoryPosition { line, col });
        assert_eq!(search("wrapped", false, 2), [position(1, 7), None]);
        assert_eq!(search("wrapped", true, 2), [position(1, 7), None]);
        assert_eq!(search("two", false, 3), [position(0, 4), position(0, 8), None]);
        assert_eq!(search("two", true, 3), [position(0, 8), position(0, 4), None]);
    }

    #[test]
    fn a_search_beside_letters_whose_small_form_is_longer_finds_the_column() {
        let mut history = history(&["İİ x", "y"]);
        history.search = Some(("x".to_owned(), true));
        assert!(history.seek(Sought::Text { other_way: false }));
        assert_eq!(history.cursor, HistoryPosition { line: 0, col: 3 });
    }

    #[test]
    fn u28_prompts_are_jumped_between() {
        let mut history = history(&["$ ls", "a", "$ cat", "b", "c"]);
        [0, 2].into_iter().for_each(|line| history.lines[line].is_prompt = true);
        let mut lines = Vec::new();
        for is_back in [true, true, true, false, false] {
            let is_found = history.seek(Sought::Prompt { is_back });
            lines.push((is_found, history.cursor.line));
        }
        assert_eq!(lines, [(true, 2), (true, 0), (false, 0), (true, 2), (false, 2)]);
    }
}
