//! Notices at the upper right. They take no key and never cover the row of the cursor.

use super::{cut, on_bar, text_to};
use crate::frame::{Grid, Point, width};
use crate::model::Model;
use crate::theme::Role;

/// Columns of the longest notice.
const COLUMNS_MAX: u16 = 60;

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let cursor = grid.cursor.map(|cursor| cursor.at.row);
    for (at, (words, row)) in rows(model, cursor).into_iter().enumerate() {
        let is_alert = model.toasts.get(at).is_some_and(|toast| toast.is_alert);
        let mut style = on_bar(model, if is_alert { Role::Alert } else { Role::Bar });
        style.attributes.insert(term::Attributes::BOLD);
        text_to(grid, model.size.cols.saturating_sub(1), row, &words, style);
    }
}

/// The notice at a place.
pub(crate) fn hit(model: &Model, at: Point) -> Option<usize> {
    let right = model.size.cols.saturating_sub(1);
    rows(model, None).into_iter().position(|(words, row)| {
        row == at.row && (right.saturating_sub(width::columns(&words))..right).contains(&at.col)
    })
}

fn rows(model: &Model, cursor: Option<u16>) -> Vec<(String, u16)> {
    let most = COLUMNS_MAX.min(model.size.cols.saturating_sub(4));
    let bottom = model.areas().status.row;
    let free = (2..bottom).filter(|row| Some(*row) != cursor);
    let line = |(toast, row): (&crate::model::Toast, u16)| {
        let mark = if toast.is_alert { "!" } else { "·" };
        let mark = if model.looks.is_ascii && !toast.is_alert { "*" } else { mark };
        (format!(" {mark} {} ", cut(&toast.text, most, model.looks.is_ascii)), row)
    };
    model.toasts.iter().zip(free).map(line).collect()
}
