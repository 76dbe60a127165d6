//! The state of the agent's session, built from its server's events: the status, open requests, the turn's
//! text, the tokens. It gets only events of the agent's own session, and requests of all sessions.

use proto::agent::{AgentState, Evidence, Quota, Source, TurnEnd};
use serde_json::Value;

use super::request::PendingRequest;
use super::spec::{AskSpec, ServerEventSpec};
use crate::hook;
use crate::quota::{QuotaSpec, instant};
use crate::transcript::fields::sum;
use crate::transcript::{EndWord, one_line};

/// The most requests that are remembered as open.
const MOST_ASKS: usize = 64;

/// The most prompts that are remembered as seen.
const MOST_PROMPTS: usize = 32;

/// The most parts of one turn, and the most messages.
const MOST_PARTS: usize = 256;

/// The longest text of a turn that is kept, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;

/// The session so far.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionSoFar {
    status: Option<Evidence>,
    asks: Vec<PendingRequest>,
    failure: Option<Evidence>,
    is_interrupted: bool,
    /// A person refused something, and the model has sent nothing since.
    is_denied: bool,
    is_in_turn: bool,
    /// The prompt of the turn was seen, so its text is complete.
    is_whole: bool,
    prompts: Vec<String>,
    /// The model's messages of the turn.
    replies: Vec<String>,
    /// The parts of these messages.
    parts: Vec<MessagePart>,
    text: String,
    used: Option<u64>,
    total: u64,
    model: Option<String>,
}

/// One part of a message of the model.
#[derive(Clone, Debug)]
struct MessagePart {
    message: String,
    id: String,
    text: String,
}

impl SessionSoFar {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the newest prompts.
    pub(super) fn prompts(&self) -> &[String] {
        &self.prompts
    }

    pub(super) fn asks(&self) -> &[PendingRequest] {
        &self.asks
    }

    pub(super) fn forget_asks(&mut self) {
        self.asks.clear();
    }

    /// Returns the tokens in the context, those of the whole session, and the model.
    pub(super) fn figures(&self) -> Option<(u64, u64, Option<&str>)> {
        Some((self.used?, self.total, self.model.as_deref()))
    }

