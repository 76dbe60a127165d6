//! Pages to read, questions with one line, and questions with yes or no.

use std::ops::Range;

use super::{framed, text, wrap};
use crate::frame::{Grid, Point, Rect, ShownCursor, width};
use crate::model::Model;
use crate::model::line::Line;
use crate::model::overlay::{Confirm, Page, Prompt, Purpose};
use crate::theme::Role;

/// Columns of a dialog where there is room.
const COLUMNS: u16 = 76;
/// Most rows of a question that is answered with several lines.
const PROMPT_ROWS: u16 = 10;

pub(crate) fn page(model: &Model, page: &Page, grid: &mut Grid) {
    let lines = page_lines(model, page);
    let hints =
        if page.pad.is_some() { "j k scroll  E edit  H revisions  Esc back" } else { "j k scroll  Esc back" };
    let inside = framed(model, grid, page_place(model, lines.len()), &page.title, hints);
    let top = page.top.min(lines.len().saturating_sub(usize::from(inside.rows)));
    let roles = line_roles(&lines, page.pad.is_some());
    let shown = lines.iter().zip(roles).skip(top);
    for (row, (line, role)) in (inside.row..inside.bottom()).zip(shown) {
        // The sign of a heading belongs to the text of a scratchpad; in pages of the deck it is only a mark.
        let line = if page.pad.is_none() { line.trim_start_matches("# ") } else { line };
        grid.text(Point { col: inside.col + 2, row }, line, text(model, role), inside.cols.saturating_sub(3));
    }
}

/// What the lines of a page are. A scratchpad is Markdown: its headings, its code and its quotations look different.
fn line_roles(lines: &[String], is_pad: bool) -> Vec<Role> {
    let mut is_code = false;
    let role = |line: &String| {
        let is_fence = is_pad && line.trim_start().starts_with("```");
        is_code ^= is_fence;
        match line.trim_start() {
            _ if is_fence => Role::Dim,
            _ if is_code => Role::Active,
            _ if line.starts_with('#') => Role::Heading,
            quoted if is_pad && quoted.starts_with("> ") => Role::Dim,
            _ => Role::Text,
        }
    };
    lines.iter().map(role).collect()
}

/// The first row of a page when its last one is in sight.
pub(crate) fn last_top(model: &Model, page: &Page) -> usize {
    let count = page_lines(model, page).len();
    count.saturating_sub(usize::from(page_place(model, count).inside().rows))
}

fn page_lines(model: &Model, page: &Page) -> Vec<String> {
    let columns = COLUMNS.min(model.areas().body.cols).saturating_sub(6);
    page.lines.iter().flat_map(|line| wrap_keeping(line, columns)).collect()
}

fn page_place(model: &Model, lines: usize) -> Rect {
    let rows = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2);
    model.areas().body.middle(COLUMNS, rows)
}

/// Lines that fit stay as they are, with their blanks.
pub(crate) fn wrap_keeping(line: &str, columns: u16) -> Vec<String> {
    if width::columns(line) <= columns { vec![line.to_owned()] } else { wrap(line, columns) }
}

pub(crate) fn prompt(model: &Model, prompt: &Prompt, grid: &mut Grid) {
    let rows = prompt_rows(model, prompt);
    let area = model.areas().body.middle(COLUMNS, rows + 2);
    let verb = match prompt.purpose {
        Purpose::Rename(_) | Purpose::RenamePad(_) => "rename",
        Purpose::NewPad => "write it in your editor",
        Purpose::Tell(_) | Purpose::Answer(_) => "send",
        Purpose::Run(_) => "run",
        Purpose::Search(_) | Purpose::FindChange => "search",
        Purpose::ReviewBase(_) => "compare",
        Purpose::Comment(_) => "keep it",
        Purpose::Timer(_) => "set the timer",
        Purpose::Resume(_) => "start it again",
        Purpose::Size(_) => "give it this size",
        Purpose::Grant(_) => "grant it",
        Purpose::Record(_) => "record",
        Purpose::AppendPad(_) => "append",
    };
    let editor = if prompt.purpose.may_be_long() { "  Ctrl-X editor" } else { "" };
    let inside = framed(model, grid, area, &prompt.title, &format!("Enter {verb}{editor}  Esc back"));
    let place = Rect { col: inside.col + 1, cols: inside.cols.saturating_sub(2), ..inside };
    match rows {
        1 => line(model, grid, &prompt.line, place),
        _ => text_area(model, grid, &prompt.line, place),
    }
}

