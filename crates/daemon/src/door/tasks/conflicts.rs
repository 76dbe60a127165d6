//! Conflicts that agents should know of: whenever work in a task has ended, its repository is looked at.

use std::sync::Arc;
use std::time::Duration;

use engine::{AddressedEvent, Caller, TaskCommand, TaskWithProcesses};
use proto::Failure;
use proto::event::Event;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::super::Server;

/// How long one look waits for further work to end: several agents often end their turns together.
const PAUSE: Duration = Duration::from_millis(500);

/// Watches until the daemon ends.
pub(super) async fn watch(door: Server) {
    let (mut events, mut closing) = (door.engine.events(), door.closing.subscribe());
    loop {
        let has_ended = tokio::select! {
            has_ended = work_ended(&mut events) => has_ended,
            _ = closing.wait_for(|is_closing| *is_closing) => false,
        };
        if !has_ended {
            return;
        }
        tokio::time::sleep(PAUSE).await;
        // What ended meanwhile is part of the same look.
        events = events.resubscribe();
        if let Err(failure) = report_conflicts(&door).await {
            tracing::debug!(%failure, "conflicts were not looked for");
        }
    }
}

/// Waits until a turn or a run has ended; returns false when there will be no further event.
async fn work_ended(events: &mut Receiver<Arc<AddressedEvent>>) -> bool {
    loop {
        match events.recv().await {
            Ok(event) => {
                if matches!(event.announcement.what, Event::TurnEnded { .. } | Event::Exited { .. }) {
                    return true;
                }
            }
            // Some of what was missed may have been an end.
            Err(RecvError::Lagged(_)) => return true,
            Err(RecvError::Closed) => return false,
        }
    }
}

/// Looks at the repositories in which an agent works on a task, and reports what would conflict.
async fn report_conflicts(door: &Server) -> Result<(), Failure> {
    let items = door.tasks.ask(&engine::Principal::unlimited(Caller::Person), TaskCommand::List).await?;
    let has_agent = |item: &&TaskWithProcesses| item.processes.iter().any(|process| process.agent.is_some());
    let busy: Vec<Option<String>> =
        items.iter().filter(has_agent).map(|item| item.task.common_dir.clone()).collect();
    let concerned =
        |item: &TaskWithProcesses| item.task.common_dir.is_some() && busy.contains(&item.task.common_dir);
    let concerned: Vec<TaskWithProcesses> = items.into_iter().filter(concerned).collect();
    if concerned.is_empty() {
        return Ok(());
    }
    let ids: Vec<(String, u64)> =
        concerned.iter().map(|item| (item.task.name.clone(), item.task.id)).collect();
    let views = door.tasks.views(concerned).await?;
    // Where git could not say everything, that nothing conflicts is not known.
    let is_incomplete = views.iter().any(|view| view.git.is_none());
    for view in views.into_iter().filter(|view| !is_incomplete || !view.conflicts.is_empty()) {
        if let Some((_, id)) = ids.iter().find(|(name, _)| *name == view.name) {
            let report = TaskCommand::Conflicts { id: *id, conflicts: view.conflicts };
            door.tasks.ask(&engine::Principal::unlimited(Caller::Person), report).await?;
        }
    }
    Ok(())
}
