//! What each message does to the model, and what it wants done. Pure: no clock, no terminal, no socket.
//!
//! | file | owns |
//! |---|---|
//! | `actions` | what keys of the deck do |
//! | `rail`, `row_menu` | keys in the rail, and the menu of one of its rows |
//! | `overlays` | keys in what lies over the deck |
//! | `ends` | ending a process, and an agent that goes on in its session |
//! | `process_acts` | the rest of what the command line can do to a process, and its lists |
//! | `palette`, `agent_form` | choosing and starting |
//! | `pins` | selections that follow what is selected, and keys that came too late for it |
//! | `own_commands` | commands of the person's own |
//! | `pads` | scratchpads and timers |
//! | `history` | scrolling, searching, selecting, copying |
//! | `child_copies` | what programs write to the clipboard |
//! | `mouse` | clicks, drags and the wheel |
//! | `tasks`, `task_forms`, `review` | keys in the list of tasks, in their forms, in the review |
//! | `explain` | pages that say why |
//! | `settings` | changing settings, recording the menu key |
//! | `events`, `ports` | what the daemon says, and when commands are asked for their ports |
//! | `failures` | calls that failed, or whose end nobody knows |
//! | `daemon_status` | what keeps the daemon from saving |

mod actions;
mod agent_form;
mod child_copies;
mod daemon_status;
mod ends;
mod events;
mod explain;
mod failures;
mod history;
mod mouse;
mod overlays;
mod own_commands;
mod pads;
mod palette;
mod pins;
mod ports;
mod process_acts;
mod rail;
mod review;
mod row_menu;
mod settings;
mod task_forms;
mod tasks;
#[cfg(test)]
mod tests;

use term::{Key, KeyCode, KeyEvent};

use crate::host::{InputEvent, MouseButton, What};
use crate::keymap::{Action, Context};
use crate::message::{Command, Message};
use crate::model::agent_form::AgentField;
use crate::model::overlay::{Overlay, POPUP, Wall};
use crate::model::pointer::PressOwner;
use crate::model::splits::PaneId;
use crate::model::tasks::Field;
use crate::model::{Away, Model, Prefix, Toast, hints};

/// Changes the model by a message; returns what is to be done.
pub(crate) fn update(model: &mut Model, message: Message) -> Vec<Command> {
    let crew_changed = matches!(
        message,
        Message::Connected(_) | Message::Happened(_) | Message::Answered(..) | Message::Tick
    );
    let is_persons = pins::is_persons(&message);
    let focus = model.deck.focused();
    let layout = model.deck.clone();
    let mut commands = match message {
        Message::Input(event) => input(model, event),
        Message::Host(answer) => {
            model.host.note(&answer);
            Vec::new()
        }
        Message::Resized(size) => {
            model.size = size;
            Vec::new()
        }
        Message::Tick => events::tick(model),
        Message::Connected(processes) => events::connected(model, processes),
        Message::Disconnected(reason) => {
            model.daemon.away = Some(Away::Broken(reason));
            Vec::new()
        }
        Message::ShutDown => events::shut_down(model),
        Message::NotStarted(reason) => {
            model.alert(format!("no daemon: {}", proto::Printable(&reason)), None);
            Vec::new()
        }
        Message::Untyped(pane) => events::untyped(model, pane),
        Message::Unread(process, kib) => events::unread(model, process, kib),
        Message::Happened(event) => {
            let before = model.toasts.first().cloned();
            let mut commands = events::happened(model, event);
            commands.extend(notice(model, before.as_ref()));
            commands.extend(daemon_status::ask_when_old(model));
            commands
        }
        Message::Answered(what, result) => events::answered(model, what, result),
        Message::OtherSize(pane, size) => events::other_size(model, pane, size),
        Message::PaneEnded(pane, reason) => events::pane_ended(model, pane, &reason),
        Message::UnwantedMouse { pane, mouse, lines, is_alternate } => {
            history::unwanted_mouse(model, pane, mouse, history::Shown { lines, is_alternate })
        }
        Message::Lines { pane, lines, is_alternate, search } => {
            history::open(model, pane, history::Shown { lines, is_alternate }, search)
        }
        Message::Copied(text) => {
            model.toast(text);
            Vec::new()
        }
        Message::ChildCopies(pane, text) => child_copies::take(model, pane, &text),
        Message::Link(link) => {
            // The press that has asked for it is no program's.
            model.pointer.own(MouseButton::Left, PressOwner::Deck);
            overlays::ask_link(model, &link);
            Vec::new()
        }
        Message::NotAsked(what) => failures::not_asked(model, &what),
        Message::Unanswered(what, request) => failures::unanswered(model, &what, &request),
        Message::Edited(what, text) => overlays::edited(model, what, &text),
        Message::Prepares(preparation) => {
            model.place.preparation = preparation;
            Vec::new()
        }
        Message::Configured(config, fault) => events::configured(model, *config, fault),
    };
    if model.deck.focused() != focus {
        commands.extend(focus.map(|(pane, _)| Command::Focus(pane, false)));
        commands.extend(model.deck.focused().map(|(pane, _)| Command::Focus(pane, true)));
    }
    if model.deck != layout {
        commands.push(Command::KeepLayout);
    }
    events::count_focused_as_seen(model);
    pins::keep(model, is_persons);
    if hints::note(model, crew_changed) {
        commands.push(Command::KeepHints);
    }
    commands
}

