//! Builds requests to a vendor's server from the manifest's forms. It refuses ids that would change the path.

use proto::agent::BlockedKind;
use serde_json::{Value, json};

use super::spec::{RequestSpec, ServerSpec};

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads something.
    Get,
    /// Does something.
    Post,
}

impl Method {
    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerRequest {
    /// How.
    pub method: Method,
    /// Where.
    pub path: String,
    /// What is posted.
    pub body: Option<Value>,
    /// Only for display: its result does not matter.
    pub is_for_show: bool,
}

/// A request of the agent that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// The vendor's id.
    pub id: String,
    /// The rule that recognised it.
    pub rule: String,
    /// What the agent needs.
    pub kind: BlockedKind,
    /// The question, in one line.
    pub title: String,
    /// The details.
    pub body: String,
    /// The labels of the possible answers, where the event has them.
    pub options: Vec<String>,
}

impl ServerRequest {
    /// Returns a GET request for a path.
    pub(crate) fn get(path: &str) -> Option<Self> {
        let path = plain(path.to_owned())?;
        Some(Self { method: Method::Get, path, body: None, is_for_show: false })
    }
}

/// Returns the requests that deliver a prompt to a session, in order; `None` when the vendor's server accepts
/// no prompts.
#[must_use]
pub fn prompt(spec: &ServerSpec, session: &str, text: &str) -> Option<Vec<ServerRequest>> {
    let facts = json!({ "session": session, "text": text });
    let requests: Option<Vec<ServerRequest>> =
        spec.prompt.iter().map(|request| post(request, &facts)).collect();
    requests.filter(|requests| !requests.is_empty())
}

/// Returns the request that starts a session.
#[must_use]
pub fn begin(spec: &ServerSpec) -> Option<ServerRequest> {
    post(&spec.begin.as_ref()?.request, &json!({}))
}

/// Returns the new session, from the response to [`begin`].
#[must_use]
pub fn begun(spec: &ServerSpec, answer: &Value) -> Option<String> {
    spec.begin.as_ref()?.session.text(answer).map(str::to_owned)
}

/// Returns the request that interrupts a session's turn.
#[must_use]
pub fn abort(spec: &ServerSpec, session: &str) -> Option<ServerRequest> {
    post(spec.abort.as_ref()?, &json!({ "session": session }))
}

/// Returns the request that answers one of the agent's; `text` is added where the vendor accepts words.
#[must_use]
pub fn answer(spec: &ServerSpec, ask: &PendingRequest, answer: &str, text: &str) -> Option<ServerRequest> {
    let facts = json!({ "id": ask.id, "answer": answer, "text": text });
    let fits = |names: &[String]| names.is_empty() || names.iter().any(|name| name == answer);
    let found = spec.answer.iter().find(|spec| spec.kind == ask.kind && fits(&spec.names))?;
    post(&found.request, &facts)
}

fn post(spec: &RequestSpec, facts: &Value) -> Option<ServerRequest> {
    let path = plain(spec.path.render(facts))?;
    let body = spec.body.as_ref().map(|form| form.fill(facts));
    Some(ServerRequest { method: Method::Post, path, body, is_for_show: spec.is_for_show })
}

/// Returns the path unless an id brought a character that changes its meaning.
pub(crate) fn plain(path: String) -> Option<String> {
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'.' | b'?' | b'=' | b'&')
    };
    let is_whole = path.starts_with('/') && !path.contains("//") && !path.contains("..");
    (is_whole && path.bytes().all(is_plain)).then_some(path)
}
