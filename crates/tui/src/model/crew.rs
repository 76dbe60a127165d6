//! What is known of the crew: processes, the inbox, timers, pads, ports; and who needs the person.

use std::collections::{BTreeMap, VecDeque};

use proto::agent::InboxItem;
use proto::event::Event;
use proto::pads::PadEntry;
use proto::presets::PresetView;
use proto::process::UnseenEnd;
use proto::task::{TaskRestorable, TaskView};
use proto::timers::{TimerStatus, TimerView};
use proto::{AgentState, Kind, ProcessId, ProcessView, Status};

use crate::theme::Mark;

/// So many names of processes that are gone are kept.
const GONE_MAX: usize = 256;

/// The crew as the daemon has told it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crew {
    /// In the order in which they appeared.
    pub(crate) processes: Vec<ProcessView>,
    /// The oldest first.
    pub(crate) inbox: Vec<InboxItem>,
    /// Items of the inbox that the person wants to see later, each with the moment (on the deck's clock).
    pub(crate) snoozed: BTreeMap<u64, u64>,
    /// Processes that another process asks the person to look at, each since when (milliseconds since the epoch).
    pub(crate) suggested: BTreeMap<ProcessId, u64>,
    /// The files of reviews that the person has seen, by task and path, each with the fingerprint of its changes.
    pub(crate) seen_files: BTreeMap<(String, String), u64>,
    pub(crate) timers: Vec<TimerView>,
    /// When each timer fires at the latest, by its number, on the deck's clock.
    pub(crate) timers_due: BTreeMap<u64, u64>,
    pub(crate) pads: Vec<PadEntry>,
    pub(crate) ports: BTreeMap<ProcessId, Vec<u16>>,
    pub(crate) presets: Vec<PresetView>,
    /// Agents whose programs were found.
    pub(crate) agents: Vec<String>,
    /// Where their programs are, by name.
    pub(crate) programs: BTreeMap<String, String>,
    /// The daemon has said which agents there are.
    pub(crate) knows_agents: bool,
    /// What needs the person first.
    pub(crate) tasks: Vec<TaskView>,
    /// Dropped tasks that can be brought back, as they were when that was asked last.
    pub(crate) restorable: Vec<TaskRestorable>,
    /// The names of processes that are gone, the newest last: a notice or a message may be about one of them.
    pub(super) gone: VecDeque<(ProcessId, String)>,
    /// The process that this deck runs in. It is left out: a deck that showed itself would draw without end.
    pub(crate) own: Option<ProcessId>,
}

/// Why a process needs the person, most urgent first, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    Blocked,
    Failed,
    Unseen,
    Quota,
    /// Another process asks the person to look at it.
    Suggested,
}

impl Crew {
    pub(crate) fn get(&self, id: ProcessId) -> Option<&ProcessView> {
        self.processes.iter().find(|process| process.id == id)
    }

    /// The name of a process that is there, or was.
    pub(crate) fn name(&self, id: ProcessId) -> Option<&str> {
        let gone = || self.gone.iter().rev().find(|(other, _)| *other == id).map(|(_, name)| name.as_str());
        let runs = || self.tasks.iter().flat_map(|task| &task.runs).find(|run| run.process == id);
        let here = self.get(id).map(|process| process.name.as_str());
        here.or_else(gone).or_else(|| runs().map(|run| run.name.as_str()))
    }

    /// Keeps the names of processes that are gone.
    fn remember(&mut self, is_gone: impl Fn(&ProcessView) -> bool) {
        let gone = self.processes.iter().filter(|process| is_gone(process));
        self.gone.extend(gone.map(|process| (process.id, process.name.to_string())));
        let too_many = self.gone.len().saturating_sub(GONE_MAX);
        self.gone.drain(..too_many);
    }

    /// Takes the truth after (re)connecting.
    pub(crate) fn replace(&mut self, processes: Vec<ProcessView>) {
        self.remember(|before| processes.iter().all(|process| process.id != before.id));
        self.processes = processes;
        self.processes.retain(|process| Some(process.id) != self.own);
        self.processes.sort_by_key(|process| process.times.started_at);
        self.suggested.retain(|id, _| self.processes.iter().any(|process| process.id == *id));
    }

