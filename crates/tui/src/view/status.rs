//! The status line: where the keyboard is, what runs, what went wrong, and the keys that help.

use super::{cut, on_bar, text};
use crate::frame::{Grid, Point, width};
use crate::keymap::{Action, Context};
use crate::model::overlay::Overlay;
use crate::model::{Away, Model, Prefix, hints};
use crate::theme::Role;

/// A piece of the line, with what a click on it does.
struct Piece {
    col: u16,
    words: String,
    role: Role,
    action: Option<Action>,
}

/// A hint: the words, and the action whose key they name.
struct Hint {
    words: String,
    action: Option<Action>,
}

pub(crate) fn draw(model: &Model, grid: &mut Grid) {
    let area = model.areas().status;
    grid.fill(area, text(model, Role::Bar));
    for piece in pieces(model) {
        let style =
            if piece.role == Role::Select { text(model, Role::Select) } else { on_bar(model, piece.role) };
        let columns = width::columns(&piece.words);
        grid.text(Point { col: piece.col, row: area.row }, &piece.words, style, columns);
    }
}

/// What a click at a place of the line does.
pub(crate) fn hit(model: &Model, at: Point) -> Option<Action> {
    let is_here = |piece: &&Piece| {
        (piece.col..piece.col.saturating_add(width::columns(&piece.words))).contains(&at.col)
    };
    pieces(model).iter().find(is_here).and_then(|piece| piece.action)
}

/// The pieces from the left: where the keyboard is, what is at hand, and the hints at the right.
fn pieces(model: &Model) -> Vec<Piece> {
    let area = model.areas().status;
    let mode = format!(" {} ", mode(model));
    let mut col = width::columns(&mode) + 1;
    let mut pieces = vec![Piece { col: 0, words: mode, role: Role::Select, action: None }];
    let hints = hints(model);
    let total: u16 = hints.iter().map(|hint| width::columns(&hint.words) + 2).sum();
    let start = area.right().saturating_sub(total.saturating_sub(1));
    for (words, role, action) in parts(model) {
        let room = start.saturating_sub(2).saturating_sub(col);
        // What went wrong is never left out.
        let words = if role == Role::Alert { cut(&words, room, model.looks.is_ascii) } else { words };
        let columns = width::columns(&words);
        if columns > 0 && columns <= room {
            pieces.push(Piece { col, words, role, action });
            col += columns + 1;
        }
    }
    let mut col = start;
    for Hint { words, action } in hints {
        let columns = width::columns(&words);
        pieces.push(Piece { col, words, role: Role::Bar, action });
        col += columns + 2;
    }
    pieces
}

/// The word for where keys go.
fn mode(model: &Model) -> &'static str {
    match (&model.prefix, model.overlays.last()) {
        (Prefix::Pressed(_), _) => "MENU",
        (Prefix::Resizing, _) => "RESIZE",
        (Prefix::Moving, _) => "MOVE",
        (Prefix::None, Some(Overlay::Palette(_))) => "PALETTE",
        (Prefix::None, Some(Overlay::Inbox(_))) => "INBOX",
        (Prefix::None, Some(Overlay::Help(_))) => "HELP",
        (Prefix::None, Some(Overlay::Page(_))) => "READ",
        (Prefix::None, Some(Overlay::Settings(_) | Overlay::Recorder(_))) => "SETTINGS",
        (Prefix::None, Some(Overlay::Prompt(_) | Overlay::Confirm(_))) => "ASK",
        (Prefix::None, Some(Overlay::Wall(_))) => "WALL",
        (Prefix::None, Some(Overlay::Tasks(_))) => "TASKS",
        (Prefix::None, Some(Overlay::Form(_))) => "NEW TASK",
        (Prefix::None, Some(Overlay::Land(_))) => "LAND",
        (Prefix::None, Some(Overlay::Review(_))) => "REVIEW",
        (Prefix::None, Some(Overlay::Popup(_))) => "POPUP",
        (Prefix::None, Some(Overlay::RowMenu(_))) => "MENU",
        (Prefix::None, Some(Overlay::History(history))) if history.is_casual => "SCROLL",
        (Prefix::None, Some(Overlay::History(_))) => "COPY",
        (Prefix::None, None) if model.rail.has_keys => "RAIL",
        (Prefix::None, None) => "DECK",
    }
}

