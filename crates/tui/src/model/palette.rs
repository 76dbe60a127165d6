//! What can be found and done from one place: switch to a process, do an action, start something, answer somebody.

use proto::ProcessId;
use proto::agent::MailId;

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
    /// In a window over the deck, until it ends.
    Popup,
    /// Only the rail shows it.
    Background,
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
    /// Dropped tasks that can be brought back.
    Restorable,
    /// A list that the daemon has sent.
    Given,
}

/// An open palette.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    pub(crate) title: &'static str,
    pub(crate) line: Line,
    pub(crate) scope: Scope,
    pub(crate) placement: Placement,
    /// The place of what is selected, as it was last.
    selected: usize,
    /// What is selected: rows may move, the selection stays with it. None: what is at the place.
    chosen: Option<Choice>,
    /// The task whose sessions are offered.
    pub(crate) task: Option<String>,
    /// What is offered, where that is a list of the daemon's.
    pub(crate) given: Vec<Entry>,
}

/// The groups, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Switch,
    Answer,
    Start,
    Do,
    Restore,
    Listed,
}

impl Section {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Switch => "SWITCH",
            Self::Answer => "ANSWER",
            Self::Start => "START",
            Self::Do => "DO",
            Self::Restore => "BRING BACK",
            Self::Listed => "THE NEWEST FIRST",
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
    /// An earlier revision of a scratchpad.
    PadRevision(String, u64),
    NewPad,
    /// A command of the person's own.
    OwnCommand(usize),
    /// An action of the list of tasks, to this task.
    OnTask(Action, String),
    /// A shell where this task's work is.
    TaskShell(String),
    /// Brings this dropped task back.
    Restore(String),
    /// What a run of a process has printed.
    Log(ProcessId, u32),
    /// Lets this viewer go.
    Detach(u64),
    /// Takes back a message that waits.
    CancelMessage(MailId),
    /// Takes back a right.
    Revoke(u64),
    /// Only says this.
    Say(String),
    /// An agent in a task, in an earlier session or a new one.
    RunTask {
        task: String,
        agent: String,
        session: Option<String>,
    },
}

