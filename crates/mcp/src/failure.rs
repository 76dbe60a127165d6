//! How a tool fails: a code a program can act on, a sentence that names the field, and the next step.
//!
//! Owns the one shape `{error: {code, message, hint}}` and the translation of the daemon's refusals into it. Refuses
//! protocol errors for what a model should read: clients hide those from it.

use proto::{ErrorCode, Failure, Printable};
use serde_json::{Value, json};

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolFailure {
    /// What went wrong, in one word.
    pub(crate) code: String,
    /// In one sentence; begins with the field when one is to blame.
    message: String,
    hint: Option<String>,
    field: Option<String>,
    request_id: Option<String>,
}

impl ToolFailure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        let message = Printable(&message.into()).to_string();
        Self { code: code.to_owned(), message, hint: None, field: None, request_id: None }
    }

    /// A wrong argument.
    pub(crate) fn invalid(field: &str, why: impl std::fmt::Display) -> Self {
        Self::new("invalid_args", format!("{field}: {why}")).of_field(field)
    }

    /// The same with the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn of_field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    /// The daemon's refusal in the caller's words: `fields` pairs the door's name of a field with the tool's, and
    /// the first one is to blame when nothing else is named.
    pub(crate) fn refusal(failure: &Failure, fields: &[(&str, &str)]) -> Self {
        let code = serde_json::to_value(failure.code).ok();
        let code = code.as_ref().and_then(Value::as_str).unwrap_or("internal");
        let named = fields.iter().find(|(theirs, _)| begins_with_field(&failure.message, theirs));
        let rest = |theirs: &str| failure.message.split_once(theirs).map_or("", |(_, rest)| rest).to_owned();
        let told = match (named, blamed(failure.code, fields)) {
            (Some((theirs, ours)), _) => Self::new(code, format!("{ours}{}", rest(theirs))).of_field(ours),
            (None, Some(ours)) => Self::new(code, format!("{ours}: {}", failure.message)).of_field(ours),
            (None, None) => Self::new(code, failure.message.clone()),
        };
        // The daemon's own hints name verbs of the command line, which an agent does not have.
        match next_step(failure.code, told.field.as_deref()) {
            Some(hint) => told.hint(hint),
            None => told,
        }
    }

    /// Nobody can say whether it happened.
    pub(crate) fn unknown_outcome(request_id: String, hint: &str) -> Self {
        let message = "the daemon went away before it answered; this may or may not have happened";
        let told = Self::new("retry_unknown_outcome", message).hint(hint);
        Self { request_id: Some(request_id), ..told }
    }

    /// The whole error as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        let extras = [("hint", &self.hint), ("field", &self.field), ("request_id", &self.request_id)];
        for (name, value) in extras {
            if let Some(value) = value {
                error[name] = json!(value);
            }
        }
        json!({ "error": error })
    }
}

/// Whether a message is `field: …` or `a.path.to.field: …`.
fn begins_with_field(message: &str, field: &str) -> bool {
    message.split_once(':').is_some_and(|(head, _)| head.rsplit('.').any(|part| part == field))
}

/// The tool's field to blame for a code whose message names none; nothing when no argument is to blame.
fn blamed<'a>(code: ErrorCode, fields: &[(&str, &'a str)]) -> Option<&'a str> {
    let theirs = match code {
        ErrorCode::NotFound
        | ErrorCode::InvalidArgs
        | ErrorCode::WrongKind
        | ErrorCode::Denied
        | ErrorCode::NotRelated
        | ErrorCode::NotRunning => None,
        ErrorCode::Conflict => Some("name"),
        ErrorCode::SpawnFailed => Some("argv"),
        ErrorCode::WorkdirGone => Some("cwd"),
        ErrorCode::TaskNotFound | ErrorCode::WorkspaceMismatch => Some("task"),
        _ => return None,
    };
    let own = fields.iter().find(|(name, _)| Some(*name) == theirs);
    own.or(fields.first()).map(|(_, ours)| *ours)
}

