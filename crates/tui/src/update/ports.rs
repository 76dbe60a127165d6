//! The ports of commands: asked for one process at a time, a few times after it has started, once when it is older.

use proto::request::{Ports, Target};
use proto::{Kind, ProcessView, Request, Status};

use super::actions::call;
use crate::message::{CallFor, Command};
use crate::model::Model;

/// How long after a change a command is asked for its ports, and how often that is done.
const PORTS_MS: u64 = 1_500;
const PORTS_TRIES: u8 = 4;
/// A command that runs for longer has opened its ports.
const YOUNG_MS: u64 = 60_000;

/// Every command that runs gets a question; one that runs for long is asked once.
pub(super) fn ask_all(model: &mut Model) {
    let is_asked = |view: &&ProcessView| view.kind == Kind::Command && view.pid.is_some();
    let (now, epoch_ms) = (model.now.ms, model.now.epoch_ms);
    let tries = |view: &ProcessView| {
        let is_young = epoch_ms.saturating_sub(view.times.started_at) < YOUNG_MS;
        if is_young { 0 } else { PORTS_TRIES - 1 }
    };
    let questions = model.crew.processes.iter().filter(is_asked).map(|view| (view.id, (now, tries(view))));
    model.port_questions.due = questions.collect();
    model.port_questions.awaited = None;
}

/// A process has changed: a new run may open other ports, one that is over has none.
pub(super) fn changed(model: &mut Model, before: Option<&ProcessView>, view: &ProcessView) {
    if view.kind == Kind::Command && view.status == Status::Running {
        let has_ports = model.crew.ports.contains_key(&view.id);
        let is_new_run = before.is_none_or(|before| before.run != view.run);
        if is_new_run || !has_ports {
            model.port_questions.due.entry(view.id).or_insert((model.now.ms + PORTS_MS, 0));
        }
    } else {
        model.crew.ports.remove(&view.id);
        model.port_questions.due.remove(&view.id);
    }
}

/// Asks for the ports of the process that has waited longest, if no other answer is awaited: each costs the daemon a walk
/// through the process's tree.
pub(super) fn ask_next(model: &mut Model) -> Option<Command> {
    let now = model.now.ms;
    let due = model.port_questions.due.iter().filter(|(_, (due, _))| *due <= now);
    let (id, (_, tries)) =
        due.min_by_key(|(_, (due, _))| *due).filter(|_| model.port_questions.awaited.is_none())?;
    let (id, tries) = (*id, tries + 1);
    match tries < PORTS_TRIES {
        true => drop(model.port_questions.due.insert(id, (now + PORTS_MS * u64::from(tries), tries))),
        false => drop(model.port_questions.due.remove(&id)),
    }
    model.port_questions.awaited = Some(id);
    Some(call(CallFor::Ports(id), Request::Ports(Ports { target: Target(id.to_string()) })))
}