    /// Takes an event that came at this moment of the deck's clock.
    pub(crate) fn note(&mut self, event: &Event, now: u64) {
        match event {
            Event::Changed(view) if Some(view.id) == self.own => {}
            Event::Changed(view) => match self.processes.iter_mut().find(|process| process.id == view.id) {
                Some(process) => *process = (**view).clone(),
                None => self.processes.push((**view).clone()),
            },
            Event::Removed { id } => {
                self.remember(|process| process.id == *id);
                self.processes.retain(|process| process.id != *id);
                self.suggested.remove(id);
            }
            Event::ItemOpened(item) => {
                match self.inbox.iter_mut().find(|other| other.item == item.item) {
                    Some(known) => *known = (**item).clone(),
                    None => self.inbox.push((**item).clone()),
                }
                self.inbox.sort_by_key(|item| item.item);
            }
            Event::ItemClosed { item } => {
                self.inbox.retain(|other| other.item != *item);
                self.snoozed.remove(item);
            }
            Event::Timer(timer) => self.note_timer(timer, now),
            Event::Exited { .. }
            | Event::Done { .. }
            | Event::Mail(_)
            | Event::TurnEnded { .. }
            | Event::PadChanged { .. }
            | Event::TaskChanged { .. }
            | Event::Selected { .. }
            | Event::Resync {} => {}
        }
    }

    /// Takes the timers as the daemon has them at this moment of the deck's clock.
    pub(crate) fn take_timers(&mut self, timers: Vec<TimerView>, now: u64) {
        self.timers = timers;
        self.timers.retain(|timer| timer.outcome.is_none());
        self.timers_due = self.timers.iter().map(|timer| (timer.timer, now + timer.remaining_ms)).collect();
    }

    /// Milliseconds until a timer fires at the latest. A paused one keeps what is left.
    pub(crate) fn timer_left(&self, timer: &TimerView, now: u64) -> u64 {
        let due = self.timers_due.get(&timer.timer).filter(|_| timer.status == TimerStatus::Armed);
        due.map_or(timer.remaining_ms, |due| due.saturating_sub(now))
    }

    /// Takes what an event says about a timer. Events have no texts: the one that is known stays.
    fn note_timer(&mut self, timer: &TimerView, now: u64) {
        self.timers_due.remove(&timer.timer);
        let known = self.timers.iter().position(|other| other.timer == timer.timer);
        let known = known.map(|at| self.timers.remove(at));
        if matches!(timer.status, TimerStatus::Armed | TimerStatus::Paused) {
            let body = known.map_or_else(|| timer.body.clone(), |known| known.body);
            self.timers.push(TimerView { body, ..timer.clone() });
            self.timers_due.insert(timer.timer, now + timer.remaining_ms);
        }
    }

    /// What a process is at.
    pub(crate) fn mark(&self, process: &ProcessView) -> Mark {
        if self.need(process).is_some_and(|(need, _)| need == Need::Blocked) {
            return Mark::Blocked;
        }
        match (process.status, process.state) {
            (Status::Failed | Status::Parked, _) | (_, Some(AgentState::Error)) => Mark::Failed,
            (Status::Starting, _) | (_, Some(AgentState::Starting)) => Mark::Starting,
            (Status::Exited, _) if is_failed_exit(process) => Mark::Failed,
            (Status::Exited, _) if was_ended(process) => Mark::Exited,
            _ if process.unseen.is_some() => Mark::Unseen,
            (Status::Exited, _) | (_, Some(AgentState::Exited)) => Mark::Exited,
            _ if has_quota(process) => Mark::Quota,
            (_, Some(AgentState::Thinking)) => Mark::Thinking,
            (_, Some(AgentState::Waiting)) => Mark::Waiting,
            (_, Some(AgentState::Idle)) => Mark::Idle,
            (_, Some(AgentState::Blocked)) => Mark::Blocked,
            // What a shell runs is its own affair: only what is started as work counts as work.
            (Status::Running, None) if process.kind == Kind::Terminal => Mark::Idle,
            (Status::Running | Status::Stopping, Some(AgentState::Working) | None) => Mark::Working,
        }
    }

    /// The items of the inbox, without those that are to be seen later.
    pub(crate) fn open_items(&self) -> impl Iterator<Item = &InboxItem> {
        self.inbox.iter().filter(|item| !self.snoozed.contains_key(&item.item))
    }

    /// Takes the inbox as the daemon has it.
    pub(crate) fn take_inbox(&mut self, items: Vec<InboxItem>) {
        self.snoozed.retain(|number, _| items.iter().any(|item| item.item == *number));
        self.inbox = items;
        self.inbox.sort_by_key(|item| item.item);
    }