/// The next step, in the words of tools.
fn next_step(code: ErrorCode, field: Option<&str>) -> Option<&'static str> {
    Some(match (code, field) {
        (ErrorCode::NotFound, Some("agent")) => "get_project_status lists the agents there are",
        (ErrorCode::NotFound, Some("dialog_id")) => "get_process_status shows the dialog that is open now",
        (ErrorCode::NotFound, Some("message_id")) => "get_messages lists what you sent",
        (ErrorCode::NotFound, Some("turn")) => "leave turn out for the newest that is over",
        (ErrorCode::NotFound, _) => "list_processes tells what there is",
        (ErrorCode::Denied, _) => "you may drive yourself and your descendants; help(permissions) tells more",
        (ErrorCode::NotRelated, _) => {
            "you may drive yourself and your descendants; help(permissions) tells more"
        }
        (ErrorCode::NeedsTrust, _) => {
            "a person was asked; you are told when they have answered, then call again"
        }
        (ErrorCode::BudgetExceeded, _) => {
            "close processes that are no longer needed, or ask a person for more"
        }
        (ErrorCode::Busy, _) => "try again in a moment",
        (ErrorCode::Unauthorized, _) => "only help is open to a caller nobody knows",
        (ErrorCode::NotRunning, _) => "start_process starts it again",
        (ErrorCode::WrongKind, _) => "list_processes tells the kind of each process",
        (ErrorCode::Conflict, _) => "list_processes tells the names in use",
        (ErrorCode::DialogOpen, _) => "get_process_status shows the dialog; answer_prompt answers it",
        (ErrorCode::HumanTyping, _) => "a person is typing there: try again later",
        (ErrorCode::NotDelivered, _) => "get_process_status tells what the agent is doing",
        (ErrorCode::ShuttingDown, _) => "Quarterdeck is ending: try again once it is back",
        (ErrorCode::SpawnFailed | ErrorCode::WorkdirGone, _) => "correct the command or the directory",
        (ErrorCode::TaskNotFound | ErrorCode::WorkspaceMismatch, _) => {
            "leave task out, or name one that exists"
        }
        (ErrorCode::Version, _) => "this proxy is older or newer than the daemon: start the agent again",
        (ErrorCode::Limit | ErrorCode::NoSpace, _) => "close processes that are no longer needed",
        (
            ErrorCode::Timeout
            | ErrorCode::InvalidArgs
            | ErrorCode::Partial
            | ErrorCode::Protocol
            | ErrorCode::Internal
            | ErrorCode::Unknown,
            _,
        ) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_field_becomes_the_tools_field() {
        let failure = Failure::invalid("cwd", "is not a directory");
        let told = ToolFailure::refusal(&failure, &[("target", "process"), ("cwd", "working_dir")]);
        assert_eq!(told.to_json()["error"]["message"], json!("working_dir: is not a directory"));
        assert_eq!(told.to_json()["error"]["field"], json!("working_dir"));
    }

    #[test]
    fn a_refusal_without_a_field_blames_the_first() {
        let failure = Failure::new(ErrorCode::NotFound, "no process is called x");
        let told = ToolFailure::refusal(&failure, &[("target", "process")]).to_json();
        assert_eq!(told["error"]["message"], json!("process: no process is called x"));
        assert_eq!(told["error"]["hint"], json!("list_processes tells what there is"));
    }

    #[test]
    fn a_path_to_a_field_names_it() {
        let failure = Failure::new(ErrorCode::InvalidArgs, "request.wait.until.silence: not a number");
        let told = ToolFailure::refusal(&failure, &[("targets", "processes"), ("silence", "seconds")]);
        assert_eq!(told.to_json()["error"]["message"], json!("seconds: not a number"));
    }

    #[test]
    fn c7_no_control_character_of_an_argument_comes_back() {
        let told = ToolFailure::invalid("name", "\u{1b}]0;x\u{7}").to_json().to_string();
        assert!(!told.contains("\\u001b") && !told.contains('\u{1b}'), "{told}");
    }
}
