//! Landing a task: combined aside, tried by its gate, then one step forward.
//!
//! The gate is a process of Quarterdeck's own: people see it, and what an agent brings needs trust like any command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use engine::{Command, TaskCommand, TaskEnd, TaskRecord, Verb};
use proto::request::{LandTask, Spawn, Tell};
use proto::task::{TaskLanded, TaskOperationKind, TaskOutcome, process_name};
use proto::{ErrorCode, Failure, Kind, Printable, ProcessId, Target};
use worktree::{
    BranchName, Git, LandMethod, LandRequest, Landing, Merged, Prepared, Repository, Resumed, TargetCheckout,
    checkout_status,
};

use super::super::Server;
use super::super::connection::Client;
use super::change::begin;
use super::find;
use super::run::{CommandEnd, close, finish_command, start_command};
use crate::tasks::failpoint::{TaskFailpoint, pass};
use crate::tasks::plan::{Plan, QueuedLanding, checkout};
use crate::tasks::{TaskRunner, blocking, failure};

/// Lands a task's branch, or leaves everything as it was. Landings in one repository wait for one another in the order in
/// which they came; the queue is recorded, and the next daemon goes on with it.
pub(super) async fn land(
    client: &Client,
    request: LandTask,
    key: Option<String>,
) -> Result<TaskOutcome, Failure> {
    let item = find(client, request.target.clone(), Verb::Drive).await?;
    let task = item.task;
    if task.common_dir.is_none() {
        let message =
            format!("task \"{}\" is in no repository: it has nothing to land", Printable(&task.name));
        return Err(Failure::new(ErrorCode::InvalidArgs, message).hint("qd tasks lists where the tasks are"));
    }
    let queued = QueuedLanding::new(&request, &client.principal, crate::clock::now().wall_ms);
    begin(client, task.id, TaskOperationKind::Land, &Plan::Queued(queued.clone()), key).await?;
    pass(TaskFailpoint::Queued);
    carry_out(client, &task, request, queued).await.map(TaskOutcome::Landed)
}

/// Goes on with the landings that an earlier daemon left, in each repository in the order in which they came.
pub(crate) fn resume_landings(door: &Server, unfinished: Vec<(TaskRecord, Plan)>) {
    let mut repositories: BTreeMap<String, Vec<(TaskRecord, Plan)>> = BTreeMap::new();
    for (task, plan) in unfinished {
        repositories.entry(task.common_dir.clone().unwrap_or_default()).or_default().push((task, plan));
    }
    for mut landings in repositories.into_values() {
        landings.sort_by_key(|(_, plan)| plan.queued().map(|queued| queued.at));
        let door = door.clone();
        drop(tokio::spawn(async move {
            for (task, plan) in landings {
                resume(&door, &task, plan).await;
            }
        }));
    }
}

/// Finishes a landing whose target has moved; begins any other one anew.
async fn resume(door: &Server, task: &TaskRecord, plan: Plan) {
    let Some(queued) = plan.queued().cloned() else { return };
    let client = Client::internal(door.clone(), queued.principal());
    if let Plan::Land { gate: Some(gate), .. } = &plan {
        close(&client, *gate).await;
    }
    match finish_moved(door, task, plan).await {
        Ok(true) => return,
        Ok(false) => {}
        // Whether it has landed is not known, so it must not be tried again.
        Err(failure) => return door.tasks.give_up(task, &failure),
    }
    if let Err(failure) = carry_out(&client, task, queued.request.clone(), queued).await {
        tracing::warn!(name = task.name, %failure, "a landing that was cut short did not succeed");
    }
}

/// Ends a landing whose target has moved; returns true if it had.
async fn finish_moved(door: &Server, task: &TaskRecord, plan: Plan) -> Result<bool, Failure> {
    let Plan::Land { .. } = &plan else { return Ok(false) };
    let _changing = door.tasks.lock(Path::new(task.common_dir.as_deref().unwrap_or_default())).await?;
    let worker = door.tasks.clone();
    let end = blocking(move || plan.resume(&worker.git()?)).await?;
    let has_landed = matches!(end, TaskEnd::Landed { .. });
    if has_landed {
        door.tasks.end(task.id, end).await?;
    }
    Ok(has_landed)
}