/// The newest notice about a process, for a person who looks elsewhere.
fn notice(model: &Model, before: Option<&Toast>) -> Option<Command> {
    let newest = model.toasts.first().filter(|newest| Some(*newest) != before && newest.process.is_some());
    newest.filter(|_| !model.has_focus).map(|newest| Command::Notify(newest.text.clone()))
}

fn input(model: &mut Model, event: InputEvent) -> Vec<Command> {
    match event.what {
        What::Key(key) if model.is_too_small() => key_unseen(model, &key),
        What::Key(key) if key.event == KeyEvent::Release && model.own_keys.released(key.code) => Vec::new(),
        What::Key(key) => {
            let commands = key_typed(model, key, event);
            if key.event != KeyEvent::Release {
                let is_typed = commands.iter().any(|command| matches!(command, Command::Type(..)));
                model.own_keys.pressed(key.code, !is_typed);
            }
            commands
        }
        What::Mouse(mouse) => mouse::mouse(model, mouse),
        What::Focus(has_focus) => {
            model.has_focus = has_focus;
            let pane = model.deck.focused().map(|(pane, _)| pane);
            pane.map(|pane| Command::Focus(pane, has_focus)).into_iter().collect()
        }
        What::Text(_) => typed_text(model, event),
        What::PasteBegins | What::PasteText | What::PasteEnds => paste(model, event),
        What::Unknown => to_child(model, event),
        What::Answer(_) => Vec::new(),
    }
}

/// Takes a key while nothing can be shown: what a person does not see must not act, so only leaving does.
fn key_unseen(model: &mut Model, key: &Key) -> Vec<Command> {
    if key.event == KeyEvent::Release {
        return Vec::new();
    }
    let was_pressed = matches!(std::mem::replace(&mut model.prefix, Prefix::None), Prefix::Pressed(_));
    if !was_pressed && model.looks.keymap.is_prefix(key) {
        model.prefix = Prefix::Pressed(model.now.ms);
    }
    let action = model.looks.keymap.action(Context::Deck, key).filter(|_| was_pressed);
    match action {
        Some(Action::Leave) => actions::act(model, Action::Leave),
        _ => Vec::new(),
    }
}

fn key_typed(model: &mut Model, key: Key, event: InputEvent) -> Vec<Command> {
    let is_release = key.event == KeyEvent::Release;
    if matches!(model.overlays.last(), Some(Overlay::Recorder(_))) {
        return settings::record(model, key);
    }
    match model.prefix {
        Prefix::None => {}
        // The release of the prefix itself, and of keys that acted, is nobody's.
        Prefix::Pressed(_) | Prefix::Resizing | Prefix::Moving if is_release => return Vec::new(),
        Prefix::Pressed(_) => return after_prefix(model, key, event),
        Prefix::Resizing => {
            if actions::resize(model, &key) {
                return Vec::new();
            }
            model.prefix = Prefix::None;
        }
        Prefix::Moving => {
            if actions::move_pane(model, &key) {
                return Vec::new();
            }
            model.prefix = Prefix::None;
        }
    }
    if let Some(commands) = type_into_tile(model, &key, &event) {
        return commands;
    }
    if model.looks.keymap.is_prefix(&key) {
        if !is_release {
            model.prefix = Prefix::Pressed(model.now.ms);
            model.own_keys.prefix_tried = true;
        }
        return Vec::new();
    }
    if let Some(action) = model.looks.keymap.action(Context::Direct, &key)
        && model.overlays.is_empty()
    {
        return if is_release { Vec::new() } else { actions::act(model, action) };
    }
    match () {
        () if !model.overlays.is_empty() && !is_release => overlays::key(model, key, event),
        () if !model.overlays.is_empty() => Vec::new(),
        () if model.rail.has_keys && !is_release => rail::key(model, key),
        () if model.deck.tab().is_none() && !is_release => welcome_key(model, key),
        () => to_child(model, event),
    }
}

/// The pane whose program gets the keys; none while they are the deck's.
pub(crate) fn typed_pane(model: &Model) -> Option<PaneId> {
    match model.overlays.last() {
        _ if model.prefix != Prefix::None => None,
        Some(Overlay::Popup(_)) => Some(POPUP),
        Some(_) => typed_tile(model),
        None if model.rail.has_keys => None,
        None => model.deck.focused().map(|(pane, _)| pane),
    }
}

/// The tile of the wall that is typed into.
fn typed_tile(model: &Model) -> Option<PaneId> {
    let Some(Overlay::Wall(Wall { typing: Some(process), .. })) = model.overlays.last() else { return None };
    model.places().into_iter().map(|(pane, _)| pane).find(|pane| model.process_of(*pane) == Some(*process))
}

