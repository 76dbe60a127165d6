//! Keys in what lies over the deck.

use proto::Request;
use proto::request::{GiveAnswer, Rename, Target, TaskAct, Tell};
use term::{Key, KeyCode};

use super::actions::{self, call, prompt};
use super::{history, palette, review, settings, tasks};
use crate::host::InputEvent;
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command};
use crate::model::Model;
use crate::model::overlay::{Confirm, Overlay, Purpose};
use crate::model::palette::Placement;
use crate::model::splits::{PaneId, neighbour};

/// Rows of half a page, where the page's height does not matter.
const HALF_PAGE: usize = 10;
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
        Some(Overlay::Form(_)) => tasks::form_key(model, key),
        Some(Overlay::Review(_)) => review::key(model, key),
    }
}

fn page_key(model: &mut Model, key: Key) -> Vec<Command> {
    let action = model.looks.keymap.action(Context::Pads, &key);
    let top = match model.overlays.last_mut() {
        Some(Overlay::Help(top)) => top,
        Some(Overlay::Page(page)) => &mut page.top,
        _ => return Vec::new(),
    };
    match action {
        Some(Action::Down) => *top += 1,
        Some(Action::Up) => *top = top.saturating_sub(1),
        Some(Action::PageDown) => *top += HALF_PAGE,
        Some(Action::PageUp) => *top = top.saturating_sub(HALF_PAGE),
        _ => drop(model.overlays.pop()),
    }
    Vec::new()
}

fn inbox_key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Inbox(inbox)) = model.overlays.last_mut() else { return Vec::new() };
    let item = inbox.item(&model.crew).cloned();
    if let (KeyCode::Character(digit @ '1'..='9'), Some(item)) = (key.code, &item) {
        let place = digit as usize - '1' as usize;
        return match item.options.len() {
            count if place < count => vec![answer(item.item, digit.to_string())],
            _ => {
                model.toast(format!("{} has no answer {digit}", item.name));
                Vec::new()
            }
        };
    }
    match (model.looks.keymap.action(Context::Inbox, &key), item) {
        (Some(Action::Down), _) => inbox.step(&model.crew, 1),
        (Some(Action::Up), _) => inbox.step(&model.crew, -1),
        (Some(Action::Answer), Some(item)) if item.options.is_empty() => {
            return prompt(model, format!("Answer to {}", item.name), "", Purpose::Answer(item.item));
        }
        (Some(Action::Answer), Some(_)) => model.toast("press the number of an answer"),
        (Some(Action::Accept), Some(item)) => return actions::show(model, item.id, Placement::Tab),
        (Some(Action::Explain), Some(item)) => return actions::on_process(model, Action::Explain, item.id),
        (Some(Action::Help), _) => model.overlays.push(Overlay::Help(0)),
        (Some(Action::Cancel), _) => drop(model.overlays.pop()),
        _ => {}
    }
    Vec::new()
}

fn answer(item: u64, choice: String) -> Command {
    call(CallFor::Answer(item), Request::Answer(GiveAnswer { item, choice }))
}

fn prompt_key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Prompt(prompt)) = model.overlays.last_mut() else { return Vec::new() };
    match key.code {
        KeyCode::Escape => drop(model.overlays.pop()),
        KeyCode::Enter => {
            let (text, purpose) = (prompt.line.text(), prompt.purpose.clone());
            model.overlays.pop();
            return prompted(model, text, purpose);
        }
        _ => drop(prompt.line.edit(&key)),
    }
    Vec::new()
}

/// A line was typed and confirmed.
fn prompted(model: &mut Model, text: String, purpose: Purpose) -> Vec<Command> {
    let is_empty = text.trim().is_empty();
    match purpose {
        Purpose::StartAgent(name, placement) => palette::start_agent(model, &name, &text, placement),
        Purpose::Search(is_back) => history::search(model, text, is_back),
        Purpose::Land(task) => tasks::land(&task, &text),
        Purpose::RunTask(task, agent, session) => {
            let message = Some(text).filter(|_| !is_empty);
            tasks::start(model, &task, &agent, session, message)
        }
        _ if is_empty => Vec::new(),
        Purpose::Rename(process) => {
            let rename = Rename { target: Target(process.to_string()), name: text };
            vec![call(CallFor::Nothing, Request::Rename(rename))]
        }
        Purpose::Tell(process) => {
            let target = Target(process.to_string());
            let tell = Tell { target, text, key: None, wait_ms: Some(0), expires_ms: None };
            vec![call(CallFor::Tell(process), Request::Tell(tell))]
        }
        Purpose::Run(placement) => palette::run_command(model, &text, placement),
        Purpose::Answer(item) => vec![answer(item, text)],
        Purpose::Comment(place) => review::add(model, place, text),
        Purpose::Restore => {
            vec![tasks::ask(CallFor::TaskMade { runs: false }, TaskAct::Restore(tasks::named(text.trim())))]
        }
    }
}

fn confirm_key(model: &mut Model, key: Key) -> Vec<Command> {
    let is_yes = matches!(key.code, KeyCode::Character('y' | 'Y') | KeyCode::Enter);
    match model.overlays.pop() {
        Some(Overlay::Confirm(confirm)) if is_yes => {
            // What was asked from a view goes back to it.
            let is_view = |overlay: &Overlay| matches!(overlay, Overlay::Tasks(_) | Overlay::Review(_));
            model.overlays.retain(is_view);
            let Confirm { requests, what, .. } = *confirm;
            requests.into_iter().map(|request| call(what.clone(), request)).collect()
        }
        _ => Vec::new(),
    }
}

fn wall_key(model: &mut Model, key: Key) -> Vec<Command> {
    let area = model.areas().deck;
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
    match model.looks.keymap.action(Context::Wall, &key) {
        Some(Action::More) => wall.tiles = (wall.tiles + 1).min(*TILES.end()),
        Some(Action::Fewer) => wall.tiles = wall.tiles.saturating_sub(1).max(*TILES.start()),
        Some(Action::Cancel) => drop(model.overlays.pop()),
        Some(Action::Accept) => {
            return here.map(|(_, id, _)| actions::show(model, id, Placement::Tab)).unwrap_or_default();
        }
        Some(Action::Inbox) => return actions::act(model, Action::Inbox),
        Some(Action::Help) => model.overlays.push(Overlay::Help(0)),
        Some(action) => {
            let next = direction(action).and_then(|to| neighbour(&rects, here?.0, to));
            let chosen = next.and_then(|next| places.iter().find(|(pane, _, _)| *pane == next));
            wall.selected = chosen.map(|(_, process, _)| *process).or(here.map(|(_, process, _)| process));
        }
        None => {}
    }
    Vec::new()
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
