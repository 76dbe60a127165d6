//! Help: every key of every context, made from the table of keys.

use super::{framed, text};
use crate::frame::{Grid, Point};
use crate::keymap::{Action, Context};
use crate::model::Model;
use crate::theme::Role;

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
        // The nine tabs are one row.
        let keys = keys.filter(|(_, action)| !matches!(action, Action::Tab(2..)));
        rows.extend(keys.map(|(keys, action)| match action {
            Action::Tab(_) => (format!("{keys}-9"), "tab 1 to 9".to_owned(), Role::Active),
            action => (keys, action.label(), Role::Active),
        }));
    }
    rows
}
