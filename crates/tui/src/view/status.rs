//! The status line: where the keyboard is, what runs, what went wrong, and the keys that help.

use super::{on_bar, put, text, text_to};
use crate::frame::{Grid, Point, width};
use crate::keymap::{Action, Context};
use crate::model::overlay::Overlay;
use crate::model::{Model, Prefix};
use crate::theme::Role;

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let area = model.areas().status;
    let bar = text(model, Role::Bar);
    grid.fill(area, bar);
    let mut col = grid.text(
        Point { col: 0, row: area.row },
        &format!(" {} ", mode(model)),
        text(model, Role::Select),
        20,
    );
    let hints = hints(model);
    let start = text_to(grid, area.right(), area.row, &format!("{hints} "), bar);
    col += 1;
    for (words, role) in parts(model) {
        let needed = width::columns(&words) + 1;
        if col + needed > start.saturating_sub(1) {
            continue;
        }
        col = grid.text(Point { col, row: area.row }, &words, on_bar(model, role), needed) + 1;
    }
    if let Some(mark) = model.away.as_ref().map(|_| "!") {
        put(grid, start.saturating_sub(2), area.row, mark, text(model, Role::Alert));
    }
}

/// The word for where keys go.
fn mode(model: &Model) -> &'static str {
    match (&model.prefix, model.overlays.last()) {
        (Prefix::Pressed(_), _) => "MENU",
        (Prefix::Resizing, _) => "RESIZE",
        (Prefix::None, Some(Overlay::Palette(_))) => "PALETTE",
        (Prefix::None, Some(Overlay::Inbox(_))) => "INBOX",
        (Prefix::None, Some(Overlay::Help(_))) => "HELP",
        (Prefix::None, Some(Overlay::Page(_))) => "READ",
        (Prefix::None, Some(Overlay::Settings(_) | Overlay::Recorder(_))) => "SETTINGS",
        (Prefix::None, Some(Overlay::Prompt(_) | Overlay::Confirm(_))) => "ASK",
        (Prefix::None, Some(Overlay::Wall(_))) => "WALL",
        (Prefix::None, Some(Overlay::Tasks(_))) => "TASKS",
        (Prefix::None, Some(Overlay::Form(_))) => "NEW TASK",
        (Prefix::None, Some(Overlay::Review(_))) => "REVIEW",
        (Prefix::None, Some(Overlay::History(history))) if history.is_casual => "SCROLL",
        (Prefix::None, Some(Overlay::History(_))) => "COPY",
        (Prefix::None, None) if model.rail.has_keys => "RAIL",
        (Prefix::None, None) => "DECK",
    }
}

/// What is said from the left, most important first; what does not fit is left out.
fn parts(model: &Model) -> Vec<(String, Role)> {
    let mut parts = Vec::new();
    if let Some(reason) = &model.away {
        parts.push((format!("daemon away: {}", proto::Printable(reason)), Role::Alert));
    }
    let focused = model.deck.focused();
    parts.extend(focused.map(|(_, process)| (model.name(process), Role::Bar)));
    for (mark, count) in model.crew.counts() {
        parts.push((format!("{}{count}", mark.glyph(model.looks.is_ascii)), mark.role()));
    }
    let view = focused.and_then(|(_, process)| model.crew.get(process));
    let percent = view.and_then(|view| view.agent.as_ref()?.context?.percent());
    parts.extend(percent.map(|percent| (format!("ctx {percent}%"), Role::Bar)));
    let size = focused.map(|(pane, process)| match model.other_sizes.get(&pane) {
        Some(size) => format!("{size} another's, type to fit"),
        None => model.crew.get(process).map_or_else(String::new, |view| format!("{} yours", view.size)),
    });
    parts.extend(size.map(|size| (size, Role::Dim)));
    parts
}

/// Hints of a context, by the keys that its actions have.
fn context_hints(model: &Model, context: Context, actions: &[(Action, &str)]) -> Vec<String> {
    let hint = |(action, words): &(Action, &str)| {
        Some(format!("{} {words}", model.looks.keymap.key_of(context, *action)?))
    };
    actions.iter().filter_map(hint).collect()
}

/// The keys that help here, as many as fit; help goes last.
fn hints(model: &Model) -> String {
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let key = |context, action| keymap.key_of(context, action).unwrap_or_default();
    let words = match (&model.prefix, model.overlays.last()) {
        (Prefix::Resizing, _) => return "h j k l move the border  Esc done".to_owned(),
        (Prefix::Pressed(_), _) => return "press a key, Esc cancels".to_owned(),
        (Prefix::None, None) if model.rail.has_keys => {
            vec![
                "Enter open".to_owned(),
                "v s split".to_owned(),
                "x end".to_owned(),
                "Esc back".to_owned(),
                "? help".to_owned(),
            ]
        }
        (Prefix::None, None) => vec![
            format!("{prefix} {} menu", key(Context::Deck, Action::Palette)),
            format!("{} next", key(Context::Deck, Action::NextNeed)),
            format!("{} help", key(Context::Deck, Action::Help)),
        ],
        (Prefix::None, Some(Overlay::Wall(_))) => {
            vec![
                "1-9 choose".to_owned(),
                "Enter open".to_owned(),
                "+ - tiles".to_owned(),
                "Esc back".to_owned(),
            ]
        }
        (Prefix::None, Some(Overlay::Tasks(_))) => context_hints(
            model,
            Context::Tasks,
            &[
                (Action::DropTask, "drop"),
                (Action::StopTask, "stop"),
                (Action::Land, "land"),
                (Action::RunTask, "run"),
                (Action::Review, "review"),
                (Action::NewTask, "new"),
                (Action::Accept, "open"),
                (Action::Help, "help"),
            ],
        ),
        (Prefix::None, Some(Overlay::Review(_))) => context_hints(
            model,
            Context::Review,
            &[
                (Action::NextFile, "file"),
                (Action::NextHunk, "change"),
                (Action::SelectText, "range"),
                (Action::Land, "land"),
                (Action::Send, "send"),
                (Action::Comment, "comment"),
                (Action::Help, "help"),
            ],
        ),
        (Prefix::None, Some(Overlay::History(history))) if history.is_casual => {
            vec!["type to return".to_owned()]
        }
        (Prefix::None, Some(Overlay::History(_))) => {
            vec!["v select".to_owned(), "y copy".to_owned(), "/ search".to_owned(), "q leave".to_owned()]
        }
        (Prefix::None, Some(_)) => vec!["Esc back".to_owned()],
    };
    let room = usize::from(model.size.cols / 2);
    let mut shown = words;
    while shown.len() > 1 && shown.join("  ").chars().count() > room {
        shown.remove(0);
    }
    shown.join("  ")
}
