//! Tasks: named units of work, each a directory with the runs that worked in it.
//!
//! `Tasks` holds the records and decides what may happen to them; [`Engine`](crate::Engine) finds out who asks, routes and
//! records. Where a task stands is not stored: [`status`] derives it at each look from what git and the processes say.
//!
//! | file | idea |
//! |---|---|
//! | `record` | what is kept of a task |
//! | `command` | what may be asked, and by whom |
//! | `runs` | the history of runs, read off the processes |
//! | `import` | the history that another program kept |
//! | `review` | comments, and the one message that they become |
//! | `status` | where a task stands, and the order of the list |
//!
//! An operation that changes files (create, drop, restore, land) is recorded with its plan before it begins and is over when
//! its end is recorded. A daemon that starts finds the operations that were cut short in `Tasks::unfinished`.

mod command;
mod import;
mod record;
mod review;
mod runs;
pub mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use proto::event::Event;
use proto::task::{
    ReviewStatus, TaskConflict, TaskEvent, TaskEventKind, TaskOperationKind, broken_name_rule,
};
use proto::{ErrorCode, Failure, Printable, ShellWord};

pub(crate) use command::TaskDecision;
pub use command::{TaskChange, TaskCommand, TaskEnd, TaskWithProcesses, unfinished_tasks};
pub use record::{DroppedTask, ImportedTask, NewTask, TaskOperation, TaskRecord};

use crate::context::Context;
use crate::record::Record;
use crate::rights::audience::Topic;
use crate::undo::UndoMap;

/// Most tasks, dropped ones included.
const MAX_TASKS: usize = 2_000;
/// Events that are kept of a task.
const MAX_EVENTS: usize = 500;
/// Characters that are kept of the reason for a failure: the end of a gate's output fits.
const MAX_FAILURE: usize = 5_000;
/// How long a dropped task can be restored: as long as its files are kept.
pub const KEPT_MS: u64 = 14 * 24 * 3600 * 1000; // 14 days

/// What a spawn needs to know of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPlace {
    /// The access scope it belongs to.
    pub workspace: String,
    /// Its directory.
    pub directory: String,
    /// The vendor session its last run had.
    pub session: Option<String>,
    /// The ports that are its own.
    pub ports: Vec<u16>,
}

/// Every task, dropped ones included.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// By number: a name can have been used before.
    pub(crate) all: UndoMap<u64, TaskRecord>,
    /// Those that changed since the last [`Tasks::changes`].
    changed: BTreeSet<u64>,
}

impl Tasks {
    /// Tasks that an earlier daemon recorded.
    pub(crate) fn restore(records: Vec<TaskRecord>) -> Self {
        let all = records.into_iter().map(|record| (record.id, record)).collect();
        Self { all, changed: BTreeSet::new() }
    }

    /// Brings the histories of runs up to date, and records and announces every task that changed.
    pub(crate) fn record_changes(&mut self, ctx: &mut Context) {
        for process in ctx.out.changed().filter_map(|id| ctx.processes.get(&id)) {
            self.observe(process, ctx.out.now.wall_ms);
        }
        for record in self.changes() {
            if let Record::PutTask(task) = &record {
                let (name, dropped) = (task.name.clone(), task.is_dropped());
                let topic = Topic::Workspace(task.workspace.clone());
                ctx.out.announce_about(Event::TaskChanged { task: task.id, name, dropped }, topic);
            }
            ctx.out.record(record);
        }
    }

