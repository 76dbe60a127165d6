//! A plan as it is recorded, and how it is finished after a kill.

use std::time::SystemTime;

use engine::TaskEnd;
use proto::{ErrorCode, Failure};
use serde::{Deserialize, Serialize};
use worktree::{Creation, Git, Landing, Prepared, Removal, Restoration, Resumed};

use super::failure;

/// What is to be done to the files of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Plan {
    /// A worktree is made.
    Create(Creation),
    /// A worktree is saved and removed.
    Remove(Removal),
    /// A directory of somebody else's is left alone; only the task ends.
    Forget,
    /// A worktree is brought back.
    Restore(Restoration),
    /// A task whose directory is there is brought back.
    Recall,
    /// A branch is landed.
    Land {
        /// How.
        landing: Landing,
        /// What awaits the gate's verdict.
        prepared: Option<Prepared>,
    },
}

impl Plan {
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
            Self::Create(creation) => match creation.resume(git) {
                Ok(()) => Ok(TaskEnd::Made),
                Err(error) => creation.undo(git).map(|()| TaskEnd::Undone).map_err(|_| failure(&error)),
            },
            Self::Remove(removal) => removal.end(removal.resume(git)),
            Self::Forget => Ok(TaskEnd::Dropped { trash: None }),
            Self::Restore(restoration) => {
                restoration.run(git).map(|()| TaskEnd::Restored).map_err(|error| failure(&error))
            }
            Self::Recall => Ok(TaskEnd::Restored),
            Self::Land { landing, prepared } => {
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
