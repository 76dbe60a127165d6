//! Making a task: planned, recorded, carried out, then prepared by what the main checkout's init file names.
//!
//! The init file is that of the main checkout and not that of the new branch, which may be a stranger's. Its commands are
//! processes of the task: people see them, and those of an agent need trust like any command.

use std::path::{Path, PathBuf};

use engine::{
    Caller, LOCAL_WORKSPACE, NewTask, Principal, TaskCommand, TaskEnd, TaskRecord, TaskWithProcesses, Verb,
    task_exists,
};
use proto::request::{CreateTask, TaskTarget};
use proto::task::{TaskCreated, TaskOutcome};
use proto::{ErrorCode, Failure, Printable};
use worktree::{
    BranchName, Copied, CreateRequest, Creation, InitFile, Layout, References, Repository, StartPoint,
};

use super::super::audit;
use super::super::connection::Client;
use super::super::trust::caller_project;
use super::prepare::prepare;
use super::{find, view};
use crate::project::{self, ProjectDir};
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::{Plan, Preparation, copy_files};
use crate::tasks::{TaskRunner, blocking, failure, ports};

/// How often ports are looked for when another task was given them in between.
const PORT_ATTEMPTS: usize = 5;

/// A worktree that is to be made.
#[derive(Clone)]
struct Making {
    creation: Creation,
    include: Vec<String>,
    preparation: Preparation,
}

/// Creates a task, with a worktree if that is asked for.
pub(super) async fn create(
    client: &Client,
    mut request: CreateTask,
    key: Option<String>,
) -> Result<TaskOutcome, Failure> {
    audit::permit(client, Verb::Spawn).await?;
    request.workspace = request.workspace.or_else(|| client.principal.limit.workspace.clone());
    // A process makes tasks of its own project only: it has rights over what it creates.
    caller_project(client, "task_create", Some(request.directory.clone()), proto::Role::Type).await?;
    let runner = client.door.tasks.clone();
    let (directory, agent, agents) =
        (request.directory.clone(), request.agent.clone(), client.door.agents.clone());
    let layout = blocking(move || {
        let real = project::real("directory", Path::new(&directory))?;
        agent.map_or(Ok(()), |agent| agents.check_name(&agent, Path::new(&real)))?;
        Ok(Layout::find(Path::new(&real)))
    })
    .await?;
    let changing = match &layout {
        Some(layout) => Some(runner.lock(&layout.common_dir).await?),
        None => None,
    };
    let (item, making) = record(client, &request, layout, key).await?;
    let is_made = making.is_some();
    let (copied, preparation) = match making {
        Some(making) => make(&runner, &item.task, making).await?,
        None => (Copied::default(), None),
    };
    drop(changing);
    let failure = match preparation {
        Some(preparation) => prepare(client, &item.task, preparation, request.base_env).await?,
        None => None,
    };
    let item = find(client, TaskTarget::Name(item.task.name), Verb::List).await?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let task = match is_made {
        true => runner.unread_view(item).await?,
        false => view(client, item).await?,
    };
    Ok(TaskOutcome::Created(Box::new(TaskCreated {
        task,
        copied: copied.files.iter().map(|path| text(path)).collect(),
        skipped: copied.skipped.iter().map(|(path, why)| format!("{}: {why}", text(path))).collect(),
        failure,
    })))
}

/// Plans a task and records it, with ports that no other task was given meanwhile.
async fn record(
    client: &Client,
    request: &CreateTask,
    layout: Option<Layout>,
    key: Option<String>,
) -> Result<(TaskWithProcesses, Option<Making>), Failure> {
    let runner = client.door.tasks.clone();
    let mut refused = None;
    for _ in 0..PORT_ATTEMPTS {
        let tasks = runner.ask(&Principal::unlimited(Caller::Person), TaskCommand::List).await?;
        if tasks.iter().any(|item| item.task.name == request.name) {
            return Err(task_exists(&request.name));
        }
        let leased: Vec<u16> = tasks.into_iter().flat_map(|item| item.task.ports).collect();
        let (planner, request, layout) = (runner.clone(), request.clone(), layout.clone());
        let wanted = request.ports;
        let principal = client.principal.clone();
        let (mut new, making) = blocking(move || plan(&planner, request, layout, &principal)).await?;
        new.key.clone_from(&key);
        new.ports = blocking(move || ports::find(wanted, |port| leased.contains(&port))).await?;
        match runner.ask_one(&client.principal, TaskCommand::Create(Box::new(new))).await {
            Err(failure) if failure.code == ErrorCode::Busy => refused = Some(failure),
            recorded => return Ok((recorded?, making)),
        }
    }
    Err(refused.unwrap_or_else(|| Failure::new(ErrorCode::Internal, "the task was not recorded")))
}

