//! Removing a task and bringing it back.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use engine::{
    Caller, Command, KEPT_MS, Principal, TaskCommand, TaskEnd, TaskOperation, TaskRecord, TaskWithProcesses,
    Verb,
};
use proto::request::{Close, DropTask, TaskTarget};
use proto::task::{TaskDropped, TaskOperationKind, TaskOutcome, TaskRestorable};
use proto::{ErrorCode, Failure, Stop, Target};
use worktree::{BranchName, Git, RemoveRequest, Repository};

use super::super::audit;
use super::super::connection::Client;
use super::{find, view};
use crate::project;
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::{Dropped, NotDropped, Plan};
use crate::tasks::{TaskRunner, blocking, failure};

/// Removes a task. A worktree of ours is saved and removed; a directory that is not ours stays as it is.
pub(super) async fn remove(
    client: &Client,
    request: DropTask,
    key: Option<String>,
) -> Result<TaskOutcome, Failure> {
    if request.force && !client.caller().is_person() {
        audit::refused(client, "task_drop", ErrorCode::Denied, "force").await;
        return Err(Failure::new(ErrorCode::Denied, "denied: only people drop work by force")
            .hint("leave force out, or ask a person"));
    }
    let runner = client.door.tasks.clone();
    let mut item = find(client, request.target.clone(), Verb::Drive).await?;
    if request.force {
        // What works in it ends only for a drop that is possible.
        check_removal(&runner, item.task, request.branch).await?;
        item = end_work(client, &request.target).await?;
    }
    let task = item.task;
    let _changing = match &task.common_dir {
        Some(common_dir) => Some(runner.lock(Path::new(common_dir)).await?),
        None => None,
    };
    let (planner, planned) = (runner.clone(), task.clone());
    let is_used = item.processes.iter().any(|process| process.status.is_live()) && !request.force;
    // A task in use is refused by the engine, which names what uses it.
    let plan = match is_used {
        true => Plan::Forget,
        false => blocking(move || plan_removal(&planner, &planned, request.branch, request.force)).await?,
    };
    begin(client, task.id, TaskOperationKind::Drop, &plan, key).await?;
    pass(TaskFailpoint::Planned);
    let worker = runner.clone();
    let removed = blocking(move || Ok(plan.remove(&worker.git()?))).await;
    pass(TaskFailpoint::Done);
    match removed.unwrap_or_else(|failure| Err(NotDropped { failure, is_whole: false })) {
        Ok(Dropped { trash, left }) => {
            runner.end(task.id, TaskEnd::Dropped { trash: trash.clone() }).await?;
            Ok(TaskOutcome::Dropped(TaskDropped { name: task.name, trash, left }))
        }
        Err(NotDropped { failure, is_whole: true }) => {
            runner.end(task.id, TaskEnd::Undone).await?;
            Err(failure)
        }
        // Its plan stays recorded with the place where its files are saved; the next daemon tries again.
        Err(NotDropped { failure, is_whole: false }) => {
            runner.give_up(&task, &failure);
            Err(failure)
        }
    }
}

/// Refuses a drop that would fail even by force.
async fn check_removal(runner: &TaskRunner, task: TaskRecord, with_branch: bool) -> Result<(), Failure> {
    let _changing = match &task.common_dir {
        Some(common_dir) => Some(runner.lock(Path::new(common_dir)).await?),
        None => None,
    };
    let planner = runner.clone();
    blocking(move || plan_removal(&planner, &task, with_branch, true).map(drop)).await
}

/// Ends everything that works on a task, each with its own grace, the preparation of its worktree included.
async fn end_work(client: &Client, target: &TaskTarget) -> Result<TaskWithProcesses, Failure> {
    let mut ends = client.door.tasks.ends();
    loop {
        ends.mark_unchanged();
        let item = find(client, target.clone(), Verb::Drive).await?;
        for process in &item.processes {
            let target = Target(process.id.to_string());
            let close = Close { target, keep_background: false, stop: Stop::default() };
            client.ask(Command::Close(close)).await?;
        }
        let operation = item.task.operation.as_ref().map(|operation| operation.kind);
        let is_stuck = client.door.tasks.unfinishable(item.task.id).is_some();
        if operation != Some(TaskOperationKind::Prepare) || is_stuck || ends.changed().await.is_err() {
            return Ok(item);
        }
    }
}

