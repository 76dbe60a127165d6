//! The status line: where the keyboard is, what runs, what went wrong, and the keys that help.
//!
//! On the deck it says from the left: mode, process, panes, counts, context, size; hints are at the right. A view that
//! takes the deck's place has its hints in the middle, because they are about what is seen.

use proto::ProcessId;

use super::{cut, on_bar, text};
use crate::frame::{Grid, Point, width};
use crate::keymap::{Action, Context, KeyName};
use crate::model::overlay::Overlay;
use crate::model::{Away, Model, Prefix, hints};
use crate::theme::Role;

/// What a click on a piece of the line does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatusClick {
    /// An action of the deck.
    Act(Action),
    /// What this key does here.
    Press(KeyName),
}

/// Most columns of the reason why the daemon cannot save.
const UNSAVED_COLUMNS: u16 = 40;
/// The hints of the views, beside help and the way back.
const WALL: &[(Action, &str)] = &[
    (Action::TypeHere, "type"),
    (Action::Zoom, "zoom"),
    (Action::Inbox, "answer"),
    (Action::More, "more tiles"),
    (Action::Fewer, "fewer"),
];
const INBOX: &[(Action, &str)] = &[
    (Action::Answer, "in words"),
    (Action::Accept, "its screen"),
    (Action::Snooze, "snooze 10m"),
    (Action::Explain, "explain"),
    (Action::Down, "next item"),
];
const TASKS: &[(Action, &str)] = &[
    (Action::Accept, "open"),
    (Action::Inbox, "answer"),
    (Action::Review, "review"),
    (Action::Land, "land"),
    (Action::NewTask, "new"),
    (Action::RunTask, "run"),
    (Action::StopTask, "stop"),
    (Action::DropTask, "drop"),
    (Action::Forecast, "conflicts"),
    (Action::Sort, "sort"),
];

/// A piece of the line.
struct Piece {
    col: u16,
    words: String,
    role: Role,
    click: Option<StatusClick>,
}

