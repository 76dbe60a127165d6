//! Landing a task: combined aside, tried by its gate, then one step forward.
//!
//! The gate is a process of Quarterdeck's own: people see it, and what an agent brings needs trust like any command.

use std::path::{Path, PathBuf};

use engine::{Command, CommandAnswer, TaskCommand, TaskEnd, TaskRecord, Verb};
use proto::request::{Close, Empty, LandTask, Read, ReadMode, Spawn, Tell, Until, Wait};
use proto::task::{TaskCheckout, TaskLanded, TaskOperationKind, TaskOutcome};
use proto::{ErrorCode, Failure, Kind, ProcessId, Reply, Stop, Target};
use worktree::{
    BranchName, LandMethod, LandRequest, Landing, Prepared, Repository, TargetCheckout, checkout_status,
};

use super::super::connection::Client;
use super::super::{read, spawn};
use super::change::begin;
use super::find;
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::Plan;
use crate::tasks::{TaskRunner, blocking, failure};

/// How much of a gate's output its failure shows, in bytes.
const TAIL: usize = 4_000;

/// Lands a task's branch, or leaves everything as it was.
pub(super) async fn land(client: &Client, request: LandTask) -> Result<TaskOutcome, Failure> {
    let sight = find(client, request.target.clone(), Verb::Drive).await?;
    let (runner, task) = (client.door.tasks.clone(), sight.task);
    let Some(common_dir) = task.common_dir.clone().map(PathBuf::from) else {
        return Err(Failure::invalid("name", "the task is in no repository"));
    };
    let _landing = runner.lock_landing(&common_dir).await?;
    let changing = runner.lock(&common_dir).await?;
    let (planner, planned, asked) = (runner.clone(), task.clone(), request.clone());
    let landing = blocking(move || plan(&planner, &planned, &asked)).await?;
    let recorded = Plan::Land { landing: landing.clone(), prepared: None };
    begin(client, task.id, TaskOperationKind::Land, &recorded).await?;
    pass(TaskFailpoint::Planned);
    let landed = prepare(&runner, &task, &landing).await;
    // Others may work in the repository while the gate runs: the target moves by one step that names its old commit.
    drop(changing);
    let landed = match landed {
        Ok(prepared) => go_on(client, &task, &landing, &prepared, &request).await,
        Err(failure) => Err(failure),
    };
    match landed {
        Ok(outcome) => Ok(TaskOutcome::Landed(outcome)),
        Err(failure) => Err(abort(client, &task, landing, &request, failure).await),
    }
}

fn plan(runner: &TaskRunner, task: &TaskRecord, request: &LandTask) -> Result<Landing, Failure> {
    let git_failure = |error: worktree::GitError| failure(&error);
    let git = runner.git()?;
    let repository = Repository::open(&git, Path::new(&task.directory)).map_err(git_failure)?;
    let status = checkout_status(&git, Path::new(&task.directory)).map_err(git_failure)?;
    let branch = task.branch.clone().or(status.branch.clone()).ok_or_else(|| {
        Failure::new(ErrorCode::Conflict, "no branch is checked out in the task's directory")
    })?;
    if status.is_dirty() || status.untracked > 0 {
        let message = format!("task \"{}\" has work that is not committed", proto::Printable(&task.name));
        return Err(Failure::new(ErrorCode::Conflict, message).hint("commit it first, or ask its agent to"));
    }
    let target = match request.into.clone().or_else(|| task.base.clone()) {
        Some(target) => target,
        None => repository.default_branch().map_err(git_failure)?,
    };
    let planned = LandRequest {
        branch: BranchName::parse(&branch).map_err(git_failure)?,
        target: BranchName::parse(&target).map_err(git_failure)?,
        method: if request.merge { LandMethod::Merge } else { LandMethod::Rebase },
        root: runner.root().to_owned(),
    };
    repository.plan_landing(&planned).map_err(git_failure)
}

/// Combines branch and target in a scratch worktree and records the result.
async fn prepare(runner: &TaskRunner, task: &TaskRecord, landing: &Landing) -> Result<Prepared, Failure> {
    let (worker, planned) = (runner.clone(), landing.clone());
    let prepared = blocking(move || planned.prepare(&worker.git()?).map_err(|error| failure(&error))).await?;
    let plan = Plan::Land { landing: landing.clone(), prepared: Some(prepared.clone()) }.text()?;
    runner.ask(engine::Caller::Human, TaskCommand::Advance { id: task.id, plan }).await?;
    pass(TaskFailpoint::Prepared);
    Ok(prepared)
}

