//! The palette: one line to type, and what fits it by section.

use super::{cut, dialogs, framed, text, text_to};
use crate::frame::{Grid, Point, Rect, width};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::palette::{Entry, Palette};
use crate::theme::Role;

/// What a click hits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Hit {
    Entry(Entry),
    Inside,
    Outside,
}

/// One row of the list.
enum Row {
    Section(&'static str),
    Entry(usize),
    Blank,
    /// So many entries do not fit.
    More(usize),
}

pub(crate) fn draw(model: &Model, palette: &Palette, grid: &mut Grid) {
    let entries = palette.entries(model);
    let area = place(model);
    let title = format!("{} ({})", palette.title, entries.len());
    let inside = framed(model, grid, area, &title, "Enter choose  Tab section  Esc back");
    let place = palette.place(&entries);
    let selected = place.unwrap_or(0);
    let list = inside.rows_from(2, u16::MAX);
    for (row, content) in (list.row..list.bottom()).zip(shown(&entries, selected, list.rows)) {
        match content {
            Row::Section(word) => {
                grid.text(Point { col: inside.col + 1, row }, word, text(model, Role::Heading), inside.cols);
            }
            Row::Blank => {}
            Row::More(count) => {
                let words = format!("{count} more below");
                grid.text(Point { col: inside.col + 3, row }, &words, text(model, Role::Dim), inside.cols);
            }
            Row::Entry(at) => {
                draw_entry(model, grid, Rect { row, rows: 1, ..list }, &entries[at], Some(at) == place)
            }
        }
    }
    if entries.is_empty() {
        grid.text(
            Point { col: inside.col + 1, row: list.row },
            "nothing fits",
            text(model, Role::Dim),
            inside.cols,
        );
    }
    let line = Rect { col: inside.col + 3, cols: inside.cols.saturating_sub(4), rows: 1, ..inside };
    grid.text(Point { col: inside.col + 1, row: inside.row }, ">", text(model, Role::Focus), 1);
    dialogs::line(model, grid, &palette.line, line);
}

fn place(model: &Model) -> Rect {
    let area = model.areas().deck;
    area.middle(70, area.rows.saturating_sub(4).clamp(8, 26))
}

fn draw_entry(model: &Model, grid: &mut Grid, area: Rect, entry: &Entry, is_selected: bool) {
    let mut col = area.col + 1;
    let point = |col| Point { col, row: area.row };
    if let Some(mark) = entry.mark {
        grid.text(point(col), mark.glyph(model.looks.is_ascii), text(model, mark.role()), 1);
    }
    col += 2;
    let room = area.right().saturating_sub(col + 2);
    let note = cut(&entry.note, room / 2, model.looks.is_ascii);
    let words = cut(&entry.text, room.saturating_sub(width::columns(&note) + 1), model.looks.is_ascii);
    grid.text(point(col), &words, text(model, Role::Text), room);
    text_to(grid, area.right().saturating_sub(1), area.row, &note, text(model, Role::Dim));
    if is_selected {
        let select = text(model, Role::Select);
        grid.restyle(area, |style| *style = select);
    }
}

/// The rows that are shown: the selected entry is among them.
fn shown(entries: &[Entry], selected: usize, height: u16) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut place = 0;
    for (at, entry) in entries.iter().enumerate() {
        if at == 0 || entries[at - 1].section != entry.section {
            rows.extend((at > 0).then_some(Row::Blank));
            rows.push(Row::Section(entry.section.word()));
        }
        if at == selected {
            place = rows.len();
        }
        rows.push(Row::Entry(at));
    }
    let height = usize::from(height);
    let is_long = rows.len() > height && place + 1 < rows.len();
    let room = if is_long { height.saturating_sub(1) } else { height };
    let first = (place + 1).saturating_sub(room);
    let hidden = rows.iter().skip(first + room).filter(|row| matches!(row, Row::Entry(_))).count();
    let mut shown: Vec<Row> = rows.into_iter().skip(first).take(room).collect();
    // A heading without an entry below it says nothing.
    while shown.last().is_some_and(|row| matches!(row, Row::Section(_) | Row::Blank)) {
        shown.pop();
    }
    shown.extend((hidden > 0 && height > 1).then_some(Row::More(hidden)));
    shown
}

/// What a place of the open palette belongs to.
pub(crate) fn hit(model: &Model, at: Point) -> Hit {
    let Some(Overlay::Palette(palette)) = model.overlays.last() else { return Hit::Outside };
    let area = place(model);
    if !area.contains(at) {
        return Hit::Outside;
    }
    let list = area.inside().rows_from(2, u16::MAX);
    let entries = palette.entries(model);
    let selected = palette.place(&entries).unwrap_or(0);
    let row = usize::from(at.row.saturating_sub(list.row));
    match shown(&entries, selected, list.rows).get(row) {
        Some(Row::Entry(found)) if list.contains(at) => Hit::Entry(entries[*found].clone()),
        _ => Hit::Inside,
    }
}
