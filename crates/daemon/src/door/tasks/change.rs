//! Making, removing and bringing back a task.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use engine::{
    Command, KEPT_MS, LOCAL_WORKSPACE, NewTask, TaskCommand, TaskEnd, TaskOperation, TaskRecord, TaskSight,
    Verb,
};
use proto::request::{Close, CreateTask, DropTask, TaskTarget};
use proto::task::{TaskDropped, TaskOperationKind, TaskOutcome};
use proto::{ErrorCode, Failure, Status, Stop, Target};
use worktree::{
    BranchName, CreateRequest, Creation, InitFile, Layout, RemoveRequest, Repository, StartPoint,
    copy_included,
};

use super::super::audit;
use super::super::connection::Client;
use super::{find, view};
use crate::project::{self, ProjectDir};
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::Plan;
use crate::tasks::{TaskRunner, blocking, failure};

/// Creates a task, with a worktree if that is asked for.
pub(super) async fn create(client: &Client, request: CreateTask) -> Result<TaskOutcome, Failure> {
    audit::permit(client, Verb::Spawn).await?;
    let runner = client.door.tasks.clone();
    let directory = request.directory.clone();
    let layout = blocking(move || {
        let real = project::real("directory", Path::new(&directory))?;
        Ok(Layout::find(Path::new(&real)))
    })
    .await?;
    let _changing = match &layout {
        Some(layout) => Some(runner.lock(&layout.common_dir).await?),
        None => None,
    };
    let planner = runner.clone();
    let (new, creation) = blocking(move || plan(&planner, request, layout)).await?;
    let sight = runner.ask_one(client.caller, TaskCommand::Create(Box::new(new))).await?;
    if let Some(creation) = creation {
        make(&runner, &sight.task, creation).await?;
    }
    let target = TaskTarget::Name(sight.task.name);
    let sight = find(client, target, Verb::List).await?;
    Ok(TaskOutcome::Task(Box::new(view(client, sight).await?)))
}

/// Carries a creation out. One that fails is undone, and no task is left.
async fn make(runner: &TaskRunner, task: &TaskRecord, creation: Creation) -> Result<(), Failure> {
    pass(TaskFailpoint::Planned);
    let worker = runner.clone();
    let made = blocking(move || {
        let git = worker.git()?;
        let made = creation.run(&git).and_then(|()| prepare(&git, &creation));
        made.map_err(|error| {
            if let Err(left) = creation.undo(&git) {
                tracing::warn!(%left, "a worktree that was not finished could not be removed");
            }
            failure(&error)
        })
    })
    .await;
    pass(TaskFailpoint::Done);
    let end = if made.is_ok() { TaskEnd::Made } else { TaskEnd::Undone };
    runner.end(task.id, end).await?;
    made
}

/// Copies what the repository's init file names from the main checkout.
fn prepare(git: &worktree::Git, creation: &Creation) -> worktree::Result<()> {
    let init = InitFile::read(&creation.path)?;
    let repository = Repository::open(git, &creation.path)?;
    if let Some(main) = repository.main_checkout() {
        let copied = copy_included(git, &main, &creation.path, &init.include)?;
        for (path, why) in copied.skipped {
            tracing::warn!(path = %path.display(), why, "a file was not copied to a new worktree");
        }
    }
    Ok(())
}

/// Decides every detail of a new task, without changing anything. Blocks.
fn plan(
    runner: &TaskRunner,
    request: CreateTask,
    layout: Option<Layout>,
) -> Result<(NewTask, Option<Creation>), Failure> {
    let workspace = request.workspace.clone().unwrap_or_else(|| LOCAL_WORKSPACE.to_owned());
    let real = PathBuf::from(project::real("directory", Path::new(&request.directory))?);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut new = NewTask {
        name: request.name.clone(),
        workspace,
        project: ProjectDir::of(&real).map(|found| found.project).unwrap_or_default(),
        common_dir: layout.as_ref().map(|layout| text(&layout.common_dir)),
        directory: text(&real),
        agent: request.agent.clone(),
        prompt: request.prompt.clone(),
        ..NewTask::default()
    };
    if !request.worktree {
        if request.start.is_some() {
            return Err(Failure::invalid("start", "only a new worktree begins from something"));
        }
        return Ok((new, None));
    }
    let git = runner.git()?;
    let repository = Repository::open(&git, &real).map_err(|error| failure(&error))?;
    let name = BranchName::parse(&request.name).map_err(|error| failure(&error))?;
    let (start, base) = start_point(&repository, &name, request.start.as_deref())?;
    let planned = CreateRequest { name, start, root: runner.root().to_owned() };
    let creation = repository.plan_worktree(&planned).map_err(|error| failure(&error))?;
    new.directory = text(&creation.path);
    new.project.path.clone_from(&new.directory);
    new.branch = Some(creation.branch.to_string());
    new.start = Some(creation.start.to_string());
    new.base = Some(base);
    new.plan = Some(Plan::Create(creation.clone()).text()?);
    Ok((new, Some(creation)))
}

/// What a branch begins from, and the branch that it lands on: the one that was named, or the default branch.
fn start_point(
    repository: &Repository,
    name: &BranchName,
    start: Option<&str>,
) -> Result<(StartPoint, String), Failure> {
    let default = || repository.default_branch().map_err(|error| failure(&error));
    let Some(start) = start else { return Ok((StartPoint::DefaultBranch, default()?)) };
    if start == name.as_str() {
        return Ok((StartPoint::ExistingBranch, default()?));
    }
    let local = BranchName::parse(start).ok().and_then(|branch| repository.branch(&branch).ok().flatten());
    if local.is_some() {
        return Ok((StartPoint::Revision(start.to_owned()), start.to_owned()));
    }
    repository.commit(start).map_err(|error| failure(&error))?;
    let remote = start.split_once('/').and_then(|(remote, branch)| {
        let branch = BranchName::parse(branch).ok()?;
        let reference = format!("refs/remotes/{start}");
        repository.commit(&reference).ok()?;
        Some(StartPoint::RemoteBranch { remote: remote.to_owned(), branch })
    });
    Ok((remote.unwrap_or_else(|| StartPoint::Revision(start.to_owned())), default()?))
}

/// Removes a task. A worktree of ours is saved and removed; a directory of somebody else's is left alone.
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
    match (&task.trash, &task.common_dir) {
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
