//! The steps of an operation on a task at which a test kills the daemon.

/// A step at which a daemon can be told to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFailpoint {
    /// A landing is in the queue, and its turn has not come.
    Queued,
    /// The plan is recorded, and nothing of it has been done.
    Planned,
    /// A landing is prepared and recorded, and its gate has not run.
    Prepared,
    /// The gate runs.
    GateStarted,
    /// The gate has passed, and the target has not moved.
    GatePassed,
    /// The target of a landing has moved, and its checkout has not been updated.
    TargetMoved,
    /// The files of a drop are saved, and the worktree is in its place.
    Saved,
    /// The directory of a drop was moved aside, and was not looked at once more.
    Moved,
    /// Everything is done, and its end is not recorded.
    Done,
    /// A worktree is there, and nothing of its preparation has begun.
    Made,
    /// A command that prepares a worktree runs.
    Preparing,
}

impl TaskFailpoint {
    /// Every step of a landing.
    pub const LANDING: [Self; 7] = [
        Self::Queued,
        Self::Planned,
        Self::Prepared,
        Self::GateStarted,
        Self::GatePassed,
        Self::TargetMoved,
        Self::Done,
    ];
    /// Every step of a creation.
    pub const CREATION: [Self; 4] = [Self::Planned, Self::Done, Self::Made, Self::Preparing];
    /// Every step of a drop.
    pub const REMOVAL: [Self; 4] = [Self::Planned, Self::Saved, Self::Moved, Self::Done];
    /// Every step of a restoration.
    pub const RESTORATION: [Self; 2] = [Self::Planned, Self::Done];

    /// What the step is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "task-queued",
            Self::Planned => "task-planned",
            Self::Prepared => "task-prepared",
            Self::GateStarted => "task-gate-started",
            Self::GatePassed => "task-gate-passed",
            Self::TargetMoved => "task-target-moved",
            Self::Saved => "task-saved",
            Self::Moved => "task-moved",
            Self::Done => "task-done",
            Self::Made => "task-made",
            Self::Preparing => "task-preparing",
        }
    }
}

/// Ends the daemon if it was told to die here.
pub(crate) fn pass(step: TaskFailpoint) {
    crate::failpoint::pass_named(step.name());
}
