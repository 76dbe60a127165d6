//! `task`: from what a client asks to plans that are recorded, carried out and ended.
//!
//! An operation goes on when its caller leaves: it runs in a task of its own, and what comes of it is recorded.

mod change;
mod collect;
mod conflicts;
mod create;
mod import;
mod land;
mod prepare;
mod repeat;
mod review;
mod run;

use std::future::Future;
use std::path::{Path, PathBuf};

use engine::{Caller, TaskCommand, TaskEnd, TaskRecord, TaskWithProcesses, Verb};
use proto::request::{DiffTask, Task, TaskAct, TaskTarget};
use proto::task::{TaskDiff, TaskFileStat, TaskOutcome, TaskView};
use proto::{ErrorCode, Failure, Reply};
use worktree::{DIFF_CONTEXT, DiffExtent, DiffTarget, FileStat, Oid, Repository, diff_stat, raw_diff};

use super::connection::Client;
use super::{Server, audit};
use crate::tasks::plan::Plan;
use crate::tasks::{TaskRunner, blocking, failure};

/// Most text of a diff in one answer.
const DIFF_TEXT: usize = 1 << 20; // 1 MiB

/// Goes on with what an earlier daemon began and did not end, begins to watch for conflicts, and forgets what was saved too
/// long ago.
pub(crate) fn resume_tasks(door: &Server, unfinished: Vec<TaskRecord>) {
    let mut landings = Vec::new();
    for task in unfinished {
        let Some(operation) = &task.operation else { continue };
        match Plan::read(&operation.plan) {
            Ok(plan) if plan.queued().is_some() => landings.push((task, plan)),
            Ok(plan) => drop(tokio::spawn(resume(door.clone(), task, plan))),
            Err(failure) => door.tasks.give_up(&task, &failure),
        }
    }
    drop(tokio::spawn(conflicts::watch(door.clone())));
    drop(tokio::spawn(collect::forget_daily(door.clone())));
    land::resume_landings(door, landings);
}

/// Finishes an operation that is no landing, or undoes it.
async fn resume(door: Server, task: TaskRecord, plan: Plan) {
    let resumed = match plan {
        Plan::Prepare(preparation) => prepare::resume(&door, &task, preparation).await,
        plan => match door.tasks.resume(&task, plan).await {
            Ok(TaskEnd::Made { then: Some(then) }) => prepare::resume_plan(&door, &task, &then).await,
            ended => ended.map(drop),
        },
    };
    if let Err(failure) = resumed {
        door.tasks.give_up(&task, &failure);
    }
}

/// Serves one request about tasks.
pub(super) async fn task(client: &Client, request: Task) -> Result<Reply, Failure> {
    if client.caller() == Caller::Nobody {
        return Err(audit::turn_away(client, request.act.word()).await);
    }
    let outcome = match request.act.is_operation() {
        true => {
            let own = client.clone();
            on_its_own(async move { operate(&own, request).await }).await?
        }
        false => answer(client, request.act).await?,
    };
    Ok(Reply::Task(Box::new(outcome)))
}

/// Carries an operation out, unless the same request did so before: then the answer is what came of it.
async fn operate(client: &Client, request: Task) -> Result<TaskOutcome, Failure> {
    if let Some(key) = &request.key
        && let Some(outcome) = repeat::answer(client, key).await?
    {
        return Ok(outcome);
    }
    let key = request.key;
    match request.act {
        TaskAct::Create(request) => create::create(client, *request, key).await,
        TaskAct::Land(request) => land::land(client, *request, key).await,
        TaskAct::Drop(request) => change::remove(client, request, key).await,
        TaskAct::Restore(target) => change::restore(client, target, key).await,
        other => answer(client, other).await,
    }
}

/// Serves what is no operation on one task.
async fn answer(client: &Client, act: TaskAct) -> Result<TaskOutcome, Failure> {
    Ok(match act {
        TaskAct::List(_) => TaskOutcome::Listed(list(client).await?),
        TaskAct::Show(target) => {
            let item = find(client, target, Verb::List).await?;
            TaskOutcome::Task(Box::new(view(client, item).await?))
        }
        TaskAct::Diff(request) => TaskOutcome::Diff(diff(client, request).await?),
        TaskAct::Review(request) => review::review(client, request).await?,
        TaskAct::Forecast(_) => {
            let runner = &client.door.tasks;
            let items = runner.ask(&client.principal, TaskCommand::List).await?;
            TaskOutcome::Forecast(runner.forecast(items).await?)
        }
        TaskAct::Dropped(_) => TaskOutcome::Restorable(change::restorable(client).await?),
        TaskAct::Collect(request) => {
            let own = client.clone();
            on_its_own(async move { collect::collect(&own, request).await }).await?
        }
        TaskAct::Import(request) => TaskOutcome::Imported(import::import(client, *request).await?),
        TaskAct::Create(_) | TaskAct::Land(_) | TaskAct::Drop(_) | TaskAct::Restore(_) => {
            return Err(Failure::new(ErrorCode::Internal, "an operation on a task was not carried out"));
        }
    })
}

