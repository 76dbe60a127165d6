//! A plan as it is recorded, and how it is finished after a kill.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::SystemTime;

use engine::{Caller, Principal, RunKey, TaskEnd};
use proto::request::LandTask;
use proto::task::TaskCheckout;
use proto::{ErrorCode, Failure, Limit, ProcessId, RunNumber};
use serde::{Deserialize, Serialize};
use worktree::{
    Copied, Creation, Git, InitCommand, Landing, Prepared, Removal, RemovalStep, Repository, Restoration,
    Resumed, TargetCheckout, copy_included,
};

use super::failpoint::{TaskFailpoint, pass};
use super::failure;

/// What is to be done to the files of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Plan {
    /// A worktree is made.
    Create {
        /// How.
        creation: Creation,
        /// Patterns of the files that it gets from the main checkout.
        include: Vec<String>,
        /// What runs in it then.
        #[serde(default)]
        preparation: Preparation,
    },
    /// A new worktree is prepared.
    Prepare(Preparation),
    /// A worktree is saved and removed.
    Remove(Removal),
    /// The directory is not ours and stays as it is; only the task ends.
    Forget,
    /// A worktree is brought back.
    Restore(Restoration),
    /// A task whose directory is there is brought back.
    Recall,
    /// A branch waits for its turn to be landed.
    Queued(QueuedLanding),
    /// A branch is landed.
    Land {
        /// How.
        landing: Landing,
        /// What awaits the gate's verdict.
        prepared: Option<Prepared>,
        /// What was asked for.
        queued: QueuedLanding,
        /// The gate, once it runs.
        gate: Option<ProcessId>,
    },
}

/// The commands of an init file that are still to be run in a new worktree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Preparation {
    /// Those that have not ended, in their order.
    pub(crate) commands: VecDeque<InitCommand>,
    /// How many have ended.
    pub(crate) step: usize,
    /// Why none of them is run: the files were not copied.
    pub(crate) failure: Option<String>,
    /// On whose behalf they run.
    asked_by: AskedBy,
}

impl Preparation {
    pub(crate) fn new(commands: Vec<InitCommand>, principal: &Principal) -> Self {
        let asked_by = AskedBy::new(principal);
        Self { commands: commands.into(), step: 0, failure: None, asked_by }
    }

    /// On whose behalf it goes on.
    pub(crate) fn principal(&self) -> Principal {
        self.asked_by.principal()
    }

    /// The end of a creation whose files have been copied, or not: what follows is recorded together with it.
    pub(crate) fn end(mut self, copied: &worktree::Result<Copied>) -> Result<TaskEnd, Failure> {
        self.failure = copied.as_ref().err().map(|error| failure(error).message);
        let is_due = self.failure.is_some() || !self.commands.is_empty();
        let then = is_due.then(|| Plan::Prepare(self).text()).transpose()?;
        Ok(TaskEnd::Made { then })
    }
}

/// On whose behalf an operation goes on when the connection that asked for it is gone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AskedBy {
    /// The run that asked; none: a person.
    by: Option<(ProcessId, RunNumber)>,
    /// The device or the token of a remote person.
    #[serde(default)]
    label: Option<String>,
    /// What the connection that asked may do at most: the operation goes on within it.
    #[serde(default)]
    limit: Limit,
}

impl AskedBy {
    fn new(principal: &Principal) -> Self {
        let by = match principal.caller {
            Caller::Process(run) => Some((run.process, run.run)),
            Caller::Person | Caller::Via(_) | Caller::Nobody => None,
        };
        Self { by, label: principal.label.clone(), limit: principal.limit.clone() }
    }

    fn principal(&self) -> Principal {
        let caller =
            self.by.map_or(Caller::Person, |(process, run)| Caller::Process(RunKey { process, run }));
        Principal { caller, label: self.label.clone(), limit: self.limit.clone() }
    }
}

/// A landing that was asked for, as the next daemon needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueuedLanding {
    /// What was asked for, without the person's environment: secrets are not stored.
    pub(crate) request: LandTask,
    #[serde(flatten)]
    asked_by: AskedBy,
    /// When, wall time.
    pub(crate) at: u64,
}

impl QueuedLanding {
    pub(crate) fn new(request: &LandTask, principal: &Principal, at: u64) -> Self {
        let request = LandTask { base_env: None, ..request.clone() };
        Self { request, asked_by: AskedBy::new(principal), at }
    }

    /// On whose behalf it goes on.
    pub(crate) fn principal(&self) -> Principal {
        self.asked_by.principal()
    }
}

impl Plan {
    /// What was asked for, if it is a landing.
    pub(crate) fn queued(&self) -> Option<&QueuedLanding> {
        match self {
            Self::Queued(queued) | Self::Land { queued, .. } => Some(queued),
            _ => None,
        }
    }

