//! What can be found and done from one place: switch to a process, do an action, start something, answer somebody.

use proto::ProcessId;

use super::Model;
use super::line::Line;
use super::splits::Axis;
use crate::fuzzy;
use crate::keymap::{Action, Context};
use crate::theme::Mark;

/// Where what is chosen is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    Tab,
    Split(Axis),
}

/// What the palette offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    Processes,
    /// Processes and what can be started.
    Shown,
    /// What can be started.
    Start,
    /// The sessions of a task, and a new one.
    Sessions,
}

/// An open palette.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    pub(crate) title: &'static str,
    pub(crate) line: Line,
    pub(crate) scope: Scope,
    pub(crate) placement: Placement,
    pub(crate) selected: usize,
    /// The task whose sessions are offered.
    pub(crate) task: Option<String>,
}

/// The groups, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Switch,
    Answer,
    Start,
    Do,
}

impl Section {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Switch => "SWITCH",
            Self::Answer => "ANSWER",
            Self::Start => "START",
            Self::Do => "DO",
        }
    }
}

/// What choosing an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Open(ProcessId),
    Do(Action),
    Shell,
    Command,
    Agent(String),
    Preset(String),
    Answer {
        item: u64,
        choice: String,
    },
    Pad(String),
    /// An agent in a task, in an earlier session or a new one.
    RunTask {
        task: String,
        agent: String,
        session: Option<String>,
    },
}

/// One thing that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) section: Section,
    pub(crate) text: String,
    pub(crate) note: String,
    pub(crate) mark: Option<Mark>,
    pub(crate) choice: Choice,
}

impl Palette {
    pub(crate) fn new(title: &'static str, scope: Scope, placement: Placement) -> Self {
        Self { title, line: Line::default(), scope, placement, selected: 0, task: None }
    }

    fn all(&self, model: &Model) -> Vec<Entry> {
        match &self.task {
            Some(task) => sessions(model, task),
            None => all(model, self.scope),
        }
    }

    /// The entries that fit what was typed: by section, the best first.
    pub(crate) fn entries(&self, model: &Model) -> Vec<Entry> {
        let mut found = fuzzy::matches(&self.line.text(), self.all(model), |entry| &entry.text);
        if self.line.text().is_empty() {
            // A split is for something new, most of the time: Enter alone is a shell.
            let is_first = |entry: &Entry| self.scope == Scope::Shown && entry.choice == Choice::Shell;
            let is_start = |entry: &Entry| self.scope == Scope::Shown && entry.section == Section::Start;
            found.sort_by_key(|entry| (!is_start(entry), entry.section, !is_first(entry)));
        } else {
            // The section of the best entry comes first: Enter does what fits best.
            let first = found.first().map(|entry| entry.section);
            found.sort_by_key(|entry| (Some(entry.section) != first, entry.section));
        }
        found
    }
}

/// The earlier sessions of a task, the newest first, and a new one with each agent.
fn sessions(model: &Model, name: &str) -> Vec<Entry> {
    let Some(task) = model.crew.tasks.iter().find(|task| task.name == name) else { return Vec::new() };
    let own = task.agent.clone();
    let run =
        |agent: &str, session| Choice::RunTask { task: name.to_owned(), agent: agent.to_owned(), session };
    let mut entries = Vec::new();
    for earlier in task.runs.iter().rev() {
        if let (Some(session), Some(agent)) = (&earlier.session, &own) {
            let since = super::age(model.now.epoch_ms.saturating_sub(earlier.started_at));
            let note = format!("{since}, {} turns", earlier.turns);
            let text = format!("continue {}", proto::Printable(session));
            entries.push(entry(Section::Switch, text, note, run(agent, Some(session.clone()))));
        }
    }
    let others = model.crew.agents.iter().filter(|agent| Some(*agent) != own.as_ref());
    for agent in own.iter().chain(others) {
        entries.push(entry(
            Section::Start,
            format!("new session of {agent}"),
            String::new(),
            run(agent, None),
        ));
    }
    entries
}

fn all(model: &Model, scope: Scope) -> Vec<Entry> {
    let mut entries = Vec::new();
    if scope != Scope::Start {
        entries.extend(processes(model, scope));
    }
    if scope == Scope::Everything {
        entries.extend(answers(model));
    }
    if scope != Scope::Processes {
        entries.extend(starts(model));
    }
    if scope == Scope::Everything {
        entries.extend(pads(model));
        entries.extend(actions(model));
    }
    entries
}

fn entry(section: Section, text: String, note: String, choice: Choice) -> Entry {
    Entry { section, text, note, mark: None, choice }
}

/// Processes; for a split without those that are on the screen already.
fn processes(model: &Model, scope: Scope) -> Vec<Entry> {
    let needing = model.crew.needing().into_iter().map(|(id, _, _)| id);
    let mut ids: Vec<ProcessId> = needing.collect();
    ids.extend(model.crew.processes.iter().map(|process| process.id));
    let mut seen = Vec::new();
    ids.retain(|id| {
        let is_new = !(seen.contains(id) || scope == Scope::Shown && model.is_in_tab(*id));
        seen.push(*id);
        is_new
    });
    let row = |id: ProcessId| {
        let process = model.crew.get(id)?;
        let mark = model.crew.mark(process);
        let note = model.state_words(process);
        Some(Entry {
            mark: Some(mark),
            ..entry(Section::Switch, process.name.to_string(), note, Choice::Open(id))
        })
    };
    ids.into_iter().filter_map(row).collect()
}

fn answers(model: &Model) -> Vec<Entry> {
    let options = |item: &proto::agent::InboxItem| {
        let number = item.item;
        let name = item.name.to_string();
        let option = move |(at, option): (usize, &proto::agent::DialogOption)| {
            let choice = Choice::Answer { item: number, choice: (at + 1).to_string() };
            entry(Section::Answer, format!("{name}: {}. {}", at + 1, option.label), String::new(), choice)
        };
        item.options.iter().enumerate().map(option).collect::<Vec<_>>()
    };
    model.crew.inbox.iter().flat_map(options).collect()
}

fn starts(model: &Model) -> Vec<Entry> {
    let start = |text: String, note: String, choice| entry(Section::Start, text, note, choice);
    let agents = model
        .crew
        .agents
        .iter()
        .map(|name| start(format!("agent {name}"), String::new(), Choice::Agent(name.clone())));
    let presets = model.crew.presets.iter().map(|preset| {
        start(format!("preset {}", preset.name), preset.argv.join(" "), Choice::Preset(preset.name.clone()))
    });
    let mut all: Vec<Entry> = agents.collect();
    all.push(start("shell".to_owned(), model.place.directory.clone(), Choice::Shell));
    all.push(start("command…".to_owned(), String::new(), Choice::Command));
    all.extend(presets);
    all
}

fn pads(model: &Model) -> Vec<Entry> {
    let row = |pad: &proto::crew::PadEntry| {
        entry(
            Section::Do,
            format!("open pad {}", pad.name),
            format!("r{}", pad.revision),
            Choice::Pad(pad.name.clone()),
        )
    };
    model.crew.pads.iter().map(row).collect()
}

fn actions(model: &Model) -> Vec<Entry> {
    let is_offered =
        |action: &Action| !matches!(action, Action::Palette | Action::SendPrefix | Action::Tab(_));
    let rows = model.looks.keymap.rows(Context::Deck).into_iter().filter(|(_, action)| is_offered(action));
    rows.map(|(keys, action)| entry(Section::Do, action.label(), keys, Choice::Do(action))).collect()
}