/// Runs the gate and moves the target.
async fn go_on(
    client: &Client,
    task: &TaskRecord,
    landing: &Landing,
    prepared: &Prepared,
    request: &LandTask,
) -> Result<TaskLanded, Failure> {
    if let Some(gate) = &request.gate {
        run_gate(client, task, landing, gate, request).await?;
    }
    pass(TaskFailpoint::GatePassed);
    let runner = client.door.tasks.clone();
    let _changing = runner.lock(&landing.common_dir).await?;
    let (worker, planned, result) = (runner.clone(), landing.clone(), prepared.clone());
    let finish = move || planned.finish(&worker.git()?, &result).map_err(|error| failure(&error));
    let checkout = blocking(finish).await?;
    pass(TaskFailpoint::Done);
    let (into, commit) = (landing.target.0.to_string(), prepared.result.to_string());
    runner.end(task.id, TaskEnd::Landed { into: into.clone(), commit: commit.clone() }).await?;
    let path = |path: PathBuf| path.to_string_lossy().into_owned();
    let checkout = match checkout {
        TargetCheckout::Absent => TaskCheckout::Absent,
        TargetCheckout::Updated(at) => TaskCheckout::Updated { path: path(at) },
        TargetCheckout::Left(at) => TaskCheckout::Left { path: path(at) },
    };
    Ok(TaskLanded { name: task.name.clone(), into, commit, checkout })
}

/// Runs the gate to its end; an error holds the end of its output.
async fn run_gate(
    client: &Client,
    task: &TaskRecord,
    landing: &Landing,
    gate: &str,
    request: &LandTask,
) -> Result<(), Failure> {
    let order = Spawn {
        kind: Kind::Command,
        argv: ["/bin/sh", "-c", gate].map(str::to_owned).to_vec(),
        cwd: Some(landing.scratch.to_string_lossy().into_owned()),
        workspace: Some(task.workspace.clone()),
        base_env: request.base_env.clone(),
        size: request.size,
        ..Spawn::default()
    };
    let Reply::Spawned(spawned) = spawn::spawn(client, order).await? else {
        return Err(Failure::new(ErrorCode::Internal, "the gate was not started"));
    };
    let target = || Target(spawned.id.to_string());
    let wait = Wait::until(vec![target()], Until::Exit(Empty {}));
    let waited = client.door.engine.ask(client.caller, Command::Wait(wait)).await;
    let tail = tail(client, spawned.id).await;
    let close = Close { target: target(), keep_background: false, stop: Stop::default() };
    client.door.engine.ask(client.caller, Command::Close(close)).await?;
    let CommandAnswer::Reply(Reply::Waited(waited)) = waited? else {
        return Err(Failure::new(ErrorCode::Internal, "the gate's end was not seen"));
    };
    let exit = waited.satisfied.first().and_then(|satisfied| satisfied.exit);
    match exit {
        Some(exit) if exit.code == Some(0) => Ok(()),
        exit => {
            let code = exit.map_or(1, |exit| exit.shell_code());
            let message = format!("the gate failed with {code}; nothing was landed\n{tail}");
            Err(Failure::new(ErrorCode::Conflict, message).hint("mend it in the task's directory and commit"))
        }
    }
}

/// The end of what a gate printed.
async fn tail(client: &Client, id: ProcessId) -> String {
    let request = Read {
        target: Target(id.to_string()),
        mode: ReadMode::History,
        limit: u32::try_from(TAIL).ok(),
        join: true,
        ..Read::default()
    };
    match read::read(client, request).await {
        Ok(Reply::Text(text)) => text.text.trim_end().to_owned(),
        _ => String::new(),
    }
}

/// Leaves everything as it was, and returns why it did not land.
async fn abort(
    client: &Client,
    task: &TaskRecord,
    landing: Landing,
    request: &LandTask,
    why: Failure,
) -> Failure {
    let runner = client.door.tasks.clone();
    let _changing = match runner.lock(&landing.common_dir).await {
        Ok(permit) => permit,
        Err(failure) => return failure,
    };
    let worker = runner.clone();
    let aborted = blocking(move || landing.abort(&worker.git()?).map_err(|error| failure(&error))).await;
    let end = TaskEnd::NotLanded { why: why.message.clone() };
    if let Err(failure) = aborted.and(runner.end(task.id, end).await) {
        return failure;
    }
    if request.tell && request.gate.is_some() {
        send_to_agent(client, task, &why.message).await;
    }
    why
}

/// Gives the task's agent the end of a failing gate's output.
async fn send_to_agent(client: &Client, task: &TaskRecord, message: &str) {
    let found = TaskCommand::Find { name: task.name.clone(), verb: Verb::List };
    let Ok(sight) = client.door.tasks.ask_one(client.caller, found).await else { return };
    let agent = sight.processes.iter().find(|process| process.agent.is_some());
    if let Some(agent) = agent {
        let text = format!("Landing {} failed: {message}", task.name);
        let target = Target(agent.id.to_string());
        let tell = Tell { target, text, key: None, wait_ms: Some(0), expires_ms: None };
        if let Err(failure) = client.door.engine.ask(client.caller, Command::Tell(tell)).await {
            tracing::debug!(%failure, "the message about a failed gate was not sent");
        }
    }
}