/// Lands a task whose turn in the queue is recorded.
async fn carry_out(
    client: &Client,
    task: &TaskRecord,
    request: LandTask,
    queued: QueuedLanding,
) -> Result<TaskLanded, Failure> {
    let runner = client.door.tasks.clone();
    let common_dir = PathBuf::from(task.common_dir.as_deref().unwrap_or_default());
    let _landing = runner.lock_landing(&common_dir).await?;
    let changing = runner.lock(&common_dir).await?;
    let (planner, planned, asked) = (runner.clone(), task.clone(), request.clone());
    let landing = match blocking(move || plan(&planner, &planned, &asked)).await {
        Ok(landing) => landing,
        // Nothing was tried, so nothing is kept: who asks again reads the same.
        Err(failure) => {
            runner.end(task.id, TaskEnd::Undone).await?;
            return Err(failure);
        }
    };
    let mut step = LandingStep { client, task, request: &request, landing: &landing, queued: &queued };
    let prepared = step.prepare().await;
    // Others may work in the repository while the gate runs: the target moves by one step that names its old commit.
    drop(changing);
    let landed = match prepared {
        Ok(prepared) => step.go_on(&prepared).await,
        Err(failure) => Err(LandError::NotLanded(failure)),
    };
    match landed {
        Ok(landed) => Ok(landed),
        Err(LandError::NotLanded(failure)) => Err(abort(client, task, landing, &request, failure).await),
        Err(LandError::Unknown(failure)) => {
            runner.give_up(task, &failure);
            Err(failure)
        }
    }
}

/// Why a landing did not come to its end.
enum LandError {
    /// The target has not moved.
    NotLanded(Failure),
    /// The target may have moved; the next daemon finds out.
    Unknown(Failure),
}

impl From<Failure> for LandError {
    fn from(failure: Failure) -> Self {
        Self::NotLanded(failure)
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
        let message = format!("task \"{}\" has work that is not committed", Printable(&task.name));
        return Err(Failure::new(ErrorCode::Conflict, message).hint("commit it first, or ask its agent to"));
    }
    let target = match request.into.clone().or_else(|| task.base.clone()) {
        Some(target) => target,
        None => repository.default_branch().map_err(git_failure)?,
    };
    check_work(&repository, &task.name, &branch, &target)?;
    let planned = LandRequest {
        branch: BranchName::parse(&branch).map_err(git_failure)?,
        target: BranchName::parse(&target).map_err(git_failure)?,
        method: if request.merge { LandMethod::Merge } else { LandMethod::Rebase },
        root: runner.root()?,
    };
    repository.plan_landing(&planned).map_err(git_failure)
}

/// A branch whose work the target has already does not land again.
fn check_work(repository: &Repository, name: &str, branch: &str, target: &str) -> Result<(), Failure> {
    let commit = |name: &str| repository.commit(&format!("refs/heads/{name}"));
    // A branch that is not there is reported by the plan, in its own words.
    let (Ok(head), Ok(base)) = (commit(branch), commit(target)) else { return Ok(()) };
    let comparison = repository.compare(&base, &head).map_err(|error| failure(&error))?;
    let (name, target) = (Printable(name), Printable(target));
    let message = match comparison.merged {
        Merged::No => return Ok(()),
        Merged::Nothing => format!("nothing to land: {target} already has every commit of {name}"),
        Merged::Ancestor | Merged::Rebased | Merged::Squashed => {
            format!("nothing to land: the work of {name} is in {target} already")
        }
    };
    Err(Failure::new(ErrorCode::Conflict, message).hint("qd diff shows what is not committed"))
}

/// A landing on its way.
struct LandingStep<'a> {
    client: &'a Client,
    task: &'a TaskRecord,
    request: &'a LandTask,
    landing: &'a Landing,
    queued: &'a QueuedLanding,
}

