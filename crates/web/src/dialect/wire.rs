//! The frames of the dialect.

use axum::extract::ws::Message;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client::{CallError, ClientError};
use proto::error::Cause;
use proto::{ErrorCode, Failure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::socket;

/// What a client sends: `{type, payload}`.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", content = "payload")]
pub(super) enum FromClient {
    #[serde(rename = "auth")]
    Auth { token: String },
    #[serde(rename = "terminal.open")]
    Open(Open),
    #[serde(rename = "terminal.attach")]
    Attach {
        session_id: String,
        #[serde(default)]
        from_offset: Option<u64>,
    },
    #[serde(rename = "terminal.data")]
    Data { session_id: String, data_b64: String },
    #[serde(rename = "terminal.resize")]
    Resize { session_id: String, cols: u32, rows: u32 },
    #[serde(rename = "terminal.close")]
    Close {
        session_id: String,
        #[serde(default)]
        reason: String,
    },
}

/// Asks for a new terminal.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Open {
    #[serde(default)]
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) task_id: String,
    #[serde(default)]
    pub(super) workspace_id: String,
    #[serde(default)]
    pub(super) cols: u32,
    #[serde(default)]
    pub(super) rows: u32,
}

/// Reasons of a close that only detach.
const DETACHING: &[&str] = &["panel_unmount", "client_detach", "browser_disconnect"];

/// Returns true if a close with this reason leaves the terminal running.
pub(super) fn detaches(reason: &str) -> bool {
    DETACHING.contains(&reason)
}

pub(super) fn decode(data: &str) -> Option<Vec<u8>> {
    STANDARD.decode(data).ok()
}

pub(super) fn frame(kind: &str, payload: Value) -> Message {
    socket::text(&json!({"type": kind, "payload": payload}))
}

/// Returns output of the span from `offset` to `end`. Its bytes may be fewer or more, because queries are removed and some
/// sequences are rewritten.
pub(super) fn data(session: &str, offset: u64, end: u64, bytes: &[u8]) -> Message {
    frame(
        "terminal.data",
        json!({"session_id": session, "data_b64": STANDARD.encode(bytes), "offset": offset, "end": end}),
    )
}

pub(super) fn close(session: &str, reason: &str) -> Message {
    frame("terminal.close", json!({"session_id": session, "reason": reason}))
}

/// An error of one request or one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DialectError {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Why a start failed.
    pub(super) cause: Option<Cause>,
}

impl DialectError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), cause: None }
    }

    /// Returns the frame about a request or a session; an empty one is left out.
    pub(super) fn frame(&self, request: &str, session: &str) -> Message {
        let mut payload = json!({"code": self.code, "message": self.message});
        for (name, value) in [("request_id", request), ("session_id", session)] {
            if !value.is_empty() {
                payload[name] = json!(value);
            }
        }
        if let Some(cause) = self.cause {
            payload["cause"] = json!(cause);
        }
        frame("terminal.error", payload)
    }
}

impl From<ClientError> for DialectError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Failed(failure) => {
                let (code, cause) = (code_of(&failure), failure.cause);
                Self { cause, ..Self::new(code, failure.message) }
            }
            other => Self::new("internal", other.to_string()),
        }
    }
}

impl From<CallError> for DialectError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(failure) => ClientError::Failed(failure).into(),
            other => Self::new("internal", other.to_string()),
        }
    }
}

/// Returns the code of the dialect for the daemon's error. A system that cannot do it comes before every other cause of a
/// failed start.
fn code_of(failure: &Failure) -> &'static str {
    match (failure.code, failure.cause) {
        (ErrorCode::WorkspaceMismatch, _) => "workspace_mismatch",
        (ErrorCode::TaskNotFound, _) => "task_not_found",
        (ErrorCode::NotFound, _) => "session_not_found",
        (_, Some(Cause::UnsupportedOs)) => "unsupported_os",
        (ErrorCode::SpawnFailed | ErrorCode::WorkdirGone, _) => "spawn_failed",
        _ => "internal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w22_errors_of_the_daemon_have_the_codes_of_the_dialect() {
        let code = |failure: Failure| DialectError::from(ClientError::Failed(failure)).code;
        let spawn = || Failure::new(ErrorCode::SpawnFailed, "no");
        assert_eq!(code(Failure::new(ErrorCode::WorkspaceMismatch, "")), "workspace_mismatch");
        assert_eq!(code(Failure::new(ErrorCode::TaskNotFound, "")), "task_not_found");
        assert_eq!(code(Failure::new(ErrorCode::NotFound, "")), "session_not_found");
        assert_eq!(code(spawn().cause(Cause::UnsupportedOs)), "unsupported_os");
        assert_eq!(code(spawn().cause(Cause::NotFound)), "spawn_failed");
        assert_eq!(code(Failure::new(ErrorCode::Denied, "")), "internal");
    }

    #[test]
    fn w22_three_reasons_detach_and_every_other_ends() {
        for reason in ["panel_unmount", "client_detach", "browser_disconnect"] {
            assert!(detaches(reason));
        }
        assert!(!detaches("") && !detaches("user") && !detaches("panel_unmount "));
    }

    #[test]
    fn w22_frames_are_read_with_and_without_their_optional_fields() {
        let read = |text: &str| serde_json::from_str::<FromClient>(text);
        assert!(read(r#"{"type":"terminal.open","payload":{"task_id":"t","cols":0,"user_id":"u"}}"#).is_ok());
        assert!(read(r#"{"type":"terminal.close","payload":{"session_id":"s"}}"#).is_ok());
        assert!(read(r#"{"type":"auth","payload":{"token":"x"}}"#).is_ok());
        assert!(read(r#"{"type":"terminal.nonsense","payload":{}}"#).is_err());
    }
}
