//! Scrolling, searching, selecting and copying the lines of a process.

use proto::Request;
use proto::request::{Read, ReadMode, Target};
use term::Key;

use super::actions::{call, prompt};
use super::to_child;
use crate::host::{InputEvent, Mouse, MouseAct, MouseButton};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command};
use crate::model::Model;
use crate::model::deck::Deck;
use crate::model::history::{History, HistoryLine, SelectBy, Spot};
use crate::model::overlay::{Overlay, Purpose};
use crate::model::splits::PaneId;

/// Lines per notch of the wheel.
const WHEEL: isize = 3;
/// Bytes of one page of history.
const PAGE_BYTES: u32 = 65_536;

/// What a pane shows.
pub(super) struct Shown {
    pub(super) lines: Vec<HistoryLine>,
    /// The alternate screen has no history.
    pub(super) is_alternate: bool,
}

/// Opens the lines of a pane, with the keyboard.
pub(super) fn open(model: &mut Model, pane: PaneId, shown: Shown, search: bool) -> Vec<Command> {
    let mut commands = begin(model, pane, shown, false);
    if search {
        commands.extend(prompt(model, "Search back".to_owned(), "", Purpose::Search(true)));
    }
    commands
}

fn begin(model: &mut Model, pane: PaneId, shown: Shown, is_casual: bool) -> Vec<Command> {
    let Some(process) = model.process_of(pane) else { return Vec::new() };
    let mut history = History::new(pane, process, shown.lines);
    (history.is_casual, history.is_complete) = (is_casual, shown.is_alternate);
    model.overlays.clear();
    model.overlays.push(Overlay::History(Box::new(history)));
    ask_page(model)
}

/// The lines that are open, if they are.
pub(super) fn lines(model: &mut Model) -> Option<&mut History> {
    model.overlays.iter_mut().rev().find_map(|overlay| match overlay {
        Overlay::History(history) => Some(&mut **history),
        _ => None,
    })
}

/// Asks for older lines when the top comes near.
pub(super) fn ask_page(model: &mut Model) -> Vec<Command> {
    let Some(history) = lines(model).filter(|history| history.wants_more()) else { return Vec::new() };
    history.is_loading = true;
    let read = Read {
        target: Target(history.process.to_string()),
        mode: ReadMode::History,
        until: history.first_id,
        limit: Some(PAGE_BYTES),
        styles: true,
        ..Read::default()
    };
    let process = history.process;
    vec![call(CallFor::History(process), Request::Read(read))]
}

/// A key while the lines are open.
pub(super) fn key(model: &mut Model, key: Key, event: InputEvent) -> Vec<Command> {
    let action = model.looks.keymap.action(Context::Copy, &key);
    let Some(history) = lines(model) else { return Vec::new() };
    let is_scroll = matches!(action, Some(Action::PageDown | Action::PageUp | Action::Cancel));
    if history.is_casual && !is_scroll {
        // Typing returns to the bottom, and is typed.
        model.overlays.pop();
        return to_child(model, event);
    }
    match action {
        Some(Action::Cancel) => drop(model.overlays.pop()),
        Some(Action::Yank) => return yank(model),
        Some(action @ (Action::Search | Action::SearchForward)) => {
            let is_back = action == Action::Search;
            let title = if is_back { "Search back" } else { "Search forward" };
            return prompt(model, title.to_owned(), "", Purpose::Search(is_back));
        }
        Some(action @ (Action::SearchAgain | Action::SearchBack)) => {
            let is_found = history.find(action == Action::SearchBack);
            tell_missing(model, is_found);
        }
        Some(action) => step(history, action),
        None => {}
    }
    ask_page(model)
}

fn tell_missing(model: &mut Model, is_found: bool) {
    if !is_found {
        model.toast("not found in the lines that are loaded");
    }
}

fn step(history: &mut History, action: Action) {
    let half = isize::try_from(history.rows / 2).unwrap_or(1).max(1);
    let last = history.lines.len();
    match action {
        Action::Down => history.move_lines(1),
        Action::Up => history.move_lines(-1),
        Action::PageDown => history.page(half),
        Action::PageUp => history.page(-half),
        Action::Top => history.move_lines(-isize::try_from(last).unwrap_or(isize::MAX)),
        Action::Bottom => history.move_lines(isize::try_from(last).unwrap_or(isize::MAX)),
        Action::FocusLeft => history.cursor.col = history.cursor.col.saturating_sub(1),
        Action::FocusRight => history.cursor.col += 1,
        Action::LineStart => history.cursor.col = 0,
        Action::LineEnd => {
            let text = history.text_of(history.cursor.line);
            history.cursor.col = usize::from(crate::frame::width::columns(&text)).saturating_sub(1);
        }
        Action::WordForward | Action::WordBack | Action::WordEnd => word(history, action),
        Action::SelectText => select(history, SelectBy::Character),
        Action::SelectLines => select(history, SelectBy::Line),
        Action::SelectBlock => select(history, SelectBy::Block),
        _ => {}
    }
}

