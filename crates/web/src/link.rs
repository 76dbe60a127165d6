//! What a link shows: one process, or one task with its changes, its review and the screens of its processes.
//!
//! The daemon limits a link's connections to watching in one workspace. That it shows no more of the workspace than its target
//! is decided here, before a handler runs.

use axum::extract::RawPathParams;
use axum::http::StatusCode;
use proto::request::{Task, TaskAct, TaskTarget};
use proto::task::{TaskOutcome, TaskView};
use proto::{ErrorCode, Printable, ProcessView, Reply, Request};

use crate::gateway::Gateway;
use crate::identity::{AccessIdentity, LinkTarget};
use crate::problem::Problem;

/// Which part of a target a route shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// What belongs to the caller itself, and lists that have nothing but the target's processes.
    Own,
    /// The process of the path.
    Process,
    /// The task of the path.
    Task,
    /// Nothing of it.
    Nothing,
}

impl Part {
    /// A route that is not named here shows nothing to a link.
    fn of(path: &str) -> Self {
        let is_below =
            |root: &str| path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        match path {
            "/api/v1/me" | "/api/v1/logout" | "/api/v1/tickets" | "/api/v1/processes" | "/api/v1/inbox" => {
                Self::Own
            }
            _ if is_below("/api/v1/processes/{id}") => Self::Process,
            _ if is_below("/api/v1/tasks/{task}") => Self::Task,
            _ => Self::Nothing,
        }
    }
}

/// Refuses a link everything beside its target; other callers pass.
pub(crate) async fn check_route(
    gateway: &Gateway,
    caller: &AccessIdentity,
    path: &str,
    named: &RawPathParams,
) -> Result<(), Problem> {
    let Some(target) = &caller.scope.target else { return Ok(()) };
    let find = |name: &str| named.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
    match Part::of(path) {
        Part::Own => Ok(()),
        Part::Process => check_process(gateway, caller, find("id")).await,
        Part::Task => match target {
            LinkTarget::Task { task, .. } if task == find("task") => {
                linked_task(gateway, caller, target).await.map(drop)
            }
            _ => Err(beside(target)),
        },
        Part::Nothing => Err(beside(target)),
    }
}

/// Refuses a link a process that is not its target's; other callers pass. Names are refused: another process may get them.
pub(crate) async fn check_process(
    gateway: &Gateway,
    caller: &AccessIdentity,
    id: &str,
) -> Result<(), Problem> {
    let Some(target) = &caller.scope.target else { return Ok(()) };
    let is_shown = match target {
        LinkTarget::Process(only) => only == id,
        LinkTarget::Task { .. } => {
            let task = linked_task(gateway, caller, target).await?;
            task.processes.iter().any(|process| process.id.to_string() == id)
        }
    };
    if is_shown { Ok(()) } else { Err(beside(target)) }
}

/// Returns those of the processes that a caller may know of.
pub(crate) async fn visible_processes(
    gateway: &Gateway,
    caller: &AccessIdentity,
    mut all: Vec<ProcessView>,
) -> Result<Vec<ProcessView>, Problem> {
    match &caller.scope.target {
        None => {}
        Some(LinkTarget::Process(only)) => all.retain(|process| process.id.to_string() == *only),
        Some(target @ LinkTarget::Task { .. }) => {
            let task = linked_task(gateway, caller, target).await?;
            all.retain(|process| task.processes.iter().any(|own| own.id == process.id));
        }
    }
    Ok(all)
}

/// Returns the task of a link. A task of the same name that was made later is another one.
async fn linked_task(
    gateway: &Gateway,
    caller: &AccessIdentity,
    target: &LinkTarget,
) -> Result<TaskView, Problem> {
    let LinkTarget::Task { task, created_at } = target else { return Err(beside(target)) };
    let found = find_task(gateway, caller, task).await?;
    if found.created_at != *created_at {
        let message = format!("the task \"{}\" of this link is gone", Printable(task));
        return Err(Problem::new(StatusCode::NOT_FOUND, ErrorCode::TaskNotFound, message));
    }
    Ok(found)
}

/// Returns the task of a name, as far as the caller may know of it.
pub(crate) async fn find_task(
    gateway: &Gateway,
    caller: &AccessIdentity,
    name: &str,
) -> Result<TaskView, Problem> {
    let show = TaskAct::Show(TaskTarget::Name(name.to_owned()));
    match gateway.door.ask(caller, Request::Task(Task::from(show))).await? {
        Reply::Task(outcome) => match *outcome {
            TaskOutcome::Task(view) => Ok(*view),
            _ => Err(Problem::internal("show was answered with something else")),
        },
        _ => Err(Problem::internal("task was answered with something else")),
    }
}

fn beside(target: &LinkTarget) -> Problem {
    Problem::denied(match target {
        LinkTarget::Process(_) => "this link shows one process only",
        LinkTarget::Task { .. } => "this link shows one task only",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::{Access, ROUTES};
    use proto::Role;

    #[test]
    fn w6_a_link_reaches_routes_that_only_look_at_one_process_or_one_task() {
        for route in ROUTES.iter().filter(|route| route.access == Access::Role(Role::View)) {
            let part = Part::of(route.path);
            let is_of_one = route.path.contains("{id}") || route.path.contains("{task}");
            match part {
                Part::Own | Part::Nothing => assert!(!is_of_one, "{route:?}"),
                Part::Process | Part::Task => assert!(is_of_one, "{route:?}"),
            }
        }
        for elsewhere in [
            "/api/v1/inbox/{item}/answer",
            "/api/v1/pads",
            "/api/v1/tasks",
            "/api/v1/push/subscriptions",
            "/metrics",
            "/api/v1/processes/{id}x",
        ] {
            assert_eq!(Part::of(elsewhere), Part::Nothing, "{elsewhere}");
        }
    }
}
