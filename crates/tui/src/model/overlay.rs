//! What lies over the deck. Only the person opens one; the topmost gets the keys.

use std::path::PathBuf;

use proto::ProcessId;
use proto::agent::InboxItem;

use super::agent_form::AgentForm;
use super::crew::Crew;
use super::history::History;
use super::line::Line;
use super::palette::Palette;
use super::review::{CommentPlace, Review};
use super::row_menu::RowMenu;
use super::settings::{Recorder, SettingsView};
use super::splits::PaneId;
use super::tasks::{LandForm, TaskForm, TasksView};
use crate::frame::Rect;
use crate::message::Command;

/// One layer.
#[derive(Clone, Debug)]
pub(crate) enum Overlay {
    Palette(Palette),
    Inbox(InboxView),
    Help(Help),
    /// Text to read.
    Page(Page),
    Prompt(Prompt),
    Confirm(Box<Confirm>),
    Wall(Wall),
    History(Box<History>),
    Settings(SettingsView),
    Recorder(Recorder),
    Tasks(TasksView),
    Form(Box<TaskForm>),
    Land(Box<LandForm>),
    /// An agent that is to be started.
    Agent(Box<AgentForm>),
    Review(Box<Review>),
    /// A command of the person's own, in a window over the deck until it ends.
    Popup(ProcessId),
    /// What can be done to a row of the rail.
    RowMenu(RowMenu),
}

/// Every key of every context, from a row on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Help {
    pub(crate) top: usize,
    /// Only the rows with this text are shown.
    pub(crate) filter: Line,
    /// Keys go to the filter.
    pub(crate) is_filtering: bool,
}

/// Text to read, from a row on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    pub(crate) top: usize,
    /// The scratchpad that is read.
    pub(crate) pad: Option<OpenPad>,
}

/// A scratchpad as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenPad {
    pub(crate) name: String,
    pub(crate) content: String,
    pub(crate) revision: u64,
    /// It is an earlier revision. What is written of it takes the place of the newest one.
    pub(crate) is_old: bool,
    /// The file that has what the person made of it.
    pub(crate) draft: Option<PathBuf>,
}

/// A question to the person that is answered with one line.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) title: String,
    pub(crate) line: Line,
    pub(crate) purpose: Purpose,
}

/// What a line is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Rename(ProcessId),
    /// A message to an agent.
    Tell(ProcessId),
    /// A command to run.
    Run(super::palette::Placement),
    /// The answer to a question of the inbox.
    Answer(u64),
    /// When a timer wakes this process, and what it is told.
    Timer(ProcessId),
    /// The session in which this agent goes on.
    Resume(ProcessId),
    /// The size of this process's terminal.
    Size(ProcessId),
    /// What this process may do, to which one.
    Grant(ProcessId),
    /// The file that this process is recorded into.
    Record(ProcessId),
    /// What is added to this scratchpad.
    AppendPad(String),
    /// What to look for, backwards or not.
    Search(bool),
    /// What to look for in the changes of a review.
    FindChange,
    /// The name of a new scratchpad.
    NewPad,
    /// Another name for this scratchpad.
    RenamePad(String),
    /// What the changes of this task are compared with.
    ReviewBase(String),
    /// A comment of a review.
    Comment(CommentPlace),
}

impl Purpose {
    /// Returns true if the text is kept when it does not arrive.
    pub(crate) fn is_kept(&self) -> bool {
        self.may_be_long() || matches!(self, Self::Timer(_) | Self::Run(_))
    }

    /// Returns true if the text may have several lines, and the editor is offered for it.
    pub(crate) fn may_be_long(&self) -> bool {
        matches!(self, Self::Tell(_) | Self::Answer(_) | Self::AppendPad(_) | Self::Comment(_))
    }
}

/// Something that is asked before it is done.
#[derive(Clone, Debug)]
pub(crate) struct Confirm {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    /// What can be answered; any other key does nothing. Enter is the first one.
    pub(crate) answers: Vec<ConfirmAnswer>,
}

/// One answer, and what it does.
#[derive(Clone, Debug)]
pub(crate) struct ConfirmAnswer {
    pub(crate) key: char,
    pub(crate) label: &'static str,
    pub(crate) commands: Vec<Command>,
}

impl Confirm {
    /// A question with one answer that does something.
    pub(crate) fn yes(title: String, lines: Vec<String>, commands: Vec<Command>) -> Self {
        Self { title, lines, answers: vec![ConfirmAnswer { key: 'y', label: "yes", commands }] }
    }
}

/// The pane in which the process of an item of the inbox is looked at.
pub(crate) const INBOX_PEEK: PaneId = PaneId((1 << 29) + 1);

/// The pane of a command in a window over the deck.
pub(crate) const POPUP: PaneId = PaneId((1 << 29) + 2);

