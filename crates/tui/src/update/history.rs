//! Scrolling, searching, selecting and copying the lines of a process.

mod motions;

use proto::reply::Text;
use proto::request::{Read, ReadMode, Target};
use proto::{ProcessId, Request};
use term::{Key, KeyCode};

use super::actions::{call, prompt};
use super::to_child;
use crate::frame::{Point, Rect};
use crate::host::{InputEvent, Mouse, MouseAct, MouseButton};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command, EditFor};
use crate::model::Model;
use crate::model::deck::Deck;
use crate::model::history::{History, HistoryLine, HistoryPosition, SelectBy, Sought};
use crate::model::overlay::{Overlay, Purpose};
use crate::model::pointer::PressOwner;
use crate::model::splits::PaneId;

/// Lines per notch of the wheel.
const WHEEL: isize = 3;
/// Bytes of one page of history.
const PAGE_BYTES: u32 = 65_536;

/// Bytes of a page in which something is sought.
const SEARCH_BYTES: u32 = 1 << 20; // 1 MiB

/// What a pane shows.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) lines: Vec<HistoryLine>,
    /// The alternate screen has no history.
    pub(super) is_alternate: bool,
}

/// Opens the lines of a pane, with the keyboard.
pub(super) fn open(model: &mut Model, pane: PaneId, shown: Shown, search: bool) -> Vec<Command> {
    let mut commands = begin(model, pane, shown, false);
    if search {
        commands.extend(ask_text(model));
    }
    commands
}

fn ask_text(model: &mut Model) -> Vec<Command> {
    prompt(model, "Search back".to_owned(), "", Purpose::Search(true))
}

/// Gives the keyboard to the lines that are open in a pane already, where they are; returns false if there are none.
pub(super) fn hold(model: &mut Model, pane: PaneId, search: bool) -> bool {
    let Some(Overlay::History(history)) = model.overlays.last_mut() else { return false };
    if history.pane != pane {
        return false;
    }
    history.is_casual = false;
    if search {
        ask_text(model);
    }
    true
}

/// Returns to the bottom if only the wheel or the mouse has opened the lines, as typing does.
pub(super) fn leave_casual(model: &mut Model) {
    if matches!(model.overlays.last(), Some(Overlay::History(history)) if history.is_casual) {
        model.overlays.pop();
    }
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
        limit: Some(if history.sought.is_some() { SEARCH_BYTES } else { PAGE_BYTES }),
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
    // Another key ends a search that waits for older lines.
    history.sought = None;
    let is_second = std::mem::take(&mut history.has_g);
    let is_first_g = !is_second && key.code == KeyCode::Character('g');
    let is_scroll = matches!(action, Some(Action::PageDown | Action::PageUp | Action::Cancel));
    if history.is_casual && !is_scroll {
        // Typing returns to the bottom, and is typed.
        model.overlays.pop();
        return to_child(model, event);
    }
    match action {
        Some(Action::Cancel) => drop(model.overlays.pop()),
        // As in vi the key comes twice.
        Some(Action::Top) if is_first_g => history.has_g = true,
        Some(Action::Top) => return seek(model, Sought::Top),
        Some(Action::Yank) => return yank(model),
        Some(action @ (Action::Search | Action::SearchForward)) => {
            let is_back = action == Action::Search;
            let title = if is_back { "Search back" } else { "Search forward" };
            return prompt(model, title.to_owned(), "", Purpose::Search(is_back));
        }
        Some(action @ (Action::SearchAgain | Action::SearchBack)) => {
            return seek(model, Sought::Text { other_way: action == Action::SearchBack });
        }
        Some(Action::PromptBack) => return seek(model, Sought::Prompt { is_back: true }),
        Some(Action::PromptForward) => return seek(model, Sought::Prompt { is_back: false }),
        Some(Action::OpenLink) => {
            match history.link_at(history.cursor) {
                Some(link) => super::overlays::ask_link(model, &link),
                None => model.toast("there is no link here"),
            }
            return Vec::new();
        }
        Some(Action::Edit) => {
            let text: Vec<String> = (0..history.lines.len()).map(|line| history.text_of(line)).collect();
            return vec![Command::Edit(EditFor::Reading, text.join("\n") + "\n")];
        }
        Some(action) => motions::step(history, action),
        None => {}
    }
    ask_page(model)
}

/// Goes to what is sought, or asks for the older lines in which it may be.
fn seek(model: &mut Model, sought: Sought) -> Vec<Command> {
    let Some(history) = lines(model) else { return Vec::new() };
    history.sought = None;
    if history.seek(sought) {
        return ask_page(model);
    }
    // Before a search begins from the other end, everything is here.
    if !history.is_complete && (history.is_upwards(sought) || matches!(sought, Sought::Text { .. })) {
        history.sought = Some(sought);
        return ask_page(model);
    }
    let words = match sought {
        Sought::Top => return Vec::new(),
        Sought::Prompt { .. } => "no prompt further on: the shell may not mark its prompts".to_owned(),
        Sought::Text { .. } => wrap_round(history, sought),
    };
    model.toast(words);
    ask_page(model)
}

/// A text that is not found in one direction is looked for from the other end; returns what to say about it.
fn wrap_round(history: &mut History, sought: Sought) -> String {
    let here = history.cursor;
    let last = history.lines.len().saturating_sub(1);
    let (from, words) = match history.is_upwards(sought) {
        true => (HistoryPosition { line: last, col: usize::MAX }, "not found above; this is from the bottom"),
        false => (HistoryPosition::default(), "not found below; this is from the top"),
    };
    history.cursor = from;
    let is_at_start = !history.is_upwards(sought) && history.is_here();
    if is_at_start || history.seek(sought) {
        return words.to_owned();
    }
    history.cursor = here;
    let above = if history.is_complete { "" } else { " that are loaded" };
    format!("not found in the {} lines{above}", history.count())
}

