//! Errors as HTTP answers: the same object that the door and `qd --json` give, with a status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use client::{CallError, ClientError};
use proto::{ErrorCode, Failure};
use serde_json::json;

/// An error that a caller gets.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) failure: Failure,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status, failure: Failure::new(code, message) }
    }

    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, ErrorCode::Denied, message)
    }

    pub(crate) fn unauthorized() -> Self {
        let problem =
            Self::new(StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, "this device is not signed in");
        problem
            .hint("`qd pair` on the machine shows a code; programs send a bearer token (`qd access token`)")
    }

    pub(crate) fn invalid(field: &str, why: impl std::fmt::Display) -> Self {
        Self { status: StatusCode::BAD_REQUEST, failure: Failure::invalid(field, why) }
    }

    pub(crate) fn internal(what: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Internal, what.to_string())
    }

    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::Busy, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.failure = self.failure.hint(hint);
        self
    }
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Failed(failure) => Self { status: status_for(failure.code), failure },
            other => {
                let problem =
                    Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ShuttingDown, other.to_string());
                problem.hint("processes keep running; try again in a moment")
            }
        }
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(failure) => ClientError::Failed(failure).into(),
            CallError::Unreachable(why) => ClientError::Unreachable(why).into(),
            CallError::UnknownOutcome => {
                let code = ErrorCode::UnknownOutcome;
                let message = "the daemon went away before it answered; this may or may not have happened";
                Self::new(status_for(code), code, message)
                    .hint("look whether it happened before you do it again")
            }
            CallError::Busy => Self::busy("too many calls are under way").hint("try again in a moment"),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.failure }))).into_response()
    }
}

/// Returns the status for the daemon's error.
fn status_for(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::NotFound | ErrorCode::TaskNotFound => StatusCode::NOT_FOUND,
        ErrorCode::InvalidArgs | ErrorCode::WrongKind | ErrorCode::Protocol | ErrorCode::Version => {
            StatusCode::BAD_REQUEST
        }
        ErrorCode::Conflict
        | ErrorCode::Busy
        | ErrorCode::DialogOpen
        | ErrorCode::HumanTyping
        | ErrorCode::NotRunning
        | ErrorCode::WorkdirGone => StatusCode::CONFLICT,
        ErrorCode::Denied
        | ErrorCode::Unauthorized
        | ErrorCode::NotRelated
        | ErrorCode::NeedsTrust
        | ErrorCode::WorkspaceMismatch => StatusCode::FORBIDDEN,
        ErrorCode::BudgetExceeded | ErrorCode::Limit => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        ErrorCode::SpawnFailed
        | ErrorCode::Partial
        | ErrorCode::NotDelivered
        | ErrorCode::Survived
        | ErrorCode::UnknownOutcome
        | ErrorCode::Internal
        | ErrorCode::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
