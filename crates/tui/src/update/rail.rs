//! Keys in the rail: plain ones, because no program has the keyboard there.

use term::Key;

use super::{actions, pads};
use crate::keymap::{Action, Context};
use crate::message::Command;
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;
use crate::model::rail::{self, RailItem};
use crate::model::splits::Axis;

pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    match model.looks.keymap.action(Context::Rail, &key) {
        Some(action) => return act(model, action),
        None => model.toast("that key does nothing in the rail; ? lists the keys, Esc goes back"),
    }
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
        Action::Processes | Action::Help => return actions::act(model, action),
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
            timer.map(|timer| super::events::show_timer(model, &timer)).unwrap_or_default()
        }
        None => Vec::new(),
    }
}
