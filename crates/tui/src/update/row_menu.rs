//! The menu of a row of the rail: opened by the right button, left by a choice, Escape or a click elsewhere.

use term::{Key, KeyCode};

use super::{rail, tasks};
use crate::frame::Point;
use crate::keymap::Action;
use crate::message::Command;
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::rail::RailItem;
use crate::model::row_menu::RowMenu;
use crate::view::row_menu::{Hit, hit};

/// Opens the menu of a row.
pub(super) fn open(model: &mut Model, item: RailItem, at: Point) {
    model.rail.selected = Some(item.clone());
    model.overlays.push(Overlay::RowMenu(RowMenu { item, at, selected: 0 }));
}

/// A key in the menu: it moves, chooses, leaves, or is the key of one of the acts.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::RowMenu(menu)) = model.overlays.last() else { return Vec::new() };
    let acts = menu.acts(model);
    let own = model.looks.keymap.action(menu.context(), &key);
    let last = acts.len().saturating_sub(1);
    let next = match (key.code, own) {
        (KeyCode::Escape, _) | (_, Some(Action::Cancel)) => {
            model.overlays.pop();
            return Vec::new();
        }
        (KeyCode::Enter, _) => return choose(model, menu.selected),
        (_, Some(Action::Down)) => (menu.selected + 1).min(last),
        (_, Some(Action::Up)) => menu.selected.saturating_sub(1),
        (_, own) => {
            let at = acts.iter().position(|act| Some(act.action) == own);
            return at.map(|at| choose(model, at)).unwrap_or_default();
        }
    };
    if let Some(Overlay::RowMenu(menu)) = model.overlays.last_mut() {
        menu.selected = next;
    }
    Vec::new()
}

pub(super) fn click(model: &mut Model, at: Point) -> Vec<Command> {
    match hit(model, at) {
        Hit::Act(act) => return choose(model, act),
        Hit::Frame => {}
        Hit::Outside => drop(model.overlays.pop()),
    }
    Vec::new()
}

/// Does what was chosen, and closes the menu.
fn choose(model: &mut Model, at: usize) -> Vec<Command> {
    let Some(Overlay::RowMenu(menu)) = model.overlays.last().cloned() else { return Vec::new() };
    let Some(act) = menu.acts(model).into_iter().nth(at) else { return Vec::new() };
    model.overlays.pop();
    model.rail.selected = Some(menu.item.clone());
    match &menu.item {
        RailItem::Task(name) if act.action != Action::Accept => {
            let task = model.crew.tasks.iter().find(|task| task.name == *name).cloned();
            task.map(|task| tasks::on_task(model, act.action, &task)).unwrap_or_default()
        }
        _ => rail::act(model, act.action),
    }
}
