//! The verbs about tasks: `new`, `tasks`, `run`, `stop`, `diff`, `review`, `forecast`, `land`, `drop`, `restore`.
//!
//! Without a name a verb means the task of the current directory; the daemon finds it.

pub(crate) mod change;
pub(crate) mod diff;
pub(crate) mod land;
pub(crate) mod list;
pub(crate) mod review;
pub(crate) mod run;
mod sessions;

use client::Connection;
use proto::request::{Task, TaskAct, TaskTarget};
use proto::task::{TaskOutcome, TaskView};
use proto::{ErrorCode, Failure};

use super::project::absolute;
use crate::errors::CliError;

/// Asks about tasks.
fn ask(connection: &mut Connection, act: TaskAct) -> Result<TaskOutcome, CliError> {
    Ok(*connection.task(Task { act })?)
}

/// The task of this name, or that of the current directory.
fn target(name: Option<String>) -> Result<TaskTarget, CliError> {
    match name {
        Some(name) => Ok(TaskTarget::Name(name)),
        None => Ok(TaskTarget::Directory(absolute(None, "NAME")?)),
    }
}

/// One task.
fn show(connection: &mut Connection, name: Option<String>) -> Result<TaskView, CliError> {
    match ask(connection, TaskAct::Show(target(name)?))? {
        TaskOutcome::Task(view) => Ok(*view),
        _ => Err(unexpected()),
    }
}

/// The daemon answered something else.
fn unexpected() -> CliError {
    CliError::Own(Failure::new(ErrorCode::Internal, "the daemon answered something else about tasks"))
}
