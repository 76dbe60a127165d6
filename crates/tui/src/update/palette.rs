//! Choosing in the palette, and starting what was chosen.

use proto::request::{AskAgents, GiveAnswer, Presets, Spawn};
use proto::{Kind, Name, Request};
use term::Key;

use super::actions::{self, call, prompt};
use super::{agent_form, own_commands, pads, process_acts, tasks};
use crate::keymap::{Action, Context};
use crate::message::{CallFor, Command};
use crate::model::Model;
use crate::model::agent_form::StartIn;
use crate::model::deck::Deck;
use crate::model::overlay::{Confirm, Overlay, Purpose};
use crate::model::palette::{Choice, Entry, Placement};

/// Asks before the tasks of another program are taken over; what that says is shown in a window.
pub(super) fn ask_adoption(model: &mut Model) -> Vec<Command> {
    let adoptable = model.adoptable().map(|(count, adoption)| (count, adoption.clone()));
    let Some((count, adoption)) = adoptable else { return Vec::new() };
    let lines = vec![
        format!("{count} tasks become tasks here, where they are."),
        format!("{} keeps its own list as it is.", adoption.from),
        String::new(),
        proto::Printable(&adoption.argv.join(" ")).to_string(),
    ];
    let adopt = Spawn {
        argv: adoption.argv,
        name: Some(format!("adopt-{}", adoption.from)),
        // Taking tasks over is for people.
        as_me: Some(true),
        ..spawn(model, Kind::Command)
    };
    let commands = vec![started(adopt, Placement::Tab)];
    let confirm = Confirm::yes(format!("Adopt tasks from {}?", adoption.from), lines, commands);
    model.overlays.push(Overlay::Confirm(Box::new(confirm)));
    Vec::new()
}

/// What may have changed since the palette was open last.
pub(super) fn refresh(model: &Model) -> Vec<Command> {
    let (project, path) = (Some(model.place.directory.clone()), model.place.path.clone());
    vec![
        call(CallFor::Presets, Request::Presets(Presets { project, path: path.clone() })),
        call(CallFor::Agents, Request::Agents(AskAgents { path })),
    ]
}

/// A key in the palette.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Command> {
    let Some(Overlay::Palette(palette)) = model.overlays.last() else { return Vec::new() };
    let entries = palette.entries(model);
    let (place, placement) = (palette.place(&entries), palette.placement);
    let at = place.unwrap_or(0);
    let next = match model.looks.keymap.action(Context::Palette, &key) {
        Some(Action::Cancel) => {
            model.overlays.pop();
            return Vec::new();
        }
        Some(Action::Accept) => {
            return match place.and_then(|at| entries.get(at)) {
                Some(entry) => choose(model, entry, placement),
                None => gone(model),
            };
        }
        Some(Action::Down) => Some((at + 1).min(entries.len().saturating_sub(1))),
        Some(Action::Up) => Some(at.saturating_sub(1)),
        Some(Action::NextSection) => Some(next_section(&entries, at)),
        _ => None,
    };
    let Some(Overlay::Palette(palette)) = model.overlays.last_mut() else { return Vec::new() };
    match next {
        Some(next) => palette.select(next),
        None if palette.line.edit(&key) => palette.select(0),
        None => {}
    }
    Vec::new()
}

/// What was selected is no longer there: nothing takes its place unasked.
fn gone(model: &mut Model) -> Vec<Command> {
    let Some(Overlay::Palette(palette)) = model.overlays.last_mut() else { return Vec::new() };
    if palette.has_chosen() {
        palette.select(0);
        model.alert("not done: what was selected is gone; choose again", None);
    }
    Vec::new()
}

fn next_section(entries: &[Entry], at: usize) -> usize {
    let here = entries.get(at).map(|entry| entry.section);
    let next = (at..entries.len()).find(|at| Some(entries[*at].section) != here);
    next.unwrap_or(0)
}

