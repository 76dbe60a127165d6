//! What git says about tasks, and the list that follows from it. An unchanged repository costs no git process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::SystemTime;

use engine::tasks::status::{StatusInput, derive, sort};
use engine::{TaskRecord, TaskWithProcesses};
use proto::task::{TaskConflict, TaskForecast, TaskGit, TaskProcess, TaskView, TaskWorktree};
use proto::{Failure, ProcessView};
use worktree::{Merged, Oid, StatusQuery, WorktreeStatus, occupants};

use super::forecast::{TaskBranch, conflicts};
use super::{TaskRunner, blocking, failure};

/// What was found out about one task.
#[derive(Default)]
struct TaskFindings {
    git: Option<TaskGit>,
    conflicts: Vec<TaskConflict>,
    /// When the checkout's commit last changed, in milliseconds since 1970.
    moved_at: u64,
}

impl TaskRunner {
    /// The tasks as a client sees them, what needs a person first.
    pub(crate) async fn views(&self, items: Vec<TaskWithProcesses>) -> Result<Vec<TaskView>, Failure> {
        let mut groups: BTreeMap<PathBuf, Vec<TaskRecord>> = BTreeMap::new();
        for item in &items {
            if let Some(common_dir) = &item.task.common_dir {
                groups.entry(PathBuf::from(common_dir)).or_default().push(item.task.clone());
            }
        }
        let looks = groups.into_iter().map(|(common_dir, tasks)| {
            let runner = self.clone();
            crate::threads::run(move || runner.read_tasks(&common_dir, &tasks))
        });
        let looks: Vec<_> = looks.collect();
        let mut found: BTreeMap<u64, TaskFindings> = BTreeMap::new();
        for look in looks {
            match look.await {
                Ok(Ok(some)) => found.extend(some),
                Ok(Err(failure)) => tracing::warn!(%failure, "a repository could not be looked at"),
                Err(error) => tracing::warn!(%error, "a repository could not be looked at"),
            }
        }
        let now = crate::clock::now().wall_ms;
        let view = move || {
            count_occupants(&items, &mut found);
            let views = items.into_iter().map(|item| {
                let found = found.remove(&item.task.id).unwrap_or_default();
                view(item, found, now)
            });
            let mut views: Vec<TaskView> = views.collect();
            sort(&mut views);
            Ok(views)
        };
        blocking(view).await
    }

    /// A task as a client sees it, without what git says: of a worktree that was made a moment ago that is nothing new, and
    /// asking takes as long as a good part of making it.
    pub(crate) async fn unread_view(&self, item: TaskWithProcesses) -> Result<TaskView, Failure> {
        let now = crate::clock::now().wall_ms;
        blocking(move || Ok(view(item, TaskFindings::default(), now))).await
    }

    /// Which live tasks would conflict, with one another or with their bases.
    pub(crate) async fn forecast(&self, items: Vec<TaskWithProcesses>) -> Result<Vec<TaskForecast>, Failure> {
        let views = self.views(items).await?;
        let pairs = views.iter().flat_map(|view| {
            let once = view.conflicts.iter().filter(|conflict| conflict.is_base || view.name < conflict.with);
            once.map(|conflict| TaskForecast { task: view.name.clone(), conflict: conflict.clone() })
        });
        let mut pairs: Vec<TaskForecast> = pairs.collect();
        pairs.sort_by(|one, other| (&one.task, &one.conflict.with).cmp(&(&other.task, &other.conflict.with)));
        Ok(pairs)
    }

    /// Looks at all tasks of one repository. Blocks.
    fn read_tasks(
        &self,
        common_dir: &Path,
        tasks: &[TaskRecord],
    ) -> Result<Vec<(u64, TaskFindings)>, Failure> {
        let git = self.git()?;
        let state = self.repository(common_dir);
        let mut caches = state.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let look = caches.status.look_at_repository(&git, common_dir).map_err(|error| failure(&error))?;
        let mut found: Vec<(u64, TaskFindings)> = Vec::new();
        for task in tasks {
            let status = caches.status.status_in(&git, &look, &query(common_dir, task));
            let status = status.map_err(|error| failure(&error));
            let status = status.inspect_err(|failure| {
                tracing::debug!(task = task.name, %failure, "git says nothing about a task");
            });
            let seen = |status: WorktreeStatus| TaskFindings {
                moved_at: status.moved_at.map_or(0, since_1970),
                git: Some(seen(&status, task.start.as_deref())),
                conflicts: Vec::new(),
            };
            found.push((task.id, status.map_or_else(|_| TaskFindings::default(), seen)));
        }
        let conflicts = conflicts(&look, &branches(tasks, &found), &mut caches.forecast)?;
        for (id, conflict) in conflicts {
            let known = found.iter_mut().find(|(known, _)| *known == id);
            known.into_iter().for_each(|(_, found)| found.conflicts.push(conflict.clone()));
        }
        Ok(found)
    }
}