/// A hint: the words, and what a click on them does.
struct Hint {
    words: String,
    click: Option<StatusClick>,
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
pub(crate) fn hit(model: &Model, at: Point) -> Option<StatusClick> {
    let is_here =
        |piece: &Piece| (piece.col..piece.col.saturating_add(width::columns(&piece.words))).contains(&at.col);
    pieces(model).into_iter().find(is_here).and_then(|piece| piece.click)
}

/// The pieces from the left: where the keyboard is, what is at hand, and the hints.
fn pieces(model: &Model) -> Vec<Piece> {
    let right = model.areas().status.right();
    let mode = format!(" {} ", mode(model));
    let mut col = width::columns(&mode) + 1;
    let mut pieces = vec![Piece { col: 0, words: mode, role: Role::Select, click: None }];
    let is_view = is_view(model);
    // In the rail the way back stays as long as the way to help.
    let last = if model.rail.has_keys && model.overlays.is_empty() { 2 } else { 1 };
    let hints = if is_view { Vec::new() } else { fitting(all_hints(model), hint_room(model), last) };
    let start = right.saturating_sub(columns_of(&hints).saturating_sub(1));
    for Part { words, role, click } in parts(model) {
        let room = start.saturating_sub(2).saturating_sub(col);
        // What went wrong is never left out.
        let words = if role == Role::Alert { cut(&words, room, model.looks.is_ascii) } else { words };
        let columns = width::columns(&words);
        if columns > 0 && columns <= room {
            pieces.push(Piece { col, words, role, click });
            col += columns + 1;
        }
    }
    if is_view {
        let room = if model.looks.has_hints { right.saturating_sub(col) } else { 0 };
        pieces.extend(spread(fitting(all_hints(model), room, 2), col, right));
    } else {
        pieces.extend(in_row(hints, start));
    }
    pieces
}

/// Hints from a column on.
fn in_row(hints: impl IntoIterator<Item = Hint>, from: u16) -> Vec<Piece> {
    let mut col = from;
    let piece = |Hint { words, click }| {
        let at = col;
        col += width::columns(&words) + 2;
        Piece { col: at, words, role: Role::Bar, click }
    };
    hints.into_iter().map(piece).collect()
}

/// Hints from the left, the last two of them at the right.
fn spread(mut hints: Vec<Hint>, left: u16, right: u16) -> Vec<Piece> {
    let tail = hints.split_off(hints.len().saturating_sub(2));
    let start = right.saturating_sub(columns_of(&tail).saturating_sub(1));
    in_row(hints, left).into_iter().chain(in_row(tail, start)).collect()
}

fn columns_of(hints: &[Hint]) -> u16 {
    hints.iter().map(|hint| width::columns(&hint.words) + 2).sum()
}

/// Columns for hints beside what the deck says. Without hints the one for help stays: it leads to all others.
fn hint_room(model: &Model) -> u16 {
    if model.looks.has_hints { model.size.cols / 2 } else { 0 }
}

/// As many hints as fit. What stands before the last ones goes first, and help goes last.
fn fitting(mut hints: Vec<Hint>, room: u16, last: usize) -> Vec<Hint> {
    let is_help = |hint: &Hint| hint.words.ends_with(" help");
    while hints.len() > 1 && columns_of(&hints) > room {
        let help = hints.iter().position(is_help);
        let at = match hints.len() {
            count if count > last => count - last - 1,
            count => {
                if help == Some(count - 1) {
                    0
                } else {
                    count - 1
                }
            }
        };
        hints.remove(at);
    }
    hints
}

/// A view that takes the place of the deck has the keys.
fn is_view(model: &Model) -> bool {
    let is_filler = |overlay: &Overlay| {
        matches!(overlay, Overlay::Wall(_) | Overlay::Tasks(_) | Overlay::Review(_) | Overlay::Inbox(_))
    };
    model.prefix == Prefix::None && model.overlays.last().is_some_and(is_filler)
}

/// The word for where keys go.
fn mode(model: &Model) -> String {
    let word = match (&model.prefix, model.overlays.last()) {
        (Prefix::Pressed(_), _) => "MENU",
        (Prefix::Resizing, _) => "RESIZE",
        (Prefix::Moving, _) => "MOVE",
        (Prefix::None, Some(Overlay::Palette(_))) => "PALETTE",
        (Prefix::None, Some(Overlay::Inbox(_))) => "INBOX",
        (Prefix::None, Some(Overlay::Help(_))) => "HELP",
        (Prefix::None, Some(Overlay::Page(_))) => "READ",
        (Prefix::None, Some(Overlay::Settings(_) | Overlay::Recorder(_))) => "SETTINGS",
        (Prefix::None, Some(Overlay::Prompt(_) | Overlay::Confirm(_))) => "ASK",
        (Prefix::None, Some(Overlay::Wall(wall))) => {
            let all = model.crew.processes.len();
            let shown = wall.places(&model.crew, model.areas().deck).len();
            let typing = if wall.typing.is_some() { " TYPING" } else { "" };
            return format!("WALL {shown}/{all}{typing}");
        }
        (Prefix::None, Some(Overlay::Tasks(_))) => "TASKS",
        (Prefix::None, Some(Overlay::Form(_))) => "NEW TASK",
        (Prefix::None, Some(Overlay::Land(_))) => "LAND",
        (Prefix::None, Some(Overlay::Agent(_))) => "START",
        (Prefix::None, Some(Overlay::Review(_))) => "REVIEW",
        (Prefix::None, Some(Overlay::Popup(_))) => "POPUP",
        (Prefix::None, Some(Overlay::RowMenu(_))) => "MENU",
        (Prefix::None, Some(Overlay::History(history))) if history.is_casual => "SCROLL",
        (Prefix::None, Some(Overlay::History(_))) => "COPY",
        (Prefix::None, None) if model.rail.has_keys => "RAIL",
        (Prefix::None, None) => "DECK",
    };
    word.to_owned()
}

/// One thing that is said.
struct Part {
    words: String,
    role: Role,
    click: Option<StatusClick>,
}

impl Part {
    fn new(words: String, role: Role) -> Self {
        Self { words, role, click: None }
    }

