//! Checks each line on standard input before any parser reads it: length, text, depth, shape and id. Also
//! rejects methods that the newer protocol version has removed.
//!
//! Every request gets an answer, even a broken one, because a client without an answer waits for ever.
//! `server` decides which methods exist.

use proto::Printable;
use proto::request::nests_deeper;
use serde_json::{Map, Value, json};

/// The longest line, without its newline. The longest argument of any tool is a sixteenth of it.
pub(crate) const MAX_LINE: usize = 4 << 20; // 4 MiB
/// The deepest nesting. Our own schemas need eight; more is an attack on a parser's stack.
const MAX_DEPTH: usize = 64;
/// Longest id a client may give a request.
const MAX_ID: usize = 128;

/// JSON-RPC: the line is not JSON.
const PARSE_ERROR: i32 = -32700;
/// JSON-RPC: the JSON is not a request.
const INVALID_REQUEST: i32 = -32600;
/// JSON-RPC: no such method.
const METHOD_NOT_FOUND: i32 = -32601;
/// JSON-RPC: the request's parameters are wrong.
const INVALID_PARAMS: i32 = -32602;

/// Where a request of the newer version has its version.
const VERSION_FIELD: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
/// The version that removed sessions.
const STATELESS: &str = "2026-07-28";
/// Methods that this version removed. A client that probes a server gets "method not found" for them instead
/// of a complaint about their parameters.
const REMOVED: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Why a line is not a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    code: i32,
    /// What is wrong, naming the field.
    message: String,
    /// The request's id, when that much could be read.
    id: Value,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), id: Value::Null }
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    fn with_id(mut self, id: &Value) -> Self {
        self.id = id.clone();
        self
    }

    /// Creates the error for a valid request that is refused now: its id is in use, or too many are
    /// unanswered.
    pub(crate) fn refused(id: &Value, why: impl Into<String>) -> Self {
        Self::invalid(why).with_id(id)
    }

    /// Returns true if the method does not exist.
    pub(crate) fn is_unknown_method(&self) -> bool {
        self.code == METHOD_NOT_FOUND
    }

    /// Returns the answer, as JSON.
    pub(crate) fn answer(&self) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": self.message}})
    }
}

/// A line that the server may get.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// Wants an answer under this id.
    Request {
        /// Text or integer.
        id: Value,
        /// The whole message.
        message: Value,
    },
    /// Wants none.
    Notification(Value),
    /// Answers a question of ours.
    Reply(Value),
}

/// Cuts a stream of bytes into lines and keeps at most one line's limit in memory.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    line: Vec<u8>,
    /// The rest of a line that was too long is dropped up to its newline.
    is_skipping: bool,
}

impl Lines {
    /// Feeds bytes and passes every line that ends in them, or its fault, to `each`.
    pub(crate) fn push(&mut self, bytes: &[u8], each: &mut impl FnMut(Result<Vec<u8>, Fault>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (body, is_whole) = match piece.strip_suffix(b"\n") {
                Some(body) => (body, true),
                None => (piece, false),
            };
            if !self.is_skipping && self.line.len() + body.len() > MAX_LINE {
                self.line = Vec::new();
                self.is_skipping = true;
                each(Err(Fault::invalid(format!("line: at most {MAX_LINE} bytes"))));
            } else if !self.is_skipping {
                self.line.extend_from_slice(body);
            }
            if is_whole && !std::mem::take(&mut self.is_skipping) {
                each(Ok(std::mem::take(&mut self.line)));
            }
        }
    }
}

/// Checks one line; returns `None` for a blank one.
pub(crate) fn examine(line: &[u8]) -> Result<Option<Message>, Fault> {
    let text = std::str::from_utf8(line).map_err(|_| Fault::new(PARSE_ERROR, "line: not UTF-8"))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(None);
    }
    if nests_deeper(text.as_bytes(), MAX_DEPTH) {
        return Err(Fault::invalid(format!("line: nests deeper than {MAX_DEPTH}")));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Fault::new(PARSE_ERROR, format!("line: not JSON: {}", Printable(&error.to_string())))
    })?;
    match value {
        Value::Object(object) => classify(object).map(Some),
        Value::Array(_) => Err(Fault::invalid("line: batches are not taken; send one message per line")),
        _ => Err(Fault::invalid("line: a message is an object")),
    }
}

fn classify(mut object: Map<String, Value>) -> Result<Message, Fault> {
    let id = object.get("id").cloned();
    let echo = id.clone().filter(is_id).unwrap_or(Value::Null);
    let invalid = |why: &str| Err(Fault::invalid(why).with_id(&echo));
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("jsonrpc: must be \"2.0\"");
    }
    let Some(method) = object.get("method") else {
        let is_reply = object.contains_key("result") || object.contains_key("error");
        return if is_reply { Ok(Message::Reply(Value::Object(object))) } else { invalid("method: missing") };
    };
    if !method.is_string() {
        return invalid("method: must be a text");
    }
    if let Some(id) = id.as_ref().filter(|id| !is_id(id)) {
        return invalid(if id.is_string() {
            "id: at most 128 bytes"
        } else {
            "id: must be a text or an integer"
        });
    }
    match object.get("params") {
        Some(Value::Null) => drop(object.remove("params")),
        Some(params) if !params.is_object() => {
            return Err(Fault::new(INVALID_PARAMS, "params: must be an object").with_id(&echo));
        }
        _ => {}
    }
    let message = Value::Object(object);
    match id {
        Some(id) => match removed(&message) {
            Some(method) => {
                let why = format!("method: {method} is not part of {STATELESS}");
                Err(Fault::new(METHOD_NOT_FOUND, why).with_id(&id))
            }
            None => Ok(Message::Request { id, message }),
        },
        None => Ok(Message::Notification(message)),
    }
}

/// Returns the method, if the version of the request no longer has it. An `initialize` that names a version
/// belongs to the older protocol, even if a library adds the newer version field to all its requests.
fn removed(message: &Value) -> Option<&'static str> {
    let is_stateless = message.pointer(VERSION_FIELD).and_then(Value::as_str) == Some(STATELESS);
    if !is_stateless || message.pointer("/params/protocolVersion").is_some() {
        return None;
    }
    let method = message.get("method").and_then(Value::as_str)?;
    REMOVED.into_iter().find(|gone| *gone == method)
}

fn is_id(id: &Value) -> bool {
    id.is_i64() || id.as_str().is_some_and(|text| text.len() <= MAX_ID)
}

#[cfg(test)]
mod tests;