    /// Returns true if all that a process asks is to be seen later.
    fn is_snoozed(&self, id: ProcessId) -> bool {
        let is_later = |item: &InboxItem| self.snoozed.contains_key(&item.item);
        self.inbox.iter().any(|item| item.id == id && is_later(item))
            && self.inbox.iter().filter(|item| item.id == id).all(is_later)
    }

    /// Why a process needs the person, and since when (milliseconds since the epoch).
    pub(crate) fn need(&self, process: &ProcessView) -> Option<(Need, u64)> {
        let asked = self.open_items().filter(|item| item.id == process.id).map(|item| item.at).min();
        let since = process.agent.as_ref().map_or(process.times.active_at, |agent| agent.since);
        if let Some(asked) = asked {
            // An item about a process that has ended says how: nobody waits for the answer.
            return Some((if is_failed_exit(process) { Need::Failed } else { Need::Blocked }, asked));
        }
        if self.is_snoozed(process.id) {
            return None;
        }
        match (process.state, process.status) {
            (Some(AgentState::Blocked), _) => return Some((Need::Blocked, since)),
            (_, Status::Parked) => return Some((Need::Failed, process.times.active_at)),
            _ => {}
        }
        match process.unseen {
            Some(_) if was_ended(process) => None,
            Some(unseen) if unseen.what == UnseenEnd::Failure || is_failed_exit(process) => {
                Some((Need::Failed, unseen.since))
            }
            Some(unseen) => Some((Need::Unseen, unseen.since)),
            None if process.state == Some(AgentState::Error) => Some((Need::Failed, since)),
            None if has_quota(process) => Some((Need::Quota, since)),
            None => self.suggested.get(&process.id).map(|since| (Need::Suggested, *since)),
        }
    }

    /// Everybody who needs the person: the most urgent first, then who waits longest.
    pub(crate) fn needing(&self) -> Vec<(ProcessId, Need, u64)> {
        let mut all: Vec<_> = self
            .processes
            .iter()
            .filter_map(|process| self.need(process).map(|(need, since)| (process.id, need, since)))
            .collect();
        all.sort_by_key(|(_, need, since)| (*need, *since));
        all
    }

    /// Agents as a tree: each with its depth, children below their parents.
    pub(crate) fn tree(&self) -> Vec<(ProcessId, usize)> {
        let mut rows = Vec::new();
        let is_root = |process: &&ProcessView| {
            process.kind == Kind::Agent && process.parent.is_none_or(|parent| self.get(parent).is_none())
        };
        for root in self.processes.iter().filter(is_root) {
            self.branch(root, 0, &mut rows);
        }
        rows
    }

    fn branch(&self, process: &ProcessView, depth: usize, rows: &mut Vec<(ProcessId, usize)>) {
        if rows.iter().any(|(id, _)| *id == process.id) {
            return;
        }
        rows.push((process.id, depth));
        for child in self.processes.iter().filter(|child| child.parent == Some(process.id)) {
            self.branch(child, depth + 1, rows);
        }
    }

    /// The processes that a process leads, at any depth, without itself.
    pub(crate) fn family(&self, id: ProcessId) -> Vec<ProcessId> {
        let mut found = vec![id];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            let children = self.processes.iter().filter(|child| child.parent == Some(parent));
            let new: Vec<_> = children.map(|child| child.id).filter(|child| !found.contains(child)).collect();
            found.extend(new);
            next += 1;
        }
        found.split_off(1)
    }

    /// How many processes have each mark, most urgent first.
    pub(crate) fn counts(&self) -> Vec<(Mark, usize)> {
        let mut counts: BTreeMap<Mark, usize> = BTreeMap::new();
        for process in &self.processes {
            *counts.entry(self.mark(process)).or_default() += 1;
        }
        counts.into_iter().collect()
    }
}

fn has_quota(process: &ProcessView) -> bool {
    process.agent.as_ref().is_some_and(|agent| agent.quota.is_some())
}

/// Returns true if a person ended it; then it needs no attention.
pub(crate) fn was_ended(process: &ProcessView) -> bool {
    let is_wanted =
        |exit: &proto::Exit| matches!(exit.reason, proto::ExitReason::Closed | proto::ExitReason::Shutdown);
    process.status == Status::Exited && process.exit.as_ref().is_some_and(is_wanted)
}

/// Returns true if its run ended by itself in a way that a shell would call a failure.
fn is_failed_exit(process: &ProcessView) -> bool {
    let is_failure = process.exit.as_ref().is_some_and(|exit| exit.shell_code() != 0);
    process.status == Status::Exited && is_failure && !was_ended(process)
}
