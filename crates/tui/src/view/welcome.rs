//! The empty deck: what can be started, and the one key to know.

use super::text;
use crate::frame::{Grid, Point};
use crate::keymap::{Action, Context};
use crate::model::Model;
use crate::theme::Role;

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let area = model.areas().deck.middle(66, 14);
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
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let leave = keymap.key_of(Context::Deck, Action::Leave).unwrap_or_default();
    let presets: Vec<&str> = model.crew.presets.iter().map(|preset| preset.name.as_str()).collect();
    let row = |key: &str, what: &str, note: &str| (format!("  {key}  {what:<18} {note}"), Role::Text);
    let mut lines = vec![
        (head, Role::Heading),
        (String::new(), Role::Text),
        row("1", "Start an agent", &model.crew.agents.join(" ")),
        row("2", "Open a shell", &model.place.directory),
        row("3", "Run a command", &presets.join(" ")),
        row("4", "Go to a process", if count == 0 { "" } else { "also in the rail: Tab after the menu key" }),
        (String::new(), Role::Text),
    ];
    lines.extend(prefix_lines(model, &prefix));
    lines.push((String::new(), Role::Text));
    lines.push((format!("Leave with {prefix} {leave}: everything goes on running."), Role::Dim));
    if model.host.is_known {
        lines.push((model.host.words(), Role::Dim));
    }
    lines
}

/// The one key to know, to be tried at once.
fn prefix_lines(model: &Model, prefix: &str) -> [(String, Role); 3] {
    let tried = match model.prefix_tried {
        true => (format!("That was it. {prefix} opens the menu wherever you are."), Role::Good),
        false => (format!("Your menu key is {prefix}{}. Press it now.", alias(prefix)), Role::Focus),
    };
    let rest = ("  It takes no other key from your programs.".to_owned(), Role::Dim);
    [tried, rest, ("  Not on your keyboard? Press k to choose another.".to_owned(), Role::Dim)]
}

/// The other way to press the prefix that is shipped.
fn alias(prefix: &str) -> &'static str {
    if prefix == "Ctrl-\\" { " (also Ctrl-4)" } else { "" }
}