pub(super) fn plan_removal(
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
    match repository.plan_removal(&request, SystemTime::now()) {
        Ok(removal) => Ok(Plan::Remove(removal)),
        // git does not know the worktree any more, and there is nothing to save.
        Err(worktree::GitError::Missing { .. }) if !request.path.exists() => Ok(Plan::Forget),
        Err(error) => Err(failure(&error)),
    }
}

/// Dropped tasks that can be brought back, the newest drop first; of several with one name only the newest can be.
pub(super) async fn restorable(client: &Client) -> Result<Vec<TaskRestorable>, Failure> {
    let runner = &client.door.tasks;
    let mut dropped = runner.ask(&client.principal, TaskCommand::Dropped { forgets: false }).await?;
    // Names are unique in all workspaces, so a task that the caller does not see can have one, too.
    let live = runner.ask(&Principal::unlimited(Caller::Person), TaskCommand::List).await?;
    let now = crate::clock::now().wall_ms;
    dropped.sort_by_key(|item| Reverse(item.task.id));
    let mut names = BTreeSet::new();
    dropped.retain(|item| names.insert(item.task.name.clone()));
    dropped = blocking(move || {
        Ok(dropped.into_iter().filter(|item| is_restorable(&item.task)).collect::<Vec<_>>())
    })
    .await?;
    let view = |item: TaskWithProcesses| {
        let task = item.task;
        let dropped_at = task.dropped?.at;
        let view = TaskRestorable {
            is_name_taken: live.iter().any(|item| item.task.name == task.name),
            name: task.name,
            workspace: task.workspace,
            directory: task.directory,
            branch: task.branch.filter(|_| task.is_owned),
            dropped_at,
            kept_until: dropped_at.saturating_add(KEPT_MS),
        };
        Some(view).filter(|view| view.kept_until > now)
    };
    let mut views: Vec<TaskRestorable> = dropped.into_iter().filter_map(view).collect();
    views.sort_by_key(|view| Reverse(view.dropped_at));
    Ok(views)
}

/// Returns true if the files of a dropped task are saved or where they were. Blocks.
fn is_restorable(task: &TaskRecord) -> bool {
    task.dropped.as_ref().is_some_and(|dropped| dropped.trash.is_some())
        || Path::new(&task.directory).is_dir()
}

/// Brings a dropped task back with every byte that was saved.
pub(super) async fn restore(
    client: &Client,
    target: TaskTarget,
    key: Option<String>,
) -> Result<TaskOutcome, Failure> {
    let TaskTarget::Name(name) = target else {
        return Err(Failure::invalid("name", "name the dropped task: its directory is gone"));
    };
    let runner = client.door.tasks.clone();
    let item = runner.ask_one(&client.principal, TaskCommand::FindDropped { name }).await?;
    let task = item.task;
    let _changing = match &task.common_dir {
        Some(common_dir) => Some(runner.lock(Path::new(common_dir)).await?),
        None => None,
    };
    let (planner, planned) = (runner.clone(), task.clone());
    let plan = blocking(move || plan_restoration(&planner, &planned)).await?;
    begin(client, task.id, TaskOperationKind::Restore, &plan, key).await?;
    pass(TaskFailpoint::Planned);
    let worker = runner.clone();
    let ended = blocking(move || bring_back(&plan, &worker.git()?)).await;
    pass(TaskFailpoint::Done);
    runner.end(task.id, if ended.is_ok() { TaskEnd::Restored } else { TaskEnd::Undone }).await?;
    ended?;
    let target = TaskTarget::Name(task.name);
    let item = find(client, target, Verb::List).await?;
    Ok(TaskOutcome::Task(Box::new(view(client, item).await?)))
}

/// Carries out a restoration. One that fails leaves nothing behind, so that it can be asked for again. Blocks.
fn bring_back(plan: &Plan, git: &Git) -> Result<(), Failure> {
    let Err(why) = plan.resume(git) else { return Ok(()) };
    if let Plan::Restore(restoration) = plan
        && let Err(error) = restoration.undo(git)
    {
        tracing::warn!(directory = %restoration.path.display(), %error, "what a failed restoration made is left");
    }
    Err(why)
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
    key: Option<String>,
) -> Result<(), Failure> {
    let operation = TaskOperation { kind, plan: plan.text()?, key };
    client.door.tasks.ask(&client.principal, TaskCommand::Begin { id, operation }).await.map(drop)
}
