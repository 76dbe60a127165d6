//! The empty deck: what can be started, and the one key to know.

use super::text;
use crate::frame::{Grid, Point};
use crate::keymap::{Action, Context};
use crate::model::Model;
use crate::theme::Role;

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let area = model.areas().deck.middle(64, 14);
    let style = |role| text(model, role);
    for (row, (words, role)) in (area.row..area.bottom()).zip(lines(model)) {
        grid.text(Point { col: area.col, row }, &words, style(role), area.cols);
    }
}

fn lines(model: &Model) -> Vec<(String, Role)> {
    if let Some(reason) = &model.away {
        let words = format!("The daemon is away: {}", proto::Printable(reason));
        return vec![(words, Role::Alert), ("It is asked again until it answers.".to_owned(), Role::Dim)];
    }
    let count = model.crew.processes.len();
    let head = match (model.is_loaded, count) {
        (false, _) => "Asking the daemon…".to_owned(),
        (true, 0) => "Nothing runs here yet.".to_owned(),
        (true, 1) => "One process runs; nothing is open.".to_owned(),
        (true, count) => format!("{count} processes run; nothing is open."),
    };
    let agents = if model.crew.agents.is_empty() { String::new() } else { model.crew.agents.join(" ") };
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let leave = keymap.key_of(Context::Deck, Action::Leave).unwrap_or_default();
    let row = |key: &str, what: &str, note: &str| format!("  {key}  {what:<28} {note}");
    vec![
        (head, Role::Heading),
        (String::new(), Role::Text),
        (row("1", "Start an agent", &agents), Role::Text),
        (row("2", "Open a shell", &model.place.directory), Role::Text),
        (row("3", "Run a command", ""), Role::Text),
        (row("4", "Go to a process", "also in the rail"), Role::Text),
        (String::new(), Role::Text),
        (format!("Your menu key is {prefix}{}.", alias(&prefix)), Role::Focus),
        ("It takes no other key from your programs; press it now to try.".to_owned(), Role::Dim),
        (String::new(), Role::Text),
        (format!("Leave with {prefix} {leave}: everything goes on running."), Role::Dim),
    ]
}

/// The other way to press the prefix that is shipped.
fn alias(prefix: &str) -> &'static str {
    if prefix == "Ctrl-\\" { " (also Ctrl-4)" } else { "" }
}