/// Begins a selection here, or ends the one that there is.
fn select(history: &mut History, by: SelectBy) {
    let is_same = history.anchor.is_some() && history.select_by == by;
    history.anchor = if is_same { None } else { history.anchor.or(Some(history.cursor)) };
    history.select_by = by;
}

/// Moves to another word of the line; at its ends to the next or the previous line.
fn word(history: &mut History, action: Action) {
    let cells = history.lines.get(history.cursor.line).map_or(&[][..], |line| &line.cells);
    let is_word = |at: usize| cells.get(at).is_some_and(|cell| !cell.text.trim().is_empty());
    let starts = |at: &usize| is_word(*at) && (*at == 0 || !is_word(at - 1));
    let ends = |at: &usize| is_word(*at) && !is_word(at + 1);
    let col = history.cursor.col;
    let found = match action {
        Action::WordForward => (col + 1..cells.len()).find(starts),
        Action::WordEnd => (col + 1..cells.len()).find(ends),
        _ => (0..col.min(cells.len())).rev().find(starts),
    };
    match (found, action) {
        (Some(col), _) => history.cursor.col = col,
        (None, Action::WordBack) => history.move_lines(-1),
        (None, _) => {
            history.move_lines(1);
            history.cursor.col = 0;
        }
    }
}

pub(super) fn search(model: &mut Model, text: String, is_back: bool) -> Vec<Command> {
    let Some(history) = lines(model) else { return Vec::new() };
    if !text.is_empty() {
        history.search = Some((text, is_back));
    }
    let is_found = history.find(false);
    tell_missing(model, is_found);
    ask_page(model)
}

/// Copies the selection, or the line, and closes the lines.
fn yank(model: &mut Model) -> Vec<Command> {
    let Some(history) = lines(model) else { return Vec::new() };
    let text = match history.selection() {
        Some(_) => history.selected_text(),
        None => history.text_of(history.cursor.line),
    };
    model.overlays.clear();
    if text.is_empty() {
        return Vec::new();
    }
    model.register.clone_from(&text);
    vec![Command::Copy(text)]
}

/// The mouse in a pane whose program does not want it: the wheel scrolls, a drag selects and copies.
pub(super) fn unwanted_mouse(model: &mut Model, pane: PaneId, mouse: Mouse, shown: Shown) -> Vec<Command> {
    let is_open = lines(model).is_some_and(|history| history.pane == pane);
    match mouse.act {
        MouseAct::WheelUp if !is_open && !shown.is_alternate => {
            let mut commands = begin(model, pane, shown, true);
            commands.extend(wheel(model, -WHEEL));
            commands
        }
        MouseAct::WheelUp => wheel(model, -WHEEL),
        MouseAct::WheelDown => wheel(model, WHEEL),
        MouseAct::Drag(MouseButton::Left) => {
            let mut commands = if is_open { Vec::new() } else { begin(model, pane, shown, true) };
            drag(model, pane, mouse);
            commands.extend(ask_page(model));
            commands
        }
        MouseAct::Release(MouseButton::Left) if is_open => match lines(model) {
            Some(history) if history.anchor.is_some() => yank(model),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn wheel(model: &mut Model, by: isize) -> Vec<Command> {
    let Some(history) = lines(model) else { return Vec::new() };
    let is_above = history.scroll(by);
    if history.is_casual && !is_above && history.first_id.is_some() && by > 0 {
        model.overlays.pop();
        return Vec::new();
    }
    ask_page(model)
}

fn drag(model: &mut Model, pane: PaneId, mouse: Mouse) {
    let place = model.places().into_iter().find(|(id, _)| *id == pane);
    let Some(screen) = place.map(|(_, rect)| Deck::screen_of(rect)) else { return };
    let Some(history) = lines(model) else { return };
    let row = usize::from(mouse.at.row.saturating_sub(screen.row));
    let col = usize::from(mouse.at.col.saturating_sub(screen.col));
    history.cursor = Spot { line: (history.top + row).min(history.lines.len().saturating_sub(1)), col };
    history.anchor = history.anchor.or(Some(history.cursor));
}
