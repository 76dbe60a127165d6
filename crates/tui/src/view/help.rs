//! Help: every key of every context, made from the table of keys.

use super::{cut, framed, text};
use crate::frame::{Grid, Point, Rect};
use crate::keymap::{Action, Context};
use crate::model::Model;
use crate::theme::Role;

/// Every key of every context.
pub(crate) fn draw(model: &Model, top: usize, grid: &mut Grid) {
    let rows = rows(model);
    let area = place(model, rows.len());
    let room = usize::from(area.inside().rows);
    let top = top.min(rows.len().saturating_sub(room));
    let title = match rows.len() > room {
        true => format!("Keys, rows {} to {} of {}", top + 1, top + room, rows.len()),
        false => "Keys".to_owned(),
    };
    let inside = framed(model, grid, area, &title, "j k scroll  Esc back");
    for (row, (keys, words, role)) in (inside.row..inside.bottom()).zip(rows.iter().skip(top)) {
        grid.text(Point { col: inside.col + 1, row }, keys, text(model, *role), 20);
        let room = inside.cols.saturating_sub(23);
        let words = cut(words, room, model.looks.is_ascii);
        grid.text(Point { col: inside.col + 22, row }, &words, text(model, Role::Text), room);
    }
}

/// The first row when the last one is in sight.
pub(crate) fn last_top(model: &Model) -> usize {
    let count = rows(model).len();
    count.saturating_sub(usize::from(place(model, count).inside().rows))
}

/// The first row when the keys of a context are at the top, as far as that goes.
pub(crate) fn top_of(model: &Model, context: Context) -> usize {
    let heading = heading(model, context);
    rows(model).iter().position(|(words, _, _)| *words == heading).unwrap_or(0).min(last_top(model))
}

fn heading(model: &Model, context: Context) -> String {
    match context {
        Context::Deck => format!("AFTER {}", model.looks.keymap.prefix_text()),
        Context::Direct => "WITHOUT A PREFIX".to_owned(),
        other => format!("IN {}", other.word().to_uppercase()),
    }
}

fn place(model: &Model, rows: usize) -> Rect {
    let height = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
    model.areas().body.middle(70, height)
}

fn rows(model: &Model) -> Vec<(String, String, Role)> {
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let mut rows = vec![
        (format!("{prefix} {prefix}"), "send this key to the program".to_owned(), Role::Focus),
        ("any other key".to_owned(), "goes to the program".to_owned(), Role::Focus),
    ];
    for context in Context::ALL {
        if keymap.rows(context).is_empty() {
            continue;
        }
        rows.push((String::new(), String::new(), Role::Text));
        rows.push((heading(model, context), String::new(), Role::Heading));
        let keys = keymap.rows(context).into_iter();
        // The nine tabs are one row.
        let keys = keys.filter(|(_, action)| !matches!(action, Action::Tab(2..)));
        rows.extend(keys.map(|(keys, action)| match action {
            Action::Tab(_) => (format!("{keys}-9"), "tab 1 to 9".to_owned(), Role::Active),
            Action::OwnCommand(at) => {
                let own = model.looks.commands.get(usize::from(at));
                (keys, own.map_or_else(|| action.label(), |own| own.name.clone()), Role::Active)
            }
            Action::Top if context == Context::Copy && keys == "g" => {
                ("g g".to_owned(), action.label(), Role::Active)
            }
            action => (keys, action.label(), Role::Active),
        }));
    }
    rows
}
