//! Keys in the rail: plain ones, because no program has the keyboard there.

use term::Key;

use super::{actions, palette};
use crate::keymap::{Action, Context};
use crate::message::Command;
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;
use crate::model::rail::{self, RailItem};
use crate::model::splits::Axis;

pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    match model.looks.keymap.action(Context::Rail, &key) {
        Some(Action::Down) => step(model, 1),
        Some(Action::Up) => step(model, -1),
        Some(Action::Cancel) => model.rail.has_keys = false,
        Some(Action::Accept) => return open(model, Placement::Tab),
        Some(Action::SplitRight) => return open(model, Placement::Split(Axis::Columns)),
        Some(Action::SplitDown) => return open(model, Placement::Split(Axis::Rows)),
        Some(action @ (Action::Processes | Action::Help)) => return actions::act(model, action),
        Some(action) => {
            let process = model.rail.selected.as_ref().and_then(RailItem::process);
            return process.map(|process| actions::on_process(model, action, process)).unwrap_or_default();
        }
        None => model.toast("that key does nothing in the rail; ? lists the keys, Esc goes back"),
    }
    Vec::new()
}

/// Selects the row so many places further. A selection that is gone goes to the nearest that is left.
fn step(model: &mut Model, by: isize) {
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
        Some(RailItem::Pad(name)) => palette::read_pad(model, &name),
        Some(RailItem::Timer(number)) => {
            let timer = model.crew.timers.iter().find(|timer| timer.timer == number).cloned();
            timer.map(|timer| super::events::show_timer(model, &timer)).unwrap_or_default()
        }
        None => Vec::new(),
    }
}
