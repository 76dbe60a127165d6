//! Turns an error into one line, one hint and one exit code. This is the only table of exit codes: every verb
//! returns [`CliError`], and nothing exits by itself.

use std::io::{self, Write};
use std::process::ExitCode;

use client::ClientError;
use client::paste::PasteError;
use proto::printable::visible_json;
use proto::{ErrorCode, Failure, Printable};
use serde_json::json;

use crate::field_names;

const FAILED: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
const NOT_FOUND: u8 = 3;
const DENIED: u8 = 4;
/// The time limit has passed.
pub(crate) const TIMEOUT: u8 = 5;
/// No daemon could be reached, or none that accepts work.
pub(crate) const UNREACHABLE: u8 = 6;
const CONFLICT: u8 = 7;
/// It may or may not have been done.
pub(crate) const UNKNOWN: u8 = 8;

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The daemon could not be reached or returned an error.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Reading or writing something of our own failed: what, and why.
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    /// The reader of our output is gone; not an error to print.
    #[error("the output is closed")]
    BrokenPipe,
    /// An error that this side found, in the daemon's form.
    #[error(transparent)]
    Own(Failure),
    /// An error with a next step that only the verb knows.
    #[error("{0}")]
    Hinted(Box<CliError>, String),
}

impl CliError {
    /// Creates the error for arguments that make no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Own(Failure::new(ErrorCode::InvalidArgs, message))
    }

    /// Creates the error for a file of our own that cannot be read or written.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io(what, error)
    }

    /// Names what the error is about, before its words.
    pub(crate) fn about(self, what: &str) -> Self {
        let named = |failure: Failure| Failure { message: format!("{what}: {}", failure.message), ..failure };
        match self {
            Self::Client(ClientError::Failed(failure)) => Self::Own(named(failure)),
            Self::Own(failure) => Self::Own(named(failure)),
            Self::Hinted(error, hint) => Self::Hinted(Box::new(error.about(what)), hint),
            other => other,
        }
    }

    /// Adds this as its next step.
    pub(crate) fn hinted(self, hint: impl Into<String>) -> Self {
        Self::Hinted(Box::new(self), hint.into())
    }

    /// Wraps the daemon's error; for one that found nothing and has no next step, this is the next step.
    pub(crate) fn missing(hint: &'static str) -> impl FnOnce(ClientError) -> Self {
        move |error| match &error {
            ClientError::Failed(failure) if failure.code == ErrorCode::NotFound && failure.hint.is_none() => {
                Self::from(error).hinted(hint)
            }
            _ => error.into(),
        }
    }

    /// Wraps the daemon's error about a field that is no flag of this verb but a word on its command line.
    pub(crate) fn field(field: &str, word: &str, mut error: ClientError) -> Self {
        if let ClientError::Failed(failure) = &mut error
            && let Some(rest) = failure.message.strip_prefix(field).and_then(|rest| rest.strip_prefix(": "))
        {
            failure.message = format!("{word}: {rest}");
        }
        error.into()
    }

    /// Creates the error for output that cannot be written.
    pub(crate) fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Io("the output cannot be written".to_owned(), error),
        }
    }

    fn code(&self) -> String {
        match self {
            Self::Client(error) if error.is_forbidden() => word(ErrorCode::Denied),
            Self::Client(
                ClientError::Unreachable(_)
                | ClientError::ShutDown
                | ClientError::Silent(_)
                | ClientError::Unopened { .. },
            ) => "unreachable".to_owned(),
            Self::Client(ClientError::Version { .. }) => "version".to_owned(),
            Self::Client(ClientError::Broken(_)) => "broken".to_owned(),
            Self::Client(ClientError::Failed(failure)) | Self::Own(failure) => word(failure.code),
            Self::Io(..) | Self::BrokenPipe => "io".to_owned(),
            Self::Hinted(error, _) => error.code(),
        }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Client(error) if error.is_forbidden() => Some(
                "ask as the user it belongs to, or set QD_RUNTIME_DIR to a directory of your own".to_owned(),
            ),
            Self::Client(
                ClientError::Unreachable(_) | ClientError::Silent(_) | ClientError::Unopened { .. },
            ) => Some("`qd doctor` finds out why".to_owned()),
            Self::Client(ClientError::ShutDown) => {
                Some("processes run on; the next command starts a daemon, which finds them".to_owned())
            }
            Self::Client(ClientError::Version { .. }) => Some(
                "`qd shutdown` ends the other version; processes stay and the next command adopts them"
                    .to_owned(),
            ),
            Self::Client(ClientError::Broken(_)) => {
                Some("it may or may not have been done: look (`qd ps`) before you ask again".to_owned())
            }
            Self::Client(ClientError::Failed(failure)) | Self::Own(failure) => {
                failure.hint.clone().or_else(|| default_hint(failure.code).map(str::to_owned))
            }
            Self::Io(..) | Self::BrokenPipe => None,
            Self::Hinted(_, hint) => Some(hint.clone()),
        }
    }

    /// Returns the daemon's error, if it is one.
    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Client(ClientError::Failed(failure)) | Self::Own(failure) => Some(failure),
            Self::Hinted(error, _) => error.failure(),
            Self::Client(_) | Self::Io(..) | Self::BrokenPipe => None,
        }
    }

    fn exit(&self) -> u8 {
        match self {
            Self::Client(error) if error.is_forbidden() => DENIED,
            Self::Client(
                ClientError::Unreachable(_)
                | ClientError::ShutDown
                | ClientError::Silent(_)
                | ClientError::Unopened { .. }
                | ClientError::Version { .. },
            ) => UNREACHABLE,
            // The daemon may have done it before it went.
            Self::Client(ClientError::Broken(_)) => UNKNOWN,
            Self::Client(ClientError::Failed(failure)) | Self::Own(failure) => exit_for(failure.code),
            Self::Io(..) => FAILED,
            Self::BrokenPipe => 0,
            Self::Hinted(error, _) => error.exit(),
        }
    }
}