/// Takes older lines, and goes on with what is sought in them.
pub(super) fn take_page(model: &mut Model, process: ProcessId, text: Text) -> Vec<Command> {
    let Some(history) = lines(model).filter(|history| history.process == process) else { return Vec::new() };
    history.take_page(text.rows.unwrap_or_default(), text.missed);
    match history.sought {
        Some(sought) => seek(model, sought),
        // There is nothing to scroll: the wheel has begun nothing.
        None if history.is_turned_in_vain() => {
            leave_casual(model);
            Vec::new()
        }
        None => ask_page(model),
    }
}

pub(super) fn search(model: &mut Model, text: String, is_back: bool) -> Vec<Command> {
    let Some(history) = lines(model) else { return Vec::new() };
    if !text.is_empty() {
        history.search = Some((text, is_back));
    }
    seek(model, Sought::Text { other_way: false })
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

/// A drag or a release after a press in a pane whose program did not want it, wherever the mouse is now.
pub(super) fn selecting_mouse(model: &mut Model, pane: PaneId, mouse: Mouse) -> Vec<Command> {
    let is_open = lines(model).is_some_and(|history| history.pane == pane);
    if is_open {
        return unwanted_mouse(model, pane, mouse, Shown::default());
    }
    // What the keyboard has opened meanwhile is not closed for a drag.
    if model.overlays.is_empty() { vec![Command::Select(pane, mouse)] } else { Vec::new() }
}

/// The mouse in a pane whose program does not want it: the wheel scrolls, a drag selects and copies.
pub(super) fn unwanted_mouse(model: &mut Model, pane: PaneId, mouse: Mouse, shown: Shown) -> Vec<Command> {
    let is_open = lines(model).is_some_and(|history| history.pane == pane);
    if let MouseAct::Press(button) = mouse.act {
        model.pointer.own(button, PressOwner::Selection(pane));
    }
    match mouse.act {
        MouseAct::Drag(button) if model.pointer.owner(button) != Some(PressOwner::Selection(pane)) => {
            Vec::new()
        }
        MouseAct::WheelUp if !is_open && !shown.is_alternate => {
            let mut commands = begin(model, pane, shown, true);
            commands.extend(wheel(model, -WHEEL));
            commands
        }
        MouseAct::WheelUp => wheel(model, -WHEEL),
        MouseAct::WheelDown => wheel(model, WHEEL),
        MouseAct::Drag(MouseButton::Left) => {
            let mut commands = if is_open { Vec::new() } else { begin(model, pane, shown, true) };
            if !is_open {
                press(model, pane, model.pointer.pressed_at().unwrap_or(mouse.at));
            }
            drag(model, pane, mouse.at);
            commands.extend(ask_page(model));
            commands
        }
        MouseAct::Press(MouseButton::Left) if is_open || model.pointer.clicks() > 1 => {
            let mut commands = if is_open { Vec::new() } else { begin(model, pane, shown, true) };
            press(model, pane, mouse.at);
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
    let is_above = history.wheel(by);
    if history.is_casual && !is_above && history.first_id.is_some() && by > 0 {
        model.overlays.pop();
        return Vec::new();
    }
    ask_page(model)
}

/// Where the lines of a pane are on the screen.
fn lines_screen(model: &Model, pane: PaneId) -> Option<Rect> {
    let place = model.places().into_iter().find(|(id, _)| *id == pane);
    place.map(|(_, place)| Deck::screen_of(place))
}

/// The place in the open lines that is nearest to the mouse.
fn position_under(model: &mut Model, pane: PaneId, mouse: Point) -> Option<HistoryPosition> {
    let screen = lines_screen(model, pane)?;
    let at = screen.nearest(mouse);
    let history = lines(model)?;
    let (row, col) = (usize::from(at.row - screen.row), usize::from(at.col - screen.col));
    Some(HistoryPosition { line: (history.top + row).min(history.lines.len().saturating_sub(1)), col })
}

/// Selects up to the mouse. Beyond the upper or the lower edge of the pane the lines scroll by one with each report.
fn drag(model: &mut Model, pane: PaneId, mouse: Point) {
    let Some(screen) = lines_screen(model, pane) else { return };
    let by = match mouse.row {
        row if row < screen.row => -1,
        row if row >= screen.bottom() => 1,
        _ => 0,
    };
    let Some(history) = lines(model) else { return };
    history.anchor = history.anchor.or(Some(history.cursor));
    history.scroll(by);
    let position = position_under(model, pane, mouse);
    if let (Some(position), Some(history)) = (position, lines(model)) {
        history.cursor = position;
    }
}

/// A click places the cursor, the second one at the same place selects the word, the third one the line.
fn press(model: &mut Model, pane: PaneId, mouse: Point) {
    let (position, clicks) = (position_under(model, pane, mouse), model.pointer.clicks());
    let (Some(position), Some(history)) = (position, lines(model)) else { return };
    (history.cursor, history.anchor, history.select_by) = (position, None, SelectBy::Character);
    match clicks {
        2 => {
            if let Some((first, last)) = history.word_at(position) {
                (history.anchor, history.cursor) = (Some(first), last);
            }
        }
        3 => (history.anchor, history.select_by) = (Some(position), SelectBy::Line),
        _ => {}
    }
}
