//! The manifest's `[server]` table: the server that a vendor's program carries. Requests are data; the daemon
//! sends them.

use std::collections::BTreeMap;

use proto::agent::{AgentState, BlockedKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::messages::MessagesSpec;
use crate::deliver::{KindWord, StateWord};
use crate::template::{Phrase, Template};
use crate::transcript::EndWord;
use crate::transcript::fields::{Condition, Field};

/// A server on the loopback that starts with the program, streams events and accepts requests.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Words the program is started with: `{port}` is chosen for it.
    #[serde(default)]
    pub args: Vec<Template>,
    /// Variables it is started with: `{secret}` is the password of this launch.
    #[serde(default)]
    pub env: BTreeMap<String, Template>,
    /// The user name that goes with the password; left out: it uses no password.
    #[serde(default)]
    pub user: Option<String>,
    /// The path of the event stream.
    pub events: String,
    /// Where an event has its type.
    pub type_at: Field,
    /// Where an event has its session.
    pub session_at: Field,
    /// What events mean; every entry that matches counts.
    pub event: Vec<ServerEventSpec>,
    /// Requests to send when the stream is opened, to find out what happened before.
    #[serde(default)]
    pub look: Vec<LookSpec>,
    /// How to request the models' windows.
    #[serde(default)]
    pub models: Option<ModelsSpec>,
    /// How to distinguish a session from a subagent's.
    #[serde(default)]
    pub who: Option<WhoSpec>,
    /// How to list the messages of a session.
    #[serde(default)]
    pub messages: Option<MessagesSpec>,
    /// How to start a session, where none is known.
    #[serde(default)]
    pub begin: Option<BeginSpec>,
    /// How to deliver a prompt: requests in this order, with `{/session}` and `{/text}`.
    #[serde(default)]
    pub prompt: Vec<RequestSpec>,
    /// How to interrupt a turn, with `{/session}`.
    #[serde(default)]
    pub abort: Option<RequestSpec>,
    /// How to answer requests of the agent, with `{/id}`, `{/answer}` and `{/text}`; the first entry that
    /// matches counts.
    #[serde(default)]
    pub answer: Vec<AnswerSpec>,
}

/// What one kind of event means.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerEventSpec {
    /// Its name in evidence.
    pub id: String,
    /// The kind.
    #[serde(rename = "type")]
    pub kind_of_event: String,
    /// A condition on events of this kind.
    #[serde(default)]
    pub when: Condition,
    /// A session starts.
    #[serde(default)]
    pub begins: Option<BeginsSpec>,
    /// The session's state.
    #[serde(default)]
    #[schemars(with = "Option<StateWord>")]
    pub state: Option<AgentState>,
    /// The message.
    #[serde(default)]
    pub message: Option<Phrase>,
    /// When it continues by itself, if it waits for its vendor: the first field that exists.
    #[serde(default)]
    pub reset: Vec<Field>,
    /// A person must answer.
    #[serde(default)]
    pub ask: Option<AskSpec>,
    /// The id of a request that was answered.
    #[serde(default)]
    pub settles: Option<Field>,
    /// The turn fails, with this message.
    #[serde(default)]
    pub fails: Option<Phrase>,
    /// The turn was interrupted.
    #[serde(default)]
    pub interrupts: bool,
    /// A person refused something. That interrupts the turn, unless the model sends more.
    #[serde(default)]
    pub denies: bool,
    /// The id of a prompt. The first event about it begins a turn.
    #[serde(default)]
    pub prompt: Option<Field>,
    /// The id of a message of the model's.
    #[serde(default)]
    pub reply: Option<Field>,
    /// A part of a message's text.
    #[serde(default)]
    pub part: Option<PartSpec>,
    /// Tokens in the context: the sum of these.
    #[serde(default)]
    pub used: Vec<Field>,
    /// Tokens taken in and given out so far: the sum of these.
    #[serde(default)]
    pub total: Vec<Field>,
    /// The model's name: `{/provider}/{/model}` as the models are listed.
    #[serde(default)]
    pub model: Option<Phrase>,
    /// The turn is over.
    #[serde(default)]
    pub end: Option<EndWord>,
}

/// Where the fields of a new session are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginsSpec {
    /// Its id.
    pub session: Field,
    /// The session it belongs to, where it is a subagent's.
    pub parent: Field,
}

/// Where the fields of a request of the agent are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskSpec {
    /// Its id.
    pub id: Field,
    /// What the agent needs.
    #[schemars(with = "KindWord")]
    pub kind: BlockedKind,
    /// The question, in one line.
    pub title: Phrase,
    /// The details.
    #[serde(default)]
    pub body: Option<Phrase>,
    /// A list of possible answers.
    #[serde(default)]
    pub options: Option<Field>,
    /// Where an option has its label.
    #[serde(default)]
    pub label: Option<Field>,
}

/// Where the fields of a part of a message are.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartSpec {
    /// The message's id.
    pub message: Field,
    /// The part's id.
    pub id: Field,
    /// Its text so far.
    pub text: Field,
}

/// A request whose response is read like events.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookSpec {
    /// Its name.
    pub id: String,
    /// The path.
    pub path: String,
    /// The kind of event each item of the answer is read as.
    pub reads_as: String,
    /// Where the item is placed in that event.
    pub item_at: Field,
    /// The response is a table by session, not a list; this is the item for a session that is missing in it.
    #[serde(default)]
    pub otherwise: Option<Form>,
}

/// How to list the models' windows.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelsSpec {
    /// The path.
    pub path: String,
    /// The list of providers.
    pub providers: Field,
    /// A provider's name.
    pub provider: Field,
    /// A provider's table of models by name.
    pub models: Field,
    /// A model's window.
    pub window: Field,
}

/// How to request the owner of a session.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhoSpec {
    /// The path, with `{/session}`.
    pub path: Phrase,
    /// In the response: the session that it belongs to.
    pub parent: Field,
}

/// How to start a session.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginSpec {
    /// The request.
    pub request: RequestSpec,
    /// In the response: its id.
    pub session: Field,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// Its name.
    #[serde(default)]
    pub id: String,
    /// The path.
    pub path: Phrase,
    /// What is posted.
    #[serde(default)]
    pub body: Option<Form>,
    /// Only for display: its result does not matter.
    #[serde(default)]
    pub is_for_show: bool,
}

/// How to answer one kind of request with one answer.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// Its name.
    pub id: String,
    /// Which kind.
    #[schemars(with = "KindWord")]
    pub kind: BlockedKind,
    /// Which answers; empty means any.
    #[serde(default)]
    pub names: Vec<String>,
    /// The request.
    pub request: RequestSpec,
}

/// A JSON value whose texts are phrases.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
pub struct Form(#[schemars(with = "Value")] Value);

impl Form {
    /// Fills the placeholders of its texts from these facts.
    #[must_use]
    pub(crate) fn fill(&self, facts: &Value) -> Value {
        filled(&self.0, facts)
    }
}

impl TryFrom<Value> for Form {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        check(&value)?;
        Ok(Self(value))
    }
}

fn check(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => Phrase::parse(text).map(|_| ()).map_err(|fault| fault.to_string()),
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(table) => table.values().try_for_each(check),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn filled(value: &Value, facts: &Value) -> Value {
    match value {
        // The form was checked when it was read.
        Value::String(text) => {
            Phrase::parse(text).map_or(Value::Null, |phrase| Value::String(phrase.render(facts)))
        }
        Value::Array(items) => items.iter().map(|item| filled(item, facts)).collect(),
        Value::Object(table) => table.iter().map(|(key, item)| (key.clone(), filled(item, facts))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
