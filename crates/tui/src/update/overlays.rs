//! Keys in what lies over the deck.

use proto::request::{GiveAnswer, Rename, Target, Tell};
use proto::{Name, ProcessId, Request};
use term::{Key, KeyCode};

use super::actions::{self, call, prompt};
use super::{
    agent_form, ends, history, pads, palette, pins, process_acts, review, row_menu, settings, task_forms,
    tasks,
};
use crate::host::InputEvent;
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command, EditFor, Written};
use crate::model::Model;
use crate::model::line::Line;
use crate::model::overlay::{Confirm, ConfirmAnswer, Help, Overlay, Purpose};
use crate::model::palette::Placement;
use crate::model::splits::{PaneId, neighbour};
use crate::view::{dialogs, help};

/// Rows of half a page, where the page's height does not matter.
const HALF_PAGE: isize = 10;
/// How long an item of the inbox is put off.
const SNOOZE_MS: u64 = 10 * 60 * 1_000;
/// Least and most tiles of the wall.
const TILES: std::ops::RangeInclusive<usize> = 1..=16;

pub(super) fn key(model: &mut Model, key: Key, event: InputEvent) -> Vec<Command> {
    match model.overlays.last() {
        None => Vec::new(),
        Some(Overlay::Palette(_)) => palette::key(model, key),
        Some(Overlay::Inbox(_)) => inbox_key(model, key),
        Some(Overlay::Help(_) | Overlay::Page(_)) => page_key(model, key),
        Some(Overlay::Prompt(_)) => prompt_key(model, key),
        Some(Overlay::Confirm(_)) => confirm_key(model, key),
        Some(Overlay::Wall(_)) => wall_key(model, key),
        Some(Overlay::History(_)) => history::key(model, key, event),
        Some(Overlay::Settings(_)) => settings::key(model, key),
        Some(Overlay::Recorder(_)) => settings::record(model, key),
        Some(Overlay::Tasks(_)) => tasks::key(model, key),
        Some(Overlay::Form(_)) => task_forms::form_key(model, key),
        Some(Overlay::Land(_)) => task_forms::land_key(model, key),
        Some(Overlay::Agent(_)) => agent_form::key(model, key),
        Some(Overlay::Review(_)) => review::key(model, key),
        Some(Overlay::Popup(_)) => super::to_child(model, event),
        Some(Overlay::RowMenu(_)) => row_menu::key(model, key),
    }
}

/// A key while something is read. A key that it does not know does not close it: what is typed next would be for the program.
fn page_key(model: &mut Model, key: Key) -> Vec<Command> {
    let (is_help, pad) = match model.overlays.last_mut() {
        Some(Overlay::Help(help)) if help.is_filtering => {
            filter_key(help, &key);
            return Vec::new();
        }
        Some(Overlay::Help(_)) => (true, None),
        Some(Overlay::Page(page)) => (false, page.pad.clone()),
        _ => return Vec::new(),
    };
    match (model.looks.keymap.action(Context::Pads, &key), pad) {
        (Some(Action::Edit), Some(pad)) => return pads::edit(model, &pad),
        (Some(Action::Revisions), Some(pad)) => return pads::ask_revisions(model, &pad.name),
        (Some(Action::Help), _) if !is_help => actions::help(model, Context::Pads),
        (Some(Action::Help | Action::Cancel), _) => close_page(model),
        (Some(Action::Search), _) if is_help => {
            if let Some(Overlay::Help(help)) = model.overlays.last_mut() {
                help.is_filtering = true;
            }
        }
        (Some(Action::Down), _) => scroll_page(model, 1),
        (Some(Action::Up), _) => scroll_page(model, -1),
        (Some(Action::PageDown), _) => scroll_page(model, HALF_PAGE),
        (Some(Action::PageUp), _) => scroll_page(model, -HALF_PAGE),
        _ => {
            let back = model.looks.keymap.key_of(Context::Pads, Action::Cancel).unwrap_or_default();
            model.toast(format!("that key does nothing here; {back} goes back"));
        }
    }
    Vec::new()
}

/// A key while the list of keys is filtered.
fn filter_key(help: &mut Help, key: &Key) {
    match key.code {
        KeyCode::Enter => help.is_filtering = false,
        KeyCode::Escape => *help = Help::default(),
        _ => {
            help.filter.edit(key);
            help.top = 0;
        }
    }
}

