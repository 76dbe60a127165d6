//! The rows of the rail: who needs the person, the crew as a tree, commands, shells, tasks, pads, timers.

use proto::timers::TimerStatus;
use proto::{Kind, ProcessId, ProcessView};

use super::crew::Need;
use super::{Model, age, time_left};
use crate::theme::Mark;

/// What can be selected in the rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RailItem {
    /// A process in the section of those who need the person.
    Needing(ProcessId),
    Process(ProcessId),
    Task(String),
    Pad(String),
    Timer(u64),
}

impl RailItem {
    /// What its row is called, safe to draw.
    pub(crate) fn name(&self, model: &Model) -> String {
        match self {
            Self::Needing(id) | Self::Process(id) => model.name(*id),
            Self::Task(name) | Self::Pad(name) => proto::Printable(name).to_string(),
            Self::Timer(number) => format!("timer {number}"),
        }
    }

    pub(crate) fn process(&self) -> Option<ProcessId> {
        match self {
            Self::Needing(id) | Self::Process(id) => Some(*id),
            Self::Task(_) | Self::Pad(_) | Self::Timer(_) => None,
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RailRow {
    Heading(&'static str, usize),
    Item { item: RailItem, mark: Option<Mark>, branch: String, name: String, note: String },
    Blank,
}

/// All rows, from the top.
pub(crate) fn rows(model: &Model) -> Vec<RailRow> {
    let mut rows = Vec::new();
    section(&mut rows, "NEEDS YOU", needing(model));
    section(&mut rows, "CREW", crew(model));
    section(&mut rows, "COMMANDS", of_kind(model, Kind::Command));
    section(&mut rows, "SHELLS", of_kind(model, Kind::Terminal));
    section(&mut rows, "TASKS", tasks(model));
    section(&mut rows, "PADS", pads(model));
    section(&mut rows, "TIMERS", timers(model));
    rows
}

/// What can be selected, from the top.
pub(crate) fn items(model: &Model) -> Vec<RailItem> {
    let item = |row: RailRow| match row {
        RailRow::Item { item, .. } => Some(item),
        RailRow::Heading(..) | RailRow::Blank => None,
    };
    rows(model).into_iter().filter_map(item).collect()
}

fn section(rows: &mut Vec<RailRow>, heading: &'static str, items: Vec<RailRow>) {
    if items.is_empty() {
        return;
    }
    if !rows.is_empty() {
        rows.push(RailRow::Blank);
    }
    rows.push(RailRow::Heading(heading, items.len()));
    rows.extend(items);
}

fn needing(model: &Model) -> Vec<RailRow> {
    let row = |(id, need, since): (ProcessId, Need, u64)| {
        let process = model.crew.get(id)?;
        let reset = process.agent.as_ref().and_then(|agent| agent.quota.as_ref()?.reset_at);
        let note = match reset.filter(|_| need == Need::Quota) {
            Some(reset) => format!("in {}", age(reset.saturating_sub(model.now.epoch_ms))),
            None => age(model.now.epoch_ms.saturating_sub(since)),
        };
        Some(item(model, process, RailItem::Needing(id), String::new(), note))
    };
    model.crew.needing().into_iter().filter_map(row).collect()
}

fn crew(model: &Model) -> Vec<RailRow> {
    let tree = model.crew.tree();
    let row = |(at, (id, depth)): (usize, &(ProcessId, usize))| {
        let process = model.crew.get(*id)?;
        let has_more =
            tree[at + 1..].iter().take_while(|(_, other)| other >= depth).any(|(_, other)| other == depth);
        let branch = match (*depth, has_more) {
            (0, _) => String::new(),
            (depth, true) => format!("{}├", " ".repeat(depth - 1)),
            (depth, false) => format!("{}└", " ".repeat(depth - 1)),
        };
        Some(item(model, process, RailItem::Process(*id), branch, agent_note(process)))
    };
    tree.iter().enumerate().filter_map(row).collect()
}

/// Whether an agent's state is only the last one that could be judged, what it runs in the background, and how full its
/// context is.
fn agent_note(process: &ProcessView) -> String {
    let Some(agent) = &process.agent else { return String::new() };
    let held = agent.held.then(|| "?".to_owned());
    let background = (agent.background > 0).then(|| format!("&{}", agent.background));
    let percent = agent.context.and_then(|context| context.percent()).map(|percent| format!("{percent}%"));
    [held, background, percent].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn of_kind(model: &Model, kind: Kind) -> Vec<RailRow> {
    let in_tree = model.crew.tree();
    let is_here =
        |process: &&ProcessView| process.kind == kind && !in_tree.iter().any(|(id, _)| *id == process.id);
    let row = |process: &ProcessView| {
        item(model, process, RailItem::Process(process.id), String::new(), command_note(model, process))
    };
    model.crew.processes.iter().filter(is_here).map(row).collect()
}

/// The port of a server, or how a command ended.
fn command_note(model: &Model, process: &ProcessView) -> String {
    if let Some(exit) = process.exit.filter(|_| process.pid.is_none()) {
        return match (exit.code, exit.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "lost".to_owned(),
        };
    }
    let ports = model.crew.ports.get(&process.id);
    ports.and_then(|ports| ports.first()).map_or_else(String::new, |port| format!(":{port}"))
}

fn tasks(model: &Model) -> Vec<RailRow> {
    let row = |task: &proto::task::TaskView| RailRow::Item {
        item: RailItem::Task(task.name.clone()),
        mark: Some(super::tasks::mark(task.status)),
        branch: String::new(),
        name: proto::Printable(&task.name).to_string(),
        note: super::tasks::diff_words(task),
    };
    model.crew.tasks.iter().map(row).collect()
}

fn pads(model: &Model) -> Vec<RailRow> {
    let row = |pad: &proto::pads::PadEntry| RailRow::Item {
        item: RailItem::Pad(pad.name.clone()),
        mark: None,
        branch: String::new(),
        name: pad.name.clone(),
        note: format!("r{}", pad.revision),
    };
    model.crew.pads.iter().map(row).collect()
}

fn timers(model: &Model) -> Vec<RailRow> {
    let row = |timer: &proto::timers::TimerView| RailRow::Item {
        item: RailItem::Timer(timer.timer),
        mark: None,
        branch: String::new(),
        name: if timer.label.is_empty() { format!("timer {}", timer.timer) } else { timer.label.clone() },
        note: match timer.status {
            TimerStatus::Paused => "paused".to_owned(),
            _ => time_left(model.crew.timer_left(timer, model.now.ms)),
        },
    };
    model.crew.timers.iter().map(row).collect()
}

fn item(model: &Model, process: &ProcessView, item: RailItem, branch: String, note: String) -> RailRow {
    let mark = Some(model.crew.mark(process));
    RailRow::Item { item, mark, branch, name: process.name.to_string(), note }
}