/// What is said from the left, most important first, with what a click does; what does not fit is left out.
fn parts(model: &Model) -> Vec<(String, Role, Option<Action>)> {
    let mut parts = Vec::new();
    match &model.daemon.away {
        None => {}
        Some(Away::Broken(_)) => parts.push(("no daemon, trying again".to_owned(), Role::Alert, None)),
        Some(Away::ShutDown) => {
            let words = format!("no daemon: {}", model.start_hint());
            parts.push((words, Role::Alert, Some(Action::StartDaemon)));
        }
    }
    if model.daemon.unsent_kib > 0 {
        let words = format!("{} KiB wait for the program to read", model.daemon.unsent_kib);
        parts.push((words, Role::Warn, None));
    }
    let focused = model.deck.focused();
    let named = model.popup().or(focused.map(|(_, process)| process));
    parts.extend(named.map(|process| (model.name(process), Role::Bar, None)));
    for (mark, count) in model.crew.counts() {
        let words = format!("{}{count}", mark.glyph(model.looks.is_ascii));
        parts.push((words, mark.role(), Some(Action::NextNeed)));
    }
    let view = focused.and_then(|(_, process)| model.crew.get(process));
    let percent = view.and_then(|view| view.agent.as_ref()?.context?.percent());
    parts.extend(percent.map(|percent| (format!("ctx {percent}%"), Role::Bar, None)));
    if let Some(size) = focused.and_then(|(pane, _)| model.other_sizes.get(&pane)) {
        parts.push((format!("{size} of another viewer, type to fit"), Role::Dim, None));
    }
    parts
}

/// Hints of a context, by the keys that its actions have.
fn context_hints(model: &Model, context: Context, actions: &[(Action, &str)]) -> Vec<Hint> {
    let hint = |(action, words): &(Action, &str)| {
        let words = format!("{} {words}", model.looks.keymap.key_of(context, *action)?);
        Some(Hint { words, action: Some(*action) })
    };
    actions.iter().filter_map(hint).collect()
}

/// Hints that name no action of the deck.
fn plain_hints(words: &[&str]) -> Vec<Hint> {
    words.iter().map(|words| Hint { words: (*words).to_owned(), action: None }).collect()
}

/// The keys that help here, as many as fit; help goes last.
fn hints(model: &Model) -> Vec<Hint> {
    let mut shown = all_hints(model);
    // Without hints the last one stays: it leads to all others.
    let room = if model.looks.has_hints { model.size.cols / 2 } else { 0 };
    let columns = |hints: &[Hint]| hints.iter().map(|hint| width::columns(&hint.words) + 2).sum::<u16>();
    while shown.len() > 1 && columns(&shown) > room {
        shown.remove(0);
    }
    shown
}

/// The hints of every situation, the most important last.
fn all_hints(model: &Model) -> Vec<Hint> {
    match (&model.prefix, model.overlays.last()) {
        (Prefix::Resizing, _) => plain_hints(&["h j k l move the border", "Esc done"]),
        (Prefix::Moving, _) => {
            plain_hints(&["< > the tab", "n new tab", "1-9 to a tab", "h j k l swap", "Esc done"])
        }
        (Prefix::Pressed(_), _) => plain_hints(&["press a key, Esc cancels"]),
        (Prefix::None, None) if model.rail.has_keys => {
            plain_hints(&["R rename", "m message", "v s split", "x end", "Enter open", "Esc back", "? help"])
        }
        (Prefix::None, None) => told(model, deck_hints(model)),
        (Prefix::None, Some(overlay)) => told(model, overlay_hints(model, overlay)),
    }
}

/// A hint for a new situation goes before all others, beside the way to help.
fn told(model: &Model, ordinary: Vec<Hint>) -> Vec<Hint> {
    match hints::words(model) {
        Some(words) => ordinary.into_iter().rev().take(1).chain([Hint { words, action: None }]).collect(),
        None => ordinary,
    }
}

/// Keys after the prefix, written with it; the menu, which shows all others, goes last.
fn deck_hints(model: &Model) -> Vec<Hint> {
    let prefix = model.looks.keymap.prefix_text();
    let mut hints =
        context_hints(model, Context::Deck, &[(Action::NextNeed, "next"), (Action::Help, "help")]);
    hints.iter_mut().for_each(|hint| hint.words = format!("{prefix} {}", hint.words));
    hints.push(Hint { words: format!("{prefix} menu"), action: Some(Action::Palette) });
    hints
}

fn overlay_hints(model: &Model, overlay: &Overlay) -> Vec<Hint> {
    match overlay {
        Overlay::Wall(_) => plain_hints(&["1-9 choose", "Enter open", "+ - tiles", "Esc back"]),
        Overlay::Tasks(_) => context_hints(
            model,
            Context::Tasks,
            &[
                (Action::Sort, "sort"),
                (Action::Forecast, "conflicts"),
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
        Overlay::Review(_) => context_hints(
            model,
            Context::Review,
            &[
                (Action::Edit, "editor"),
                (Action::NextFile, "file"),
                (Action::NextHunk, "change"),
                (Action::SelectText, "range"),
                (Action::Land, "land"),
                (Action::Send, "send"),
                (Action::Comment, "comment"),
                (Action::Help, "help"),
            ],
        ),
        Overlay::Popup(_) => deck_hints(model),
        Overlay::History(history) if history.is_casual => plain_hints(&["type to return"]),
        Overlay::History(_) => plain_hints(&[
            "o link",
            "Ctrl-X editor",
            "[ ] prompts",
            "v select",
            "y copy",
            "? search back",
            "q leave",
        ]),
        _ => plain_hints(&["Esc back"]),
    }
}
