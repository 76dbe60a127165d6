//! Removing a task and bringing it back.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use engine::{Command, KEPT_MS, TaskCommand, TaskEnd, TaskOperation, TaskRecord, TaskSight, Verb};
use proto::request::{Close, DropTask, TaskTarget};
use proto::task::{TaskDropped, TaskOperationKind, TaskOutcome};
use proto::{ErrorCode, Failure, Status, Stop, Target};
use worktree::{BranchName, RemoveRequest, Repository};

use super::super::audit;
use super::super::connection::Client;
use super::{find, view};
use crate::project;
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::Plan;
use crate::tasks::{TaskRunner, blocking, failure};

/// Removes a task. A worktree of ours is saved and removed; a directory that is not ours stays as it is.
pub(super) async fn remove(client: &Client, request: DropTask) -> Result<TaskOutcome, Failure> {
    if request.force && !client.caller.is_person() {
        audit::refused(client, "task_drop", ErrorCode::Denied, "force").await;
        return Err(Failure::new(ErrorCode::Denied, "denied: only people drop work by force")
            .hint("leave force out, or ask a person"));
    }
    let sight = find(client, request.target, Verb::Drive).await?;
    if request.force {
        close_all(client, &sight).await?;
    }
    let (runner, task) = (client.door.tasks.clone(), sight.task);
    let _changing = match &task.common_dir {
        Some(common_dir) => Some(runner.lock(Path::new(common_dir)).await?),
        None => None,
    };
    let (planner, planned) = (runner.clone(), task.clone());
    let is_live = |status| matches!(status, Status::Starting | Status::Running | Status::Stopping);
    let is_used = sight.processes.iter().any(|process| is_live(process.status)) && !request.force;
    // A task in use is refused by the engine, which names what uses it.
    let plan = match is_used {
        true => Plan::Forget,
        false => blocking(move || plan_removal(&planner, &planned, request.branch, request.force)).await?,
    };
    begin(client, task.id, TaskOperationKind::Drop, &plan).await?;
    pass(TaskFailpoint::Planned);
    let worker = runner.clone();
    let ended = blocking(move || plan.resume(&worker.git()?)).await;
    pass(TaskFailpoint::Done);
    let end = ended.unwrap_or_else(|failure| {
        tracing::warn!(%failure, "a worktree was not removed");
        TaskEnd::Undone
    });
    runner.end(task.id, end.clone()).await?;
    match end {
        TaskEnd::Dropped { trash } => Ok(TaskOutcome::Dropped(TaskDropped { name: task.name, trash })),
        _ => {
            Err(Failure::new(ErrorCode::Conflict, "the worktree changed while it was being saved; it stays")
                .hint("try again"))
        }
    }
}

/// Ends everything that works on a task, each with its own grace.
async fn close_all(client: &Client, sight: &TaskSight) -> Result<(), Failure> {
    for process in &sight.processes {
        let target = Target(process.id.to_string());
        let close = Close { target, keep_background: false, stop: Stop::default() };
        client.door.engine.ask(client.caller, Command::Close(close)).await?;
    }
    Ok(())
}

fn plan_removal(
    runner: &TaskRunner,
    task: &TaskRecord,
    with_branch: bool,
    force: bool,
) -> Result<Plan, Failure> {
    let (true, Some(common_dir)) = (task.is_owned, &task.common_dir) else { return Ok(Plan::Forget) };
    let name = |text: &str| BranchName::parse(text).map_err(|error| failure(&error));
    let repository =
        Repository::open(&runner.git()?, Path::new(common_dir)).map_err(|error| failure(&error))?;
    let branch = match &task.branch {
        Some(branch) if with_branch => Some(name(branch)?),
        _ => None,
    };
    let path = PathBuf::from(&task.directory);
    let request = RemoveRequest { path, task: name(&task.name)?, branch, base: task.base.clone(), force };
    let now = SystemTime::now();
    if let Err(error) = repository.forget_trash(Duration::from_millis(KEPT_MS), now) {
        tracing::warn!(%error, "old saved worktrees could not be forgotten");
    }
    match repository.plan_removal(&request, now) {
        Ok(removal) => Ok(Plan::Remove(removal)),
        // git does not know the worktree any more, and there is nothing to save.
        Err(worktree::GitError::Missing { .. }) if !request.path.exists() => Ok(Plan::Forget),
        Err(error) => Err(failure(&error)),
    }
}

/// Brings a dropped task back with every byte that was saved.
pub(super) async fn restore(client: &Client, target: TaskTarget) -> Result<TaskOutcome, Failure> {
    let TaskTarget::Name(name) = target else {
        return Err(Failure::invalid("name", "name the dropped task: its directory is gone"));
    };
    let runner = client.door.tasks.clone();
    let sight = runner.ask_one(client.caller, TaskCommand::FindDropped { name }).await?;
    let task = sight.task;
    let _changing = match &task.common_dir {
        Some(common_dir) => Some(runner.lock(Path::new(common_dir)).await?),
        None => None,
    };
    let (planner, planned) = (runner.clone(), task.clone());
    let plan = blocking(move || plan_restoration(&planner, &planned)).await?;
    begin(client, task.id, TaskOperationKind::Restore, &plan).await?;
    pass(TaskFailpoint::Planned);
    let worker = runner.clone();
    let ended = blocking(move || plan.resume(&worker.git()?)).await;
    pass(TaskFailpoint::Done);
    runner.end(task.id, if ended.is_ok() { TaskEnd::Restored } else { TaskEnd::Undone }).await?;
    ended?;
    let target = TaskTarget::Name(task.name);
    let sight = find(client, target, Verb::List).await?;
    Ok(TaskOutcome::Task(Box::new(view(client, sight).await?)))
}

fn plan_restoration(runner: &TaskRunner, task: &TaskRecord) -> Result<Plan, Failure> {
    let trash = task.dropped.as_ref().and_then(|dropped| dropped.trash.as_ref());
    match (trash, &task.common_dir) {
        (Some(trash), Some(common_dir)) => {
            let repository =
                Repository::open(&runner.git()?, Path::new(common_dir)).map_err(|error| failure(&error))?;
            let planned = repository.plan_restoration(trash);
            planned.map(Plan::Restore).map_err(|error| failure(&error))
        }
        _ if Path::new(&task.directory).is_dir() => Ok(Plan::Recall),
        _ => Err(project::gone(&task.directory, &std::io::ErrorKind::NotFound.into())),
    }
}

/// Records a plan before anything of it is done.
pub(super) async fn begin(
    client: &Client,
    id: u64,
    kind: TaskOperationKind,
    plan: &Plan,
) -> Result<(), Failure> {
    let operation = TaskOperation { kind, plan: plan.text()? };
    client.door.tasks.ask(client.caller, TaskCommand::Begin { id, operation }).await.map(drop)
}
