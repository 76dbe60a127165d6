//! The menu of a row of the rail: what can be done to what the row stands for, with the keys that do it.

use proto::Kind;

use super::Model;
use super::rail::RailItem;
use crate::frame::Point;
use crate::keymap::{Action, Context};

/// An open menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowMenu {
    pub(crate) item: RailItem,
    /// Where the mouse was.
    pub(crate) at: Point,
    pub(crate) selected: usize,
}

/// One thing that can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowAct {
    pub(crate) action: Action,
    pub(crate) label: &'static str,
    /// The key that does it; none when the person has taken it away.
    pub(crate) key: Option<String>,
}

const PROCESS: &[(Action, &str)] = &[
    (Action::Accept, "open"),
    (Action::SplitRight, "show at the right"),
    (Action::SplitDown, "show below"),
    (Action::Tell, "send it a message"),
    (Action::Explain, "explain its state"),
    (Action::Rename, "rename"),
    (Action::Interrupt, "interrupt its turn"),
    (Action::SetTimer, "wake it later"),
    (Action::Signal, "send it a signal"),
    (Action::EarlierRuns, "what its runs printed"),
    (Action::Viewers, "who looks at it"),
    (Action::Grant, "let it do more"),
    (Action::Record, "record it"),
    (Action::SetSize, "give it another size"),
    (Action::Resume, "go on in its session"),
    (Action::Restart, "start again"),
    (Action::CloseProcess, "end it"),
];
pub(crate) const TASK: &[(Action, &str)] = &[
    (Action::Accept, "open"),
    (Action::RunTask, "run its agent"),
    (Action::Review, "review the changes"),
    (Action::Land, "land"),
    (Action::Explain, "all about it"),
    (Action::StopTask, "stop its agent"),
    (Action::DropTask, "drop it"),
];
const PAD: &[(Action, &str)] = &[
    (Action::Accept, "read"),
    (Action::Append, "append a line"),
    (Action::EarlierRuns, "its earlier revisions"),
    (Action::Rename, "rename"),
    (Action::CloseProcess, "remove"),
];
const TIMER: &[(Action, &str)] =
    &[(Action::Accept, "show"), (Action::Restart, "pause or continue"), (Action::CloseProcess, "end it")];

impl RowMenu {
    /// The keys that act here have the meaning that they have in this context.
    pub(crate) fn context(&self) -> Context {
        if matches!(self.item, RailItem::Task(_)) { Context::Tasks } else { Context::Rail }
    }

    /// What can be done, from the top.
    pub(crate) fn acts(&self, model: &Model) -> Vec<RowAct> {
        let table = match self.item {
            RailItem::Needing(_) | RailItem::Process(_) => PROCESS,
            RailItem::Task(_) => TASK,
            RailItem::Pad(_) => PAD,
            RailItem::Timer(_) => TIMER,
        };
        let process = self.item.process().and_then(|id| model.crew.get(id));
        let is_agent = process.is_some_and(|process| process.agent.is_some());
        let is_for_agents = |action| matches!(action, Action::Tell | Action::Interrupt | Action::SetTimer);
        let is_resumable = process.is_some_and(|view| view.kind == Kind::Agent && view.pid.is_none());
        let is_offered = |action: Action| match action {
            Action::Resume => is_resumable,
            _ => is_agent || !is_for_agents(action),
        };
        let acts = table.iter().filter(|(action, _)| is_offered(*action));
        let act = |(action, label): &(Action, &'static str)| RowAct {
            action: *action,
            label,
            key: model.looks.keymap.key_of(self.context(), *action),
        };
        acts.map(act).collect()
    }
}