impl From<PasteError> for CliError {
    fn from(error: PasteError) -> Self {
        match error {
            PasteError::Source(error) => Self::Io("the text to paste cannot be read".to_owned(), error),
            PasteError::Client(error) => error.into(),
        }
    }
}

fn default_hint(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::NotFound => Some("`qd ps` lists what there is"),
        ErrorCode::NotRunning => Some("`qd restart` starts it again"),
        ErrorCode::NeedsTrust => Some("a person answers it in `qd inbox`; then ask again"),
        _ => None,
    }
}

/// Returns the exit code for the daemon's error.
fn exit_for(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::NotFound | ErrorCode::TaskNotFound => NOT_FOUND,
        ErrorCode::InvalidArgs => USAGE,
        ErrorCode::Conflict | ErrorCode::DialogOpen | ErrorCode::HumanTyping | ErrorCode::Busy => CONFLICT,
        ErrorCode::Denied
        | ErrorCode::Unauthorized
        | ErrorCode::NotRelated
        | ErrorCode::NeedsTrust
        | ErrorCode::BudgetExceeded
        | ErrorCode::WorkspaceMismatch => DENIED,
        ErrorCode::Timeout => TIMEOUT,
        ErrorCode::UnknownOutcome => UNKNOWN,
        ErrorCode::ShuttingDown | ErrorCode::Version => UNREACHABLE,
        ErrorCode::NotRunning
        | ErrorCode::SpawnFailed
        | ErrorCode::WorkdirGone
        | ErrorCode::Partial
        | ErrorCode::Limit
        | ErrorCode::Protocol
        | ErrorCode::WrongKind
        | ErrorCode::NotDelivered
        | ErrorCode::Survived
        | ErrorCode::NoSpace
        | ErrorCode::Internal
        | ErrorCode::Unknown => FAILED,
    }
}

