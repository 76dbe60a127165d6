//! Keys in the list of tasks and in the form of a new one, and what tasks are asked for.

use proto::request::{
    AgentRequest, Close, CreateTask, DropTask, Empty, LandTask, SizeRequest, Spawn, Target, Task, TaskAct,
    TaskTarget,
};
use proto::task::{TaskCheckout, TaskCreated, TaskOutcome, TaskView};
use proto::{Kind, Name, Printable, Request, Stop};
use term::{Key, KeyCode};

use super::actions::{self, call, prompt, push};
use super::{palette, review};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command};
use crate::model::overlay::{Confirm, Overlay, Purpose};
use crate::model::palette::{Palette, Placement, Scope};
use crate::model::tasks::{Field, TaskForm, TasksView, main_process, running_agent};
use crate::model::{Model, deck::Deck};

/// Opens the list and asks for it anew.
pub(super) fn open(model: &mut Model) -> Vec<Command> {
    push(model, Overlay::Tasks(TasksView::default()));
    vec![ask_list()]
}

pub(super) fn ask_list() -> Command {
    ask(CallFor::Tasks, TaskAct::List(Empty {}))
}

pub(super) fn ask(what: CallFor, act: TaskAct) -> Command {
    call(what, Request::Task(Task { act }))
}

pub(super) fn named(name: &str) -> TaskTarget {
    TaskTarget::Name(name.to_owned())
}

/// The selected task of the open list, else the task of the focused process.
pub(super) fn current(model: &Model) -> Option<TaskView> {
    let listed = model.overlays.iter().rev().find_map(|overlay| match overlay {
        Overlay::Tasks(view) => view.task(&model.crew),
        _ => None,
    });
    let focused = || {
        let (_, process) = model.deck.focused()?;
        let name = model.crew.get(process)?.task.clone()?;
        model.crew.tasks.iter().find(|task| task.name == name)
    };
    listed.or_else(focused).cloned()
}

/// A key in the list.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    let action = model.looks.keymap.action(Context::Tasks, &key);
    let Some(Overlay::Tasks(view)) = model.overlays.last_mut() else { return Vec::new() };
    if view.is_filtering {
        match key.code {
            KeyCode::Enter => view.is_filtering = false,
            KeyCode::Escape => (view.filter, view.is_filtering) = Default::default(),
            _ => drop(view.filter.edit(&key)),
        }
        return Vec::new();
    }
    match action {
        Some(Action::Down) => view.step(&model.crew, 1),
        Some(Action::Up) => view.step(&model.crew, -1),
        Some(Action::Search) => view.is_filtering = true,
        Some(Action::Cancel) => drop(model.overlays.pop()),
        Some(action @ (Action::Inbox | Action::NewTask)) => return actions::act(model, action),
        Some(Action::Help) => model.overlays.push(Overlay::Help(0)),
        Some(Action::Restore) => {
            return prompt(model, "Bring a dropped task back: its name".to_owned(), "", Purpose::Restore);
        }
        Some(action) => {
            let task = view.task(&model.crew).cloned();
            return task.map(|task| on_task(model, action, &task)).unwrap_or_default();
        }
        None => model.toast("that key does nothing here; ? lists the keys"),
    }
    Vec::new()
}

/// Does an action to a task.
pub(super) fn on_task(model: &mut Model, action: Action, task: &TaskView) -> Vec<Command> {
    let name = Printable(&task.name).to_string();
    match action {
        Action::Accept => match main_process(task) {
            Some(process) => return actions::show(model, process, Placement::Tab),
            None => model.toast(format!("nothing works on {name}; r runs its agent")),
        },
        Action::Review => return review::ask(&task.name),
        Action::Land => {
            let base = task.worktree.as_ref().map_or("its base", |tree| tree.base.as_str());
            let title =
                format!("Land {name} on {}: a check that must succeed first, empty: none", Printable(base));
            return prompt(model, title, "", Purpose::Land(task.name.clone()));
        }
        Action::RunTask => return run(model, task),
        Action::StopTask => return stop(model, task),
        Action::DropTask => {
            let lines = vec![
                "Its worktree is saved first; u brings it back for 14 days.".to_owned(),
                "A task with work that is nowhere else is not dropped; land it, or drop it with qd drop --force.".to_owned(),
            ];
            let act = DropTask { target: named(&task.name), branch: false, force: false };
            let request = Request::Task(Task { act: TaskAct::Drop(act) });
            let confirm = Confirm {
                title: format!("Drop {name}?"),
                lines,
                requests: vec![request],
                what: CallFor::TaskDone,
            };
            model.overlays.push(Overlay::Confirm(Box::new(confirm)));
        }
        _ => {}
    }
    Vec::new()
}

/// Shows the agent that runs, or offers its sessions and a new one.
fn run(model: &mut Model, task: &TaskView) -> Vec<Command> {
    if let Some(process) = running_agent(task) {
        return actions::show(model, process, Placement::Tab);
    }
    let palette =
        Palette { task: Some(task.name.clone()), ..Palette::new("Run", Scope::Sessions, Placement::Tab) };
    model.overlays.push(Overlay::Palette(palette));
    palette::refresh(model)
}

