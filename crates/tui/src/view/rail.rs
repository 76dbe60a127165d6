//! The rail: the whole crew at a glance, always there.

use super::{cut, put, text, text_to};
use crate::frame::{Grid, Point, Rect, width};
use crate::model::rail::{RailRow, rows};
use crate::model::{Model, rail::RailItem};
use crate::theme::Role;

/// A rail of fewer columns is a strip of glyphs.
const STRIP_MAX: u16 = 6;

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let Some(area) = model.areas().rail else { return };
    let line = super::lines(model)[5];
    for row in area.row..area.bottom() {
        put(grid, area.right(), row, line, text(model, Role::Border));
    }
    if model.daemon.is_loaded && rows(model).is_empty() && area.cols > STRIP_MAX {
        empty(model, grid, area);
    }
    let first = first_row(model, area);
    // Words stand one column away from the edge and from the line; the strip has no room for that.
    let inner =
        if area.cols <= STRIP_MAX { area } else { Rect { col: area.col + 1, cols: area.cols - 2, ..area } };
    let rows = rows(model);
    let hidden = rows.len().saturating_sub(first + usize::from(area.rows));
    for (row, content) in (area.row..area.bottom()).zip(rows.iter().skip(first)) {
        draw_row(model, grid, Rect { row, rows: 1, ..inner }, content);
    }
    if hidden > 0 && area.rows > 0 {
        // The last row says that there are more.
        let last = Rect { row: area.bottom() - 1, rows: 1, ..area };
        grid.fill(last, text(model, Role::Text));
        let words = if area.cols <= STRIP_MAX { "+".to_owned() } else { format!("{} more", hidden + 1) };
        grid.text(Point { col: inner.col, row: last.row }, &words, text(model, Role::Dim), last.cols);
    }
}

/// What the rail is for, while it has nothing.
fn empty(model: &Model, grid: &mut Grid, area: Rect) {
    let words = "Agents, commands and shells are listed here, those that need you first.";
    let lines = super::wrap(words, area.cols.saturating_sub(2));
    for (row, line) in (area.row + 1..area.bottom()).zip(&lines) {
        grid.text(Point { col: area.col + 1, row }, line, text(model, Role::Dim), area.cols);
    }
}

/// The first row that is shown: while the rail has the keys, the selected one is always in sight.
pub(crate) fn first_row(model: &Model, area: Rect) -> usize {
    let rows = rows(model);
    let height = usize::from(area.rows);
    if rows.len() <= height {
        return 0;
    }
    if !model.rail.has_keys {
        return model.rail.top.min(rows.len() - height);
    }
    let is_selected = |row: &RailRow| matches!(row, RailRow::Item { item, .. } if Some(item) == model.rail.selected.as_ref());
    let at = rows.iter().position(is_selected).unwrap_or(0);
    at.saturating_sub(height.saturating_sub(2)).min(rows.len() - height)
}

fn draw_row(model: &Model, grid: &mut Grid, area: Rect, content: &RailRow) {
    let is_strip = area.cols <= STRIP_MAX;
    match content {
        RailRow::Blank => {}
        RailRow::Heading(words, count) => {
            let role = if *words == "NEEDS YOU" { Role::Alert } else { Role::Heading };
            let words = if is_strip { &words[..1] } else { words };
            grid.text(Point { col: area.col, row: area.row }, words, text(model, role), area.cols);
            if !is_strip {
                text_to(grid, area.right(), area.row, &count.to_string(), text(model, Role::Dim));
            }
        }
        RailRow::Item { item, mark, branch, name, note } => {
            let mut col = area.col;
            let point = |col| Point { col, row: area.row };
            let branch = match model.looks.is_ascii {
                true => branch.replace('├', "|").replace('└', "`"),
                false => branch.clone(),
            };
            if !is_strip {
                col = grid.text(point(col), &branch, text(model, Role::Border), area.cols);
            }
            if let Some(mark) = mark {
                col =
                    grid.text(point(col), mark.glyph(model.looks.is_ascii), text(model, mark.role()), 1) + 1;
            }
            let room = area.right().saturating_sub(col + width::columns(note) + 1);
            let name =
                if is_strip { name.chars().take(1).collect() } else { cut(name, room, model.looks.is_ascii) };
            grid.text(
                point(col),
                &name,
                text(model, name_role(model, item)),
                area.right().saturating_sub(col),
            );
            if !is_strip {
                // How much a task has changed is no alarm.
                let is_alarm =
                    !matches!(item, RailItem::Task(_)) && mark.is_some_and(|mark| mark.role() == Role::Alert);
                let role = if is_alarm { Role::Alert } else { Role::Dim };
                text_to(grid, area.right(), area.row, note, text(model, role));
            }
            if model.rail.has_keys && model.rail.selected.as_ref() == Some(item) {
                let select = text(model, Role::Select);
                let pad = u16::from(!is_strip);
                let whole = Rect { col: area.col - pad, cols: area.cols + 2 * pad, ..area };
                grid.restyle(whole, |style| *style = select);
                grid.cursor = Some(crate::frame::ShownCursor { at: point(area.col), form: None });
            }
        }
    }
}

/// The process that has the keyboard stands out.
fn name_role(model: &Model, item: &RailItem) -> Role {
    let focused = model.deck.focused().map(|(_, process)| process);
    if item.process().is_some() && item.process() == focused { Role::Focus } else { Role::Text }
}