    /// What is to be recorded since the last call.
    fn changes(&mut self) -> Vec<Record> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        let record = |id| match self.all.get(&id) {
            Some(task) => Record::PutTask(Box::new(task.clone())),
            None => Record::RemoveTask(id),
        };
        changed.map(record).collect()
    }

    /// Tasks that have not been dropped, by name.
    pub(crate) fn live(&self) -> impl Iterator<Item = &TaskRecord> {
        self.all.values().filter(|task| !task.is_dropped())
    }

    /// Tasks that have been dropped and can still be restored.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = &TaskRecord> {
        self.all.values().filter(|task| task.is_dropped())
    }

    /// The operations that were begun and not ended.
    pub(crate) fn unfinished(&self) -> Vec<TaskRecord> {
        self.all.values().filter(|task| task.operation.is_some()).cloned().collect()
    }

    /// The task of this name that has not been dropped.
    pub(crate) fn find(&self, name: &str) -> Option<&TaskRecord> {
        self.live().find(|task| task.name == name)
    }

    /// The newest dropped task of this name.
    pub(crate) fn find_dropped(&self, name: &str) -> Option<&TaskRecord> {
        self.all.values().filter(|task| task.is_dropped() && task.name == name).max_by_key(|task| task.id)
    }

    /// The task that the request with this key created or changed.
    pub(crate) fn find_request(&self, key: &str) -> Option<&TaskRecord> {
        self.all.values().rev().find(|task| task.is_doing(key) || task.end_of(key).is_some())
    }

    /// The task whose directory holds `directory`; the innermost wins.
    pub(crate) fn find_in(&self, directory: &str) -> Result<&TaskRecord, Failure> {
        let directory = std::path::Path::new(directory);
        let holds = |task: &&TaskRecord| directory.starts_with(&task.directory);
        self.live().filter(holds).max_by_key(|task| task.directory.len()).ok_or_else(|| {
            let shown = directory.to_string_lossy();
            Failure::new(ErrorCode::TaskNotFound, format!("no task works in {}", Printable(&shown)))
                .hint("name one: qd tasks lists them")
        })
    }

    /// What a spawn for this task needs. A task that is being created or removed starts nothing.
    pub(crate) fn find_place(&self, name: &str) -> Result<TaskPlace, Failure> {
        let task = self.find(name).ok_or_else(|| no_task(name))?;
        if let Some(operation) = &task.operation
            && !matches!(operation.kind, TaskOperationKind::Land | TaskOperationKind::Prepare)
        {
            return Err(busy(task, operation.kind));
        }
        let (workspace, directory) = (task.workspace.clone(), task.directory.clone());
        let session = task.session().map(str::to_owned);
        Ok(TaskPlace { workspace, directory, session, ports: task.ports.clone() })
    }

    /// Makes a task. With a plan its worktree is still to be made.
    pub(crate) fn create(&mut self, new: NewTask, now_ms: u64) -> Result<u64, Failure> {
        if let Some(rule) = broken_name_rule(&new.name) {
            let shown: String = new.name.chars().take(64).collect();
            return Err(Failure::invalid("name", format!("\"{}\" is not valid: {rule}", Printable(&shown))));
        }
        if self.find(&new.name).is_some() {
            return Err(task_exists(&new.name));
        }
        if let Some(other) = self.live().find(|task| task.directory == new.directory) {
            let message = format!("task \"{}\" works in that directory already", Printable(&other.name));
            return Err(Failure::new(ErrorCode::Conflict, message).hint("a directory has one task at a time"));
        }
        if self.all.len() >= MAX_TASKS {
            let message = format!("there are {MAX_TASKS} tasks already, which is the limit");
            return Err(Failure::new(ErrorCode::Limit, message).hint("drop some: qd drop NAME"));
        }
        if let Some(port) = self.leased_by_another(0, &new.ports) {
            let message = format!("port {port} has just been given to another task");
            return Err(Failure::new(ErrorCode::Busy, message).hint("try again"));
        }
        let id = self.all.keys().next_back().map_or(1, |last| last + 1);
        self.all.insert(id, TaskRecord::new(id, new, now_ms));
        self.changed.insert(id);
        Ok(id)
    }

    /// The tasks of a workspace that got another name, dropped ones included.
    pub(crate) fn move_workspace(&mut self, name: &str, to: &str) {
        let of: Vec<u64> =
            self.all.values().filter(|task| task.workspace == name).map(|task| task.id).collect();
        for id in of {
            if let Some(task) = self.all.get_mut(&id) {
                to.clone_into(&mut task.workspace);
                self.changed.insert(id);
            }
        }
    }

    /// The first of these ports that belongs to another task.
    fn leased_by_another(&self, id: u64, ports: &[u16]) -> Option<u16> {
        let is_leased = |port: &&u16| self.live().any(|task| task.id != id && task.ports.contains(port));
        ports.iter().find(is_leased).copied()
    }

    /// Begins an operation, unless another one goes on.
    pub(crate) fn begin(&mut self, id: u64, operation: TaskOperation) -> Result<(), Failure> {
        let Some(task) = self.all.get_mut(&id) else { return Err(no_task("")) };
        if let Some(other) = &task.operation {
            return Err(busy(task, other.kind));
        }
        task.operation = Some(operation);
        self.changed.insert(id);
        Ok(())
    }

    /// Keeps what a task's branch would conflict with; returns false if that has not changed.
    pub(crate) fn set_conflicts(&mut self, id: u64, conflicts: Vec<TaskConflict>, now_ms: u64) -> bool {
        let Some(task) = self.all.get(&id) else { return false };
        let known = task.events.iter().rev().find_map(|event| match &event.what {
            TaskEventKind::ConflictsChanged { conflicts } => Some(conflicts),
            _ => None,
        });
        if known.map_or(conflicts.is_empty(), |known| *known == conflicts) {
            return false;
        }
        if let Some(task) = self.all.get_mut(&id) {
            task.add_event(now_ms, TaskEventKind::ConflictsChanged { conflicts }, None);
            self.changed.insert(id);
        }
        true
    }

    /// Replaces the plan of an operation that has come further.
    pub(crate) fn advance(&mut self, id: u64, plan: String) -> Result<(), Failure> {
        let operation = self.all.get_mut(&id).and_then(|task| task.operation.as_mut());
        let Some(operation) = operation else { return Err(no_task("")) };
        operation.plan = plan;
        self.changed.insert(id);
        Ok(())
    }

    /// Ends an operation with what came of it.
    pub(crate) fn end(&mut self, id: u64, end: TaskEnd, now_ms: u64) -> Result<(), Failure> {
        let Some(task) = self.all.get_mut(&id) else { return Err(no_task("")) };
        let Some(TaskOperation { kind, key, .. }) = task.operation.take() else {
            return Err(Failure::new(ErrorCode::Conflict, "nothing is being done to that task"));
        };
        self.changed.insert(id);
        let what = match end {
            TaskEnd::Undone => {
                if kind == TaskOperationKind::Create {
                    self.all.remove(&id);
                }
                return Ok(());
            }
            TaskEnd::Made { then: Some(plan) } => {
                task.operation = Some(TaskOperation { kind: TaskOperationKind::Prepare, plan, key });
                task.add_event(now_ms, TaskEventKind::WorktreeMade, None);
                return Ok(());
            }
            TaskEnd::Made { then: None } => TaskEventKind::WorktreeMade,
            TaskEnd::Prepared { failure } => TaskEventKind::Prepared { failure: failure.map(shortened) },
            TaskEnd::Dropped { trash } => {
                task.dropped = Some(DroppedTask { at: now_ms, trash: trash.clone() });
                TaskEventKind::Dropped { trash }
            }
            TaskEnd::Restored => {
                task.dropped = None;
                TaskEventKind::Restored
            }
            TaskEnd::NotLanded { why, commit } => {
                TaskEventKind::LandingFailed { why: shortened(why), commit }
            }
            TaskEnd::Landed { into, commit, checkout } => {
                TaskEventKind::Landed { into, commit, checkout: Some(checkout) }
            }
        };
        let is_restored = what == TaskEventKind::Restored;
        task.add_event(now_ms, what, key);
        if is_restored {
            self.release_taken_ports(id);
        }
        Ok(())
    }

    /// A task that comes back has lost its ports if another one has been given them meanwhile.
    fn release_taken_ports(&mut self, id: u64) {
        let ports = self.all.get(&id).map_or_else(Vec::new, |task| task.ports.clone());
        if self.leased_by_another(id, &ports).is_some()
            && let Some(task) = self.all.get_mut(&id)
        {
            task.ports.clear();
        }
    }

    /// Forgets dropped tasks whose files are kept no longer. Returns every task that has been dropped, those included.
    pub(crate) fn forget_old(&mut self, now_ms: u64) -> Vec<TaskRecord> {
        let is_old = |task: &TaskRecord| {
            let is_old = |dropped: &DroppedTask| dropped.at.saturating_add(KEPT_MS) < now_ms;
            task.operation.is_none() && task.dropped.as_ref().is_some_and(is_old)
        };
        let dropped: Vec<TaskRecord> = self.dropped().cloned().collect();
        for task in dropped.iter().filter(|task| is_old(task)) {
            self.all.remove(&task.id);
            self.changed.insert(task.id);
        }
        dropped
    }
}

