//! Where a task lives, asked through a seam.
//!
//! The builder of the engine brings the look-up.

/// What the engine needs to know of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPlace {
    /// The access scope it belongs to.
    pub workspace: String,
    /// Its directory.
    pub directory: String,
    /// The vendor session its last run had.
    pub session: Option<String>,
}

/// Finds tasks by name.
pub trait TaskLookup: Send {
    /// The task, if there is one.
    fn find(&self, task: &str) -> Option<TaskPlace>;
}

/// A world without tasks.
pub struct NoTasks;

impl TaskLookup for NoTasks {
    fn find(&self, _task: &str) -> Option<TaskPlace> {
        None
    }
}