    fn acting(words: String, role: Role, action: Action) -> Self {
        Self { words, role, click: Some(StatusClick::Act(action)) }
    }
}

/// What is said from the left, most important first, with what a click does; what does not fit is left out.
fn parts(model: &Model) -> Vec<Part> {
    let mut parts = troubles(model);
    if is_view(model) {
        return parts;
    }
    let shown = shown_process(model);
    parts.extend(shown.map(|process| Part::new(model.name(process), Role::Bar)));
    let panes = model.deck.tab().map(|tab| tab.root.panes()).unwrap_or_default();
    if model.base_view().is_none() && panes.len() > 1 && model.places().len() == 1 {
        let focus = model.deck.focused().map(|(pane, _)| pane);
        let at = panes.iter().position(|pane| Some(*pane) == focus).unwrap_or(0);
        parts.push(Part::new(format!("{}/{} panes", at + 1, panes.len()), Role::Bar));
    }
    for (mark, count) in model.crew.counts() {
        let words = format!("{}{count}", mark.glyph(model.looks.is_ascii));
        parts.push(Part::acting(words, mark.role(), Action::NextNeed));
    }
    let view = shown.and_then(|process| model.crew.get(process));
    let percent = view.and_then(|view| view.agent.as_ref()?.context?.percent());
    parts.extend(percent.map(|percent| Part::new(format!("ctx {percent}%"), Role::Bar)));
    parts.extend(shown.and_then(|_| size_words(model)).map(|words| Part::new(words, Role::Dim)));
    parts
}

/// What keeps the deck from working as it should.
fn troubles(model: &Model) -> Vec<Part> {
    let mut parts = Vec::new();
    match &model.daemon.away {
        None => {}
        Some(Away::Broken(_)) => parts.push(Part::new("no daemon, trying again".to_owned(), Role::Alert)),
        Some(Away::ShutDown) => {
            let words = format!("no daemon: {}", model.start_hint());
            parts.push(Part::acting(words, Role::Alert, Action::StartDaemon));
        }
    }
    if let Some(reason) = &model.daemon.unsaved {
        let words = format!("not saved: {}", cut(reason, UNSAVED_COLUMNS, model.looks.is_ascii));
        parts.push(Part::new(words, Role::Alert));
    }
    if model.daemon.unsent_kib > 0 {
        let words = format!("{} KiB wait for the program to read", model.daemon.unsent_kib);
        parts.push(Part::new(words, Role::Warn));
    }
    parts
}

/// The process that the line is about: the one in the window over the deck, or the focused one while the deck is seen.
fn shown_process(model: &Model) -> Option<ProcessId> {
    let focused = model.deck.focused().map(|(_, process)| process);
    model.popup().or(focused.filter(|_| model.base_view().is_none()))
}

/// The size of the focused terminal and whose it is.
fn size_words(model: &Model) -> Option<String> {
    let (pane, process) = model.deck.focused()?;
    if model.popup().is_some() {
        return None;
    }
    let Some(other) = model.other_sizes.get(&pane) else {
        let is_running = model.crew.get(process).is_some_and(|view| view.pid.is_some());
        let (_, place) = model.places().into_iter().find(|(id, _)| *id == pane)?;
        let screen = crate::model::deck::Deck::screen_of(place);
        return is_running.then(|| format!("{}x{} yours", screen.cols, screen.rows));
    };
    let owner = other.owner.as_deref().unwrap_or("another viewer");
    Some(format!("{} by {}, type to fit", other.size, proto::Printable(owner)))
}

/// Hints of a context, by the keys that its actions have.
fn context_hints(model: &Model, context: Context, actions: &[(Action, &str)]) -> Vec<Hint> {
    let hint = |(action, words): &(Action, &str)| {
        let key = model.looks.keymap.first_key(context, *action)?;
        Some(Hint { words: format!("{key} {words}"), click: Some(StatusClick::Press(key.clone())) })
    };
    actions.iter().filter_map(hint).collect()
}

/// Hints whose keys are in no table. A first word that is a key can be clicked.
fn plain_hints(words: &[&str]) -> Vec<Hint> {
    let hint = |words: &&str| {
        let key = words.split(' ').next().and_then(|word| word.parse().ok());
        Hint { words: (*words).to_owned(), click: key.map(StatusClick::Press) }
    };
    words.iter().map(hint).collect()
}

/// The hints of every situation, in the order in which they are shown; help goes last.
fn all_hints(model: &Model) -> Vec<Hint> {
    match (&model.prefix, model.overlays.last()) {
        (Prefix::Resizing, _) => plain_hints(&["h j k l move the border", "Esc done"]),
        (Prefix::Moving, _) => {
            plain_hints(&["h j k l swap", "1-9 to a tab", "n new tab", "< > the tab", "Esc done"])
        }
        (Prefix::Pressed(_), _) => plain_hints(&["press a key, Esc cancels"]),
        (Prefix::None, None) if model.rail.has_keys => context_hints(
            model,
            Context::Rail,
            &[
                (Action::Accept, "open"),
                (Action::RowMenu, "menu"),
                (Action::CloseProcess, "end"),
                (Action::Tell, "message"),
                (Action::Rename, "rename"),
                (Action::Cancel, "back"),
                (Action::Help, "help"),
            ],
        ),
        (Prefix::None, None) => with_new_hint(model, deck_hints(model)),
        (Prefix::None, Some(overlay)) => with_new_hint(model, overlay_hints(model, overlay)),
    }
}

/// A hint for a new situation goes before all others, beside the way to help.
fn with_new_hint(model: &Model, ordinary: Vec<Hint>) -> Vec<Hint> {
    match hints::words(model) {
        Some(words) if model.overlays.is_empty() => {
            let help = ordinary.into_iter().rev().take(1);
            std::iter::once(Hint { words, click: None }).chain(help).collect()
        }
        Some(words) => std::iter::once(Hint { words, click: None }).chain(ordinary).collect(),
        None => ordinary,
    }
}

/// Keys after the prefix, written with it.
fn deck_hints(model: &Model) -> Vec<Hint> {
    let keymap = &model.looks.keymap;
    let prefix = keymap.prefix_text();
    let mut hints =
        vec![Hint { words: format!("{prefix} menu"), click: Some(StatusClick::Act(Action::Palette)) }];
    for (action, words) in [(Action::NextNeed, "next"), (Action::Help, "help")] {
        let hint = |key: String| Hint {
            words: format!("{prefix} {key} {words}"),
            click: Some(StatusClick::Act(action)),
        };
        hints.extend(keymap.key_of(Context::Deck, action).map(hint));
    }
    hints
}

/// After the wheel there is no mode: typing is for the program, and the prefix begins what searches and copies.
fn scroll_hints(model: &Model) -> Vec<Hint> {
    let mut hints = plain_hints(&["type to return"]);
    let prefix = model.looks.keymap.prefix_text();
    let copies = model.looks.keymap.key_of(Context::Deck, Action::Copy);
    hints.extend(copies.map(|key| Hint {
        words: format!("{prefix} {key} search, select, copy"),
        click: Some(StatusClick::Act(Action::Copy)),
    }));
    hints
}

fn overlay_hints(model: &Model, overlay: &Overlay) -> Vec<Hint> {
    let of = |context, actions: &[(Action, &str)]| {
        let tail = [(Action::Help, "help"), (Action::Cancel, "back")];
        let mut hints = context_hints(model, context, actions);
        hints.extend(context_hints(model, context, &tail));
        hints
    };
    match overlay {
        Overlay::Wall(wall) if wall.typing.is_some() => {
            let prefix = model.looks.keymap.prefix_text();
            let click = model.looks.keymap.prefix.first().cloned().map(StatusClick::Press);
            vec![Hint { words: format!("every key goes to the tile; {prefix} goes back"), click }]
        }
        Overlay::Wall(_) => {
            let chosen = plain_hints(&["1-9 choose"]).into_iter();
            chosen.chain(of(Context::Wall, WALL)).collect()
        }
        Overlay::Inbox(_) => {
            let answered = plain_hints(&["1-9 answer"]).into_iter();
            answered.chain(of(Context::Inbox, INBOX)).collect()
        }
        Overlay::Tasks(view) if view.is_filtering => plain_hints(&["Enter done", "Esc back"]),
        Overlay::Tasks(_) => of(Context::Tasks, TASKS),
        Overlay::Review(review) => {
            let send = format!("send {}", review.drafts());
            of(
                Context::Review,
                &[
                    (Action::Comment, "comment"),
                    (Action::SelectText, "range"),
                    (Action::Send, &send),
                    (Action::NextHunk, "change"),
                    (Action::NextFile, "file"),
                    (Action::SeenFile, "seen"),
                    (Action::Land, "land"),
                    (Action::Edit, "editor"),
                ],
            )
        }
        Overlay::Popup(_) => deck_hints(model),
        Overlay::History(history) if history.is_casual => scroll_hints(model),
        Overlay::History(_) => plain_hints(&[
            "y copy",
            "v select",
            "? search back",
            "[ ] prompts",
            "Ctrl-X editor",
            "o link",
            "q leave",
        ]),
        _ => plain_hints(&["Esc back"]),
    }
}
