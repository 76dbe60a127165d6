//! The verbs about tasks: `new`, `tasks`, `run`, `stop`, `diff`, `review`, `forecast`, `land`, `drop`, `restore`, `gc`.
//!
//! Without a name a verb means the task of the current directory; the daemon finds it.

pub(crate) mod change;
pub(crate) mod collect;
pub(crate) mod diff;
pub(crate) mod dropped;
pub(crate) mod land;
pub(crate) mod list;
mod progress;
pub(crate) mod review;
pub(crate) mod run;
mod sessions;

use client::{ClientError, Connection};
use proto::request::{Task, TaskAct, TaskTarget};
use proto::task::{TaskOutcome, TaskProcess, TaskView};
use proto::{ErrorCode, Failure, Kind, Printable, ShellWord};

use super::project::absolute;
use crate::context::Context;
use crate::errors::CliError;

/// Asks about tasks.
fn ask(connection: &mut Connection, act: TaskAct) -> Result<TaskOutcome, CliError> {
    Ok(*connection.task(Task::from(act))?)
}

/// Shows, creates, lands, drops or restores a task. The next daemon goes on when this one ends meanwhile, and the answer is what came
/// of it.
fn operate(context: &mut Context, act: TaskAct) -> Result<TaskOutcome, CliError> {
    Ok(client::reconnecting::task(context.address()?, Task::from(act))?)
}

/// The task of this name, or that of the current directory.
fn target(name: Option<String>) -> Result<TaskTarget, CliError> {
    match name {
        Some(name) => Ok(TaskTarget::Name(name)),
        None => Ok(TaskTarget::Directory(absolute(None, "NAME")?)),
    }
}

/// One task.
pub(crate) fn show(connection: &mut Connection, name: Option<String>) -> Result<TaskView, CliError> {
    match ask(connection, TaskAct::Show(target(name)?))? {
        TaskOutcome::Task(view) => Ok(*view),
        _ => Err(unexpected()),
    }
}

/// The task of this name, or of the current directory; none if there is no such task.
pub(crate) fn find(connection: &mut Connection, name: Option<String>) -> Result<Option<TaskView>, CliError> {
    match show(connection, name) {
        Ok(task) => Ok(Some(task)),
        Err(CliError::Client(ClientError::Failed(failure))) if failure.code == ErrorCode::TaskNotFound => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The process of a task that a person wants to see: its agent, or the only one that runs.
pub(crate) fn process_to_attach(task: &TaskView) -> Result<&TaskProcess, CliError> {
    let live: Vec<&TaskProcess> = task.processes.iter().filter(|process| process.status.is_live()).collect();
    let shown = Printable(&task.name).to_string();
    let agent = live.iter().find(|process| process.kind == Kind::Agent);
    match (agent, &live[..]) {
        (Some(agent), _) => Ok(agent),
        (None, [only]) => Ok(only),
        (None, []) => {
            let message = format!("nothing runs in task \"{shown}\"");
            let failure = Failure::new(ErrorCode::NotRunning, message);
            Err(CliError::Own(failure.hint(format!("qd run {} starts its agent", ShellWord(&task.name)))))
        }
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|process| process.name.as_str()).collect();
            let message = format!("several processes run in task \"{shown}\": {}", names.join(", "));
            Err(CliError::usage(message).hinted("name one of them: qd attach NAME"))
        }
    }
}

/// The daemon answered something else.
pub(crate) fn unexpected() -> CliError {
    CliError::Own(Failure::new(ErrorCode::Internal, "the daemon answered something else about tasks"))
}