/// Actions of the deck that have no key of their own as it is shipped: the palette has them.
pub(crate) const KEYLESS: [Action; 12] = [
    Action::Messages,
    Action::Viewers,
    Action::EarlierRuns,
    Action::Record,
    Action::Grant,
    Action::Grants,
    Action::Prune,
    Action::CollectTasks,
    Action::ResumeAll,
    Action::SetSize,
    Action::PresetsUp,
    Action::PresetsDown,
];

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
        let line = Line::default();
        Self { title, line, scope, placement, selected: 0, chosen: None, task: None, given: Vec::new() }
    }

    /// Where what is selected is among these entries; none if it is gone.
    pub(crate) fn place(&self, entries: &[Entry]) -> Option<usize> {
        let Some(chosen) = &self.chosen else {
            return entries.len().checked_sub(1).map(|last| self.selected.min(last));
        };
        let same = (0..entries.len()).filter(|at| entries[*at].choice == *chosen);
        // Two rows may do the same.
        same.min_by_key(|at| at.abs_diff(self.selected))
    }

    /// Returns true if something was selected, be it there or not.
    pub(crate) fn has_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// Selects what is at a place.
    pub(crate) fn select(&mut self, place: usize) {
        (self.selected, self.chosen) = (place, None);
    }

    /// Selects what is so many places further.
    pub(crate) fn step(&mut self, by: isize) {
        self.select(self.selected.saturating_add_signed(by));
    }

    /// Names what is at the place as the selected one.
    pub(crate) fn pin(&mut self, entries: &[Entry]) {
        if let Some(at) = self.place(entries) {
            (self.selected, self.chosen) = (at, Some(entries[at].choice.clone()));
        }
    }

    /// The sessions of a task, and new ones.
    pub(crate) fn of_task(task: &str) -> Self {
        Self { task: Some(task.to_owned()), ..Self::new("Run", Scope::Sessions, Placement::Tab) }
    }

    /// A list that the daemon has sent, to choose from.
    pub(crate) fn given(title: &'static str, entries: Vec<Entry>) -> Self {
        Self { given: entries, ..Self::new(title, Scope::Given, Placement::Tab) }
    }

    fn all(&self, model: &Model) -> Vec<Entry> {
        match &self.task {
            Some(task) => sessions(model, task),
            None if self.scope == Scope::Restorable => restorable(model),
            None if self.scope == Scope::Given => self.given.clone(),
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

/// The earlier sessions of a task, the newest first, a new one with each agent, and a shell.
fn sessions(model: &Model, name: &str) -> Vec<Entry> {
    let Some(task) = model.crew.tasks.iter().find(|task| task.name == name) else { return Vec::new() };
    let own = task.agent.clone();
    let run =
        |agent: &str, session| Choice::RunTask { task: name.to_owned(), agent: agent.to_owned(), session };
    let mut entries = Vec::new();
    for earlier in task.runs.iter().rev() {
        if let (Some(session), Some(agent)) = (&earlier.session, &own) {
            let since = super::age(model.now.epoch_ms.saturating_sub(earlier.started_at));
            let turns = if earlier.turns == 1 { "turn" } else { "turns" };
            let note = format!("{since}, {} {turns}", earlier.turns);
            let about = earlier.prompt.as_deref().unwrap_or(session);
            let text = format!("continue {}", proto::Printable(about));
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
    let note = proto::Printable(&model.place.short(&task.directory)).to_string();
    entries.push(entry(Section::Start, "shell".to_owned(), note, Choice::TaskShell(name.to_owned())));
    entries
}

/// Dropped tasks that can be brought back, the newest first.
fn restorable(model: &Model) -> Vec<Entry> {
    let row = |task: &proto::task::TaskRestorable| {
        let dropped = match super::age(model.now.epoch_ms.saturating_sub(task.dropped_at)).as_str() {
            "now" => "just now".to_owned(),
            age => format!("{age} ago"),
        };
        let kept = super::age(task.kept_until.saturating_sub(model.now.epoch_ms));
        let taken = if task.is_name_taken { ", another task has its name" } else { "" };
        let note = format!("dropped {dropped}, kept for {kept}{taken}");
        let name = proto::Printable(&task.name).to_string();
        entry(Section::Restore, name, note, Choice::Restore(task.name.clone()))
    };
    model.crew.restorable.iter().map(row).collect()
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
        entries.extend(tasks(model));
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
    model.crew.open_items().flat_map(options).collect()
}

fn starts(model: &Model) -> Vec<Entry> {
    let start = |text: String, note: String, choice| entry(Section::Start, text, note, choice);
    let agents = model
        .crew
        .agents
        .iter()
        .map(|name| start(format!("agent {name}"), String::new(), Choice::Agent(name.clone())));
    let presets = model.crew.presets.iter().map(|preset| {
        start(
            format!("preset {}", preset.name),
            preset.command.argv.join(" "),
            Choice::Preset(preset.name.clone()),
        )
    });
    let mut all: Vec<Entry> = agents.collect();
    all.push(start("shell".to_owned(), model.place.short(&model.place.directory), Choice::Shell));
    all.push(start("command…".to_owned(), String::new(), Choice::Command));
    all.extend(presets);
    let own = model.looks.commands.iter().enumerate();
    all.extend(own.map(|(at, own)| start(own.name.clone(), own.argv.join(" "), Choice::OwnCommand(at))));
    all
}

/// What can be done to every task.
fn tasks(model: &Model) -> Vec<Entry> {
    const ACTS: [(Action, &str); 3] =
        [(Action::RunTask, "run"), (Action::Review, "review"), (Action::Land, "land")];
    let rows = model.crew.tasks.iter().flat_map(|task| {
        ACTS.map(|(action, word)| {
            let text = format!("{word} {}", proto::Printable(&task.name));
            let choice = Choice::OnTask(action, task.name.clone());
            entry(Section::Do, text, format!("task, {}", task.status.word()), choice)
        })
    });
    rows.collect()
}

fn pads(model: &Model) -> Vec<Entry> {
    let row = |pad: &proto::pads::PadEntry| {
        entry(
            Section::Do,
            format!("open pad {}", pad.name),
            format!("r{}", pad.revision),
            Choice::Pad(pad.name.clone()),
        )
    };
    let new = entry(Section::Do, "new pad…".to_owned(), String::new(), Choice::NewPad);
    model.crew.pads.iter().map(row).chain([new]).collect()
}

fn actions(model: &Model) -> Vec<Entry> {
    let is_offered = |action: &Action| {
        !matches!(action, Action::Palette | Action::SendPrefix | Action::Tab(_) | Action::OwnCommand(_))
    };
    let keymap = &model.looks.keymap;
    let rows = keymap.rows(Context::Deck).into_iter().filter(|(_, action)| is_offered(action));
    let is_bound = |action: &Action| keymap.first_key(Context::Deck, *action).is_some();
    let unbound = KEYLESS.into_iter().filter(|action| !is_bound(action));
    let rows = rows.chain(unbound.map(|action| (String::new(), action)));
    rows.map(|(keys, action)| entry(Section::Do, action.label(), keys, Choice::Do(action))).collect()
}
