//! What is kept of a task, in a form that outlives this build.

use proto::ProcessId;
use proto::project::Project;
use proto::request::ImportedRun;
use proto::task::{ReviewComment, TaskEvent, TaskOperationKind, TaskRun};
use serde::{Deserialize, Serialize};

/// One task. New fields need a default, so that older documents still read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Its number, which is never used again while the record is kept.
    pub id: u64,
    /// Its name, unique among tasks that have not been dropped.
    pub name: String,
    /// The access scope it belongs to.
    pub workspace: String,
    /// The project it belongs to.
    #[serde(default)]
    pub project: Project,
    /// The common git directory of its repository; none outside of one.
    #[serde(default)]
    pub common_dir: Option<String>,
    /// Where its work is.
    pub directory: String,
    /// Quarterdeck made the directory and may remove it.
    #[serde(default)]
    pub is_owned: bool,
    /// Its branch.
    #[serde(default)]
    pub branch: Option<String>,
    /// The branch that it lands on.
    #[serde(default)]
    pub base: Option<String>,
    /// The commit that its branch began at.
    #[serde(default)]
    pub start: Option<String>,
    /// The agent that works in it.
    #[serde(default)]
    pub agent: Option<String>,
    /// What the agent was asked first.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The process that created it; none: a person.
    #[serde(default)]
    pub creator: Option<ProcessId>,
    /// When it was created, wall time.
    pub created_at: u64,
    /// Ports that no other task has.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// Set once it has been dropped; its name and its ports are free again then.
    #[serde(default)]
    pub dropped: Option<DroppedTask>,
    /// What is being done to it.
    #[serde(default)]
    pub operation: Option<TaskOperation>,
    /// What happened to it, oldest first.
    #[serde(default)]
    pub events: Vec<TaskEvent>,
    /// The runs that worked in it, oldest first.
    #[serde(default)]
    pub runs: Vec<TaskRun>,
    /// The comments of its review.
    #[serde(default)]
    pub comments: Vec<ReviewComment>,
}

/// When a task was dropped, and what is left of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedTask {
    /// When, wall time.
    pub at: u64,
    /// The reference that holds its files.
    #[serde(default)]
    pub trash: Option<String>,
}

/// An operation that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOperation {
    /// Which.
    pub kind: TaskOperationKind,
    /// How the next daemon goes on with it; only the daemon reads it.
    pub plan: String,
    /// The key of the request that began it.
    #[serde(default)]
    pub key: Option<String>,
}

/// A task that is to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTask {
    /// Its name.
    pub name: String,
    /// The access scope it belongs to.
    pub workspace: String,
    /// The project it belongs to.
    pub project: Project,
    /// The common git directory of its repository.
    pub common_dir: Option<String>,
    /// Where its work is or will be.
    pub directory: String,
    /// Its branch.
    pub branch: Option<String>,
    /// The branch that it lands on.
    pub base: Option<String>,
    /// The commit that its branch begins at.
    pub start: Option<String>,
    /// The agent that works in it.
    pub agent: Option<String>,
    /// What the agent is asked first.
    pub prompt: Option<String>,
    /// Ports that nothing uses at this moment.
    pub ports: Vec<u16>,
    /// The process that creates it; the engine sets it.
    pub creator: Option<ProcessId>,
    /// How its worktree is made; none for a directory that is there.
    pub plan: Option<String>,
    /// The key of the request.
    pub key: Option<String>,
    /// What another program knew of it; none for a task that begins now.
    pub imported: Option<ImportedTask>,
}

/// What another program knew of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedTask {
    /// Quarterdeck may remove its directory, which is there already.
    pub is_owned: bool,
    /// When it was created, wall time.
    pub created_at: u64,
    /// The runs that worked in it, oldest first.
    pub runs: Vec<ImportedRun>,
}