/// Starts an agent in a task, in an earlier session or in a new one.
pub(super) fn start(
    model: &Model,
    name: &str,
    agent: &str,
    session: Option<String>,
    message: Option<String>,
) -> Vec<Command> {
    let Some(task) = model.crew.tasks.iter().find(|task| task.name == name) else { return Vec::new() };
    let own: String = name.chars().map(|character| if character == '/' { '-' } else { character }).collect();
    let is_free = |own: &String| {
        own.parse::<Name>().is_ok_and(|own| model.crew.processes.iter().all(|process| process.name != own))
    };
    let spawn = Spawn {
        kind: Kind::Agent,
        name: Some(own).filter(is_free),
        argv: vec![agent.to_owned()],
        cwd: Some(task.directory.clone()),
        task: Some(task.name.clone()),
        size: Deck::whole_size(model.areas().deck).into(),
        agent: AgentRequest { session, prompt: message, ..AgentRequest::default() },
        ..Spawn::default()
    };
    vec![call(CallFor::Start(Placement::Tab), Request::Spawn(Box::new(spawn)))]
}

fn stop(model: &mut Model, task: &TaskView) -> Vec<Command> {
    if task.processes.is_empty() {
        model.toast(format!("nothing works on {}", Printable(&task.name)));
        return Vec::new();
    }
    let close = |id: proto::ProcessId| {
        Request::Close(Close {
            target: Target(id.to_string()),
            keep_background: false,
            stop: Stop::default(),
        })
    };
    let names: Vec<String> = task.processes.iter().map(|process| process.name.to_string()).collect();
    let confirm = Confirm {
        title: format!("Stop {}?", Printable(&task.name)),
        lines: vec![format!("{} end; the task and its files stay.", names.join(", "))],
        requests: task.processes.iter().map(|process| close(process.id)).collect(),
        what: CallFor::TaskDone,
    };
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

/// Lands a task. The environment of the check is filled in where the command is carried out.
pub(super) fn land(name: &str, gate: &str) -> Vec<Command> {
    let gate = Some(gate.trim().to_owned()).filter(|gate| !gate.is_empty());
    let land = LandTask {
        target: named(name),
        into: None,
        tell: gate.is_some(),
        gate,
        merge: false,
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
        Field::Worktree => form.has_worktree = !form.has_worktree,
        Field::Run => form.runs = !form.runs,
        Field::Prompt | Field::Name | Field::Start => {}
    }
}

fn create(model: &mut Model) -> Vec<Command> {
    let Some(Overlay::Form(form)) = model.overlays.last() else { return Vec::new() };
    let form = (**form).clone();
    let name = form.chosen_name();
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
    model.overlays.pop();
    model.toast(format!("{} is being created", Printable(&create.name)));
    vec![ask(CallFor::TaskMade { runs: form.runs }, TaskAct::Create(Box::new(create)))]
}

/// What became of a request about tasks.
pub(super) fn answered(model: &mut Model, what: &CallFor, outcome: TaskOutcome) -> Vec<Command> {
    match outcome {
        TaskOutcome::Listed(tasks) => {
            model.crew.tasks = tasks;
            return Vec::new();
        }
        TaskOutcome::Created(created) => return created_task(model, what, *created),
        TaskOutcome::Task(task) => {
            model.toast(format!("{} is there", Printable(&task.name)));
            remember(model, *task);
        }
        TaskOutcome::Landed(landed) => {
            model.toast(format!("{} landed on {}", Printable(&landed.name), Printable(&landed.into)));
            if let TaskCheckout::Left { path } = &landed.checkout {
                model.alert(format!("{} has changes of its own and was left alone", Printable(path)), None);
            }
        }
        TaskOutcome::Dropped(dropped) => {
            let kept = if dropped.trash.is_some() { "; u brings it back" } else { "" };
            model.toast(format!("{} is dropped{kept}", Printable(&dropped.name)));
        }
        TaskOutcome::Diff(diff) => return review::show(model, &diff),
        TaskOutcome::Review(task) => review::note(model, task),
        TaskOutcome::Forecast(_) => {}
    }
    vec![ask_list()]
}

/// A task was created. If the preparation of its worktree failed, no agent starts in it.
fn created_task(model: &mut Model, what: &CallFor, created: TaskCreated) -> Vec<Command> {
    let TaskCreated { task, failure, .. } = created;
    let (name, agent, prompt) = (task.name.clone(), task.agent.clone(), task.prompt.clone());
    remember(model, task);
    if let Some(failure) = failure {
        let text = format!("{} is there, but not prepared: {}", Printable(&name), Printable(&failure));
        model.alert(text, None);
        return vec![ask_list()];
    }
    if let (CallFor::TaskMade { runs: true }, Some(agent)) = (what, agent) {
        let mut commands = start(model, &name, &agent, None, prompt);
        commands.push(ask_list());
        return commands;
    }
    model.toast(format!("{} is there", Printable(&name)));
    vec![ask_list()]
}

/// Puts a task first in the list, in place of its older state.
fn remember(model: &mut Model, task: TaskView) {
    model.crew.tasks.retain(|other| other.name != task.name);
    model.crew.tasks.insert(0, task);
}
