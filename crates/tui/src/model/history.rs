//! Lines of a process to scroll, search, select and copy, in their colours.

use proto::ProcessId;
use proto::styled::{CellColor, StyledRow, StyledRun, UnderlineKind};
use term::{Attributes, Cell, CellText, Color, Style, Underline};

use super::splits::PaneId;
use crate::frame::width;

/// Most lines that are kept while somebody scrolls.
const LINES_MAX: usize = 20_000;

/// A place in the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
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
    pub(crate) cursor: Spot,
    pub(crate) anchor: Option<Spot>,
    pub(crate) select_by: SelectBy,
    /// What is looked for, and whether upwards.
    pub(crate) search: Option<(String, bool)>,
    /// Opened by the wheel or the mouse: any other key closes it.
    pub(crate) is_casual: bool,
}

impl History {
    /// Begins with what a screen shows.
    pub(crate) fn new(pane: PaneId, process: ProcessId, lines: Vec<HistoryLine>) -> Self {
        let rows = lines.len();
        let cursor = Spot { line: rows.saturating_sub(1), col: 0 };
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
            is_casual: false,
        }
    }

    /// Takes a page from the daemon: the first one replaces what the screen showed, each other goes above.
    pub(crate) fn take_page(&mut self, rows: Vec<StyledRow>, missed: u64) {
        self.is_loading = false;
        let Some(first) = rows.first().map(|row| row.line) else {
            self.is_complete = true;
            return;
        };
        let page: Vec<HistoryLine> = rows.iter().map(line_of).collect();
        let before = self.lines.len();
        if self.first_id.is_none() {
            self.lines = page;
        } else {
            self.lines.splice(0..0, page);
        }
        let moved = self.lines.len() as isize - before as isize;
        self.top = self.top.saturating_add_signed(moved);
        self.cursor.line = self.cursor.line.saturating_add_signed(moved);
        if let Some(anchor) = &mut self.anchor {
            anchor.line = anchor.line.saturating_add_signed(moved);
        }
        self.first_id = Some(first);
        self.is_complete = first <= missed || self.lines.len() >= LINES_MAX;
    }

    /// Whether older lines are wanted now.
    pub(crate) fn wants_more(&self) -> bool {
        !self.is_loading && !self.is_complete && (self.first_id.is_none() || self.top < self.rows)
    }

    /// Moves the cursor by lines and keeps it in sight.
    pub(crate) fn move_lines(&mut self, by: isize) {
        let most = self.lines.len().saturating_sub(1);
        self.cursor.line = self.cursor.line.saturating_add_signed(by).min(most);
        self.show_cursor();
    }

    /// Scrolls by lines; the cursor goes along. Returns false at the bottom.
    pub(crate) fn scroll(&mut self, by: isize) -> bool {
        let most = self.lines.len().saturating_sub(self.rows);
        self.top = self.top.saturating_add_signed(by).min(most);
        self.cursor.line = self.cursor.line.clamp(self.top, self.top + self.rows.saturating_sub(1));
        self.top < most
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

    pub(crate) fn text_of(&self, line: usize) -> String {
        let cells = self.lines.get(line).map_or(&[][..], |line| &line.cells);
        let text: String = cells.iter().map(|cell| cell.text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// Goes to the next line with the text that is looked for; returns false when there is none.
    pub(crate) fn find(&mut self, other_way: bool) -> bool {
        let Some((wanted, is_back)) = self.search.clone() else { return false };
        let wanted = wanted.to_lowercase();
        let is_back = is_back != other_way;
        let count = self.lines.len();
        let order: Vec<usize> = match is_back {
            true => (0..self.cursor.line).rev().collect(),
            false => (self.cursor.line + 1..count).collect(),
        };
        for line in order {
            if let Some(at) = self.text_of(line).to_lowercase().find(&wanted) {
                let col =
                    usize::from(width::columns(&self.text_of(line)[..at.min(self.text_of(line).len())]));
                self.cursor = Spot { line, col };
                self.show_cursor();
                return true;
            }
        }
        false
    }

    /// Both ends of the selection, the first one first.
    pub(crate) fn selection(&self) -> Option<(Spot, Spot)> {
        let anchor = self.anchor?;
        Some((anchor.min(self.cursor), anchor.max(self.cursor)))
    }

    pub(crate) fn is_selected(&self, spot: Spot) -> bool {
        let Some((first, last)) = self.selection() else { return false };
        let columns = first.col.min(last.col)..=first.col.max(last.col);
        match self.select_by {
            SelectBy::Line => (first.line..=last.line).contains(&spot.line),
            SelectBy::Block => (first.line..=last.line).contains(&spot.line) && columns.contains(&spot.col),
            SelectBy::Character => first <= spot && spot <= last,
        }
    }

    /// The selected text: lines that the terminal wrapped are one line again.
    pub(crate) fn selected_text(&self) -> String {
        let Some((first, last)) = self.selection() else { return String::new() };
        let mut text = String::new();
        for line in first.line..=last.line {
            let Some(row) = self.lines.get(line) else { break };
            let is_in = |col: usize| self.is_selected(Spot { line, col });
            let cells = row.cells.iter().enumerate().filter(|(col, _)| is_in(*col));
            let piece: String = cells.map(|(_, cell)| cell.text.as_str()).collect();
            let is_joined = row.is_wrapped && self.select_by == SelectBy::Character;
            text.push_str(if is_joined { &piece } else { piece.trim_end() });
            if line < last.line && !is_joined {
                text.push('\n');
            }
        }
        text
    }
}

fn line_of(row: &StyledRow) -> HistoryLine {
    HistoryLine { cells: row.runs.iter().flat_map(cells_of).collect(), is_wrapped: row.wrapped }
}

fn cells_of(run: &StyledRun) -> Vec<Cell> {
    let style = style_of(run);
    let link = run.link.as_deref().map(std::sync::Arc::from);
    let clusters: Vec<String> = match run.joined {
        true => vec![run.text.clone()],
        false => run.text.chars().map(String::from).collect(),
    };
    let mut cells = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        cells.push(Cell {
            text: CellText::new(&cluster),
            style,
            width: run.width.clamp(1, 2),
            link: link.clone(),
        });
        if run.width == 2 {
            cells.push(Cell { text: CellText::new(""), style, width: 0, link: link.clone() });
        }
    }
    cells
}

fn style_of(run: &StyledRun) -> Style {
    let color = |color: Option<CellColor>| match color {
        None => Color::Default,
        Some(CellColor::Index(index @ 0..=15)) => Color::Basic(index),
        Some(CellColor::Index(index)) => Color::Indexed(index),
        Some(CellColor::Rgb(red, green, blue)) => Color::Rgb(red, green, blue),
    };
    let mut attributes = Attributes::default();
    let switches = [
        (run.bold, Attributes::BOLD),
        (run.dim, Attributes::DIM),
        (run.italic, Attributes::ITALIC),
        (run.blink, Attributes::BLINK),
        (run.reverse, Attributes::INVERSE),
        (run.strike, Attributes::STRIKE),
        (run.overline, Attributes::OVERLINE),
    ];
    switches.iter().filter(|(is_on, _)| *is_on).for_each(|(_, attribute)| attributes.insert(*attribute));
    let underline = match run.underline {
        None => Underline::None,
        Some(UnderlineKind::Single) => Underline::Single,
        Some(UnderlineKind::Double) => Underline::Double,
        Some(UnderlineKind::Curly) => Underline::Curly,
        Some(UnderlineKind::Dotted) => Underline::Dotted,
        Some(UnderlineKind::Dashed) => Underline::Dashed,
    };
    let underline_color = run.underline_color.map(|line| color(Some(line)));
    Style { fg: color(run.fg), bg: color(run.bg), underline, underline_color, attributes }
}