/// Carries a creation out and returns what was copied and what prepares it then. One that fails is undone, and no task is
/// left.
async fn make(
    runner: &TaskRunner,
    task: &TaskRecord,
    making: Making,
) -> Result<(Copied, Option<Preparation>), Failure> {
    pass(TaskFailpoint::Planned);
    let worker = runner.clone();
    let made = blocking(move || {
        let (git, creation) = (worker.git()?, making.creation);
        creation.run(&git).map_err(|error| {
            if let Err(left) = creation.undo(&git) {
                tracing::warn!(%left, "a worktree that was not finished could not be removed");
            }
            failure(&error)
        })?;
        let copied = copy_files(&git, &creation, &making.include);
        let end = making.preparation.end(&copied)?;
        Ok((copied.unwrap_or_default(), end))
    })
    .await;
    pass(TaskFailpoint::Done);
    let (copied, end) = match made {
        Ok(made) => made,
        Err(failure) => {
            runner.end(task.id, TaskEnd::Undone).await?;
            return Err(failure);
        }
    };
    runner.end(task.id, end.clone()).await?;
    let TaskEnd::Made { then: Some(then) } = end else { return Ok((copied, None)) };
    match Plan::read(&then)? {
        Plan::Prepare(preparation) => Ok((copied, Some(preparation))),
        _ => Ok((copied, None)),
    }
}

/// Decides every detail of a new task, without changing anything. Blocks.
fn plan(
    runner: &TaskRunner,
    request: CreateTask,
    layout: Option<Layout>,
    principal: &Principal,
) -> Result<(NewTask, Option<Making>), Failure> {
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
            return Err(Failure::invalid("start", "only a new worktree has a start"));
        }
        return Ok((new, None));
    }
    let git = runner.git()?;
    let repository = Repository::open(&git, &real).map_err(|error| failure(&error))?;
    let name = BranchName::parse(&request.name).map_err(|error| failure(&error))?;
    let references = References::read(&repository).map_err(|error| failure(&error))?;
    let (start, base) = start_point(&repository, &references, &name, request.start.as_deref())?;
    if start != StartPoint::ExistingBranch && references.branch(name.as_str()).is_some() {
        return Err(branch_exists(name.as_str()));
    }
    let init = match repository.main_checkout() {
        Some(main) => InitFile::read(&main).map_err(|error| failure(&error))?,
        None => InitFile::default(),
    };
    let planned = CreateRequest { name, start, root: runner.root()? };
    let creation = repository.plan_worktree(&references, &planned).map_err(|error| failure(&error))?;
    new.directory = text(&creation.path);
    new.project.path.clone_from(&new.directory);
    new.branch = Some(creation.branch.to_string());
    new.start = Some(creation.start.to_string());
    new.base = Some(base);
    let InitFile { include, commands } = init;
    let preparation = Preparation::new(commands, principal);
    let (kept, patterns) = (preparation.clone(), include.clone());
    let plan = Plan::Create { creation: creation.clone(), include: patterns, preparation: kept };
    new.plan = Some(plan.text()?);
    Ok((new, Some(Making { creation, include, preparation })))
}

/// The name is that of a branch, mostly one that a dropped task left.
fn branch_exists(name: &str) -> Failure {
    let name = Printable(name);
    Failure::new(ErrorCode::Conflict, format!("branch `{name}` exists already: choose another name")).hint(format!(
        "`qd new {name} -w --start {name}` works on that branch; a task that was dropped comes back by `qd restore \
         {name}`; `git branch -D {name}` removes the branch"
    ))
}

/// What a branch begins from, and the branch that it lands on: the one that was named, or the default branch.
fn start_point(
    repository: &Repository,
    references: &References,
    name: &BranchName,
    start: Option<&str>,
) -> Result<(StartPoint, String), Failure> {
    let default = || match &references.default {
        Some((name, _)) => Ok(name.clone()),
        None => repository.default_branch().map_err(|error| failure(&error)),
    };
    let Some(start) = start else { return Ok((StartPoint::DefaultBranch, default()?)) };
    if start == name.as_str() {
        return Ok((StartPoint::ExistingBranch, default()?));
    }
    if references.branch(start).is_some() {
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
