//! The messages of a session as the vendor's server lists them: the model's text in a turn, and the prompts.
//!
//! The event stream has only what happens while the daemon is connected; the list has what it missed.

use std::ops::RangeInclusive;

use proto::agent::TurnEnd;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::request::ServerRequest;
use super::spec::ServerSpec;
use crate::quota::instant;
use crate::template::Phrase;
use crate::transcript::fields::{Condition, Field};
use crate::transcript::{EndedTurn, TextSpec};

/// The longest text of a turn that is kept, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;

/// How to request the messages of a session, and where their fields are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesSpec {
    /// The path, with `{/session}`. The response is a list, oldest first.
    pub path: Phrase,
    /// A message's id.
    pub id: Field,
    /// When it was made.
    pub made: Field,
    /// Which messages are prompts; the others are the model's.
    pub prompt: Condition,
    /// Its text.
    pub text: TextSpec,
    /// Which of the model's messages was interrupted.
    #[serde(default)]
    pub interrupted: Option<Condition>,
    /// Which of them failed.
    #[serde(default)]
    pub failed: Option<Condition>,
    /// Which of them ends because a person refused something.
    #[serde(default)]
    pub denied: Option<DeniedSpec>,
}

/// Where a message of the model has a refusal.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeniedSpec {
    /// The list of its parts.
    pub list: Field,
    /// Which of them is something that a person refused.
    pub when: Condition,
}

impl DeniedSpec {
    fn holds(&self, message: &Value) -> bool {
        let parts = self.list.of(message).and_then(Value::as_array);
        parts.is_some_and(|parts| parts.iter().any(|part| self.when.holds(part)))
    }
}

/// Returns the request for the messages of a session.
#[must_use]
pub fn list(spec: &ServerSpec, session: &str) -> Option<ServerRequest> {
    ServerRequest::get(&spec.messages.as_ref()?.path.render(&json!({ "session": session })))
}

/// Returns the model's text after the prompts that were made in this span (milliseconds since the epoch).
#[must_use]
pub fn turn(spec: &ServerSpec, answer: &Value, span: &RangeInclusive<u64>) -> Option<EndedTurn> {
    let spec = spec.messages.as_ref()?;
    let mut found: Option<EndedTurn> = None;
    let mut is_inside = false;
    // The model may go on after a refusal: only one in its last message has ended the turn.
    let mut is_denied = false;
    for message in answer.as_array()? {
        if spec.prompt.holds(message) {
            let prompted_at = spec.made.of(message).and_then(instant);
            is_inside = prompted_at.is_some_and(|made| span.contains(&made));
            if is_inside {
                // A prompt in the middle of a turn belongs to it.
                found.get_or_insert(EndedTurn { end: TurnEnd::Done, text: String::new(), prompted_at });
            }
        } else if let Some(turn) = found.as_mut().filter(|_| is_inside) {
            spec.add(turn, message);
            is_denied = spec.denied.as_ref().is_some_and(|denied| denied.holds(message));
        }
    }
    if let Some(turn) = found.as_mut().filter(|turn| is_denied && turn.end == TurnEnd::Done) {
        turn.end = TurnEnd::Interrupted;
    }
    found
}

/// Returns true if a prompt with this text was made at this moment (milliseconds since the epoch) or later.
#[must_use]
pub fn has_prompt(spec: &ServerSpec, answer: &Value, text: &str, since: u64) -> bool {
    let Some(spec) = &spec.messages else { return false };
    let is_it = |message: &Value| {
        let made = spec.made.of(message).and_then(instant);
        let prompt_text = spec.text.of(message);
        spec.prompt.holds(message)
            && made.is_some_and(|made| made >= since)
            && prompt_text.is_some_and(|prompt_text| prompt_text.trim() == text.trim())
    };
    answer.as_array().is_some_and(|messages| messages.iter().any(is_it))
}

/// Returns the ids of the prompts in a response, oldest first.
pub(super) fn prompts(spec: &MessagesSpec, answer: &Value) -> Vec<String> {
    let messages = answer.as_array().into_iter().flatten();
    let prompts = messages.filter(|message| spec.prompt.holds(message));
    prompts.filter_map(|message| spec.id.text(message)).map(str::to_owned).collect()
}

/// Returns the ids of the model's messages since the newest prompt in a response, oldest first.
pub(super) fn replies(spec: &MessagesSpec, answer: &Value) -> Vec<String> {
    let messages = answer.as_array().into_iter().flatten();
    let newest: Vec<&Value> = messages.rev().take_while(|message| !spec.prompt.holds(message)).collect();
    newest.into_iter().rev().filter_map(|message| spec.id.text(message)).map(str::to_owned).collect()
}

impl MessagesSpec {
    /// Adds one of the model's messages to a turn.
    fn add(&self, turn: &mut EndedTurn, message: &Value) {
        if self.interrupted.as_ref().is_some_and(|interrupted| interrupted.holds(message)) {
            turn.end = TurnEnd::Interrupted;
        } else if self.failed.as_ref().is_some_and(|failed| failed.holds(message)) {
            turn.end = TurnEnd::Failed;
        }
        let Some(text) = self.text.of(message) else { return };
        if !turn.text.is_empty() {
            turn.text.push_str("\n\n");
        }
        turn.text.push_str(&text);
        turn.text.truncate(turn.text.floor_char_boundary(LONGEST_TEXT));
    }
}
