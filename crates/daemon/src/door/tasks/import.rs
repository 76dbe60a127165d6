//! Making a task of a directory in which another program's task worked. Nothing in the directory changes.

use std::path::Path;

use engine::{ImportedTask, LOCAL_WORKSPACE, NewTask, TaskCommand, TaskWithProcesses, Verb};
use proto::request::ImportTask;
use proto::task::TaskImported;
use proto::{ErrorCode, Failure, Printable};
use worktree::{BranchName, Layout, Repository, checkout_status};

use super::super::audit;
use super::super::connection::Client;
use crate::project::{self, ProjectDir};
use crate::tasks::{TaskRunner, blocking, failure};

/// What Quarterdeck needs to know of a worktree that it may remove.
struct OwnWorktree {
    branch: String,
    base: String,
    start: Option<String>,
}

/// Imports one task, or says what would be done.
pub(super) async fn import(client: &Client, request: ImportTask) -> Result<TaskImported, Failure> {
    audit::permit(client, Verb::Administer).await?;
    let runner = client.door.tasks.clone();
    let tasks = runner.ask(&client.principal, TaskCommand::List).await?;
    let is_dry = request.dry_run;
    let (planner, wanted) = (runner.clone(), request);
    let (new, imported) = blocking(move || plan(&planner, wanted, &tasks)).await?;
    if !is_dry {
        runner.ask_one(&client.principal, TaskCommand::Create(Box::new(new))).await?;
    }
    Ok(imported)
}

/// Decides every detail, without changing anything. Blocks.
fn plan(
    runner: &TaskRunner,
    request: ImportTask,
    tasks: &[TaskWithProcesses],
) -> Result<(NewTask, TaskImported), Failure> {
    let directory = project::real("directory", Path::new(&request.directory))?;
    check_free(&request.name, &directory, tasks)?;
    let layout = Layout::find(Path::new(&directory));
    let common_dir = layout.as_ref().map(|layout| layout.common_dir.to_string_lossy().into_owned());
    let found = own_worktree(runner, &request, Path::new(&directory), layout);
    let (own, borrowed_because) = match found {
        Ok(own) => (Some(own), None),
        Err(failure) => (None, request.owned.then_some(failure.message)),
    };
    let imported = TaskImported {
        name: request.name.clone(),
        directory: directory.clone(),
        branch: own.as_ref().map(|own| own.branch.clone()),
        borrowed_because,
    };
    let mut new = NewTask {
        name: request.name,
        workspace: LOCAL_WORKSPACE.to_owned(),
        project: ProjectDir::of(Path::new(&directory)).map(|found| found.project).unwrap_or_default(),
        common_dir,
        directory,
        agent: request.agent,
        imported: Some(ImportedTask {
            is_owned: own.is_some(),
            created_at: request.created_at,
            runs: request.runs,
        }),
        ..NewTask::default()
    };
    if let Some(own) = own {
        (new.branch, new.base, new.start) = (Some(own.branch), Some(own.base), own.start);
    }
    Ok((new, imported))
}

/// Refuses a name or a directory that a task has.
fn check_free(name: &str, directory: &str, tasks: &[TaskWithProcesses]) -> Result<(), Failure> {
    let shown = Printable(name).to_string();
    for TaskWithProcesses { task, .. } in tasks {
        if task.name == name && task.directory == directory {
            return Err(Failure::new(ErrorCode::Conflict, format!("task \"{shown}\" is here already")));
        }
        if task.name == name {
            let message = format!("there is another task \"{shown}\"");
            return Err(Failure::new(ErrorCode::Conflict, message).hint("drop that one first"));
        }
        if task.directory == directory {
            let message = format!("task \"{}\" works in that directory already", Printable(&task.name));
            return Err(Failure::new(ErrorCode::Conflict, message));
        }
    }
    Ok(())
}

/// The worktree that a task owns: a linked one, with the branch of the task's name checked out. An error says why it is
/// none.
fn own_worktree(
    runner: &TaskRunner,
    request: &ImportTask,
    directory: &Path,
    layout: Option<Layout>,
) -> Result<OwnWorktree, Failure> {
    let refused = |why: &str| Failure::new(ErrorCode::Conflict, why);
    if !request.owned {
        return Err(refused("the other program did not make the directory"));
    }
    let layout = layout.filter(|layout| layout.is_linked() && layout.top.as_deref() == Some(directory));
    let layout = layout.ok_or_else(|| refused("the directory is no worktree of a repository"))?;
    let git = runner.git()?;
    let repository = Repository::open(&git, &layout.common_dir).map_err(|error| failure(&error))?;
    let status = checkout_status(&git, directory).map_err(|error| failure(&error))?;
    let name = BranchName::parse(&request.name).map_err(|error| failure(&error))?;
    if status.branch.as_deref() != Some(name.as_str()) {
        return Err(refused("the branch of the task's name is not checked out there"));
    }
    let base = repository.default_branch().map_err(|error| failure(&error))?;
    let merge_base = || {
        let base = repository.commit(&base).ok()?;
        repository.compare(&base, &repository.branch(&name).ok()??).ok()?.merge_base
    };
    let start = repository.branch_beginning(&name).or_else(merge_base).map(|oid| oid.to_string());
    Ok(OwnWorktree { branch: name.to_string(), base, start })
}