/// Counts the processes in each worktree. The system's processes are looked at once for all repositories. Blocks.
fn count_occupants(items: &[TaskWithProcesses], found: &mut BTreeMap<u64, TaskFindings>) {
    let in_git: Vec<&TaskRecord> = items
        .iter()
        .map(|item| &item.task)
        .filter(|task| found.get(&task.id).is_some_and(|found| found.git.is_some()))
        .collect();
    if in_git.is_empty() {
        return;
    }
    let directories: Vec<&Path> = in_git.iter().map(|task| Path::new(&task.directory)).collect();
    for (task, occupants) in in_git.iter().zip(occupants(&directories)) {
        if let Some(git) = found.get_mut(&task.id).and_then(|found| found.git.as_mut()) {
            git.in_use = number(occupants.len());
        }
    }
}

/// The branches that have work of their own.
fn branches<'a>(tasks: &'a [TaskRecord], found: &[(u64, TaskFindings)]) -> Vec<TaskBranch<'a>> {
    let branch = |task: &'a TaskRecord| {
        let (_, found) = found.iter().find(|(id, _)| *id == task.id)?;
        let git = found.git.as_ref().filter(|git| task.is_owned && git.ahead > 0 && !git.merged)?;
        let commit = Oid::parse(git.commit.as_deref()?).ok()?;
        Some(TaskBranch { id: task.id, name: &task.name, base: task.base.as_deref(), commit })
    };
    tasks.iter().filter_map(branch).collect()
}

fn query(common_dir: &Path, task: &TaskRecord) -> StatusQuery {
    StatusQuery {
        common_dir: common_dir.to_owned(),
        path: PathBuf::from(&task.directory),
        branch: task.branch.clone(),
        base: task.base.clone(),
        start: task.start.as_deref().and_then(|start| Oid::parse(start).ok()),
    }
}

/// What git says in the words of the protocol. A branch that stands where its base does is merged if it has moved since its
/// beginning, and new otherwise.
fn seen(status: &WorktreeStatus, start: Option<&str>) -> TaskGit {
    let checkout = status.checkout.clone();
    let comparison = status.comparison.as_ref();
    let commit = status.commit.as_ref().map(ToString::to_string);
    let has_moved = start.is_some() && commit.as_deref() != start;
    let is_merged = |merged: Merged| match merged {
        Merged::No => false,
        Merged::Nothing => has_moved,
        Merged::Ancestor | Merged::Rebased | Merged::Squashed => true,
    };
    TaskGit {
        commit,
        staged: checkout.as_ref().map_or(0, |checkout| number(checkout.staged)),
        unstaged: checkout.as_ref().map_or(0, |checkout| number(checkout.unstaged)),
        untracked: checkout.as_ref().map_or(0, |checkout| number(checkout.untracked)),
        conflicted: checkout.as_ref().map_or(0, |checkout| number(checkout.conflicted)),
        stashed: number(status.stashes),
        in_use: 0,
        ahead: comparison.map_or(0, |comparison| comparison.ahead.into()),
        behind: comparison.map_or(0, |comparison| comparison.behind.into()),
        added: status.lines.added,
        removed: status.lines.removed,
        merged: comparison.is_some_and(|comparison| is_merged(comparison.merged)),
        directory: checkout.is_some(),
    }
}

/// Milliseconds. A time in the future, which a file may have, is not one at which something happened.
fn since_1970(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    if ms > crate::clock::now().wall_ms { 0 } else { ms }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn view(item: TaskWithProcesses, found: TaskFindings, now: u64) -> TaskView {
    let TaskWithProcesses { task, processes, .. } = item;
    let newest = processes.iter().map(|process| process.times.active_at).max().unwrap_or(0);
    let happened = task.events.last().map_or(task.created_at, |event| event.at);
    let active_at = newest.max(happened).max(found.moved_at);
    let status = derive(&StatusInput {
        processes: &processes,
        git: found.git.as_ref(),
        has_directory: task.operation.is_some() || Path::new(&task.directory).is_dir(),
        has_branch: task.branch.is_some(),
        conflicts: !found.conflicts.is_empty(),
        active_at,
        now,
    });
    let worktree = worktree(&task);
    let commit = found.git.as_ref().and_then(|git| git.commit.as_deref());
    let failure = task.failure(commit).map(str::to_owned);
    TaskView {
        status: status.status,
        since: status.since,
        comments: task.open_comments(),
        name: task.name,
        workspace: task.workspace,
        project: task.project,
        directory: task.directory,
        worktree,
        agent: task.agent,
        prompt: task.prompt,
        created_at: task.created_at,
        active_at,
        processes: processes.iter().map(task_process).collect(),
        runs: task.runs,
        git: found.git,
        ports: task.ports,
        conflicts: found.conflicts,
        operation: task.operation.map(|operation| operation.kind),
        failure,
    }
}

/// The worktree of ours that a task has.
fn worktree(task: &TaskRecord) -> Option<TaskWorktree> {
    let (branch, base) = (task.branch.clone()?, task.base.clone()?);
    task.is_owned.then_some(TaskWorktree { branch, base })
}

fn task_process(process: &ProcessView) -> TaskProcess {
    let context = process.agent.as_ref().and_then(|agent| agent.context.as_ref());
    TaskProcess {
        id: process.id,
        name: process.name.clone(),
        kind: process.kind,
        status: process.status,
        agent: process.agent.as_ref().map(|agent| agent.manifest.clone()),
        state: process.state,
        context: context.and_then(proto::agent::Context::percent),
    }
}