impl TaskRecord {
    /// A task that begins now.
    fn new(id: u64, new: NewTask, now_ms: u64) -> Self {
        let (created, operation) = match new.plan {
            None => (new.key, None),
            Some(plan) => (None, Some(TaskOperation { kind: TaskOperationKind::Create, plan, key: new.key })),
        };
        Self {
            id,
            name: new.name,
            workspace: new.workspace,
            project: new.project,
            common_dir: new.common_dir,
            directory: new.directory,
            is_owned: operation.is_some(),
            branch: new.branch,
            base: new.base,
            start: new.start,
            agent: new.agent,
            prompt: new.prompt,
            creator: new.creator,
            created_at: now_ms,
            ports: new.ports,
            dropped: None,
            operation,
            events: vec![TaskEvent { at: now_ms, what: TaskEventKind::Created, key: created }],
            runs: Vec::new(),
            comments: Vec::new(),
        }
    }

    /// True once it has been dropped; its name is free again then.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.dropped.is_some()
    }

    /// The vendor session that the next run continues.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.runs.iter().rev().find_map(|run| run.session.as_deref())
    }

    /// Why its worktree is not prepared or its newest landing did not succeed; none if the newest of these did, or if the
    /// branch is at another commit now than the one that was tried.
    #[must_use]
    pub fn failure(&self, now_at: Option<&str>) -> Option<&str> {
        let end = self.events.iter().rev().find_map(|event| match &event.what {
            TaskEventKind::Landed { .. } => Some(None),
            TaskEventKind::Prepared { failure } => Some(failure.as_deref()),
            TaskEventKind::LandingFailed { commit: Some(tried), .. } if Some(tried.as_str()) != now_at => {
                Some(None)
            }
            TaskEventKind::LandingFailed { why, .. } => Some(Some(why.as_str())),
            _ => None,
        });
        end.flatten()
    }

    /// How many comments are not resolved.
    #[must_use]
    pub fn open_comments(&self) -> u32 {
        let open = self.comments.iter().filter(|comment| comment.status != ReviewStatus::Resolved).count();
        u32::try_from(open).unwrap_or(u32::MAX)
    }

    /// True if the request with this key is being carried out.
    #[must_use]
    pub fn is_doing(&self, key: &str) -> bool {
        self.operation.as_ref().is_some_and(|operation| operation.key.as_deref() == Some(key))
    }

    /// What came of the request with this key.
    #[must_use]
    pub fn end_of(&self, key: &str) -> Option<&TaskEventKind> {
        self.events.iter().rev().find(|event| event.key.as_deref() == Some(key)).map(|event| &event.what)
    }

    fn add_event(&mut self, at: u64, what: TaskEventKind, key: Option<String>) {
        if self.events.len() >= MAX_EVENTS {
            // The first one says when it was created.
            self.events.remove(1);
        }
        self.events.push(TaskEvent { at, what, key });
    }
}

/// The name of a new task is that of another one.
#[must_use]
pub fn task_exists(name: &str) -> Failure {
    let shown = Printable(name).to_string();
    Failure::new(ErrorCode::Conflict, format!("there is a task \"{shown}\" already"))
        .hint(format!("qd run {} continues it; or choose another name", ShellWord(name)))
}

/// There is no such task.
pub(crate) fn no_task(name: &str) -> Failure {
    let shown: String = name.chars().take(64).collect();
    Failure::new(ErrorCode::TaskNotFound, format!("no task \"{}\"", Printable(&shown)))
        .hint("qd tasks lists them")
}

/// As much of a reason as is kept.
fn shortened(why: String) -> String {
    why.chars().take(MAX_FAILURE).collect()
}

fn busy(task: &TaskRecord, kind: TaskOperationKind) -> Failure {
    let message = format!("task \"{}\" is {}", Printable(&task.name), kind.doing());
    Failure::new(ErrorCode::Busy, message).hint("try again when that is over")
}
