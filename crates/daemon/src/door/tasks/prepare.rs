//! Preparing a new worktree: the commands of the init file, one after the other, up to the first that fails.
//!
//! They are processes of the task, which outlive the daemon. How far they came is recorded, so the next daemon goes on with
//! the one that runs; its later ones have the variables that every process may have, because the person's are not stored.

use std::collections::BTreeMap;

use engine::{Caller, Principal, TaskCommand, TaskEnd, TaskRecord};
use proto::request::Spawn;
use proto::task::process_name;
use proto::{ErrorCode, Failure, Kind, Printable};
use worktree::InitCommand;

use super::super::Server;
use super::super::connection::Client;
use super::run::{close, finish_command, start_command};
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::{Plan, Preparation};

/// Prepares a worktree and records how that ended; returns why it failed. What has failed stays in the list of processes.
pub(super) async fn prepare(
    client: &Client,
    task: &TaskRecord,
    preparation: Preparation,
    base_env: Option<BTreeMap<String, String>>,
) -> Result<Option<String>, Failure> {
    pass(TaskFailpoint::Made);
    let failure = run(client, task, preparation, base_env).await?;
    client.door.tasks.end(task.id, TaskEnd::Prepared { failure: failure.clone() }).await?;
    Ok(failure)
}

/// Goes on with a preparation that an earlier daemon left.
pub(super) async fn resume(
    door: &Server,
    task: &TaskRecord,
    preparation: Preparation,
) -> Result<(), Failure> {
    let client = Client::internal(door.clone(), preparation.principal());
    prepare(&client, task, preparation, None).await.map(drop)
}

/// Begins the preparation that follows a creation.
pub(super) async fn resume_plan(door: &Server, task: &TaskRecord, plan: &str) -> Result<(), Failure> {
    match Plan::read(plan)? {
        Plan::Prepare(preparation) => resume(door, task, preparation).await,
        _ => Ok(()),
    }
}

async fn run(
    client: &Client,
    task: &TaskRecord,
    mut preparation: Preparation,
    base_env: Option<BTreeMap<String, String>>,
) -> Result<Option<String>, Failure> {
    if preparation.failure.is_some() {
        return Ok(preparation.failure);
    }
    while let Some(command) = preparation.commands.front() {
        let (argv, shown) = match command {
            InitCommand::Line(line) => (["/bin/sh", "-c", line].map(str::to_owned).to_vec(), line.clone()),
            InitCommand::Words(words) => (words.clone(), words.join(" ")),
        };
        let order = Spawn {
            kind: Kind::Command,
            name: process_name(&format!("prepare-{}", task.name)).map(|name| name.to_string()),
            argv,
            cwd: Some(task.directory.clone()),
            task: Some(task.name.clone()),
            base_env: base_env.clone(),
            // The one that an earlier daemon started goes on.
            key: Some(format!("prepare {}-{} {}", task.id, task.created_at, preparation.step)),
            ..Spawn::default()
        };
        let shown = Printable(&shown).to_string();
        let process = match start_command(client, order).await {
            Ok(process) => process,
            Err(failure) if failure.code == ErrorCode::ShuttingDown => return Err(failure),
            Err(failure) => return Ok(Some(format!("`{shown}` was not run: {}", failure.message))),
        };
        pass(TaskFailpoint::Preparing);
        match finish_command(client, process).await {
            Ok(ended) if ended.code == 0 => {}
            Ok(ended) => return Ok(Some(format!("`{shown}` failed with {}\n{}", ended.code, ended.tail))),
            // The next daemon goes on.
            Err(failure) if failure.code == ErrorCode::ShuttingDown => return Err(failure),
            Err(failure) => return Ok(Some(format!("`{shown}` has no known end: {}", failure.message))),
        }
        preparation.commands.pop_front();
        preparation.step += 1;
        let plan = Plan::Prepare(preparation.clone()).text()?;
        let advance = TaskCommand::Advance { id: task.id, plan };
        client.door.tasks.ask(&Principal::unlimited(Caller::Person), advance).await?;
        close(client, process).await;
    }
    Ok(None)
}
