//! Notices at the upper right. They take no key and never cover the row of the cursor.

use super::{cut, on_bar, text_to, wrap};
use crate::frame::{Grid, Point, width};
use crate::model::overlay::Overlay;
use crate::model::{Model, Toast};
use crate::theme::Role;

/// Columns of the longest notice.
const COLUMNS_MAX: u16 = 60;
/// Most rows of one notice.
const ROWS_MAX: usize = 4;

/// One row of a notice.
struct ToastRow {
    /// Which notice.
    number: usize,
    words: String,
    row: u16,
}

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let cursor = grid.cursor.map(|cursor| cursor.at.row);
    for ToastRow { number, words, row } in rows(model, cursor) {
        let is_alert = model.toasts.get(number).is_some_and(|toast| toast.is_alert);
        let mut style = on_bar(model, if is_alert { Role::Alert } else { Role::Bar });
        style.attributes.insert(term::Attributes::BOLD);
        text_to(grid, model.size.cols, row, &words, style);
    }
}

/// The notice at a place.
pub(crate) fn hit(model: &Model, at: Point) -> Option<usize> {
    let right = model.size.cols;
    let is_here = |toast: &ToastRow| {
        toast.row == at.row && (right.saturating_sub(width::columns(&toast.words))..right).contains(&at.col)
    };
    rows(model, model.pointer.cursor_row).iter().find(|row| is_here(row)).map(|row| row.number)
}

/// The rows of all notices: from the top beside programs, from the bottom where a view or a box is open, whose first
/// rows are what it is about.
fn rows(model: &Model, cursor: Option<u16>) -> Vec<ToastRow> {
    let bottom = model.areas().status.row;
    let lines = model.toasts.iter().enumerate();
    let lines: Vec<(usize, String)> = lines
        .flat_map(|(number, toast)| lines_of(model, toast).into_iter().map(move |line| (number, line)))
        .collect();
    let is_free = |row: &u16| Some(*row) != cursor;
    let free: Vec<u16> = match model.overlays.iter().all(|overlay| matches!(overlay, Overlay::History(_))) {
        true => (2..bottom).filter(is_free).collect(),
        false => {
            let mut rows: Vec<u16> = (2..bottom).rev().filter(is_free).take(lines.len()).collect();
            rows.reverse();
            rows
        }
    };
    lines.into_iter().zip(free).map(|((number, words), row)| ToastRow { number, words, row }).collect()
}

/// The lines of a notice, all of the same width; one that is longer than its rows says so at its end.
fn lines_of(model: &Model, toast: &Toast) -> Vec<String> {
    let most = COLUMNS_MAX.min(model.size.cols.saturating_sub(6));
    let mark = match (toast.is_alert, model.looks.is_ascii) {
        (true, _) => "!",
        (false, true) => "*",
        (false, false) => "·",
    };
    let mut lines = wrap(&toast.text, most);
    if lines.len() > ROWS_MAX {
        let rest = lines.drain(ROWS_MAX - 1..).collect::<Vec<_>>().join(" ");
        lines.push(cut(&rest, most, model.looks.is_ascii));
    }
    let columns = lines.iter().map(|line| width::columns(line)).max().unwrap_or(0);
    let padded = |(number, line): (usize, String)| {
        let blank = " ".repeat(usize::from(columns.saturating_sub(width::columns(&line))));
        format!(" {} {line}{blank} ", if number == 0 { mark } else { " " })
    };
    lines.into_iter().enumerate().map(padded).collect()
}
