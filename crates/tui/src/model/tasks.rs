//! The tasks: their list, what is selected in it, and the form of a new one.

use proto::task::{TaskStatus, TaskView, name_from_prompt};
use proto::{AgentState, Kind, ProcessId};

use super::agent_form::SettingsFields;
use super::crew::Crew;
use super::line::Line;
use super::splits::PaneId;
use crate::frame::Rect;
use crate::theme::Mark;

/// The pane in which a task's process is peeked at.
pub(crate) const PEEK: PaneId = PaneId(1 << 29);

/// Rows of the list's head.
pub(crate) const HEAD: u16 = 3;

/// The open list of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TasksView {
    /// By name: rows may move, the selection stays with its task.
    pub(crate) selected: Option<String>,
    pub(crate) filter: Line,
    /// Keys go to the filter.
    pub(crate) is_filtering: bool,
    pub(crate) order: TaskOrder,
    /// When what is selected has changed by itself.
    pub(crate) changed: Option<u64>,
}

/// By what the tasks are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskOrder {
    /// What needs the person first, as the daemon lists them.
    #[default]
    Need,
    Name,
    /// Where something happened last comes first.
    Active,
}

impl TaskOrder {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Need => "need",
            Self::Name => "name",
            Self::Active => "active",
        }
    }

    pub(crate) fn next(self) -> Self {
        match self {
            Self::Need => Self::Name,
            Self::Name => Self::Active,
            Self::Active => Self::Need,
        }
    }
}

impl TasksView {
    /// The tasks that fit the filter, in the order that the person wants.
    pub(crate) fn rows<'c>(&self, crew: &'c Crew) -> Vec<&'c TaskView> {
        let wanted = self.filter.text().to_lowercase();
        let fits = |task: &&TaskView| {
            let agent = task.agent.as_deref().unwrap_or_default();
            [task.name.as_str(), agent, task.status.word()]
                .iter()
                .any(|text| text.to_lowercase().contains(&wanted))
        };
        let mut rows: Vec<&TaskView> = crew.tasks.iter().filter(fits).collect();
        match self.order {
            TaskOrder::Need => {}
            TaskOrder::Name => rows.sort_by_key(|task| task.name.as_str()),
            TaskOrder::Active => rows.sort_by_key(|task| std::cmp::Reverse(task.active_at)),
        }
        rows
    }

    /// The selected task: the one that was chosen while it is there, otherwise the first.
    pub(crate) fn task<'c>(&self, crew: &'c Crew) -> Option<&'c TaskView> {
        let rows = self.rows(crew);
        let chosen = rows.iter().find(|task| Some(&task.name) == self.selected.as_ref());
        chosen.or(rows.first()).copied()
    }

    /// Names the task that is shown as the selected one. `now` is the time if the person did nothing.
    pub(crate) fn pin(&mut self, crew: &Crew, now: Option<u64>) {
        let shown = self.task(crew).map(|task| task.name.clone());
        if shown != self.selected && self.selected.is_some() {
            self.changed = now;
        }
        // A list that is not there yet says nothing against what was selected.
        self.selected = shown.or(self.selected.take());
    }

    /// Where the selected task's process is peeked at, its title included; none where there is no room.
    pub(crate) fn peek_place(&self, crew: &Crew, area: Rect) -> Option<Rect> {
        let rows = u16::try_from(self.rows(crew).len()).unwrap_or(u16::MAX).max(1);
        let used = HEAD.saturating_add(rows).saturating_add(1).min(area.rows / 2 + HEAD);
        let place = area.rows_from(used, u16::MAX);
        (place.rows > 4).then_some(place)
    }

    /// Selects the task so many rows further.
    pub(crate) fn step(&mut self, crew: &Crew, by: isize) {
        let rows = self.rows(crew);
        let here = self.task(crew).and_then(|task| rows.iter().position(|other| other.name == task.name));
        let next = here.unwrap_or(0).saturating_add_signed(by).min(rows.len().saturating_sub(1));
        self.selected = rows.get(next).map(|task| task.name.clone());
    }
}

/// The process of a task that is shown when the task is: its agent, if it has one.
pub(crate) fn main_process(task: &TaskView) -> Option<ProcessId> {
    let agent = task.processes.iter().find(|process| process.kind == Kind::Agent);
    agent.or(task.processes.first()).map(|process| process.id)
}

/// The agent of a task that runs.
pub(crate) fn running_agent(task: &TaskView) -> Option<ProcessId> {
    let is_it = |process: &&proto::task::TaskProcess| {
        process.kind == Kind::Agent && process.status.is_live() && process.state != Some(AgentState::Exited)
    };
    task.processes.iter().find(is_it).map(|process| process.id)
}

