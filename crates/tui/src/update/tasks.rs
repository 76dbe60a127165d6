//! Keys in the list of tasks, and what tasks are asked for.

use proto::request::{
    AgentRequest, Close, CollectTasks, DropTask, Empty, Spawn, Target, TaskAct, TaskTarget,
};
use proto::task::{
    TaskCheckout, TaskCollected, TaskCreated, TaskForecast, TaskOutcome, TaskRestorable, TaskView,
    process_name,
};
use proto::{Kind, Name, Printable, Request, Stop};
use term::{Key, KeyCode};

use super::actions::{self, call, push};
use super::{palette, pins, review, task_forms};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command};
use crate::model::agent_form::AgentSettings;
use crate::model::overlay::{Confirm, ConfirmAnswer, Overlay, Page};
use crate::model::palette::{Palette, Placement, Scope};
use crate::model::tasks::{LandForm, TasksView, main_process, running_agent};
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
    call(what, Request::Task(act.into()))
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
        Some(Action::Sort) => {
            // The task that was selected stays so, wherever its row goes.
            view.selected = view.task(&model.crew).map(|task| task.name.clone());
            view.order = view.order.next();
        }
        Some(Action::Cancel) => drop(model.overlays.pop()),
        Some(action @ (Action::Inbox | Action::NewTask)) => return actions::act(model, action),
        Some(Action::CollectTasks) => return vec![ask_collect(true)],
        Some(Action::Forecast) => return vec![ask(CallFor::Forecast, TaskAct::Forecast(Empty {}))],
        Some(Action::Help) => actions::help(model, Context::Tasks),
        Some(Action::Restore) => {
            return vec![ask(CallFor::Restorable, TaskAct::Dropped(Empty {}))];
        }
        Some(action) => {
            let task = view.task(&model.crew).cloned();
            if pins::is_stray(model) {
                return Vec::new();
            }
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
        Action::Explain => model.overlays.push(Overlay::Page(task_page(model, task))),
        Action::Review => return review::open(model, &task.name),
        Action::Land => {
            let base = task.worktree.as_ref().map_or_else(String::new, |tree| tree.base.clone());
            let form = LandForm { task: task.name.clone(), base, ..LandForm::default() };
            model.overlays.push(Overlay::Land(Box::new(form)));
        }
        Action::RunTask => return run(model, task),
        Action::StopTask => return stop(model, task),
        Action::DropTask => model.overlays.push(Overlay::Confirm(Box::new(ask_drop(task)))),
        _ => {}
    }
    Vec::new()
}

/// The question before a task is dropped: what is lost, and how far to go.
fn ask_drop(task: &TaskView) -> Confirm {
    let answer = |key, label, branch, force| {
        let act = DropTask { target: named(&task.name), branch, force };
        ConfirmAnswer { key, label, commands: vec![ask(CallFor::TaskDone, TaskAct::Drop(act))] }
    };
    let mut lines = vec!["Its worktree is saved first; u brings it back for 14 days.".to_owned()];
    if let Some(git) = &task.git {
        let unlanded = git.ahead > 0 && !git.merged;
        lines.extend(unlanded.then(|| format!("Commits that are not in {}: {}.", base_of(task), git.ahead)));
    }
    let mut answers = vec![answer('y', "drop it unless work would be lost", false, false)];
    if let Some(tree) = &task.worktree {
        lines.push(format!("Its branch is {}.", Printable(&tree.branch)));
        answers.push(answer('b', "the same, and its branch", true, false));
    }
    answers.push(answer('f', "drop it all the same", false, true));
    if task.worktree.is_some() {
        answers.push(answer('a', "all the same, and its branch", true, true));
    }
    Confirm { title: format!("Drop {}?", Printable(&task.name)), lines, answers }
}

fn base_of(task: &TaskView) -> String {
    task.worktree.as_ref().map_or_else(|| "its base".to_owned(), |tree| Printable(&tree.base).to_string())
}

/// Shows the agent that runs, or offers its sessions and a new one.
fn run(model: &mut Model, task: &TaskView) -> Vec<Command> {
    if let Some(process) = running_agent(task) {
        return actions::show(model, process, Placement::Tab);
    }
    let palette = Palette::of_task(&task.name);
    model.overlays.push(Overlay::Palette(palette));
    palette::refresh(model)
}

