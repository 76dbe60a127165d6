//! A plan as it is recorded, and how it is finished after a kill.

use std::time::SystemTime;

use engine::{Caller, RunKey, TaskEnd};
use proto::request::LandTask;
use proto::{ErrorCode, Failure, ProcessId, RunNumber};
use serde::{Deserialize, Serialize};
use worktree::{
    Copied, Creation, Git, Landing, Prepared, Removal, Repository, Restoration, Resumed, copy_included,
};

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
    },
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

/// A landing that was asked for, as the next daemon needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueuedLanding {
    /// What was asked for, without the person's environment: secrets are not stored.
    pub(crate) request: LandTask,
    /// The run that asked; none: a person.
    by: Option<(ProcessId, RunNumber)>,
    /// When, wall time.
    pub(crate) at: u64,
}

impl QueuedLanding {
    pub(crate) fn new(request: &LandTask, caller: Caller, at: u64) -> Self {
        let by = match caller {
            Caller::Process(run) => Some((run.process, run.run)),
            Caller::Human | Caller::Via(_) | Caller::Nobody => None,
        };
        Self { request: LandTask { base_env: None, ..request.clone() }, by, at }
    }

    /// On whose behalf it goes on.
    pub(crate) fn caller(&self) -> Caller {
        self.by.map_or(Caller::Human, |(process, run)| Caller::Process(RunKey { process, run }))
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
            Failure::new(ErrorCode::Internal, format!("the plan of an operation does not read: {error}"))
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
            Self::Create { creation, include } => match creation.resume(git) {
                Ok(()) => {
                    if let Err(error) = copy_files(git, creation, include) {
                        tracing::warn!(%error, "files were not copied to a new worktree");
                    }
                    Ok(TaskEnd::Made)
                }
                Err(error) => creation.undo(git).map(|()| TaskEnd::Undone).map_err(|_| failure(&error)),
            },
            Self::Remove(removal) => removal.end(removal.resume(git)),
            Self::Forget => Ok(TaskEnd::Dropped { trash: None }),
            Self::Restore(restoration) => {
                restoration.run(git).map(|()| TaskEnd::Restored).map_err(|error| failure(&error))
            }
            Self::Recall => Ok(TaskEnd::Restored),
            Self::Queued(_) => Ok(TaskEnd::Undone),
            Self::Land { landing, prepared, .. } => {
                let resumed = landing.resume(git, prepared.as_ref(), SystemTime::now());
                let resumed = resumed.map_err(|error| failure(&error))?;
                Ok(match (resumed, prepared) {
                    (Resumed::Landed(_), Some(prepared)) => TaskEnd::Landed {
                        into: landing.target.0.to_string(),
                        commit: prepared.result.to_string(),
                    },
                    _ => TaskEnd::NotLanded { why: "the daemon ended in the middle of it".to_owned() },
                })
            }
        }
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

/// What came of a removal. One that failed while the directory is still where it was has changed nothing.
trait RemovalEnd {
    fn end(&self, outcome: worktree::Result<()>) -> Result<TaskEnd, Failure>;
}

impl RemovalEnd for Removal {
    fn end(&self, outcome: worktree::Result<()>) -> Result<TaskEnd, Failure> {
        match outcome {
            Ok(()) => Ok(TaskEnd::Dropped { trash: self.trash.clone() }),
            Err(_) if self.path.join(".git").exists() => Ok(TaskEnd::Undone),
            Err(error) => Err(failure(&error)),
        }
    }
}
