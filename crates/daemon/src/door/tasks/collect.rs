//! Dropping what is finished, and forgetting worktrees that were saved too long ago.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use engine::{Caller, KEPT_MS, Principal, TaskCommand, TaskWithProcesses, Verb};
use proto::request::{CollectTasks, DropTask, TaskTarget};
use proto::task::{TaskCollected, TaskKept, TaskOutcome, TaskStatus, TaskView};
use proto::{Failure, ShellWord};
use worktree::{Repository, TrashEntry};

use super::super::Server;
use super::super::audit;
use super::super::connection::Client;
use super::change::{plan_removal, remove};
use crate::tasks::{TaskRunner, blocking, failure};

/// How often old saved worktrees are forgotten.
const DAILY: Duration = Duration::from_secs(24 * 3600);

/// Drops every finished task, unless that would lose something, and forgets what was saved too long ago.
pub(super) async fn collect(client: &Client, request: CollectTasks) -> Result<TaskOutcome, Failure> {
    audit::permit(client, Verb::Administer).await?;
    let runner = client.door.tasks.clone();
    let items = runner.ask(&client.principal, TaskCommand::List).await?;
    let mut repositories = repositories(&items);
    let mut collected = TaskCollected::default();
    for view in runner.views(items.clone()).await?.into_iter().filter(is_finished) {
        if let Some(process) = view.processes.iter().find(|process| process.status.is_live()) {
            let why = format!("{} still runs in it; qd stop {} ends it", process.name, ShellWord(&view.name));
            collected.kept.push(TaskKept { name: view.name, why });
            continue;
        }
        let item = items.iter().find(|item| item.task.name == view.name);
        match drop_one(client, item, &request).await {
            Ok(()) => collected.dropped.push(view.name),
            Err(failure) => collected.kept.push(TaskKept { name: view.name, why: failure.message }),
        }
    }
    let dropped = TaskCommand::Dropped { forgets: !request.dry_run };
    repositories.extend(self::repositories(&runner.ask(&client.principal, dropped).await?));
    collected.forgotten = forget(&runner, repositories, request.dry_run).await;
    Ok(TaskOutcome::Collected(collected))
}

/// A worktree of ours whose work is in its base, or whose directory is gone and left nothing behind.
fn is_finished(view: &TaskView) -> bool {
    let has_nothing =
        view.git.as_ref().is_some_and(|git| git.merged || (git.commit.is_some() && git.ahead == 0));
    let is_over = view.status == TaskStatus::Merged || (view.status == TaskStatus::Gone && has_nothing);
    view.worktree.is_some() && is_over && view.operation.is_none()
}

/// Drops a task, or finds out whether a drop would be refused.
async fn drop_one(
    client: &Client,
    item: Option<&TaskWithProcesses>,
    request: &CollectTasks,
) -> Result<(), Failure> {
    let Some(task) = item.map(|item| item.task.clone()) else { return Ok(()) };
    if request.dry_run {
        let (runner, branch) = (client.door.tasks.clone(), request.branch);
        return blocking(move || plan_removal(&runner, &task, branch, false).map(drop)).await;
    }
    let drop_task = DropTask { target: TaskTarget::Name(task.name), branch: request.branch, force: false };
    remove(client, drop_task, None).await.map(drop)
}

/// Forgets old saved worktrees when the daemon starts and once a day, until it ends.
pub(super) async fn forget_daily(door: Server) {
    let mut closing = door.closing.subscribe();
    loop {
        let dropped = TaskCommand::Dropped { forgets: true };
        match door.tasks.ask(&Principal::unlimited(Caller::Person), dropped).await {
            Ok(items) => drop(forget(&door.tasks, repositories(&items), false).await),
            Err(failure) => tracing::debug!(%failure, "old saved worktrees were not forgotten"),
        }
        tokio::select! {
            () = tokio::time::sleep(DAILY) => {}
            _ = closing.wait_for(|is_closing| *is_closing) => return,
        }
    }
}

fn repositories(items: &[TaskWithProcesses]) -> BTreeSet<PathBuf> {
    items.iter().filter_map(|item| item.task.common_dir.as_ref()).map(PathBuf::from).collect()
}

/// Forgets what was saved too long ago in these repositories, and returns the references.
async fn forget(runner: &TaskRunner, repositories: BTreeSet<PathBuf>, is_dry: bool) -> Vec<String> {
    let mut forgotten = Vec::new();
    for common_dir in repositories {
        let worker = runner.clone();
        let old = blocking(move || old_trash(&worker, &common_dir, is_dry)).await;
        match old {
            Ok(old) => forgotten.extend(old.into_iter().map(|entry| entry.reference)),
            Err(failure) => tracing::debug!(%failure, "old saved worktrees were not forgotten"),
        }
    }
    forgotten
}

fn old_trash(runner: &TaskRunner, common_dir: &Path, is_dry: bool) -> Result<Vec<TrashEntry>, Failure> {
    let repository = Repository::open(&runner.git()?, common_dir).map_err(|error| failure(&error))?;
    let (age, now) = (Duration::from_millis(KEPT_MS), SystemTime::now());
    let old = match is_dry {
        true => repository.old_trash(age, now),
        false => repository.forget_trash(age, now),
    };
    old.map_err(|error| failure(&error))
}
