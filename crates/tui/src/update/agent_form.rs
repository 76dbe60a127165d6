//! Keys in the form of an agent that is to be started.

use proto::Kind;
use proto::request::Spawn;
use term::{Key, KeyCode};

use super::{overlays, palette, tasks};
use crate::message::{Command, EditFor};
use crate::model::Model;
use crate::model::agent_form::{AgentField, AgentForm, StartIn};
use crate::model::overlay::Overlay;
use crate::model::palette::Placement;

/// Asks how an agent is started.
pub(super) fn open(model: &mut Model, agent: &str, start_in: StartIn) -> Vec<Command> {
    model.overlays.push(Overlay::Agent(Box::new(AgentForm::new(agent.to_owned(), start_in))));
    Vec::new()
}

pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Agent(form)) = model.overlays.last_mut() else { return Vec::new() };
    let ctrl = key.modifiers.ctrl;
    match key.code {
        KeyCode::Escape => drop(model.overlays.pop()),
        KeyCode::Character('x') if ctrl => {
            form.field = AgentField::Message;
            return vec![Command::Edit(EditFor::FirstMessage, form.message.text())];
        }
        _ if overlays::is_new_line(&key) && form.field == AgentField::Message => {
            form.message.insert_lines("\n");
        }
        KeyCode::Enter => return start(model),
        KeyCode::Character('s') if ctrl => return start(model),
        KeyCode::Tab if key.modifiers.shift => form.step(-1),
        KeyCode::Tab | KeyCode::Down => form.step(1),
        KeyCode::Up => form.step(-1),
        code => match form.line() {
            Some(line) => drop(line.edit(&key)),
            None if code == KeyCode::Left => form.settings.step_mode(true),
            None if matches!(code, KeyCode::Right | KeyCode::Character(' ')) => {
                form.settings.step_mode(false)
            }
            None => {}
        },
    }
    Vec::new()
}

/// Starts the agent. The form stays until it runs: what was written must not be lost.
fn start(model: &mut Model) -> Vec<Command> {
    let Some(Overlay::Agent(form)) = model.overlays.last_mut() else { return Vec::new() };
    if std::mem::replace(&mut form.is_sent, true) {
        return Vec::new();
    }
    form.fault = None;
    let AgentForm { agent, start_in, message, settings, .. } = (**form).clone();
    let message = Some(message.text()).filter(|message| !message.trim().is_empty());
    match start_in {
        StartIn::Deck(placement) => {
            let agent_request = settings.chosen().request(message, None);
            let spawn = palette::spawn(model, Kind::Agent);
            vec![palette::started(Spawn { argv: vec![agent], agent: agent_request, ..spawn }, placement)]
        }
        StartIn::Task { task, session } => {
            let request = settings.chosen().request(message, session);
            tasks::start(model, &task, &agent, request, Placement::Tab)
        }
    }
}

/// The agent could not be started; returns true if its form says why.
pub(super) fn not_started(model: &mut Model, why: String) -> bool {
    let form = model.overlays.iter_mut().find_map(|overlay| match overlay {
        Overlay::Agent(form) if form.is_sent => Some(form),
        _ => None,
    });
    let is_told = form.is_some();
    if let Some(form) = form {
        (form.is_sent, form.fault) = (false, Some(why));
    }
    is_told
}
