//! Where a task stands, and the order of the list: pure functions of what git and the processes say.

use std::cmp::Reverse;

use proto::process::ProcessView;
use proto::task::{TaskGit, TaskStatus, TaskView};
use proto::{AgentState, Kind};

/// How long nothing may happen in a task until it is stale.
pub const STALE_MS: u64 = 30 * 24 * 3600 * 1000; // 30 days

/// Everything that a status is derived from.
#[derive(Clone, Copy, Debug)]
pub struct StatusInput<'a> {
    /// The task's processes that are there now.
    pub processes: &'a [ProcessView],
    /// What git says; none outside of a repository.
    pub git: Option<&'a TaskGit>,
    /// The directory is there.
    pub has_directory: bool,
    /// The task has a branch of its own.
    pub has_branch: bool,
    /// Its branch would conflict with something.
    pub conflicts: bool,
    /// When something last happened in it, wall time.
    pub active_at: u64,
    /// Now, wall time.
    pub now: u64,
}

/// A status, and since when the task has had the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusSince {
    /// Where it stands.
    pub status: TaskStatus,
    /// Since when, wall time.
    pub since: u64,
}

/// Where a task stands. What its processes need of a person comes first, then what is broken, then work, then what git says.
#[must_use]
pub fn derive(input: &StatusInput<'_>) -> StatusSince {
    let candidates: Vec<StatusSince> = input.processes.iter().filter_map(process_status).collect();
    let earliest = |status: TaskStatus| {
        let since = candidates
            .iter()
            .filter(|candidate| candidate.status == status)
            .map(|candidate| candidate.since)
            .min();
        since.map(|since| StatusSince { status, since })
    };
    let urgent = earliest(TaskStatus::Blocked).or_else(|| earliest(TaskStatus::Waiting));
    let active = || earliest(TaskStatus::Working).or_else(|| earliest(TaskStatus::Done));
    urgent.or_else(|| broken(input)).or_else(active).unwrap_or_else(|| resting(input))
}

/// What a process of a task makes of its status.
fn process_status(process: &ProcessView) -> Option<StatusSince> {
    let is_live = process.status.is_live();
    let at = |status, since| Some(StatusSince { status, since });
    if !is_live {
        return process.unseen.and_then(|unseen| at(TaskStatus::Done, unseen.since));
    }
    let since = process.agent.as_ref().map_or(process.times.started_at, |agent| agent.since);
    match process.state {
        Some(AgentState::Blocked | AgentState::Error) => at(TaskStatus::Blocked, since),
        Some(AgentState::Waiting) => at(TaskStatus::Waiting, since),
        Some(AgentState::Starting | AgentState::Working | AgentState::Thinking) => {
            at(TaskStatus::Working, since)
        }
        Some(AgentState::Idle | AgentState::Exited) => {
            process.unseen.and_then(|unseen| at(TaskStatus::Done, unseen.since))
        }
        // A shell that a person left open does not work.
        None if process.kind == Kind::Terminal => None,
        None => at(TaskStatus::Working, since),
    }
}

fn broken(input: &StatusInput<'_>) -> Option<StatusSince> {
    let at = |status| Some(StatusSince { status, since: input.active_at });
    match input.git {
        _ if !input.has_directory => at(TaskStatus::Gone),
        Some(git) if !git.directory => at(TaskStatus::Gone),
        Some(git) if input.has_branch && git.commit.is_none() => at(TaskStatus::Orphan),
        _ => None,
    }
}

fn resting(input: &StatusInput<'_>) -> StatusSince {
    let is_merged = input.git.is_some_and(|git| git.merged && git.staged + git.unstaged + git.untracked == 0);
    let status = match input {
        StatusInput { conflicts: true, .. } => TaskStatus::Conflict,
        _ if is_merged => TaskStatus::Merged,
        StatusInput { active_at, now, .. } if active_at.saturating_add(STALE_MS) < *now => TaskStatus::Stale,
        _ => TaskStatus::Idle,
    };
    StatusSince { status, since: input.active_at }
}

/// Sorts a list: what needs a person first, in it the longest wait first; of the rest the newest activity first. Names
/// decide where all else is equal, so the order does not change by itself.
pub fn sort(tasks: &mut [TaskView]) {
    tasks.sort_by(|one, other| {
        let rank = |task: &TaskView| (task.status, if task.status.needs_person() { task.since } else { 0 });
        let age = |task: &TaskView| Reverse(if task.status.needs_person() { 0 } else { task.active_at });
        (rank(one), age(one), &one.name).cmp(&(rank(other), age(other), &other.name))
    });
}
