//! Errors on the wire: a code that a program can act on, a sentence for a person, and the next step. The list
//! of codes is closed.

use serde::{Deserialize, Serialize};

/// The kind of error, by what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// No such process, line or run.
    NotFound,
    /// A field of the request is wrong; the message names it.
    InvalidArgs,
    /// The name or the state that it needs is taken.
    Conflict,
    /// The caller may not do this to that target.
    Denied,
    /// The caller could not be identified.
    Unauthorized,
    /// The target is neither the caller nor below it, and no grant covers it.
    NotRelated,
    /// A person must approve it first; `item` is the question that waits for them.
    NeedsTrust,
    /// The tree of the caller has used up a limit; the message names it.
    BudgetExceeded,
    /// Another operation is under way there; try again.
    Busy,
    /// The time limit has passed.
    Timeout,
    /// The process has no live child to do this with.
    NotRunning,
    /// The child could not be started; `cause` says why.
    SpawnFailed,
    /// The task, or what is to be started, belongs to another workspace.
    WorkspaceMismatch,
    /// No such task.
    TaskNotFound,
    /// The working directory is not there.
    WorkdirGone,
    /// Quarterdeck is ending and accepts no new work.
    ShuttingDown,
    /// Only a part of the input was written; the message gives the amount.
    Partial,
    /// A limit of Quarterdeck or of the system was reached; the message names it.
    Limit,
    /// The bytes on the socket were not a frame of this protocol.
    Protocol,
    /// The peer uses another protocol version.
    Version,
    /// The operation does not apply to this kind of process.
    WrongKind,
    /// A dialog is open: answer it first.
    DialogOpen,
    /// A person is typing there.
    HumanTyping,
    /// The message could not be delivered; the message says why.
    NotDelivered,
    /// Not everything could be ended; the message names what survived.
    Survived,
    /// It may or may not have been done; the message gives what is known.
    UnknownOutcome,
    /// The disk is full.
    NoSpace,
    /// Our own fault.
    Internal,
    /// A code this build does not know.
    #[serde(other)]
    Unknown,
}

/// The cause of an [`ErrorCode::SpawnFailed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// This system cannot do it.
    UnsupportedOs,
    /// The program is not there.
    NotFound,
    /// The program may not be executed.
    Permission,
    /// Descriptors, processes, memory or terminals ran out.
    Limit,
    /// Any other error of the system.
    Other,
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What went wrong.
    pub code: ErrorCode,
    /// One sentence in lower case that names the thing.
    pub message: String,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The cause of a failed spawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The current revision, for a conflict about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The item of the inbox that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
}

impl Failure {
    /// Creates a failure with no hint yet.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, cause: None, revision: None, item: None }
    }

    /// Creates the failure of a caller that could not be identified.
    #[must_use]
    pub fn unidentified() -> Self {
        Self::new(ErrorCode::Unauthorized, "the caller could not be identified").hint(
            "call from a shell of the user who runs Quarterdeck, outside of every other Quarterdeck's processes, and with \
             the usual limit of file locks (ulimit -Hx)",
        )
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn cause(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// Adds the current revision.
    #[must_use]
    pub fn revision(mut self, revision: u64) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Adds the item that waits for a person.
    #[must_use]
    pub fn item(mut self, item: u64) -> Self {
        self.item = Some(item);
        self
    }

    /// Creates the failure for a wrong field.
    #[must_use]
    pub fn invalid(field: &str, why: impl std::fmt::Display) -> Self {
        Self::new(ErrorCode::InvalidArgs, format!("{field}: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_from_the_future_is_unknown_not_a_parse_error() {
        let failure: Failure = serde_json::from_str(r#"{"code":"teapot","message":"m","extra":1}"#).unwrap();
        assert_eq!(failure.code, ErrorCode::Unknown);
    }
}
