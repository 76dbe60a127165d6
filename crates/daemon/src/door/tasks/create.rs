//! Making a task: planned, recorded, carried out, then prepared by what the main checkout's init file names.
//!
//! The init file is that of the main checkout and not that of the new branch, which may be a stranger's. Its commands are
//! processes of the task: people see them, and those of an agent need trust like any command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{Caller, LOCAL_WORKSPACE, NewTask, TaskCommand, TaskEnd, TaskRecord, TaskSight, Verb};
use proto::request::{CreateTask, Spawn, TaskTarget};
use proto::task::{TaskCreated, TaskOutcome};
use proto::{ErrorCode, Failure, Kind, Printable};
use worktree::{
    BranchName, Copied, CreateRequest, Creation, InitCommand, InitFile, Layout, Repository, StartPoint,
};

use super::super::audit;
use super::super::connection::Client;
use super::super::trust::standing;
use super::run::run_command;
use super::{find, view};
use crate::project::{self, ProjectDir};
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::{Plan, copy_files};
use crate::tasks::{TaskRunner, blocking, failure, ports};

/// How often ports are looked for when another task was given them in between.
const PORT_ATTEMPTS: usize = 5;

/// A worktree that is to be made.
#[derive(Clone)]
struct Making {
    creation: Creation,
    init: InitFile,
}

/// What became of the preparation of a worktree.
#[derive(Default)]
struct PreparedWorktree {
    copied: Copied,
    failure: Option<String>,
}

/// Creates a task, with a worktree if that is asked for.
pub(super) async fn create(client: &Client, request: CreateTask) -> Result<TaskOutcome, Failure> {
    audit::permit(client, Verb::Spawn).await?;
    // A process makes tasks of its own project only: it has rights over what it creates.
    standing(client, "task_create", Some(request.directory.clone())).await?;
    let runner = client.door.tasks.clone();
    let directory = request.directory.clone();
    let layout = blocking(move || {
        let real = project::real("directory", Path::new(&directory))?;
        Ok(Layout::find(Path::new(&real)))
    })
    .await?;
    let changing = match &layout {
        Some(layout) => Some(runner.lock(&layout.common_dir).await?),
        None => None,
    };
    let (sight, making) = record(client, &request, layout).await?;
    let mut prepared = match &making {
        Some(making) => make(&runner, &sight.task, making.clone()).await?,
        None => PreparedWorktree::default(),
    };
    drop(changing);
    if let (Some(making), None) = (making, &prepared.failure) {
        prepared.failure = run_init(client, &sight.task, making, request.base_env).await;
    }
    let sight = find(client, TaskTarget::Name(sight.task.name), Verb::List).await?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Ok(TaskOutcome::Created(Box::new(TaskCreated {
        task: view(client, sight).await?,
        copied: prepared.copied.files.iter().map(|path| text(path)).collect(),
        skipped: prepared.copied.skipped.iter().map(|(path, why)| format!("{}: {why}", text(path))).collect(),
        failure: prepared.failure,
    })))
}

/// Plans a task and records it, with ports that no other task was given meanwhile.
async fn record(
    client: &Client,
    request: &CreateTask,
    layout: Option<Layout>,
) -> Result<(TaskSight, Option<Making>), Failure> {
    let runner = client.door.tasks.clone();
    let mut refused = None;
    for _ in 0..PORT_ATTEMPTS {
        let tasks = runner.ask(Caller::Human, TaskCommand::List).await?;
        let leased: Vec<u16> = tasks.into_iter().flat_map(|sight| sight.task.ports).collect();
        let (planner, request, layout) = (runner.clone(), request.clone(), layout.clone());
        let wanted = request.ports;
        let (mut new, making) = blocking(move || plan(&planner, request, layout)).await?;
        new.ports = blocking(move || ports::find(wanted, |port| leased.contains(&port))).await?;
        match runner.ask_one(client.caller, TaskCommand::Create(Box::new(new))).await {
            Err(failure) if failure.code == ErrorCode::Busy => refused = Some(failure),
            recorded => return Ok((recorded?, making)),
        }
    }
    Err(refused.unwrap_or_else(|| Failure::new(ErrorCode::Internal, "the task was not recorded")))
}

/// Carries a creation out. One that fails is undone, and no task is left; files that cannot be copied are reported.
async fn make(runner: &TaskRunner, task: &TaskRecord, making: Making) -> Result<PreparedWorktree, Failure> {
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
        Ok(match copy_files(&git, &creation, &making.init.include) {
            Ok(copied) => PreparedWorktree { copied, failure: None },
            Err(error) => {
                PreparedWorktree { failure: Some(failure(&error).message), ..PreparedWorktree::default() }
            }
        })
    })
    .await;
    pass(TaskFailpoint::Done);
    let end = if made.is_ok() { TaskEnd::Made } else { TaskEnd::Undone };
    runner.end(task.id, end).await?;
    made
}

/// Runs the commands that prepare a worktree, one after the other, up to the first that fails; returns why it did. What
/// has failed stays in the list of processes.
async fn run_init(
    client: &Client,
    task: &TaskRecord,
    making: Making,
    base_env: Option<BTreeMap<String, String>>,
) -> Option<String> {
    for command in making.init.commands {
        let (argv, shown) = match command {
            InitCommand::Line(line) => (vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()], line),
            InitCommand::Words(words) => (words.clone(), words.join(" ")),
        };
        let order = Spawn {
            kind: Kind::Command,
            argv,
            cwd: Some(task.directory.clone()),
            task: Some(task.name.clone()),
            base_env: base_env.clone(),
            ..Spawn::default()
        };
        let shown = Printable(&shown).to_string();
        match run_command(client, order).await {
            Ok(ended) if ended.code == 0 => {}
            Ok(ended) => return Some(format!("`{shown}` failed with {}\n{}", ended.code, ended.tail)),
            Err(failure) => return Some(format!("`{shown}` was not run: {}", failure.message)),
        }
    }
    None
}

/// Decides every detail of a new task, without changing anything. Blocks.
fn plan(
    runner: &TaskRunner,
    request: CreateTask,
    layout: Option<Layout>,
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
            return Err(Failure::invalid("start", "only a new worktree begins from something"));
        }
        return Ok((new, None));
    }
    let git = runner.git()?;
    let repository = Repository::open(&git, &real).map_err(|error| failure(&error))?;
    let name = BranchName::parse(&request.name).map_err(|error| failure(&error))?;
    let (start, base) = start_point(&repository, &name, request.start.as_deref())?;
    let init = match repository.main_checkout() {
        Some(main) => InitFile::read(&main).map_err(|error| failure(&error))?,
        None => InitFile::default(),
    };
    let planned = CreateRequest { name, start, root: runner.root().to_owned() };
    let creation = repository.plan_worktree(&planned).map_err(|error| failure(&error))?;
    new.directory = text(&creation.path);
    new.project.path.clone_from(&new.directory);
    new.branch = Some(creation.branch.to_string());
    new.start = Some(creation.start.to_string());
    new.base = Some(base);
    let plan = Plan::Create { creation: creation.clone(), include: init.include.clone() };
    new.plan = Some(plan.text()?);
    Ok((new, Some(Making { creation, init })))
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
