//! Requests that are sent again because the answer to the first was lost: nothing is done twice, and the answer is what came
//! of the first one.

use engine::{TaskCommand, TaskRecord, TaskWithProcesses};
use proto::task::{TaskCheckout, TaskCreated, TaskDropped, TaskEventKind, TaskLanded, TaskOutcome};
use proto::{ErrorCode, Failure, Printable};

use super::super::connection::Client;
use super::view;

/// Longest key.
const MAX_KEY: usize = 200;

/// Waits until the request with this key is carried out and returns what came of it; `None` if nothing of it was recorded, or
/// if it was undone: then it is done now.
pub(super) async fn answer(client: &Client, key: &str) -> Result<Option<TaskOutcome>, Failure> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(Failure::invalid("key", format!("between 1 and {MAX_KEY} bytes")));
    }
    let runner = &client.door.tasks;
    let mut ends = runner.ends();
    loop {
        ends.mark_unchanged();
        let request = TaskCommand::FindRequest { key: key.to_owned() };
        let Some(item) = runner.ask(&client.principal, request).await?.into_iter().next() else {
            return Ok(None);
        };
        if let Some(end) = item.task.end_of(key).cloned() {
            return outcome(client, item, end).await.map(Some);
        }
        if let Some(why) = runner.unfinishable(item.task.id) {
            return Err(unknown(&item.task, &why));
        }
        if ends.changed().await.is_err() {
            return Err(Failure::new(ErrorCode::ShuttingDown, "the daemon is ending"));
        }
    }
}

/// What the first request would have been answered.
async fn outcome(
    client: &Client,
    item: TaskWithProcesses,
    end: TaskEventKind,
) -> Result<TaskOutcome, Failure> {
    let name = item.task.name.clone();
    match end {
        // What could not be deleted is in the log of the daemon that tried.
        TaskEventKind::Dropped { trash } => {
            Ok(TaskOutcome::Dropped(TaskDropped { name, trash, left: Vec::new() }))
        }
        TaskEventKind::Landed { into, commit, checkout } => {
            let checkout = checkout.unwrap_or(TaskCheckout::Absent);
            Ok(TaskOutcome::Landed(TaskLanded { name, into, commit, checkout }))
        }
        TaskEventKind::LandingFailed { why, .. } => {
            Err(Failure::new(ErrorCode::Conflict, why).hint("correct it in the task's directory and commit"))
        }
        TaskEventKind::Restored => Ok(TaskOutcome::Task(Box::new(view(client, item).await?))),
        TaskEventKind::Created | TaskEventKind::WorktreeMade => created(client, item, None).await,
        TaskEventKind::Prepared { failure } => created(client, item, failure).await,
        TaskEventKind::RunStarted { .. }
        | TaskEventKind::RunEnded { .. }
        | TaskEventKind::ConflictsChanged { .. } => {
            Err(Failure::new(ErrorCode::Internal, "the request has an end that belongs to none"))
        }
    }
}

/// The names of the files that were copied are not kept.
async fn created(
    client: &Client,
    item: TaskWithProcesses,
    failure: Option<String>,
) -> Result<TaskOutcome, Failure> {
    let task = view(client, item).await?;
    let created = TaskCreated { task, copied: Vec::new(), skipped: Vec::new(), failure };
    Ok(TaskOutcome::Created(Box::new(created)))
}

fn unknown(task: &TaskRecord, why: &str) -> Failure {
    let doing = task.operation.as_ref().map_or("being changed", |operation| operation.kind.doing());
    let message = format!(
        "the daemon ended while task \"{}\" was {doing}, and the next one cannot finish that: {why}",
        Printable(&task.name)
    );
    Failure::new(ErrorCode::UnknownOutcome, message)
        .hint("qd tasks shows where it stands; the next daemon tries again")
}
