//! Keys in the rail: plain ones, because no program has the keyboard there.

use term::Key;

use super::{actions, pads};
use crate::frame::Point;
use crate::keymap::{Action, Context};
use crate::message::Command;
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;
use crate::model::rail::{self, RailItem, RailRow};
use crate::model::row_menu;
use crate::model::splits::Axis;

pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    if let Some(commands) = task_key(model, &key) {
        return commands;
    }
    match model.looks.keymap.action(Context::Rail, &key) {
        Some(action) => return act(model, action),
        None => model.toast("that key does nothing in the rail; ? lists the keys, Esc goes back"),
    }
    Vec::new()
}

/// A key on the row of a task does to it what it does in the list of tasks.
fn task_key(model: &mut Model, key: &Key) -> Option<Vec<Command>> {
    let Some(RailItem::Task(name)) = model.rail.selected.clone() else { return None };
    let action = model.looks.keymap.action(Context::Tasks, key)?;
    let is_about_one = row_menu::TASK.iter().any(|(other, _)| *other == action);
    let task = model.crew.tasks.iter().find(|task| task.name == name).cloned()?;
    (is_about_one && action != Action::Accept).then(|| super::tasks::on_task(model, action, &task))
}

/// Opens the menu of the selected row, beside it.
fn open_menu(model: &mut Model) -> Vec<Command> {
    let (Some(item), Some(area)) = (model.rail.selected.clone(), model.areas().rail) else {
        return Vec::new();
    };
    let is_it = |row: &RailRow| matches!(row, RailRow::Item { item: other, .. } if *other == item);
    let row = rail::rows(model).iter().position(is_it).unwrap_or(0);
    let row = row.saturating_sub(crate::view::rail::first_row(model, area));
    let at = Point { col: area.right().saturating_sub(1), row: area.row + u16::try_from(row).unwrap_or(0) };
    super::row_menu::open(model, item, at);
    Vec::new()
}

/// Does an action of the rail.
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Command> {
    match action {
        Action::Down => step(model, 1),
        Action::Up => step(model, -1),
        Action::Cancel => model.rail.has_keys = false,
        Action::Accept => return open(model, Placement::Tab),
        Action::SplitRight => return open(model, Placement::Split(Axis::Columns)),
        Action::SplitDown => return open(model, Placement::Split(Axis::Rows)),
        Action::RowMenu => return open_menu(model),
        Action::Processes => return actions::act(model, action),
        Action::Help => actions::help(model, Context::Rail),
        other => return act_on_selected(model, other),
    }
    Vec::new()
}

/// Does an action to what is selected.
fn act_on_selected(model: &mut Model, action: Action) -> Vec<Command> {
    match model.rail.selected.clone() {
        Some(RailItem::Needing(id) | RailItem::Process(id)) => actions::on_process(model, action, id),
        Some(RailItem::Pad(name)) => pads::act_on(model, action, &name),
        Some(RailItem::Timer(number)) => {
            let timer = model.crew.timers.iter().find(|timer| timer.timer == number).cloned();
            timer.map(|timer| pads::act_on_timer(model, action, &timer)).unwrap_or_default()
        }
        Some(RailItem::Task(_)) => open(model, Placement::Tab),
        None => Vec::new(),
    }
}

/// Selects the row so many places further. A selection that is gone goes to the nearest that is left.
pub(super) fn step(model: &mut Model, by: isize) {
    let items = rail::items(model);
    let at = model.rail.selected.as_ref().and_then(|selected| items.iter().position(|item| item == selected));
    let next = at.map_or(0, |at| at.saturating_add_signed(by).min(items.len().saturating_sub(1)));
    model.rail.selected = items.into_iter().nth(next);
}

/// Opens what is selected.
pub(super) fn open(model: &mut Model, placement: Placement) -> Vec<Command> {
    match model.rail.selected.clone() {
        Some(RailItem::Needing(id) | RailItem::Process(id)) => actions::show(model, id, placement),
        Some(RailItem::Task(name)) => {
            let commands = super::tasks::open(model);
            if let Some(Overlay::Tasks(view)) = model.overlays.last_mut() {
                view.selected = Some(name);
            }
            commands
        }
        Some(RailItem::Pad(name)) => pads::read(model, &name),
        Some(RailItem::Timer(number)) => {
            let timer = model.crew.timers.iter().find(|timer| timer.timer == number).cloned();
            timer.map(|timer| super::explain::show_timer(model, &timer)).unwrap_or_default()
        }
        None => Vec::new(),
    }
}