/// A key while a tile of the wall is typed into: the prefix goes back to the wall, every other key goes to the tile.
fn type_into_tile(model: &mut Model, key: &Key, event: &InputEvent) -> Option<Vec<Command>> {
    let tile = typed_tile(model).filter(|_| !model.looks.keymap.is_prefix(key));
    let Some(Overlay::Wall(wall)) = model.overlays.last_mut() else { return None };
    wall.typing?;
    match tile {
        Some(pane) => Some(vec![Command::Type(pane, event.clone())]),
        None => {
            wall.typing = None;
            Some(Vec::new())
        }
    }
}

/// Presses a key for the person, who has clicked on its hint.
fn press(model: &mut Model, key: Key) -> Vec<Command> {
    let event = InputEvent { raw: Vec::new(), what: What::Key(key) };
    key_typed(model, key, event)
}

fn after_prefix(model: &mut Model, key: Key, event: InputEvent) -> Vec<Command> {
    model.prefix = Prefix::None;
    if model.looks.keymap.is_prefix(&key) {
        return to_child(model, event);
    }
    if key.code == KeyCode::Escape {
        return Vec::new();
    }
    match model.looks.keymap.action(Context::Deck, &key) {
        Some(action) => actions::act(model, action),
        None => {
            let help = model.looks.keymap.key_of(Context::Deck, Action::Help).unwrap_or_default();
            model.toast(format!(
                "that key does nothing here; {} {help} lists the keys",
                model.looks.keymap.prefix_text()
            ));
            Vec::new()
        }
    }
}

/// Keys of the empty deck, which are on the screen.
fn welcome_key(model: &mut Model, key: Key) -> Vec<Command> {
    match key.code {
        KeyCode::Character('1') => actions::act(model, crate::keymap::Action::NewTask),
        KeyCode::Character('c') => actions::act(model, crate::keymap::Action::New),
        KeyCode::Character('2') => palette::start_shell(model, crate::model::palette::Placement::Tab),
        KeyCode::Character('3') => palette::ask_command(model, crate::model::palette::Placement::Tab),
        KeyCode::Character('4') if !model.crew.processes.is_empty() => actions::act(model, Action::Processes),
        KeyCode::Character('5') if model.adoptable().is_some() => palette::ask_adoption(model),
        KeyCode::Character('k') => {
            model.overlays.push(Overlay::Recorder(crate::model::settings::Recorder::default()));
            Vec::new()
        }
        KeyCode::Character('?') => actions::act(model, Action::Help),
        _ => {
            let prefix = model.looks.keymap.prefix_text();
            model.toast(format!("nothing is open; press a number of the list, or {prefix} Space"));
            Vec::new()
        }
    }
}

fn to_child(model: &mut Model, event: InputEvent) -> Vec<Command> {
    let is_popup = matches!(model.overlays.last(), Some(Overlay::Popup(_)));
    let has_deck = model.overlays.is_empty();
    if model.daemon.away == Some(Away::ShutDown) && (has_deck || is_popup) {
        return events::not_typed(model);
    }
    let focused = model.deck.focused().map(|(pane, _)| pane).filter(|_| has_deck);
    let pane = if is_popup { Some(POPUP) } else { focused };
    pane.map(|pane| Command::Type(pane, event)).into_iter().collect()
}

/// Text without a key goes where letters go.
fn typed_text(model: &mut Model, event: InputEvent) -> Vec<Command> {
    let is_after_prefix = matches!(std::mem::replace(&mut model.prefix, Prefix::None), Prefix::Pressed(_));
    if is_after_prefix || model.is_too_small() || model.rail.has_keys {
        Vec::new()
    } else {
        paste(model, event)
    }
}

/// A paste goes to the line that is edited, else to the program.
fn paste(model: &mut Model, event: InputEvent) -> Vec<Command> {
    if let Some(pane) = typed_tile(model) {
        return vec![Command::Type(pane, event)];
    }
    let mut has_lines = false;
    history::leave_casual(model);
    let line = match model.overlays.last_mut() {
        None | Some(Overlay::Popup(_)) => return to_child(model, event),
        Some(Overlay::Palette(palette)) => &mut palette.line,
        Some(Overlay::Help(help)) if help.is_filtering => &mut help.filter,
        Some(Overlay::Prompt(prompt)) => {
            has_lines = prompt.purpose.may_be_long();
            &mut prompt.line
        }
        Some(Overlay::Form(form)) => {
            has_lines = form.field == Field::Prompt;
            match form.line() {
                Some(line) => line,
                None => return Vec::new(),
            }
        }
        Some(Overlay::Agent(form)) => {
            has_lines = form.field == AgentField::Message;
            match form.line() {
                Some(line) => line,
                None => return Vec::new(),
            }
        }
        Some(Overlay::Land(form)) => match form.line() {
            Some(line) => line,
            None => return Vec::new(),
        },
        Some(_) => return Vec::new(),
    };
    let text = match &event.what {
        What::Text(text) => text.into(),
        _ => String::from_utf8_lossy(&event.raw),
    };
    match event.what {
        What::Text(_) => line.insert(&text),
        What::PasteText if has_lines => line.insert_lines(&text),
        What::PasteText => line.insert(&text.replace(['\r', '\n', '\t'], " ")),
        _ => {}
    }
    Vec::new()
}
