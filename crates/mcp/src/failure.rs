//! The error of a tool: a code that a program can act on, a sentence that names the field, and the next step.
//!
//! It translates the daemon's errors into the one shape `{error: {code, message, hint}}`. Failed tools never
//! become protocol errors, because clients hide those from the model.

use client::CallError;
use proto::{ErrorCode, Failure, Printable};
use serde_json::{Value, json};

/// Stands for the field that names something that exists already, where that is not `name`.
pub(crate) const TAKEN: &str = "(taken)";

/// The most calls to the daemon at once.
pub(crate) const MAX_CALLS: usize = 48;

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolFailure {
    /// What went wrong, in one word.
    pub(crate) code: String,
    /// In one sentence; begins with the field when one is to blame.
    message: String,
    hint: Option<String>,
    field: Option<String>,
    /// What else a program can act on: `request_id`, `cause`, `current_revision`, `item`.
    more: Vec<(&'static str, Value)>,
}

impl ToolFailure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        let message = Printable(&message.into()).to_string();
        Self { code: code.to_owned(), message, hint: None, field: None, more: Vec::new() }
    }

    /// Creates the error for a wrong argument.
    pub(crate) fn invalid(field: &str, why: impl std::fmt::Display) -> Self {
        Self::new("invalid_args", format!("{field}: {why}")).of_field(field)
    }

    /// Adds the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn of_field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    /// Translates an error of the daemon. `fields` pairs the daemon's field names with the tool's; the first
    /// pair is blamed when the error names no field.
    pub(crate) fn refusal(failure: &Failure, fields: &[(&str, &str)]) -> Self {
        let code = serde_json::to_value(failure.code).ok();
        let code = code.as_ref().and_then(Value::as_str).unwrap_or("internal");
        let named = fields.iter().find(|(theirs, _)| begins_with_field(&failure.message, theirs));
        let rest = |theirs: &str| failure.message.split_once(theirs).map_or("", |(_, rest)| rest).to_owned();
        let mut refusal = match (named, blamed(failure.code, fields)) {
            (Some((theirs, ours)), _) => Self::new(code, format!("{ours}{}", rest(theirs))).of_field(ours),
            (None, Some(ours)) => Self::new(code, format!("{ours}: {}", failure.message)).of_field(ours),
            (None, None) => Self::new(code, failure.message.clone()),
        };
        let facts = [("current_revision", failure.revision), ("item", failure.item)];
        let cause = failure.cause.map(|cause| ("cause", json!(cause)));
        let facts = facts.into_iter().filter_map(|(name, fact)| Some((name, json!(fact?))));
        refusal.more = cause.into_iter().chain(facts).collect();
        // The daemon's own hints name verbs of the command line, which an agent does not have.
        match next_step(failure, refusal.field.as_deref()) {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    }

    /// Translates the error of a call; `fields` as in [`ToolFailure::refusal`].
    pub(crate) fn of_call(error: &CallError, fields: &[(&str, &str)]) -> Self {
        match error {
            CallError::Refused(failure) => Self::refusal(failure, fields),
            CallError::Unreachable(why) => Self::new("unreachable", why.as_str())
                .hint("try again in a moment; a person can run `qd doctor`"),
            CallError::UnknownOutcome => Self::unknown_outcome(),
            CallError::Busy => {
                Self::new("busy", format!("{MAX_CALLS} calls are under way, which is the limit"))
                    .hint("wait for one of them; wait_for_state takes several processes at once")
            }
        }
    }

    /// Creates the error for a call during which the daemon went away: it is unknown whether the call had an
    /// effect. Its id finds the call in the daemon's log and the client's transcript.
    fn unknown_outcome() -> Self {
        let message = "the daemon went away before it answered; this may or may not have happened";
        let told = Self::new("retry_unknown_outcome", message)
            .hint("look whether it happened (list_processes, scratchpad_list) before you repeat it");
        Self { more: vec![("request_id", json!(request_id()))], ..told }
    }

    /// Returns the whole error as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        for (name, value) in [("hint", &self.hint), ("field", &self.field)] {
            if let Some(value) = value {
                error[name] = json!(value);
            }
        }
        for (name, value) in &self.more {
            error[*name] = value.clone();
        }
        json!({ "error": error })
    }
}

/// Returns an id for one call. It is only a label: without entropy it is constant.
fn request_id() -> String {
    let mut random = [0; 8];
    let _filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    format!("r_{:016x}", u64::from_le_bytes(random))
}

/// Returns true if a message is `field: …` or `a.path.to.field: …`.
fn begins_with_field(message: &str, field: &str) -> bool {
    message.split_once(':').is_some_and(|(head, _)| head.rsplit('.').any(|part| part == field))
}

