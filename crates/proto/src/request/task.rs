//! What may be asked about tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::request::{Empty, SizeRequest};
use crate::task::ReviewSide;

/// Arguments of `task`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What is done.
    pub act: TaskAct,
    /// Chosen by the caller: the same key again creates, lands, drops or restores nothing twice, and returns what came of
    /// the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl From<TaskAct> for Task {
    fn from(act: TaskAct) -> Self {
        Self { act, key: None }
    }
}

/// Everything that can be done with tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskAct {
    /// All tasks.
    List(Empty),
    /// One task.
    Show(TaskTarget),
    /// Creates one.
    Create(Box<CreateTask>),
    /// Its changes.
    Diff(DiffTask),
    /// Its review.
    Review(ReviewTask),
    /// Which tasks would conflict.
    Forecast(Empty),
    /// Lands its branch.
    Land(Box<LandTask>),
    /// Removes it; what would be lost is saved.
    Drop(DropTask),
    /// Dropped ones that can be brought back.
    Dropped(Empty),
    /// Brings a dropped one back.
    Restore(TaskTarget),
    /// Drops what is finished and forgets what was saved too long ago.
    Collect(CollectTasks),
    /// Makes a task of a directory in which another program's task worked. Only people may.
    Import(Box<ImportTask>),
}

impl TaskAct {
    /// Its word, for the audit log.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::List(_) => "task_list",
            Self::Show(_) => "task_show",
            Self::Create(_) => "task_create",
            Self::Diff(_) => "task_diff",
            Self::Review(_) => "task_review",
            Self::Forecast(_) => "task_forecast",
            Self::Land(_) => "task_land",
            Self::Drop(_) => "task_drop",
            Self::Dropped(_) => "task_dropped",
            Self::Restore(_) => "task_restore",
            Self::Collect(_) => "task_collect",
            Self::Import(_) => "task_import",
        }
    }

    /// True if the daemon records it as an operation, which goes on when its caller or the daemon is gone.
    #[must_use]
    pub fn is_operation(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Land(_) | Self::Drop(_) | Self::Restore(_))
    }
}

/// Which task is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskTarget {
    /// The one of this name.
    Name(String),
    /// The one whose directory holds this one.
    Directory(String),
}

/// A task that is to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateTask {
    /// Its name; with a worktree also that of its branch.
    pub name: String,
    /// Where it is created: a directory of the repository, or the directory of the task itself.
    pub directory: String,
    /// Make a worktree and a branch for it.
    #[serde(default)]
    pub worktree: bool,
    /// What its branch begins from; the repository's default branch when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The agent that works in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the agent is asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The access scope; `local` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// How many ports it is given.
    #[serde(default)]
    pub ports: u16,
    /// The environment of the commands that prepare a worktree: the caller's own at this moment. Only people bring one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_env: Option<BTreeMap<String, String>>,
}

/// The changes of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffTask {
    /// Which task.
    pub target: TaskTarget,
    /// Numbers only.
    #[serde(default)]
    pub stat: bool,
    /// Compare with this commit instead of where the branch began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// How many unchanged lines are around each change; 3 when left out, at most [`DiffTask::MAX_CONTEXT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u16>,
}

impl DiffTask {
    /// The most unchanged lines around a change.
    pub const MAX_CONTEXT: u16 = 100;
}

/// A task's review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewTask {
    /// Which task.
    pub target: TaskTarget,
    /// What is done with it.
    pub act: ReviewAct,
}

/// What can be done with a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewAct {
    /// All comments.
    List(Empty),
    /// One more comment.
    Add {
        /// The file, relative to the task's directory.
        file: String,
        /// Which side of the diff.
        #[serde(default)]
        side: ReviewSide,
        /// Its first line, from 1.
        first: u32,
        /// Its last line.
        last: u32,
        /// What it says.
        text: String,
    },
    /// One message with every draft goes to the task's agent.
    Send(Empty),
    /// This comment is settled.
    Resolve {
        /// Its number.
        number: u32,
    },
    /// This comment goes.
    Remove {
        /// Its number.
        number: u32,
    },
}

/// A task that is to be landed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LandTask {
    /// Which task.
    pub target: TaskTarget,
    /// The branch that it lands on; its base when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// A line of shell that must succeed first, in a worktree with the combined result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// A merge commit instead of a rebase.
    #[serde(default)]
    pub merge: bool,
    /// Give the task's agent the end of a failing gate's output.
    #[serde(default)]
    pub tell: bool,
    /// The environment of the gate: the caller's own at this moment. Only people bring one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_env: Option<BTreeMap<String, String>>,
    /// The size of the gate's terminal.
    #[serde(default)]
    pub size: SizeRequest,
}

/// A task that is to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropTask {
    /// Which task.
    pub target: TaskTarget,
    /// Remove its branch too.
    #[serde(default)]
    pub branch: bool,
    /// Go on although work would be lost; it is saved all the same. Only people may.
    #[serde(default)]
    pub force: bool,
}

/// Tasks that are finished are to be dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectTasks {
    /// Remove their branches too.
    #[serde(default)]
    pub branch: bool,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// A task of another program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportTask {
    /// Its name.
    pub name: String,
    /// Its directory, which is there already.
    pub directory: String,
    /// The other program made the directory, so Quarterdeck may remove it.
    #[serde(default)]
    pub owned: bool,
    /// The agent that works in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it was created, in milliseconds since the epoch.
    pub created_at: u64,
    /// The runs that worked in it, oldest first.
    #[serde(default)]
    pub runs: Vec<ImportedRun>,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// A run of an agent under another program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedRun {
    /// The vendor's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it started, in milliseconds since the epoch.
    pub started_at: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
}