/// Does what an entry stands for.
pub(super) fn choose(model: &mut Model, entry: &Entry, placement: Placement) -> Vec<Command> {
    model.overlays.clear();
    match &entry.choice {
        Choice::Open(process) => actions::show(model, *process, placement),
        Choice::Do(action) => actions::act(model, *action),
        Choice::Shell => start_shell(model, placement),
        Choice::Command => ask_command(model, placement),
        Choice::Agent(name) => agent_form::open(model, name, StartIn::Deck(placement)),
        Choice::Preset(name) => {
            let spawn =
                Spawn { preset: Some(name.clone()), name: Some(name.clone()), ..spawn(model, Kind::Command) };
            vec![started(spawn, placement)]
        }
        Choice::Restore(name) => tasks::restore(model, name),
        Choice::Answer { item, choice } => {
            let answer = GiveAnswer { item: *item, choice: choice.clone(), ..GiveAnswer::default() };
            vec![call(CallFor::Answer(*item), Request::Answer(answer))]
        }
        Choice::Pad(name) => pads::read(model, name),
        Choice::PadRevision(name, revision) => pads::read_revision(model, name, *revision),
        Choice::NewPad => pads::ask_new(model),
        Choice::OwnCommand(at) => own_commands::run(model, *at),
        Choice::OnTask(action, name) => {
            let task = model.crew.tasks.iter().find(|task| task.name == *name).cloned();
            task.map(|task| tasks::on_task(model, *action, &task)).unwrap_or_default()
        }
        Choice::Log(process, run) => vec![process_acts::read_log(*process, *run)],
        Choice::Detach(viewer) => process_acts::detach(*viewer),
        Choice::CancelMessage(mail) => process_acts::ask_cancel(model, *mail),
        Choice::Revoke(grant) => process_acts::revoke(*grant),
        Choice::Say(words) => {
            model.toast(words.clone());
            Vec::new()
        }
        Choice::TaskShell(task) => tasks::start_shell(model, task),
        Choice::RunTask { task, agent, session } => {
            agent_form::open(model, agent, StartIn::Task { task: task.clone(), session: session.clone() })
        }
    }
}

pub(super) fn start_shell(model: &mut Model, placement: Placement) -> Vec<Command> {
    vec![started(shell(model), placement)]
}

/// The person's shell, with a name of its own.
pub(super) fn shell(model: &Model) -> Spawn {
    let name = model.place.shell.as_deref().and_then(|shell| free_name(model, shell));
    Spawn { name, ..spawn(model, Kind::Terminal) }
}

/// A name after a program that no process has; none where the daemon has to make one.
pub(super) fn free_name(model: &Model, program: &str) -> Option<String> {
    let program = program.rsplit('/').next().unwrap_or(program).to_lowercase();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let base: String = program.chars().filter(|character| is_plain(*character)).collect();
    let is_free = |name: &String| {
        let is_name = name.parse::<Name>().is_ok();
        is_name && model.crew.processes.iter().all(|process| process.name.as_str() != name)
    };
    let numbered = (2..100).map(|number| format!("{base}-{number}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free)
}

pub(super) fn ask_command(model: &mut Model, placement: Placement) -> Vec<Command> {
    prompt(model, "Command to run".to_owned(), "", Purpose::Run(placement))
}

/// Runs what was typed, in a shell, so that pipes and variables mean what they always mean.
pub(super) fn run_command(model: &Model, text: &str, placement: Placement) -> Vec<Command> {
    let argv = ["sh", "-c", text].map(str::to_owned).to_vec();
    let name =
        text.split_whitespace().find(|word| !word.contains('=')).and_then(|word| free_name(model, word));
    vec![started(Spawn { argv, name, ..spawn(model, Kind::Command) }, placement)]
}

/// The environment is filled in where the command is carried out: the model has none.
pub(super) fn spawn(model: &Model, kind: Kind) -> Spawn {
    let size = Deck::whole_size(model.areas().deck).into();
    Spawn { kind, cwd: Some(model.place.directory.clone()), size, ..Spawn::default() }
}

pub(super) fn started(spawn: Spawn, placement: Placement) -> Command {
    call(CallFor::Start(placement), Request::Spawn(Box::new(spawn)))
}
