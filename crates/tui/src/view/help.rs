//! Help and the menu after the prefix, both made from the table of keys.

use super::{framed, text};
use crate::frame::{Grid, Point, Rect, width};
use crate::keymap::{Action, Context};
use crate::model::Model;
use crate::theme::Role;

/// Columns of one entry of the menu.
const ENTRY: u16 = 36;

/// Every key of every context.
pub(crate) fn draw(model: &Model, top: usize, grid: &mut Grid) {
    let area = model.areas().deck;
    let rows = rows(model);
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(2);
    let inside = framed(model, grid, area.middle(70, height), "Keys", "j k scroll  Esc back");
    let most = rows.len().saturating_sub(usize::from(inside.rows));
    for (row, (keys, words, role)) in (inside.row..inside.bottom()).zip(rows.iter().skip(top.min(most))) {
        grid.text(Point { col: inside.col + 1, row }, keys, text(model, *role), 20);
        grid.text(
            Point { col: inside.col + 22, row },
            words,
            text(model, Role::Text),
            inside.cols.saturating_sub(23),
        );
    }
}

fn rows(model: &Model) -> Vec<(String, String, Role)> {
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let mut rows = vec![
        (format!("{prefix} {prefix}"), "send this key to the program".to_owned(), Role::Focus),
        ("any other key".to_owned(), "goes to the program".to_owned(), Role::Focus),
    ];
    for context in Context::ALL {
        let heading = match context {
            Context::Deck => format!("AFTER {prefix}"),
            other => format!("IN {}", other.word().to_uppercase()),
        };
        rows.push((String::new(), String::new(), Role::Text));
        rows.push((heading, String::new(), Role::Heading));
        let keys = keymap.rows(context).into_iter();
        rows.extend(keys.map(|(keys, action)| (keys, action.label(), Role::Active)));
    }
    rows
}

/// The keys that may come next, above the status line.
pub(crate) fn menu(model: &Model, grid: &mut Grid) {
    let area = model.areas().deck;
    let entries: Vec<(String, Action)> = model
        .looks
        .keymap
        .rows(Context::Deck)
        .into_iter()
        .filter(|(_, action)| !matches!(action, Action::Tab(2..)))
        .collect();
    let columns = (area.cols.saturating_sub(2) / ENTRY).max(1);
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX);
    let rows = count.div_ceil(columns).min(area.rows.saturating_sub(2));
    let place = Rect { row: area.bottom().saturating_sub(rows + 2), rows: rows + 2, ..area };
    let title = format!("{} then", model.looks.keymap.prefix_text());
    let inside = framed(model, grid, place, &title, "Esc cancels");
    for (at, (keys, action)) in (0u16..).zip(entries) {
        let (column, row) = (at / rows.max(1), at % rows.max(1));
        let col = inside.col + column * ENTRY;
        let end = grid.text(
            Point { col, row: inside.row + row },
            &format!(" {keys}"),
            text(model, Role::Active),
            12,
        );
        let words = if matches!(action, Action::Tab(_)) { "tab 1 to 9".to_owned() } else { action.label() };
        let start = end.max(col + 9) + 1;
        let room = ENTRY.saturating_sub(start - col).min(inside.right().saturating_sub(start));
        let words = super::cut(&words, room.min(width::columns(&words)), model.looks.is_ascii);
        grid.text(Point { col: start, row: inside.row + row }, &words, text(model, Role::Text), room);
    }
}