/// Carries an operation out to its end, whether or not its caller stays.
async fn on_its_own(
    work: impl Future<Output = Result<TaskOutcome, Failure>> + Send + 'static,
) -> Result<TaskOutcome, Failure> {
    let failed =
        |error| Failure::new(ErrorCode::Internal, format!("the operation was not carried out: {error}"));
    tokio::spawn(work).await.map_err(failed)?
}

async fn list(client: &Client) -> Result<Vec<TaskView>, Failure> {
    let runner = &client.door.tasks;
    runner.views(runner.ask(&client.principal, TaskCommand::List).await?).await
}

/// One task as a client sees it.
async fn view(client: &Client, item: TaskWithProcesses) -> Result<TaskView, Failure> {
    let found = client.door.tasks.views(vec![item]).await?.into_iter().next();
    found.ok_or_else(|| Failure::new(ErrorCode::Internal, "the task has no view"))
}

/// The task that a client means, by its name or from a directory inside.
async fn find(client: &Client, target: TaskTarget, verb: Verb) -> Result<TaskWithProcesses, Failure> {
    let command = match target {
        TaskTarget::Name(name) => TaskCommand::Find { name, verb },
        TaskTarget::Directory(directory) => {
            let real = move || {
                let real = std::fs::canonicalize(&directory);
                real.map_err(|error| crate::project::gone(&directory, &error))
            };
            let directory = blocking(real).await?.to_string_lossy().into_owned();
            TaskCommand::FindIn { directory, verb }
        }
    };
    client.door.tasks.ask_one(&client.principal, command).await
}

/// The changes of a task since its branch began, with what is not committed.
async fn diff(client: &Client, request: DiffTask) -> Result<TaskDiff, Failure> {
    let item = find(client, request.target, Verb::Read).await?;
    let runner = client.door.tasks.clone();
    blocking(move || {
        let (base, target, place) = compared(&runner, &item, request.base.as_deref())?;
        let git = runner.git()?;
        let files = diff_stat(&git, &place, &base, &target).map_err(|error| failure(&error))?;
        let mut diff = TaskDiff {
            name: item.task.name,
            base: base.to_string(),
            files: files.into_iter().map(file).collect(),
            text: String::new(),
            is_truncated: false,
        };
        if !request.stat {
            let context = request.context.unwrap_or(DIFF_CONTEXT).min(DiffTask::MAX_CONTEXT);
            let extent = DiffExtent { context, limit: DIFF_TEXT };
            let raw = raw_diff(&git, &place, &base, &target, extent).map_err(|error| failure(&error))?;
            (diff.text, diff.is_truncated) =
                (String::from_utf8_lossy(&raw.text).into_owned(), raw.is_truncated);
        }
        Ok(diff)
    })
    .await
}

/// What a task is compared with, what of it, and where. Blocks.
fn compared(
    runner: &TaskRunner,
    item: &TaskWithProcesses,
    base: Option<&str>,
) -> Result<(Oid, DiffTarget, PathBuf), Failure> {
    let place = PathBuf::from(&item.task.directory);
    let has_directory = place.join(".git").exists();
    let common_dir = item.task.common_dir.clone().map(PathBuf::from);
    let opened = if has_directory { place.clone() } else { common_dir.unwrap_or_else(|| place.clone()) };
    let repository = Repository::open(&runner.git()?, &opened).map_err(|error| failure(&error))?;
    let head = match &item.task.branch {
        Some(branch) => repository.commit(branch),
        None => repository.commit("HEAD"),
    };
    let base = match base.map(str::to_owned).or_else(|| item.task.base.clone()) {
        Some(base) => base,
        None => repository.default_branch().map_err(|error| failure(&error))?,
    };
    let base = repository.commit(&base).map_err(|error| failure(&error))?;
    let head = head.map_err(|error| failure(&error))?;
    let comparison = repository.compare(&base, &head).map_err(|error| failure(&error))?;
    let base = comparison.merge_base.unwrap_or(base);
    let target = if has_directory { DiffTarget::Checkout } else { DiffTarget::Commit(head) };
    Ok((base, target, opened))
}

fn file(stat: FileStat) -> TaskFileStat {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    TaskFileStat {
        path: text(&stat.path),
        original: stat.original.as_deref().map(text),
        added: stat.lines.map(|(added, _)| added),
        removed: stat.lines.map(|(_, removed)| removed),
    }
}
