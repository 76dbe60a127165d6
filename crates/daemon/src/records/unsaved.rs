//! Why the store did not keep something, and the error for the caller.

use proto::{ErrorCode, Failure};
use store::StoreError;

/// A write that the store refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsaved {
    code: ErrorCode,
    why: String,
    step: &'static str,
}

impl Unsaved {
    pub(crate) fn new(error: &StoreError) -> Self {
        let (code, why, step) = match error {
            StoreError::NoSpace { path } => {
                let why = format!("no space is left to write {}", path.display());
                (ErrorCode::NoSpace, why, "free some space")
            }
            StoreError::Locked { path } => {
                let why = format!("another program holds {}", path.display());
                (ErrorCode::Busy, why, "close the program that has the database open")
            }
            other => (ErrorCode::Internal, other.to_string(), "see what qd status and the daemon's log say"),
        };
        Self { code, why, step }
    }

    /// The daemon is ending, and its store with it.
    pub(super) fn ending() -> Self {
        let why = "Quarterdeck is shutting down".to_owned();
        Self { code: ErrorCode::ShuttingDown, why, step: "start it again" }
    }

    /// The error for a command that was not done because of it.
    pub(crate) fn refused(&self) -> Failure {
        let message = format!("nothing was changed, because it cannot be saved: {}", self.why);
        Failure::new(self.code, message).hint(format!("{}, then ask again", self.step))
    }

    /// The error for an end that has come although it is not saved.
    pub(crate) fn ended(&self) -> Failure {
        let message = format!("it has ended, but this is not saved: {}", self.why);
        let hint = format!(
            "{}; then it is saved. If the daemon dies before that, it may be listed again",
            self.step
        );
        Failure::new(self.code, message).hint(hint)
    }

    /// The error for a restart that has happened although it is not saved.
    pub(crate) fn restarted(&self) -> Failure {
        let message = format!("it was started again, but this is not saved: {}", self.why);
        let hint = format!("{}; then it is saved. qd ps shows it", self.step);
        Failure::new(self.code, message).hint(hint)
    }

    /// The decision in the audit log for a command that was not done because of it.
    pub(super) fn decision(&self) -> &'static str {
        match self.code {
            ErrorCode::NoSpace => "no_space",
            ErrorCode::Busy => "busy",
            _ => "unsaved",
        }
    }
}

impl std::fmt::Display for Unsaved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}