impl LandingStep<'_> {
    /// Records how far it has come.
    async fn record(&self, prepared: Option<&Prepared>, gate: Option<ProcessId>) -> Result<(), Failure> {
        let (landing, queued) = (self.landing.clone(), self.queued.clone());
        let plan = Plan::Land { landing, prepared: prepared.cloned(), queued, gate }.text()?;
        let advance = TaskCommand::Advance { id: self.task.id, plan };
        self.client
            .door
            .tasks
            .ask(&engine::Principal::unlimited(engine::Caller::Person), advance)
            .await
            .map(drop)
    }

    /// Combines branch and target in a scratch worktree and records the result.
    async fn prepare(&mut self) -> Result<Prepared, Failure> {
        self.record(None, None).await?;
        pass(TaskFailpoint::Planned);
        let (worker, planned) = (self.client.door.tasks.clone(), self.landing.clone());
        let prepare = move || planned.prepare(&worker.git()?).map_err(|error| failure(&error));
        let prepared = blocking(prepare).await?;
        self.record(Some(&prepared), None).await?;
        pass(TaskFailpoint::Prepared);
        Ok(prepared)
    }

    /// Runs the gate and moves the target.
    async fn go_on(&mut self, prepared: &Prepared) -> Result<TaskLanded, LandError> {
        if let Some(gate) = &self.request.gate {
            self.run_gate(gate, prepared).await?;
        }
        pass(TaskFailpoint::GatePassed);
        let runner = self.client.door.tasks.clone();
        let _changing = runner.lock(&self.landing.common_dir).await?;
        let (git, planned, result) = (runner.clone(), self.landing.clone(), prepared.clone());
        let finished = blocking(move || finish(&git.git()?, &planned, &result)).await;
        let moved = finished.map_err(LandError::Unknown)??;
        pass(TaskFailpoint::Done);
        let (into, commit) = (self.landing.target.0.to_string(), prepared.result.to_string());
        let checkout = checkout(moved);
        let end = TaskEnd::Landed { into: into.clone(), commit: commit.clone(), checkout: checkout.clone() };
        runner.end(self.task.id, end).await.map_err(LandError::Unknown)?;
        Ok(TaskLanded { name: self.task.name.clone(), into, commit, checkout })
    }

    /// Runs the gate to its end; an error holds the end of its output.
    async fn run_gate(&self, gate: &str, prepared: &Prepared) -> Result<(), Failure> {
        let order = Spawn {
            kind: Kind::Command,
            name: process_name(&format!("gate-{}", self.task.name)).map(|name| name.to_string()),
            argv: ["/bin/sh", "-c", gate].map(str::to_owned).to_vec(),
            cwd: Some(self.landing.scratch.to_string_lossy().into_owned()),
            workspace: Some(self.task.workspace.clone()),
            base_env: self.request.base_env.clone(),
            size: self.request.size,
            ..Spawn::default()
        };
        let process = start_command(self.client, order).await?;
        self.record(Some(prepared), Some(process)).await?;
        pass(TaskFailpoint::GateStarted);
        let CommandEnd { code, tail } = finish_command(self.client, process).await?;
        close(self.client, process).await;
        if code == 0 {
            return Ok(());
        }
        let message = format!("the gate failed with {code}; nothing was landed\n{tail}");
        Err(Failure::new(ErrorCode::Conflict, message).hint("correct it in the task's directory and commit"))
    }
}

/// Moves the target and updates its checkout; the inner error says that the target has not moved. git may fail after it has
/// moved the target: then the landing is completed, and it is an outer error if that is not possible either. Blocks.
fn finish(
    git: &Git,
    landing: &Landing,
    prepared: &Prepared,
) -> Result<Result<TargetCheckout, LandError>, Failure> {
    let moved = || pass(TaskFailpoint::TargetMoved);
    let error = match landing.finish_observed(git, prepared, &moved) {
        Ok(checkout) => return Ok(Ok(checkout)),
        Err(error) => failure(&error),
    };
    match landing.resume(git, Some(prepared), SystemTime::now()) {
        Ok(Resumed::Landed(checkout)) => {
            tracing::warn!(branch = %landing.branch.0, failure = %error, "a landing was completed after an error");
            Ok(Ok(checkout))
        }
        Ok(Resumed::Aborted) => Ok(Err(LandError::NotLanded(error))),
        Err(_) => Err(error),
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
    let end = TaskEnd::NotLanded { why: why.message.clone(), commit: Some(landing.branch.1.to_string()) };
    let aborted = blocking(move || landing.abort(&worker.git()?).map_err(|error| failure(&error))).await;
    if let Err(left) = aborted {
        tracing::warn!(name = task.name, failure = %left, "the scratch worktree of a landing is left");
    }
    if let Err(failure) = runner.end(task.id, end).await {
        return failure;
    }
    if !request.tell || request.gate.is_none() {
        return why;
    }
    match send_to_agent(client, task, &why.message).await {
        Ok(()) => why,
        Err(unsent) => {
            why.hint(format!("the task's agent was not told: {}; correct it and commit", unsent.message))
        }
    }
}

/// Gives the task's agent the end of a failing gate's output.
async fn send_to_agent(client: &Client, task: &TaskRecord, message: &str) -> Result<(), Failure> {
    let found = TaskCommand::Find { name: task.name.clone(), verb: Verb::List };
    let item = client.door.tasks.ask_one(&client.principal, found).await?;
    let agent = item.processes.iter().find(|process| process.agent.is_some() && process.status.is_live());
    let agent = agent.ok_or_else(|| Failure::new(ErrorCode::NotRunning, "no agent works on it"))?;
    let text = format!("Landing {} failed: {message}", task.name);
    let target = Target(agent.id.to_string());
    let tell = Tell { target, text, key: None, wait_ms: Some(0), expires_ms: None };
    client.ask(Command::Tell(tell)).await.map(drop)
}
