//! Pages to read, questions with one line, and questions with yes or no.

use super::{framed, text, wrap};
use crate::frame::{Grid, Point, Rect, ShownCursor, width};
use crate::model::Model;
use crate::model::line::Line;
use crate::model::overlay::{Confirm, Page, Prompt, Purpose};
use crate::theme::Role;

/// Columns of a dialog where there is room.
const COLUMNS: u16 = 76;

pub(crate) fn page(model: &Model, page: &Page, grid: &mut Grid) {
    let area = model.areas().deck;
    let lines: Vec<String> = page.lines.iter().flat_map(|line| wrap_keeping(line, COLUMNS - 4)).collect();
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let inside = framed(model, grid, area.middle(COLUMNS, rows), &page.title, "j k scroll  Esc back");
    let most = lines.len().saturating_sub(usize::from(inside.rows));
    for (row, line) in (inside.row..inside.bottom()).zip(lines.iter().skip(page.top.min(most))) {
        let role = if line.starts_with('#') { Role::Heading } else { Role::Text };
        grid.text(Point { col: inside.col + 1, row }, line, text(model, role), inside.cols.saturating_sub(2));
    }
}

/// Lines that fit stay as they are, with their blanks.
fn wrap_keeping(line: &str, columns: u16) -> Vec<String> {
    if width::columns(line) <= columns { vec![line.to_owned()] } else { wrap(line, columns) }
}

pub(crate) fn prompt(model: &Model, prompt: &Prompt, grid: &mut Grid) {
    let area = model.areas().deck.middle(COLUMNS, 3);
    let verb = match prompt.purpose {
        Purpose::Rename(_) => "rename",
        Purpose::Tell(_) | Purpose::Answer(_) => "send",
        Purpose::Run(_) => "run",
        Purpose::StartAgent(..) | Purpose::RunTask(..) => "start",
        Purpose::Search(_) => "search",
        Purpose::Land(_) => "land",
        Purpose::Restore => "bring it back",
        Purpose::Comment(_) => "keep it",
    };
    let inside = framed(model, grid, area, &prompt.title, &format!("Enter {verb}  Esc back"));
    line(
        model,
        grid,
        &prompt.line,
        Rect { col: inside.col + 1, cols: inside.cols.saturating_sub(2), ..inside },
    );
}

/// A line that is edited: its end is in sight, the cursor is the terminal's own.
pub(crate) fn line(model: &Model, grid: &mut Grid, line: &Line, area: Rect) {
    let before = width::columns(&line.before());
    let hidden = before.saturating_sub(area.cols.saturating_sub(1));
    let mut skipped = 0;
    let shown: String = width::clusters(&line.text())
        .into_iter()
        .skip_while(|(_, columns)| {
            let is_hidden = skipped < hidden;
            skipped += u16::from(*columns);
            is_hidden
        })
        .map(|(cluster, _)| cluster)
        .collect();
    grid.text(Point { col: area.col, row: area.row }, &shown, text(model, Role::Text), area.cols);
    let col = area.col + before - hidden;
    grid.cursor = Some(ShownCursor { at: Point { col, row: area.row }, form: None });
}

pub(crate) fn confirm(model: &Model, confirm: &Confirm, grid: &mut Grid) {
    let lines: Vec<String> = confirm.lines.iter().flat_map(|line| wrap(line, COLUMNS - 4)).collect();
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = model.areas().deck.middle(COLUMNS, rows);
    let inside = framed(model, grid, area, &confirm.title, "y yes  any other key: no");
    for (row, line) in (inside.row..inside.bottom()).zip(&lines) {
        grid.text(
            Point { col: inside.col + 1, row },
            line,
            text(model, Role::Text),
            inside.cols.saturating_sub(2),
        );
    }
}