/// Leaves what is read; a filtered list of keys is whole again first.
fn close_page(model: &mut Model) {
    match model.overlays.last_mut() {
        Some(Overlay::Help(help)) if !help.filter.text().is_empty() => *help = Help::default(),
        _ => drop(model.overlays.pop()),
    }
}

/// Scrolls the page that is read, at most to its last row.
pub(super) fn scroll_page(model: &mut Model, by: isize) {
    let last = match model.overlays.last() {
        Some(Overlay::Help(help)) => help::last_top(model, help),
        Some(Overlay::Page(page)) => dialogs::last_top(model, page),
        _ => return,
    };
    let top = match model.overlays.last_mut() {
        Some(Overlay::Help(help)) => &mut help.top,
        Some(Overlay::Page(page)) => &mut page.top,
        _ => return,
    };
    *top = top.saturating_add_signed(by).min(last);
}

fn inbox_key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Inbox(inbox)) = model.overlays.last_mut() else { return Vec::new() };
    let item = inbox.item(&model.crew).cloned();
    if let (KeyCode::Character(digit @ '1'..='9'), Some(item)) = (key.code, &item) {
        let place = digit as usize - '1' as usize;
        return match item.options.len() {
            count if place < count => {
                if pins::is_stray(model) {
                    Vec::new()
                } else {
                    vec![answer(item.item, digit.to_string())]
                }
            }
            _ => {
                inbox.changed = None;
                model.toast(format!("{} has no answer {digit}", item.name));
                Vec::new()
            }
        };
    }
    match (model.looks.keymap.action(Context::Inbox, &key), item) {
        (Some(Action::Down), _) => inbox.step(&model.crew, 1),
        (Some(Action::Up), _) => inbox.step(&model.crew, -1),
        (Some(Action::PageDown), _) => scroll_question(model, HALF_PAGE),
        (Some(Action::PageUp), _) => scroll_question(model, -HALF_PAGE),
        (Some(Action::Answer), Some(item)) if item.options.is_empty() => {
            let title = format!("Answer to {}: {}", item.name, proto::Printable(&item.title));
            return prompt(model, title, "", Purpose::Answer(item.item));
        }
        (Some(Action::Answer), Some(_)) => model.toast("press the number of an answer"),
        (Some(Action::Accept), Some(item)) => return actions::show(model, item.id, Placement::Tab),
        (Some(Action::Explain), Some(item)) => return actions::on_process(model, Action::Explain, item.id),
        (Some(Action::Snooze), Some(item)) => {
            model.crew.snoozed.insert(item.item, model.now.ms + SNOOZE_MS);
            inbox.top = 0;
            model.toast(format!("{} comes back in 10 minutes, in this deck", item.name));
        }
        (Some(Action::Help), _) => actions::help(model, Context::Inbox),
        (Some(Action::Cancel), _) => drop(model.overlays.pop()),
        _ => {}
    }
    Vec::new()
}

/// Shows another part of a question that has more lines than the window.
fn scroll_question(model: &mut Model, by: isize) {
    let [room, last] = crate::view::inbox::question_rows(model);
    // No line is jumped over, however few are in sight.
    let most = isize::try_from(room.max(1)).unwrap_or(by);
    if let Some(Overlay::Inbox(inbox)) = model.overlays.last_mut() {
        inbox.top = inbox.top.saturating_add_signed(by.clamp(-most, most)).min(last);
    }
}

fn answer(item: u64, choice: String) -> Command {
    call(CallFor::Answer(item), Request::Answer(GiveAnswer { item, choice, ..GiveAnswer::default() }))
}

/// Returns true if a key makes a new line in a text, as it does in agents: Shift-Enter, Alt-Enter, Ctrl-J.
pub(super) fn is_new_line(key: &Key) -> bool {
    match key.code {
        KeyCode::Enter => key.modifiers.shift || key.modifiers.alt,
        KeyCode::Character('j') => key.modifiers.ctrl,
        _ => false,
    }
}

fn prompt_key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Prompt(prompt)) = model.overlays.last_mut() else { return Vec::new() };
    match key.code {
        KeyCode::Escape => drop(model.overlays.pop()),
        KeyCode::Character('x') if key.modifiers.ctrl && prompt.purpose.may_be_long() => {
            let (text, purpose) = (prompt.line.text(), prompt.purpose.clone());
            return vec![Command::Edit(EditFor::Purpose(purpose), text)];
        }
        _ if is_new_line(&key) && prompt.purpose.may_be_long() => prompt.line.insert_lines("\n"),
        KeyCode::Enter => {
            let (text, purpose) = (prompt.line.text(), prompt.purpose.clone());
            model.overlays.pop();
            return prompted(model, text, purpose);
        }
        _ => drop(prompt.line.edit(&key)),
    }
    Vec::new()
}