/// The rows of what is asked: one, or as many as a text of several lines has, up to a bound.
fn prompt_rows(model: &Model, prompt: &Prompt) -> u16 {
    let characters: Vec<char> = prompt.line.text().chars().collect();
    if !characters.contains(&'\n') {
        return 1;
    }
    let columns = model.areas().body.middle(COLUMNS, 3).inside().cols.saturating_sub(2);
    u16::try_from(text_rows(&characters, columns).len()).unwrap_or(PROMPT_ROWS).clamp(2, PROMPT_ROWS)
}

/// A line that is edited: its end is in sight, the cursor is the terminal's own.
pub(crate) fn line(model: &Model, grid: &mut Grid, line: &Line, area: Rect) {
    // A pasted text may be longer than a screen can have columns.
    let long = |text: &str| -> usize {
        width::clusters(text).iter().map(|(_, columns)| usize::from(*columns)).sum()
    };
    let before = long(&line.before());
    let hidden = before.saturating_sub(usize::from(area.cols.saturating_sub(1)));
    let mut skipped = 0;
    let shown: String = width::clusters(&line.text())
        .into_iter()
        .skip_while(|(_, columns)| {
            let is_hidden = skipped < hidden;
            skipped += usize::from(*columns);
            is_hidden
        })
        .map(|(cluster, _)| cluster)
        .collect();
    grid.text(Point { col: area.col, row: area.row }, &shown, text(model, Role::Text), area.cols);
    let col = area.col + u16::try_from(before - hidden).unwrap_or(0);
    grid.cursor = Some(ShownCursor { at: Point { col, row: area.row }, form: None });
}

/// A text of several rows that is edited: the row of the cursor is in sight.
pub(crate) fn text_area(model: &Model, grid: &mut Grid, line: &Line, area: Rect) {
    let characters: Vec<char> = line.text().chars().collect();
    let rows = text_rows(&characters, area.cols);
    let cursor = line.before().chars().count();
    let row = rows.iter().rposition(|row| row.start <= cursor).unwrap_or(0);
    let first = (row + 1).saturating_sub(usize::from(area.rows));
    for (at, row) in (area.row..area.bottom()).zip(rows.iter().skip(first)) {
        let words: String = characters[row.clone()].iter().collect();
        grid.text(Point { col: area.col, row: at }, &words, text(model, Role::Text), area.cols);
    }
    let before: String = characters[rows[row].start..cursor].iter().collect();
    let col = width::columns(&before).min(area.cols.saturating_sub(1));
    let at = Point { col: area.col + col, row: area.row + u16::try_from(row - first).unwrap_or(0) };
    grid.cursor = Some(ShownCursor { at, form: None });
}

/// Where the rows of a text begin and end, broken between words where that is possible. There is always one.
fn text_rows(characters: &[char], cols: u16) -> Vec<Range<usize>> {
    let columns = |part: &[char]| width::columns(&part.iter().collect::<String>());
    let (mut rows, mut start, mut blank) = (Vec::new(), 0, None);
    for (at, character) in characters.iter().enumerate() {
        if *character == '\n' {
            rows.push(start..at);
            (start, blank) = (at + 1, None);
            continue;
        }
        if columns(&characters[start..=at]) > cols && at > start {
            let end = blank.map_or(at, |blank: usize| blank + 1);
            rows.push(start..end);
            (start, blank) = (end, None);
        }
        blank = if *character == ' ' { Some(at) } else { blank };
    }
    rows.push(start..characters.len());
    rows
}

pub(crate) fn confirm(model: &Model, confirm: &Confirm, grid: &mut Grid) {
    let columns = COLUMNS.min(model.areas().body.cols).saturating_sub(4);
    let mut lines: Vec<String> = confirm.lines.iter().flat_map(|line| wrap(line, columns)).collect();
    let answers: Vec<String> =
        confirm.answers.iter().map(|answer| format!("{} {}", answer.key, answer.label)).collect();
    let mut hints = format!("{}  Esc no", answers.join("  "));
    // Answers that do not fit into the frame are lines of their own.
    if width::columns(&hints) + 2 > columns {
        lines.push(String::new());
        lines.extend(answers);
        hints = "Esc no".to_owned();
    }
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = model.areas().body.middle(COLUMNS, rows);
    let inside = framed(model, grid, area, &confirm.title, &hints);
    for (row, line) in (inside.row..inside.bottom()).zip(&lines) {
        grid.text(
            Point { col: inside.col + 1, row },
            line,
            text(model, Role::Text),
            inside.cols.saturating_sub(2),
        );
    }
}