/// Returns a code as on the wire.
fn word(code: ErrorCode) -> String {
    serde_json::to_value(code).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Prints the error for a person or a program; returns its exit code.
pub(crate) fn report(error: &CliError, is_json: bool) -> ExitCode {
    if !matches!(error, CliError::BrokenPipe) {
        // There may be no reader left.
        drop(io::stderr().write_all(error_text(error, is_json).as_bytes()));
    }
    ExitCode::from(error.exit())
}

fn error_text(error: &CliError, is_json: bool) -> String {
    let error_words = field_names::with_flag_names(&error.to_string());
    let message = Printable(&error_words).to_string();
    let hint = error.hint().map(|hint| field_names::with_flag_names(&hint));
    if is_json {
        let mut body = json!({"code": error.code(), "message": message});
        if let Some(hint) = hint {
            body["hint"] = hint.into();
        }
        // What a program needs to continue: why a spawn failed, the current revision, the question that waits
        // for a person.
        if let Some(cause) = error.failure().and_then(|failure| failure.cause) {
            body["cause"] = json!(cause);
        }
        if let Some(revision) = error.failure().and_then(|failure| failure.revision) {
            body["revision"] = revision.into();
        }
        if let Some(item) = error.failure().and_then(|failure| failure.item) {
            body["item"] = item.into();
        }
        return format!("{}\n", visible_json(&json!({ "error": body }).to_string()));
    }
    let hint = hint.map(|hint| format!("hint: {}\n", Printable(&hint))).unwrap_or_default();
    format!("qd: {}\n{hint}", lines(&error_words))
}

/// A message for a person, line by line: the end of a program's output may be in it. Only the first line begins at the margin,
/// so that no text of others looks like our own.
fn lines(message: &str) -> String {
    message.lines().map(|line| Printable(line).to_string()).collect::<Vec<_>>().join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::error::Cause;

    fn failed(code: ErrorCode) -> CliError {
        ClientError::Failed(Failure::new(code, "m")).into()
    }

    fn unopened(kind: io::ErrorKind) -> CliError {
        ClientError::Unopened { socket: "/s".into(), source: kind.into() }.into()
    }

    #[test]
    fn every_error_has_the_documented_exit_code() {
        let table = [
            (failed(ErrorCode::Internal), 1),
            (failed(ErrorCode::NotRunning), 1),
            (failed(ErrorCode::SpawnFailed), 1),
            (CliError::usage("m"), 2),
            (failed(ErrorCode::InvalidArgs), 2),
            (failed(ErrorCode::NotFound), 3),
            (failed(ErrorCode::TaskNotFound), 3),
            (failed(ErrorCode::Denied), 4),
            (failed(ErrorCode::Unauthorized), 4),
            (failed(ErrorCode::WorkspaceMismatch), 4),
            (failed(ErrorCode::NotRelated), 4),
            (failed(ErrorCode::NeedsTrust), 4),
            (failed(ErrorCode::BudgetExceeded), 4),
            (failed(ErrorCode::Denied).hinted("h"), 4),
            (failed(ErrorCode::Busy), 7),
            (failed(ErrorCode::Timeout), 5),
            (ClientError::Unreachable("m".into()).into(), 6),
            (ClientError::ShutDown.into(), 6),
            (unopened(io::ErrorKind::PermissionDenied), 4),
            (unopened(io::ErrorKind::NotADirectory), 6),
            (ClientError::Version { ours: 1, theirs: 2 }.into(), 6),
            (failed(ErrorCode::ShuttingDown), 6),
            (failed(ErrorCode::Conflict), 7),
            (ClientError::gone().into(), 8),
            (CliError::BrokenPipe, 0),
        ];
        for (error, code) in table {
            assert_eq!(error.exit(), code, "{error:?}");
        }
    }

    #[test]
    fn an_error_is_a_line_and_a_hint_and_further_lines_are_indented() {
        assert_eq!(
            error_text(&failed(ErrorCode::NotFound), false),
            "qd: m\nhint: `qd ps` lists what there is\n"
        );
        assert_eq!(
            error_text(&CliError::usage("bad\u{1b}[2J\nsecond"), false),
            "qd: bad\\u{1b}[2J\n  second\n"
        );
    }

    #[test]
    fn an_error_in_json_has_a_code_a_message_and_perhaps_a_hint() {
        let printed = error_text(&failed(ErrorCode::Conflict), true);
        assert_eq!(printed, "{\"error\":{\"code\":\"conflict\",\"message\":\"m\"}}\n");
        let unreachable = super::error_text(&ClientError::Unreachable("x".into()).into(), true);
        assert!(
            unreachable.contains("\"code\":\"unreachable\"") && unreachable.contains("\"hint\""),
            "{unreachable}"
        );
    }

    #[test]
    fn a_socket_that_may_not_be_opened_is_named_with_its_cause_and_the_next_step() {
        let printed = error_text(&unopened(io::ErrorKind::PermissionDenied), true);
        for part in ["\"code\":\"denied\"", "socket /s cannot be opened: permission denied", "QD_RUNTIME_DIR"]
        {
            assert!(printed.contains(part), "{printed}");
        }
    }

    #[test]
    fn a_program_is_told_the_revision_and_the_item_that_it_needs() {
        let conflict = ClientError::Failed(Failure::new(ErrorCode::Conflict, "m").revision(7));
        let conflict = super::error_text(&CliError::from(conflict).hinted("h"), true);
        assert_eq!(
            conflict,
            "{\"error\":{\"code\":\"conflict\",\"hint\":\"h\",\"message\":\"m\",\"revision\":7}}\n"
        );
        let trust = super::error_text(&CliError::Own(Failure::new(ErrorCode::NeedsTrust, "m").item(3)), true);
        assert!(trust.contains("\"item\":3") && trust.contains("qd inbox"), "{trust}");
    }

    #[test]
    fn t11_the_cause_beneath_a_failed_spawn_is_told() {
        for (cause, word) in [
            (Cause::UnsupportedOs, "unsupported_os"),
            (Cause::NotFound, "not_found"),
            (Cause::Permission, "permission"),
        ] {
            let failure = Failure::new(ErrorCode::SpawnFailed, "m").cause(cause);
            let printed: serde_json::Value =
                serde_json::from_str(&error_text(&CliError::Own(failure).hinted("h"), true)).unwrap();
            assert_eq!(
                printed["error"],
                json!({"code": "spawn_failed", "message": "m", "hint": "h", "cause": word})
            );
        }
    }

    #[test]
    fn the_daemons_own_hint_wins_over_the_verbs() {
        let failed = |failure: Failure| CliError::missing("verb")(ClientError::Failed(failure)).hint();
        assert_eq!(failed(Failure::new(ErrorCode::NotFound, "m")).as_deref(), Some("verb"));
        assert_eq!(failed(Failure::new(ErrorCode::NotFound, "m").hint("own")).as_deref(), Some("own"));
        assert_eq!(failed(Failure::new(ErrorCode::Denied, "m")), None);
    }
}