/// The inbox: which item is selected, by identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InboxView {
    pub(crate) selected: Option<u64>,
    /// How many lines of its question are above what is shown.
    pub(crate) top: usize,
    /// The answers to the selected item, as they were when it was looked at last.
    answers: Vec<String>,
    /// When what is selected has changed by itself.
    pub(crate) changed: Option<u64>,
}

impl InboxView {
    /// The selected item: the one that was chosen while it is there, otherwise the first.
    pub(crate) fn item<'c>(&self, crew: &'c Crew) -> Option<&'c InboxItem> {
        let chosen = crew.open_items().find(|item| Some(item.item) == self.selected);
        chosen.or(crew.open_items().next())
    }

    /// Selects the item so many places further.
    pub(crate) fn step(&mut self, crew: &Crew, by: isize) {
        let here =
            self.item(crew).and_then(|item| crew.open_items().position(|other| other == item)).unwrap_or(0);
        let most = crew.open_items().count().saturating_sub(1);
        self.top = 0;
        let next = here.saturating_add_signed(by).min(most);
        self.selected = crew.open_items().nth(next).map(|item| item.item);
    }

    /// Names the item that is shown as the selected one. `now` is the time if the person did nothing.
    pub(crate) fn pin(&mut self, crew: &Crew, now: Option<u64>) {
        let item = self.item(crew);
        let answers = |item: &InboxItem| item.options.iter().map(|option| option.label.clone()).collect();
        let (shown, answers): (_, Vec<String>) =
            (item.map(|item| item.item), item.map(answers).unwrap_or_default());
        let is_same = self.selected == shown && (self.answers.is_empty() || self.answers == answers);
        if !is_same && self.selected.is_some() {
            self.changed = now;
            self.top = 0;
        }
        (self.selected, self.answers) = (shown, answers);
    }
}

/// All screens at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wall {
    pub(crate) selected: Option<ProcessId>,
    /// Most tiles at once.
    pub(crate) tiles: usize,
    /// The process that gets every key until the prefix.
    pub(crate) typing: Option<ProcessId>,
    /// When what is selected has changed by itself.
    pub(crate) changed: Option<u64>,
}

/// Panes of the wall have numbers of their own, far above those of the deck.
const WALL_PANES: u32 = 1 << 30;

impl Wall {
    /// Names the process whose tile is shown as the selected one. `now` is the time if the person did nothing.
    pub(crate) fn pin(&mut self, crew: &Crew, area: Rect, now: Option<u64>) {
        let places = self.places(crew, area);
        let is_there = places.iter().any(|(_, process, _)| Some(*process) == self.selected);
        if !is_there {
            self.changed = now.filter(|_| self.selected.is_some());
            self.selected = places.first().map(|(_, process, _)| *process);
        }
    }

    /// Every tile with its process and place, those that need the person first.
    pub(crate) fn places(&self, crew: &Crew, area: Rect) -> Vec<(PaneId, ProcessId, Rect)> {
        let needing = crew.needing().into_iter().map(|(id, _, _)| id);
        let mut all: Vec<ProcessId> = needing.collect();
        let rest = crew.processes.iter().map(|process| process.id).filter(|id| !all.contains(id));
        all.extend(rest.collect::<Vec<_>>());
        all.truncate(self.tiles.max(1));
        let columns = (1..).find(|columns| columns * columns >= all.len()).unwrap_or(1);
        let rows = all.len().div_ceil(columns).max(1);
        // The tiles of the last row share its width. One alone keeps its own: a line of it would be too long to read.
        let in_last = all.len().saturating_sub(columns * (rows - 1)).max(1);
        let place = |(at, id): (usize, ProcessId)| {
            let is_last = at / columns + 1 == rows;
            let across = if is_last && in_last > 1 { in_last } else { columns };
            let rect = tile(area, [across, rows], [at % columns, at / columns]);
            let number =
                u32::try_from(crew.processes.iter().position(|process| process.id == id).unwrap_or(0));
            (PaneId(WALL_PANES + number.unwrap_or(0)), id, rect)
        };
        all.into_iter().enumerate().map(place).collect()
    }
}

/// One of so many columns and rows of an area; columns have a line between them.
fn tile(area: Rect, count: [usize; 2], at: [usize; 2]) -> Rect {
    let edge = |length: u16, count: usize, at: usize| {
        u16::try_from(usize::from(length) * at / count.max(1)).unwrap_or(length)
    };
    let (left, right) = (edge(area.cols, count[0], at[0]), edge(area.cols, count[0], at[0] + 1));
    let (top, bottom) = (edge(area.rows, count[1], at[1]), edge(area.rows, count[1], at[1] + 1));
    let gap = u16::from(at[0] + 1 < count[0]);
    Rect {
        col: area.col + left,
        row: area.row + top,
        cols: (right - left).saturating_sub(gap),
        rows: bottom - top,
    }
}