/// Returns the tool's field to blame for a code whose message names none; `None` when no argument is to
/// blame.
fn blamed<'a>(code: ErrorCode, fields: &[(&str, &'a str)]) -> Option<&'a str> {
    let theirs = match code {
        ErrorCode::NotFound
        | ErrorCode::InvalidArgs
        | ErrorCode::WrongKind
        | ErrorCode::NotRelated
        | ErrorCode::NotRunning => None,
        ErrorCode::Conflict => {
            Some(if fields.iter().any(|(name, _)| *name == TAKEN) { TAKEN } else { "name" })
        }
        ErrorCode::SpawnFailed => Some("argv"),
        ErrorCode::WorkdirGone => Some("cwd"),
        ErrorCode::TaskNotFound | ErrorCode::WorkspaceMismatch => Some("task"),
        _ => return None,
    };
    let own = fields.iter().find(|(name, _)| Some(*name) == theirs);
    own.or(fields.first()).map(|(_, ours)| *ours)
}

/// Returns the next step, in terms of tools.
fn next_step(failure: &Failure, field: Option<&str>) -> Option<&'static str> {
    Some(match (failure.code, field) {
        (ErrorCode::NotFound, field) => missing(field),
        (ErrorCode::Conflict, field) => taken(failure, field),
        (ErrorCode::Denied, _) => "a person or the project's rules refused it: do not look for another way",
        (ErrorCode::NotRelated, _) => {
            "you may drive yourself and your descendants; help(permissions) tells more"
        }
        (ErrorCode::NeedsTrust, _) => {
            "a person was asked and you get a message when they have answered: then call this again"
        }
        (ErrorCode::BudgetExceeded, _) => {
            "close processes that are no longer needed, or ask a person for more with ask_human"
        }
        (ErrorCode::Busy, _) => "try again in a moment",
        (ErrorCode::Unauthorized, _) => "only help is open to a caller that could not be identified",
        (ErrorCode::NotRunning, Some("processes" | "turn")) => {
            "get_process_output shows what it printed last; start_process starts it again"
        }
        (ErrorCode::NotRunning, _) => "start_process starts it again",
        (ErrorCode::WrongKind, _) => "list_processes tells the kind of each process",
        (ErrorCode::DialogOpen, _) => "get_process_status shows the dialog; answer_prompt answers it",
        (ErrorCode::HumanTyping, _) => "a person is typing there: try again later",
        (ErrorCode::UnknownOutcome, _) => "look at the agent before you send it again",
        (ErrorCode::NotDelivered, _) => "get_process_status tells what the agent is doing",
        (ErrorCode::ShuttingDown, _) => "Quarterdeck is ending: try again once it is back",
        (ErrorCode::SpawnFailed | ErrorCode::WorkdirGone, _) => "correct the command or the directory",
        (ErrorCode::TaskNotFound | ErrorCode::WorkspaceMismatch, _) => {
            "task_list tells which tasks there are"
        }
        (ErrorCode::Version, _) => "this proxy is older or newer than the daemon: start the agent again",
        (ErrorCode::Survived, _) => "what survived belongs to another user: tell a person to end it",
        (ErrorCode::NoSpace, _) => "the disk is full: a person has to make room",
        (ErrorCode::Limit, _) => "close or cancel what is no longer needed",
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

/// Returns how to find the name of something that was not found.
fn missing(field: Option<&str>) -> &'static str {
    match field {
        Some("agent" | "preset") => "get_project_status lists what there is",
        Some("dialog_id") => "get_process_status shows the dialog that is open now",
        Some("message_id") => "get_messages lists what you sent",
        Some("turn") => "leave turn out for the newest that is over",
        Some("timer") => "timer_list tells which timers there are",
        Some("pad" | "revision") => {
            "scratchpad_list tells which there are, scratchpad_list(pad) its revisions"
        }
        _ => "list_processes tells what there is",
    }
}

/// Returns what to do about a conflict.
fn taken(failure: &Failure, field: Option<&str>) -> &'static str {
    match field {
        _ if failure.revision.is_some() => {
            "it was written in between: read it, merge, and write with expected_revision current_revision"
        }
        Some("dialog_id") => "get_process_status shows the dialog that is open now",
        Some("message_id") => "it has left the queue: interrupt_agent ends the turn that it began",
        Some("turn") => "wait_for_turn waits for its end",
        Some("process") => "get_process_status tells what it is doing",
        Some("processes") => "another process waits for you: finish your turn instead of waiting",
        Some("pad" | "to") => "scratchpad_list tells the names in use",
        Some("timer") => "timer_list tells where each timer is",
        Some("task") => "task_status tells where it stands",
        _ => "list_processes tells the names in use",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::error::Cause;

    #[test]
    fn the_daemons_field_becomes_the_tools_field() {
        let failure = Failure::invalid("cwd", "is not a directory");
        let refusal = ToolFailure::refusal(&failure, &[("target", "process"), ("cwd", "working_dir")]);
        assert_eq!(refusal.to_json()["error"]["message"], json!("working_dir: is not a directory"));
        assert_eq!(refusal.to_json()["error"]["field"], json!("working_dir"));
    }

    #[test]
    fn a_refusal_without_a_field_blames_the_first() {
        let failure = Failure::new(ErrorCode::NotFound, "no process is called x");
        let refusal = ToolFailure::refusal(&failure, &[("target", "process")]).to_json();
        assert_eq!(refusal["error"]["message"], json!("process: no process is called x"));
        assert_eq!(refusal["error"]["hint"], json!("list_processes tells what there is"));
    }

    #[test]
    fn a_path_to_a_field_names_it() {
        let failure = Failure::new(ErrorCode::InvalidArgs, "request.wait.until.silence: not a number");
        let refusal = ToolFailure::refusal(&failure, &[("targets", "processes"), ("silence", "seconds")]);
        assert_eq!(refusal.to_json()["error"]["message"], json!("seconds: not a number"));
    }

    #[test]
    fn a_conflict_tells_the_revision_there_is_and_a_question_its_item() {
        let stale = Failure::new(ErrorCode::Conflict, "plan has revision 7").revision(7);
        let refusal = ToolFailure::refusal(&stale, &[("name", "pad")]).to_json();
        assert_eq!(refusal["error"]["current_revision"], json!(7));
        assert!(
            refusal["error"]["hint"].as_str().is_some_and(|hint| hint.contains("expected_revision")),
            "{refusal}"
        );
        let asked = Failure::new(ErrorCode::NeedsTrust, "a person must allow this").item(4);
        let refusal = ToolFailure::refusal(&asked, &[("argv", "argv")]).to_json();
        assert_eq!(
            (&refusal["error"]["code"], &refusal["error"]["item"]),
            (&json!("needs_trust"), &json!(4))
        );
        assert!(refusal["error"].get("field").is_none(), "no argument is to blame: {refusal}");
    }

    #[test]
    fn m24e_an_error_blames_the_argument_that_is_wrong_and_hints_at_the_tool_that_helps() {
        type Case<'a> = (ErrorCode, &'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);
        let cases: &[Case<'_>] = &[
            (
                ErrorCode::Conflict,
                "that dialog is no longer open",
                &[("item", "dialog_id"), ("choice", "choice")],
                "dialog_id",
                "get_process_status",
            ),
            (
                ErrorCode::NotFound,
                "no turn 9",
                &[("turn", "turn"), ("target", "process")],
                "turn",
                "leave turn out",
            ),
            (
                ErrorCode::Conflict,
                "message 4 is no longer in the queue",
                &[("mail", "message_id")],
                "message_id",
                "interrupt_agent",
            ),
            (
                ErrorCode::Conflict,
                "a is idle: there is no turn to interrupt",
                &[("target", "process")],
                "process",
                "get_process_status",
            ),
            (
                ErrorCode::Conflict,
                "there is a scratchpad b already",
                &[("name", "pad"), ("to", "to"), (TAKEN, "to")],
                "to",
                "scratchpad_list",
            ),
            (
                ErrorCode::Denied,
                "mode: only people start agents that ask less than ask",
                &[("argv", "agent"), ("mode", "mode")],
                "mode",
                "do not look for another way",
            ),
            (
                ErrorCode::NotRunning,
                "a ended before what was waited for",
                &[("targets", "processes")],
                "processes",
                "get_process_output",
            ),
        ];
        for (code, message, fields, field, hint) in cases {
            let refusal = ToolFailure::refusal(&Failure::new(*code, *message), fields).to_json();
            assert_eq!(refusal["error"]["field"], json!(field), "{message}");
            assert!(
                refusal["error"]["hint"].as_str().is_some_and(|refusal| refusal.contains(hint)),
                "{refusal}"
            );
        }
    }

    #[test]
    fn t11_the_cause_beneath_a_failed_spawn_is_told() {
        let failed = Failure::new(ErrorCode::SpawnFailed, "no such program").cause(Cause::NotFound);
        let refusal = ToolFailure::refusal(&failed, &[("argv", "argv")]).to_json();
        assert_eq!(
            (&refusal["error"]["code"], &refusal["error"]["cause"]),
            (&json!("spawn_failed"), &json!("not_found"))
        );
    }

    #[test]
    fn c7_no_control_character_of_an_argument_comes_back() {
        let refusal = ToolFailure::invalid("name", "\u{1b}]0;x\u{7}").to_json().to_string();
        assert!(!refusal.contains("\\u001b") && !refusal.contains('\u{1b}'), "{refusal}");
    }
}