    /// Returns the evidence: an open request, else a failure, else the status.
    pub(super) fn evidence(&self) -> Option<Evidence> {
        if let Some(ask) = self.asks.first() {
            let known = Evidence::new(Source::Server, ask.rule.clone(), Some(AgentState::Blocked));
            let parts = [ask.title.as_str(), ask.body.as_str()];
            let message =
                one_line(&parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": "));
            return Some(Evidence { kind: Some(ask.kind), message, ..known });
        }
        let is_busy = self.status.as_ref().and_then(|status| status.state).is_some_and(AgentState::is_busy);
        let failure = self.failure.as_ref().filter(|_| !is_busy);
        failure.or(self.status.as_ref()).cloned()
    }

    pub(super) fn take_ask(&mut self, spec: &ServerEventSpec, event: &Value) {
        if let Some(settled) = spec.settles.as_ref().and_then(|id| id.text(event)) {
            self.asks.retain(|ask| ask.id != settled);
        }
        let Some(ask) = spec.ask.as_ref().and_then(|ask| read_ask(&spec.id, ask, event)) else { return };
        if self.asks.len() < MOST_ASKS && !self.asks.iter().any(|open| open.id == ask.id) {
            self.asks.push(ask);
        }
    }

    /// Records a prompt. Returns true if it is new.
    pub(super) fn take_prompt(&mut self, spec: &ServerEventSpec, event: &Value) -> bool {
        let Some(prompt) = spec.prompt.as_ref().and_then(|prompt| prompt.text(event)) else { return false };
        // Servers mention older prompts again to add their results.
        if self.prompts.iter().any(|seen| seen == prompt) {
            return false;
        }
        self.remember_prompt(prompt.to_owned());
        // A prompt in the middle of a turn belongs to it.
        if !self.is_in_turn || !self.is_whole {
            self.forget_text();
            self.begin_turn();
        }
        self.is_whole = true;
        true
    }

    /// Remembers a prompt as seen.
    pub(super) fn remember_prompt(&mut self, prompt: String) {
        if self.prompts.len() >= MOST_PROMPTS {
            self.prompts.remove(0);
        }
        self.prompts.push(prompt);
    }

    /// Remembers a message of the model as seen: the server mentions it again when it is complete.
    pub(super) fn remember_reply(&mut self, reply: String) {
        if !self.replies.contains(&reply) && self.replies.len() < MOST_PARTS {
            self.replies.push(reply);
        }
    }

    fn forget_text(&mut self) {
        self.replies.clear();
        self.parts.clear();
        self.text.clear();
    }

    pub(super) fn take_status(&mut self, spec: &ServerEventSpec, event: &Value, quotas: &[QuotaSpec]) {
        self.is_interrupted |= spec.interrupts;
        self.is_denied |= spec.denies;
        if let Some(fails) = &spec.fails {
            let known = Evidence::new(Source::Server, spec.id.clone(), Some(AgentState::Error));
            self.failure =
                Some(with_quota(Evidence { message: one_line(&fails.render(event)), ..known }, None, quotas));
        }
        let Some(state) = spec.state else { return };
        if state.is_busy() && !self.is_in_turn {
            self.begin_turn();
        }
        let message =
            spec.message.as_ref().map(|message| one_line(&message.render(event))).unwrap_or_default();
        let reset = spec.reset.iter().find_map(|reset| reset.of(event)).and_then(instant);
        let known = Evidence::new(Source::Server, spec.id.clone(), Some(state));
        self.status = Some(with_quota(Evidence { message, ..known }, reset, quotas));
    }

    pub(super) fn take_text(&mut self, spec: &ServerEventSpec, event: &Value) {
        if let Some(reply) = spec.reply.as_ref().and_then(|reply| reply.text(event))
            && !self.replies.iter().any(|known| known == reply)
            && self.replies.len() < MOST_PARTS
        {
            self.replies.push(reply.to_owned());
            self.is_denied = false;
        }
        let Some(part) = &spec.part else { return };
        let (Some(message), Some(id), Some(text)) =
            (part.message.text(event), part.id.text(event), part.text.text(event))
        else {
            return;
        };
        // Prompts have parts too: only those of the model's own messages are the agent's text.
        if !self.replies.iter().any(|reply| reply == message) {
            return;
        }
        if let Some(known) = self.parts.iter_mut().find(|known| known.id == id) {
            text.clone_into(&mut known.text);
        } else if self.parts.len() < MOST_PARTS {
            let (message, id, text) = (message.to_owned(), id.to_owned(), text.to_owned());
            self.parts.push(MessagePart { message, id, text });
        }
        self.text = joined(&self.parts);
        let cut = self.text.floor_char_boundary(LONGEST_TEXT);
        self.text.truncate(cut);
    }

    /// Counts tokens. Returns true if a number changed.
    pub(super) fn count(&mut self, spec: &ServerEventSpec, event: &Value) -> bool {
        let before = (self.used, self.total);
        if let Some(used) = sum(&spec.used, event).filter(|used| *used > 0) {
            self.used = Some(used);
            self.model = spec.model.as_ref().map(|model| model.render(event)).or_else(|| self.model.take());
        }
        self.total = sum(&spec.total, event).unwrap_or(self.total);
        before != (self.used, self.total)
    }

    /// Ends the turn, if one is under way.
    pub(super) fn end_turn(&mut self, end: EndWord) -> Option<(TurnEnd, String)> {
        if !std::mem::take(&mut self.is_in_turn) {
            return None;
        }
        // A text whose beginning was missed is no result: the list of messages has all of it.
        let text = if std::mem::take(&mut self.is_whole) { self.text.clone() } else { String::new() };
        let end = if self.is_interrupted || self.is_denied || end == EndWord::Interrupted {
            TurnEnd::Interrupted
        } else if self.failure.is_some() {
            TurnEnd::Failed
        } else {
            TurnEnd::Done
        };
        Some((end, text))
    }

    fn begin_turn(&mut self) {
        self.is_in_turn = true;
        self.is_interrupted = false;
        self.is_denied = false;
        self.failure = None;
    }
}

/// Joins the parts into one text: those of one message line by line, with a blank line between messages.
fn joined(parts: &[MessagePart]) -> String {
    let mut text = String::new();
    let mut before: Option<&str> = None;
    for part in parts.iter().filter(|part| !part.text.trim().is_empty()) {
        match before {
            None => {}
            Some(before) if before == part.message => text.push('\n'),
            Some(_) => text.push_str("\n\n"),
        }
        text.push_str(&part.text);
        before = Some(&part.message);
    }
    text
}

fn read_ask(rule: &str, spec: &AskSpec, event: &Value) -> Option<PendingRequest> {
    let id = spec.id.text(event)?.to_owned();
    let listed = spec.options.as_ref().and_then(|options| options.of(event)).and_then(Value::as_array);
    let label = |option: &Value| match &spec.label {
        Some(label) => label.text(option).map(one_line),
        None => option.as_str().map(one_line),
    };
    Some(PendingRequest {
        id,
        rule: rule.to_owned(),
        kind: spec.kind,
        title: one_line(&spec.title.render(event)),
        body: spec.body.as_ref().map(|body| hook::body(&body.render(event))).unwrap_or_default(),
        options: listed.into_iter().flatten().filter_map(label).collect(),
    })
}

/// Marks a wait for the vendor as a quota when its message says so: servers wait for many reasons.
fn with_quota(evidence: Evidence, reset_at: Option<u64>, quotas: &[QuotaSpec]) -> Evidence {
    let is_quota = quotas.iter().any(|quota| quota.pattern.is_in(&evidence.message));
    Evidence { quota: is_quota.then_some(Quota { reset_at }), ..evidence }
}