/// Starts an agent in a task, in an earlier session or in a new one, and shows it.
pub(super) fn start(
    model: &Model,
    name: &str,
    agent: &str,
    request: AgentRequest,
    placement: Placement,
) -> Vec<Command> {
    let Some(task) = model.crew.tasks.iter().find(|task| task.name == name) else { return Vec::new() };
    let is_free = |own: &Name| model.crew.processes.iter().all(|process| process.name != *own);
    let spawn = Spawn {
        kind: Kind::Agent,
        name: process_name(name).filter(is_free).map(|own| own.to_string()),
        argv: vec![agent.to_owned()],
        cwd: Some(task.directory.clone()),
        task: Some(task.name.clone()),
        size: Deck::whole_size(model.areas().deck).into(),
        agent: request,
        ..Spawn::default()
    };
    vec![call(CallFor::Start(placement), Request::Spawn(Box::new(spawn)))]
}

/// Opens a shell where a task's work is.
pub(super) fn start_shell(model: &mut Model, name: &str) -> Vec<Command> {
    let Some(task) = model.crew.tasks.iter().find(|task| task.name == name) else { return Vec::new() };
    let (cwd, task) = (Some(task.directory.clone()), Some(task.name.clone()));
    let shell = palette::shell(model);
    vec![call(CallFor::Start(Placement::Tab), Request::Spawn(Box::new(Spawn { cwd, task, ..shell })))]
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
    let confirm = Confirm::yes(
        format!("Stop {}?", Printable(&task.name)),
        vec![match names.as_slice() {
            [one] => format!("{one} ends; the task and its files stay."),
            all => format!("{} end; the task and its files stay.", all.join(", ")),
        }],
        task.processes.iter().map(|process| call(CallFor::TaskDone, close(process.id))).collect(),
    );
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
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
        TaskOutcome::Diff(diff) => {
            return review::show(model, &diff, *what == CallFor::Changes { opens: true });
        }
        TaskOutcome::Review(task) => review::note(model, task),
        TaskOutcome::Forecast(all) => {
            model.overlays.push(Overlay::Page(forecast_page(&all)));
            return Vec::new();
        }
        TaskOutcome::Restorable(tasks) => {
            offer_restorable(model, tasks);
            return Vec::new();
        }
        TaskOutcome::Collected(collected) if *what == CallFor::WouldCollect => {
            confirm_collect(model, &collected);
            return Vec::new();
        }
        TaskOutcome::Collected(collected) => {
            model.toast(format!("{} tasks were dropped", collected.dropped.len()));
        }
        TaskOutcome::Imported(_) => {}
    }
    vec![ask_list()]
}

/// Asks which finished tasks would be dropped, or drops them.
pub(super) fn ask_collect(dry_run: bool) -> Command {
    let what = if dry_run { CallFor::WouldCollect } else { CallFor::TaskDone };
    ask(what, TaskAct::Collect(CollectTasks { branch: false, dry_run }))
}

/// Drops the tasks that are finished, with their branches.
fn collect_with_branches() -> Command {
    ask(CallFor::TaskDone, TaskAct::Collect(CollectTasks { branch: true, dry_run: false }))
}

