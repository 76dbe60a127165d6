//! The steps of an operation on a task at which a test kills the daemon.

/// A step at which a daemon can be told to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFailpoint {
    /// The plan is recorded, and nothing of it has been done.
    Planned,
    /// A landing is prepared and recorded, and its gate has not run.
    Prepared,
    /// The gate has passed, and the target has not moved.
    GatePassed,
    /// Everything is done, and its end is not recorded.
    Done,
}

impl TaskFailpoint {
    /// Every step.
    pub const ALL: [Self; 4] = [Self::Planned, Self::Prepared, Self::GatePassed, Self::Done];

    /// What the step is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "task-planned",
            Self::Prepared => "task-prepared",
            Self::GatePassed => "task-gate-passed",
            Self::Done => "task-done",
        }
    }
}

/// Ends the daemon if it was told to die here.
pub(crate) fn pass(step: TaskFailpoint) {
    crate::failpoint::pass_named(step.name());
}