/// A line was typed and confirmed. What may be long is kept if it does not arrive.
fn prompted(model: &mut Model, text: String, purpose: Purpose) -> Vec<Command> {
    let kept = purpose.is_kept().then(|| (purpose.clone(), text.clone()));
    let mut commands = acted_on(model, text, purpose);
    if let (Some((purpose, text)), [Command::Call(what, _)]) = (kept, commands.as_mut_slice()) {
        let call = std::mem::replace(what, CallFor::Nothing);
        *what = CallFor::Written(Box::new(Written { purpose, text, what: call }));
    }
    commands
}

fn acted_on(model: &mut Model, text: String, purpose: Purpose) -> Vec<Command> {
    let is_empty = text.trim().is_empty();
    match purpose {
        Purpose::Resume(process) => vec![ends::resume(process, &text, Placement::Tab)],
        Purpose::Search(is_back) => history::search(model, text, is_back),
        Purpose::FindChange => review::find(model, text),
        Purpose::ReviewBase(task) => review::compare_with(model, &task, &text),
        _ if is_empty => Vec::new(),
        Purpose::Rename(process) => rename(model, process, text),
        Purpose::Tell(process) => {
            let target = Target(process.to_string());
            let tell = Tell { target, text, key: None, wait_ms: Some(0), expires_ms: None };
            vec![call(CallFor::Tell(process), Request::Tell(tell))]
        }
        Purpose::Run(placement) => palette::run_command(model, &text, placement),
        Purpose::Answer(item) => vec![answer(item, text)],
        Purpose::Comment(place) => review::add(model, place, text),
        Purpose::Timer(process) => process_acts::set_timer(model, process, &text),
        Purpose::Size(process) => ends::resize(model, process, &text),
        Purpose::Grant(process) => process_acts::grant(model, process, &text),
        Purpose::Record(process) => process_acts::record(model, process, &text),
        Purpose::AppendPad(name) => pads::append(model, name, text),
        Purpose::NewPad => pads::edit_new(model, &text),
        Purpose::RenamePad(name) => pads::rename(model, name, text.trim().to_owned()),
    }
}

/// Renames a process. What cannot be a name stays in its window to be corrected: keys that follow a window that has closed
/// would be commands.
fn rename(model: &mut Model, process: ProcessId, name: String) -> Vec<Command> {
    if let Err(error) = name.parse::<Name>() {
        model.toast(error.to_string());
        return prompt(model, "Another name".to_owned(), &name, Purpose::Rename(process));
    }
    let rename = Rename { target: Target(process.to_string()), name };
    vec![call(CallFor::Nothing, Request::Rename(rename))]
}

/// A key that is no answer does nothing: closed by it, the question would leave what is typed next to the program.
fn confirm_key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Confirm(confirm)) = model.overlays.last() else { return Vec::new() };
    let is_it = |answer: &&ConfirmAnswer| match key.code {
        KeyCode::Character(typed) => typed.eq_ignore_ascii_case(&answer.key),
        _ => false,
    };
    let answers = &confirm.answers;
    let chosen = if key.code == KeyCode::Enter { answers.first() } else { answers.iter().find(is_it) };
    match (chosen.cloned(), key.code) {
        (Some(answer), _) => {
            // What was asked from a view goes back to it.
            model.overlays.retain(|overlay| matches!(overlay, Overlay::Tasks(_) | Overlay::Review(_)));
            answer.commands
        }
        (None, KeyCode::Escape | KeyCode::Character('n' | 'N')) => {
            model.overlays.pop();
            Vec::new()
        }
        (None, _) => Vec::new(),
    }
}

/// Asks before a link is opened: its text may say something else than its target.
pub(super) fn ask_link(model: &mut Model, link: &str) {
    let is_web = ["http://", "https://", "mailto:"].iter().any(|head| link.starts_with(head));
    let copy = ConfirmAnswer { key: 'c', label: "copy it", commands: vec![Command::Copy(link.to_owned())] };
    let open =
        ConfirmAnswer { key: 'y', label: "open it", commands: vec![Command::OpenLink(link.to_owned())] };
    let answers = if is_web { vec![open, copy] } else { vec![copy] };
    let lines = vec![proto::Printable(link).to_string()];
    let confirm = Confirm { title: "Link".to_owned(), lines, answers };
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
}

