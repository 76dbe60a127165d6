//! One request and its answer, independent of the interface. Each of the four interfaces has its wire form in
//! its own file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::script::Said;

/// A request to a model.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) model: String,
    pub(super) said: Vec<Said>,
    /// How many messages the conversation has, of all roles.
    pub(super) messages: usize,
    /// Names of the tools offered.
    pub(super) tools: Vec<String>,
    pub(super) is_streamed: bool,
    /// The fixed answer, when this is a side request of the program itself (a title, a choice of the model)
    /// and no turn.
    pub(super) side: Option<String>,
}

impl Exchange {
    /// A request without tools is a side request: a program that works for its user always offers some.
    pub(super) fn errand(tools: &[String]) -> Option<String> {
        tools.is_empty().then(|| "scripted title".to_owned())
    }
}

/// The model's answer.
#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    Call { name: String, input: Value },
}

/// Why the model gives no answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    /// The account is used up for so many seconds.
    Quota { reset_in: u64 },
    /// An error with this status.
    Fail { status: u16 },
}

/// An answer in both its forms.
#[derive(Debug)]
pub(super) struct Turn {
    /// For a client that does not stream.
    pub(super) whole: Value,
    /// For a client that does.
    pub(super) events: Vec<String>,
    /// The number of events up to the first words. A program that was interrupted before them takes its
    /// prompt back, so an answer has begun only with them.
    pub(super) begun: usize,
}

/// Makes the ids of one answer: unique in every conversation, even one continued with another server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub(super) port: u16,
    pub(super) number: usize,
}

impl Stamp {
    pub(super) fn id(self, kind: &str) -> String {
        format!("{kind}_{}x{}", self.port, self.number)
    }
}

/// Returns the words of a text, each with the space after it, as a model streams them.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Returns the text in a message's content, however deep it is nested.
pub(super) fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let inside = ["text", "content", "output"].iter().find_map(|name| fields.get(*name));
            inside.map_or_else(|| value.to_string(), flat)
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Returns a field's text, or nothing.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns a field's elements, or none.
pub(super) fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the time this many seconds from now, in seconds since 1970.
pub(super) fn seconds_ahead(seconds: u64) -> u64 {
    let now = SystemTime::now() + Duration::from_secs(seconds);
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