    pub(crate) fn read(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|error| {
            Failure::new(ErrorCode::Internal, format!("the plan of an operation cannot be read: {error}"))
        })
    }

    pub(crate) fn text(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| {
            Failure::new(ErrorCode::Internal, format!("the plan of an operation cannot be kept: {error}"))
        })
    }

    /// Finishes what a killed daemon began, or undoes it, and returns what came of it. Blocks.
    pub(crate) fn resume(&self, git: &Git) -> Result<TaskEnd, Failure> {
        match self {
            Self::Create { creation, include, preparation } => match creation.resume(git) {
                Ok(()) => preparation.clone().end(&copy_files(git, creation, include)),
                Err(error) => creation.undo(git).map(|()| TaskEnd::Undone).map_err(|_| failure(&error)),
            },
            // Its commands are run by those who have the engine.
            Self::Prepare(_) => Ok(TaskEnd::Undone),
            Self::Remove(_) | Self::Forget => match self.remove(git) {
                Ok(dropped) => {
                    for left in &dropped.left {
                        tracing::warn!(left, "a part of a dropped task could not be deleted");
                    }
                    Ok(TaskEnd::Dropped { trash: dropped.trash })
                }
                Err(NotDropped { failure, is_whole: true }) => {
                    tracing::warn!(%failure, "a task that was to be dropped stays");
                    Ok(TaskEnd::Undone)
                }
                Err(NotDropped { failure, .. }) => Err(failure),
            },
            Self::Restore(restoration) => {
                restoration.run(git).map(|()| TaskEnd::Restored).map_err(|error| failure(&error))
            }
            Self::Recall => Ok(TaskEnd::Restored),
            Self::Queued(_) => Ok(TaskEnd::Undone),
            Self::Land { landing, prepared, .. } => {
                let resumed = landing.resume(git, prepared.as_ref(), SystemTime::now());
                let resumed = resumed.map_err(|error| failure(&error))?;
                Ok(match (resumed, prepared) {
                    (Resumed::Landed(at), Some(prepared)) => TaskEnd::Landed {
                        into: landing.target.0.to_string(),
                        commit: prepared.result.to_string(),
                        checkout: checkout(at),
                    },
                    _ => TaskEnd::NotLanded {
                        why: "the daemon ended before it was done".to_owned(),
                        commit: Some(landing.branch.1.to_string()),
                    },
                })
            }
        }
    }
}

/// What became of a target's checkout, in the words of the protocol.
pub(crate) fn checkout(checkout: TargetCheckout) -> TaskCheckout {
    let path = |path: PathBuf| path.to_string_lossy().into_owned();
    match checkout {
        TargetCheckout::Absent => TaskCheckout::Absent,
        TargetCheckout::Updated(at) => TaskCheckout::Updated { path: path(at), saved: None },
        TargetCheckout::Rewritten(at, saved) => TaskCheckout::Updated { path: path(at), saved: Some(saved) },
        TargetCheckout::Left(at) => TaskCheckout::Left { path: path(at) },
    }
}

/// Copies the files that the patterns name from the main checkout to a new worktree. Blocks.
pub(crate) fn copy_files(git: &Git, creation: &Creation, include: &[String]) -> worktree::Result<Copied> {
    let repository = Repository::open(git, &creation.path)?;
    match repository.main_checkout() {
        Some(main) => copy_included(git, &main, &creation.path, include),
        None => Ok(Copied::default()),
    }
}

/// A drop whose files are saved.
pub(crate) struct Dropped {
    /// Where; none for a directory that is not ours.
    pub(crate) trash: Option<String>,
    /// What could not be deleted, and why.
    pub(crate) left: Vec<String>,
}

/// Why a drop did not come to its end.
pub(crate) struct NotDropped {
    pub(crate) failure: Failure,
    /// Nothing has changed: the directory is where it was, or was gone before.
    pub(crate) is_whole: bool,
}

impl Plan {
    /// Saves and removes a worktree; a directory that is not ours stays. Blocks.
    pub(crate) fn remove(&self, git: &Git) -> Result<Dropped, NotDropped> {
        let Self::Remove(removal) = self else { return Ok(Dropped { trash: None, left: Vec::new() }) };
        let observe = |step| match step {
            RemovalStep::Saved => pass(TaskFailpoint::Saved),
            RemovalStep::Moved => pass(TaskFailpoint::Moved),
        };
        match removal.resume_observed(git, &observe) {
            Ok(removed) => {
                let left = removed.left.iter().map(|error| failure(error).message).collect();
                Ok(Dropped { trash: removal.trash.clone(), left })
            }
            Err(error) => {
                // Of a directory that was gone before, git forgets nothing until the commits are saved.
                let is_whole = removal.gone.is_some() || removal.path.join(".git").exists();
                Err(NotDropped { failure: failure(&error), is_whole })
            }
        }
    }
}