/// A text comes back from the editor.
pub(super) fn edited(model: &mut Model, what: EditFor, text: &str) -> Vec<Command> {
    let whole = text;
    let text = text.trim_end();
    match what {
        EditFor::Pad(pad) => pads::edited(model, pad, whole),
        EditFor::Reading => Vec::new(),
        EditFor::Changes(task) => review::refresh(model, &task),
        EditFor::FirstMessage => {
            match model.overlays.last_mut() {
                Some(Overlay::Form(form)) => form.prompt = Line::with(text),
                Some(Overlay::Agent(form)) => form.message = Line::with(text),
                _ => {}
            }
            Vec::new()
        }
        EditFor::Purpose(purpose) => {
            // Nothing was written: the question stays.
            let is_same =
                matches!(model.overlays.last(), Some(Overlay::Prompt(prompt)) if prompt.line.text() == text);
            if is_same || text.is_empty() {
                return Vec::new();
            }
            if matches!(model.overlays.last(), Some(Overlay::Prompt(prompt)) if prompt.purpose == purpose) {
                model.overlays.pop();
            }
            prompted(model, text.to_owned(), purpose)
        }
    }
}

fn wall_key(model: &mut Model, key: Key) -> Vec<Command> {
    let area = model.areas().deck;
    let action = model.looks.keymap.action(Context::Wall, &key);
    if matches!(action, Some(Action::TypeHere | Action::Zoom)) && pins::is_stray(model) {
        return Vec::new();
    }
    let Some(Overlay::Wall(wall)) = model.overlays.last_mut() else { return Vec::new() };
    let places = wall.places(&model.crew, area);
    let here =
        places.iter().find(|(_, process, _)| Some(*process) == wall.selected).or(places.first()).copied();
    if let KeyCode::Character(digit @ '1'..='9') = key.code {
        let chosen = places.get(digit as usize - '1' as usize).map(|(_, process, _)| *process);
        wall.selected = chosen.or(wall.selected);
        return Vec::new();
    }
    let rects: Vec<(PaneId, _)> = places.iter().map(|(pane, _, rect)| (*pane, *rect)).collect();
    match action {
        Some(Action::More) => wall.tiles = (wall.tiles + 1).min(*TILES.end()),
        Some(Action::Fewer) => wall.tiles = wall.tiles.saturating_sub(1).max(*TILES.start()),
        Some(Action::Cancel) => drop(model.overlays.pop()),
        Some(Action::TypeHere) => {
            let process = here.map(|(_, process, _)| process);
            let is_running = |id: &ProcessId| model.crew.get(*id).is_some_and(|view| view.pid.is_some());
            (wall.selected, wall.typing) = (process, process.filter(is_running));
            if let Some(process) = process.filter(|_| wall.typing.is_none()) {
                model.toast(format!("{} does not run", model.name(process)));
            }
        }
        Some(Action::Zoom) => return here.map(|(_, id, _)| zoom(model, id)).unwrap_or_default(),
        Some(Action::Inbox) => return actions::act(model, Action::Inbox),
        Some(Action::Help) => actions::help(model, Context::Wall),
        Some(action) => {
            let next = direction(action).and_then(|to| neighbour(&rects, here?.0, to));
            let chosen = next.and_then(|next| places.iter().find(|(pane, _, _)| *pane == next));
            wall.selected = chosen.map(|(_, process, _)| *process).or(here.map(|(_, process, _)| process));
        }
        None => {}
    }
    Vec::new()
}

/// Shows a tile's process alone in the deck.
fn zoom(model: &mut Model, process: ProcessId) -> Vec<Command> {
    let commands = actions::show(model, process, Placement::Tab);
    if let Some(tab) = model.deck.tab_mut() {
        tab.is_zoomed = tab.root.panes().len() > 1;
    }
    commands
}

fn direction(action: Action) -> Option<crate::model::splits::Direction> {
    use crate::model::splits::Direction;
    match action {
        Action::FocusLeft => Some(Direction::Left),
        Action::FocusDown => Some(Direction::Down),
        Action::FocusUp => Some(Direction::Up),
        Action::FocusRight => Some(Direction::Right),
        _ => None,
    }
}