/// Asks before finished tasks are dropped.
fn confirm_collect(model: &mut Model, collected: &TaskCollected) {
    if collected.dropped.is_empty() && collected.forgotten.is_empty() {
        return model.toast("no finished task can be dropped");
    }
    let names = |all: &[String]| {
        let names: Vec<String> = all.iter().map(|name| Printable(name).to_string()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let mut lines = vec![format!("Finished, to be dropped: {}.", names(&collected.dropped))];
    if !collected.forgotten.is_empty() {
        lines.push(format!("Dropped long ago, to be forgotten: {}.", names(&collected.forgotten)));
    }
    let kept = collected.kept.iter();
    lines.extend(kept.map(|kept| format!("{} stays: {}", Printable(&kept.name), Printable(&kept.why))));
    let title = "Drop the tasks that are finished?".to_owned();
    let mut confirm = Confirm::yes(title, lines, vec![ask_collect(false)]);
    let commands = vec![collect_with_branches()];
    confirm.answers.push(ConfirmAnswer { key: 'b', label: "and their branches", commands });
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
}

/// Lets the person choose which dropped task comes back.
fn offer_restorable(model: &mut Model, tasks: Vec<TaskRestorable>) {
    if tasks.is_empty() {
        return model.toast("no dropped task is kept");
    }
    model.crew.restorable = tasks;
    model.overlays.push(Overlay::Palette(Palette::new("Bring back", Scope::Restorable, Placement::Tab)));
}

/// Brings a dropped task back.
pub(super) fn restore(model: &mut Model, name: &str) -> Vec<Command> {
    let mut commands = open(model);
    commands.push(ask(
        CallFor::TaskMade { runs: false, stays: true, settings: AgentSettings::default() },
        TaskAct::Restore(named(name)),
    ));
    commands
}

/// Everything that the list has no room for.
fn task_page(model: &Model, task: &TaskView) -> Page {
    let mut lines = vec![
        format!("status     {}", task.status.word()),
        format!("directory  {}", Printable(&model.place.short(&task.directory))),
    ];
    if let Some(tree) = &task.worktree {
        lines.push(format!("branch     {} from {}", Printable(&tree.branch), Printable(&tree.base)));
    }
    if let Some(git) = &task.git {
        lines.push(format!(
            "changes    +{} -{}, {} ahead, {} behind",
            git.added, git.removed, git.ahead, git.behind
        ));
    }
    lines.extend((task.comments > 0).then(|| format!("comments   {}", task.comments)));
    for conflict in &task.conflicts {
        let files: Vec<String> = conflict.files.iter().map(|file| Printable(file).to_string()).collect();
        lines.push(format!("conflicts  with {} in {}", Printable(&conflict.with), files.join(", ")));
    }
    if let Some(failure) = &task.failure {
        lines.extend([String::new(), "# Not landed".to_owned()]);
        lines.extend(failure.lines().map(|line| Printable(line).to_string()));
    }
    if let Some(prompt) = &task.prompt {
        lines.extend([String::new(), "# What should be done".to_owned()]);
        lines.extend(prompt.lines().map(|line| Printable(line).to_string()));
    }
    Page { title: Printable(&task.name).to_string(), lines, ..Page::default() }
}

/// Which tasks would conflict with each other or with their base, and in which files.
fn forecast_page(all: &[TaskForecast]) -> Page {
    let mut lines = Vec::new();
    for TaskForecast { task, conflict } in all {
        let base = if conflict.is_base { " (its base)" } else { "" };
        lines.push(format!("# {} and {}{base}", Printable(task), Printable(&conflict.with)));
        lines.extend(conflict.files.iter().map(|file| format!("  {}", Printable(file))));
        lines.push(String::new());
    }
    if lines.is_empty() {
        lines.push("No task would conflict with another or with its base.".to_owned());
    }
    Page { title: "Conflicts to come".to_owned(), lines, ..Page::default() }
}

/// A task was created. If the preparation of its worktree failed, no agent starts in it.
fn created_task(model: &mut Model, what: &CallFor, created: TaskCreated) -> Vec<Command> {
    let TaskCreated { task, failure, .. } = created;
    let (name, agent, prompt) = (task.name.clone(), task.agent.clone(), task.prompt.clone());
    remember(model, task);
    task_forms::made(model);
    if let Some(failure) = failure {
        let text = format!("{} is there, but not prepared: {}", Printable(&name), Printable(&failure));
        model.alert(text, None);
        return vec![ask_list()];
    }
    if let (CallFor::TaskMade { runs: true, stays, settings }, Some(agent)) = (what, agent) {
        let placement = if *stays { Placement::Background } else { Placement::Tab };
        let request = settings.clone().request(prompt, None);
        let mut commands = start(model, &name, &agent, request, placement);
        commands.push(ask_list());
        return commands;
    }
    let is_alone = matches!(what, CallFor::TaskMade { runs: true, .. });
    let rest = if is_alone { ", but no agent was found to run; qd agents says why" } else { "" };
    model.toast(format!("{} is there{rest}", Printable(&name)));
    vec![ask_list()]
}

/// Puts a task first in the list, in place of its older state.
fn remember(model: &mut Model, task: TaskView) {
    model.crew.tasks.retain(|other| other.name != task.name);
    model.crew.tasks.insert(0, task);
}
