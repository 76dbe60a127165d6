//! The empty deck: what can be started, and the one key to know.

use super::dialogs::wrap_keeping;
use super::text;
use crate::frame::{ColorDepth, Grid, Point, Rect};
use crate::keymap::{Action, Context};
use crate::model::{Away, Model};
use crate::theme::Role;

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let deck = model.areas().deck;
    let area = deck.middle(66, 16);
    // Words do not touch the line of the rail.
    let pad = u16::from(area.col == deck.col);
    let area = Rect { col: area.col + pad, cols: area.cols - pad, ..area };
    let style = |role| text(model, role);
    let lines = lines(model)
        .into_iter()
        .flat_map(|(words, role)| wrap_keeping(&words, area.cols).into_iter().map(move |line| (line, role)));
    for (row, (words, role)) in (area.row..area.bottom()).zip(lines) {
        grid.text(Point { col: area.col, row }, &words, style(role), area.cols);
    }
}

fn lines(model: &Model) -> Vec<(String, Role)> {
    match &model.daemon.away {
        None => {}
        Some(Away::Broken(reason)) => {
            let words = format!("The daemon is away: {}", proto::Printable(reason));
            return vec![(words, Role::Alert), ("It is asked again until it answers.".to_owned(), Role::Dim)];
        }
        Some(Away::ShutDown) => {
            let rest = format!("{}; {}.", model.still_running(), model.start_hint());
            return vec![("The daemon was shut down.".to_owned(), Role::Alert), (rest, Role::Text)];
        }
    }
    let count = model.crew.processes.len();
    let running = model.crew.processes.iter().filter(|process| process.status.is_live()).count();
    let head = match (model.daemon.is_loaded, running) {
        (false, _) => "Asking the daemon…".to_owned(),
        (true, 0) if count == 0 => "Nothing runs here yet.".to_owned(),
        (true, 0) => "Nothing runs; nothing is open.".to_owned(),
        (true, 1) => "One process runs; nothing is open.".to_owned(),
        (true, running) => format!("{running} processes run; nothing is open."),
    };
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let leave = keymap.key_of(Context::Deck, Action::Leave).unwrap_or_default();
    let presets: Vec<&str> = model.crew.presets.iter().map(|preset| preset.name.as_str()).collect();
    let agents = match model.crew.knows_agents && model.crew.agents.is_empty() {
        true => "none found; see qd agents".to_owned(),
        false => model.crew.agents.join(" "),
    };
    let row = |key: &str, what: &str, note: &str| (format!("  {key}  {what:<26} {note}"), Role::Text);
    let mut lines = vec![
        (head, Role::Heading),
        (String::new(), Role::Text),
        row("1", "Start an agent on a task", &agents),
        row("2", "Open a shell", &model.place.short(&model.place.directory)),
        row("3", "Run a command", &presets.join(" ")),
    ];
    if count > 0 {
        lines.push(row("4", "Go to a process", "also in the rail"));
    }
    if let Some((count, adoption)) = model.adoptable() {
        let what = format!("Adopt tasks from {}", adoption.from);
        lines.push(row("5", &what, &format!("{count} found")));
    }
    lines.push((String::new(), Role::Text));
    lines.extend(prefix_lines(model, &prefix));
    lines.push((String::new(), Role::Text));
    lines.push((format!("Leave with {prefix} {leave}: everything goes on running."), Role::Dim));
    if model.host.is_known {
        lines.extend(host_words(model).map(|words| (words, Role::Dim)));
    }
    lines
}

/// What the person's terminal can do. What it cannot is in the settings: here it would only worry a newcomer.
fn host_words(model: &Model) -> Option<String> {
    let host = &model.host;
    let all = [
        host.has_keys.then_some("all keys"),
        host.has_sync.then_some("pictures without flicker"),
        (host.colors == ColorDepth::True).then_some("24-bit colours"),
    ];
    let can: Vec<&str> = all.into_iter().flatten().collect();
    (!can.is_empty()).then(|| format!("Your terminal has {}.", can.join(", ")))
}

/// The one key to know, to be tried at once.
fn prefix_lines(model: &Model, prefix: &str) -> [(String, Role); 3] {
    let tried = match model.own_keys.prefix_tried {
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