/// What a task is at, as one glance tells it.
pub(crate) fn mark(status: TaskStatus) -> Mark {
    match status {
        TaskStatus::Blocked => Mark::Blocked,
        TaskStatus::Conflict | TaskStatus::Gone | TaskStatus::Orphan => Mark::Failed,
        TaskStatus::Done => Mark::Unseen,
        TaskStatus::Waiting => Mark::Waiting,
        TaskStatus::Working => Mark::Working,
        TaskStatus::Idle | TaskStatus::Stale => Mark::Idle,
        TaskStatus::Merged => Mark::Exited,
    }
}

/// The lines that a task adds and removes, in one word.
pub(crate) fn diff_words(task: &TaskView) -> String {
    match &task.git {
        Some(git) if git.added + git.removed > 0 => format!("+{}-{}", git.added, git.removed),
        _ => "-".to_owned(),
    }
}

/// What can be filled in for a new task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Field {
    #[default]
    Prompt,
    Name,
    Agent,
    Mode,
    Model,
    Worktree,
    Start,
    Stay,
    Run,
}

impl Field {
    pub(crate) const ALL: [Self; 9] = [
        Self::Prompt,
        Self::Name,
        Self::Agent,
        Self::Mode,
        Self::Model,
        Self::Worktree,
        Self::Start,
        Self::Stay,
        Self::Run,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Prompt => "What should be done?",
            Self::Name => "Name",
            Self::Agent => "Agent",
            Self::Mode => "Mode",
            Self::Model => "Model",
            Self::Worktree => "Where",
            Self::Start => "Base",
            Self::Stay => "Show",
            Self::Run => "Run",
        }
    }
}

/// The form of a new task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskForm {
    pub(crate) field: Field,
    pub(crate) prompt: Line,
    /// The name that the person wrote; empty: one is made from the prompt.
    pub(crate) name: Line,
    /// Which of the agents that were found.
    pub(crate) agent: usize,
    pub(crate) settings: SettingsFields,
    pub(crate) has_worktree: bool,
    /// What its branch begins from; empty: the repository's default branch.
    pub(crate) start: Line,
    pub(crate) runs: bool,
    /// The person stays where the form was opened; the rail shows the agent.
    pub(crate) stays: bool,
    /// The daemon is making it.
    pub(crate) is_sent: bool,
    /// Why it could not be made.
    pub(crate) fault: Option<String>,
}

impl Default for TaskForm {
    fn default() -> Self {
        Self {
            field: Field::default(),
            prompt: Line::default(),
            name: Line::default(),
            agent: 0,
            settings: SettingsFields::default(),
            has_worktree: true,
            start: Line::default(),
            runs: true,
            stays: false,
            is_sent: false,
            fault: None,
        }
    }
}

impl TaskForm {
    /// The name that the task will have.
    pub(crate) fn chosen_name(&self) -> String {
        let own = self.name.text();
        if own.trim().is_empty() {
            name_from_prompt(&self.prompt.text()).unwrap_or_default()
        } else {
            // A name has no blanks: words become one, as in names from the text.
            own.split_whitespace().collect::<Vec<_>>().join("-")
        }
    }

    pub(crate) fn step(&mut self, by: isize) {
        let count = Field::ALL.len();
        let here = Field::ALL.iter().position(|field| *field == self.field).unwrap_or(0);
        self.field = Field::ALL[(here + count).saturating_add_signed(by) % count];
    }

    /// The line that the selected field edits.
    pub(crate) fn line(&mut self) -> Option<&mut Line> {
        match self.field {
            Field::Prompt => Some(&mut self.prompt),
            Field::Name => Some(&mut self.name),
            Field::Start => Some(&mut self.start),
            Field::Model => Some(&mut self.settings.model),
            Field::Agent | Field::Mode | Field::Worktree | Field::Stay | Field::Run => None,
        }
    }
}

/// What can be filled in for a task that lands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LandField {
    #[default]
    Gate,
    Into,
    Merge,
}

impl LandField {
    pub(crate) const ALL: [Self; 3] = [Self::Gate, Self::Into, Self::Merge];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Gate => "Check",
            Self::Into => "Into",
            Self::Merge => "How",
        }
    }
}

/// The form of a task that lands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LandForm {
    pub(crate) task: String,
    /// The branch that it began from.
    pub(crate) base: String,
    pub(crate) field: LandField,
    /// A line of shell that must succeed first; empty: none.
    pub(crate) gate: Line,
    /// The branch that it lands on; empty: its base.
    pub(crate) into: Line,
    /// A merge commit instead of a rebase.
    pub(crate) is_merge: bool,
}

impl LandForm {
    pub(crate) fn step(&mut self, by: isize) {
        let count = LandField::ALL.len();
        let here = LandField::ALL.iter().position(|field| *field == self.field).unwrap_or(0);
        self.field = LandField::ALL[(here + count).saturating_add_signed(by) % count];
    }

    /// The line that the selected field edits.
    pub(crate) fn line(&mut self) -> Option<&mut Line> {
        match self.field {
            LandField::Gate => Some(&mut self.gate),
            LandField::Into => Some(&mut self.into),
            LandField::Merge => None,
        }
    }
}
