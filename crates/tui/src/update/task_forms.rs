//! Keys in the forms of tasks: a new one, and one that lands.

use proto::request::{CreateTask, LandTask, SizeRequest, TaskAct};
use term::{Key, KeyCode};

use super::overlays;
use super::tasks::{ask, named};
use crate::message::{CallFor, Command, EditFor};
use crate::model::Model;
use crate::model::overlay::Overlay;
use crate::model::tasks::{Field, LandForm, TaskForm};

/// A key in the form of a task that lands.
pub(super) fn land_key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Land(form)) = model.overlays.last_mut() else { return Vec::new() };
    match key.code {
        KeyCode::Escape => drop(model.overlays.pop()),
        KeyCode::Enter => {
            let commands = land(form);
            model.overlays.pop();
            return commands;
        }
        KeyCode::Tab if key.modifiers.shift => form.step(-1),
        KeyCode::Tab | KeyCode::Down => form.step(1),
        KeyCode::Up => form.step(-1),
        _ => match form.line() {
            Some(line) => drop(line.edit(&key)),
            None => form.is_merge = !form.is_merge,
        },
    }
    Vec::new()
}

/// Lands a task. The environment of the check is filled in where the command is carried out.
fn land(form: &LandForm) -> Vec<Command> {
    let text = |line: String| Some(line.trim().to_owned()).filter(|line| !line.is_empty());
    let gate = text(form.gate.text());
    let land = LandTask {
        target: named(&form.task),
        into: text(form.into.text()),
        tell: gate.is_some(),
        gate,
        merge: form.is_merge,
        base_env: None,
        size: SizeRequest::default(),
    };
    vec![ask(CallFor::TaskDone, TaskAct::Land(Box::new(land)))]
}

/// A key in the form of a new task.
pub(super) fn form_key(model: &mut Model, key: Key) -> Vec<Command> {
    let agents = model.crew.agents.len();
    let Some(Overlay::Form(form)) = model.overlays.last_mut() else { return Vec::new() };
    let is_create = key.modifiers.ctrl && key.code == KeyCode::Character('s');
    match key.code {
        KeyCode::Escape => drop(model.overlays.pop()),
        _ if is_create => return create(model),
        KeyCode::Character('x') if key.modifiers.ctrl => {
            return vec![Command::Edit(EditFor::FirstMessage, form.prompt.text())];
        }
        _ if overlays::is_new_line(&key) && form.field == Field::Prompt => form.prompt.insert_lines("\n"),
        KeyCode::Tab if key.modifiers.shift => form.step(-1),
        KeyCode::Tab | KeyCode::Down | KeyCode::Enter => form.step(1),
        KeyCode::Up => form.step(-1),
        _ => match form.line() {
            Some(line) => drop(line.edit(&key)),
            None => change(form, key, agents),
        },
    }
    Vec::new()
}

fn change(form: &mut TaskForm, key: Key, agents: usize) {
    let by = if key.code == KeyCode::Left { agents.saturating_sub(1) } else { 1 };
    match form.field {
        Field::Agent => form.agent = (form.agent + by) % agents.max(1),
        Field::Mode => form.settings.step_mode(key.code == KeyCode::Left),
        Field::Worktree => form.has_worktree = !form.has_worktree,
        Field::Stay => form.stays = !form.stays,
        Field::Run => form.runs = !form.runs,
        Field::Prompt | Field::Name | Field::Model | Field::Start => {}
    }
}

/// The task that the form asked for is there.
pub(super) fn made(model: &mut Model) {
    model.overlays.retain(|overlay| !matches!(overlay, Overlay::Form(form) if form.is_sent));
}

/// The task that the form asked for could not be made; returns true if the form says why.
pub(super) fn not_made(model: &mut Model, why: String) -> bool {
    let form = model.overlays.iter_mut().find_map(|overlay| match overlay {
        Overlay::Form(form) if form.is_sent => Some(form),
        _ => None,
    });
    let is_told = form.is_some();
    if let Some(form) = form {
        (form.is_sent, form.fault) = (false, Some(why));
    }
    is_told
}

fn create(model: &mut Model) -> Vec<Command> {
    let Some(Overlay::Form(form)) = model.overlays.last() else { return Vec::new() };
    let form = (**form).clone();
    let name = form.chosen_name();
    if form.is_sent {
        return Vec::new();
    }
    if name.is_empty() {
        model.toast("write what should be done, or a name");
        return Vec::new();
    }
    let text = |line: String| Some(line.trim().to_owned()).filter(|line| !line.is_empty());
    let create = CreateTask {
        name,
        directory: model.place.directory.clone(),
        worktree: form.has_worktree,
        start: text(form.start.text()).filter(|_| form.has_worktree),
        agent: model.crew.agents.get(form.agent).cloned(),
        prompt: text(form.prompt.text()),
        workspace: None,
        ports: 0,
        // The loop that sends it adds the environment of that moment.
        base_env: None,
    };
    // The form stays until the task is there: what was written must not be lost.
    if let Some(Overlay::Form(form)) = model.overlays.last_mut() {
        (form.is_sent, form.fault) = (true, None);
    }
    let what = CallFor::TaskMade { runs: form.runs, stays: form.stays, settings: form.settings.chosen() };
    vec![ask(what, TaskAct::Create(Box::new(create)))]
}
