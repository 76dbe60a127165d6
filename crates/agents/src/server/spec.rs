//! What a manifest says about the server its vendor's program carries.
//!
//! Owns the shape of the `[server]` table. Refuses talking: requests are data, the daemon sends them.

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

/// A server on the loopback, started with the program, that streams events and takes requests.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Words the program is started with: `{port}` is chosen for it.
    #[serde(default)]
    pub args: Vec<Template>,
    /// Variables it is started with: `{secret}` is the password of this launch.
    #[serde(default)]
    pub env: BTreeMap<String, Template>,
    /// The user name that goes with the password; none: it takes no password.
    #[serde(default)]
    pub user: Option<String>,
    /// The path of the event stream.
    pub events: String,
    /// Where an event says what it is.
    pub type_at: Field,
    /// Where an event says which session it is about.
    pub session_at: Field,
    /// What events say; every one that fits counts.
    pub event: Vec<ServerEventSpec>,
    /// What is asked when the stream is opened, so that what happened before is known.
    #[serde(default)]
    pub look: Vec<LookSpec>,
    /// How the models' windows are asked for.
    #[serde(default)]
    pub models: Option<ModelsSpec>,
    /// How a session is told from a subagent's.
    #[serde(default)]
    pub who: Option<WhoSpec>,
    /// How the messages of a session are listed.
    #[serde(default)]
    pub messages: Option<MessagesSpec>,
    /// How a session is begun, where none is known.
    #[serde(default)]
    pub begin: Option<BeginSpec>,
    /// How a prompt is handed over: requests in this order, with `{/session}` and `{/text}`.
    #[serde(default)]
    pub prompt: Vec<RequestSpec>,
    /// How a turn is interrupted, with `{/session}`.
    #[serde(default)]
    pub abort: Option<RequestSpec>,
    /// How requests of the agent are answered, with `{/id}`, `{/answer}` and `{/text}`; the first that fits counts.
    #[serde(default)]
    pub answer: Vec<AnswerSpec>,
}

/// What one kind of event says.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerEventSpec {
    /// What it is called in evidence.
    pub id: String,
    /// The kind.
    #[serde(rename = "type")]
    pub kind_of_event: String,
    /// Which of this kind.
    #[serde(default)]
    pub when: Condition,
    /// A session is made.
    #[serde(default)]
    pub begins: Option<BeginsSpec>,
    /// What the session does.
    #[serde(default)]
    #[schemars(with = "Option<StateWord>")]
    pub state: Option<AgentState>,
    /// What it says in words.
    #[serde(default)]
    pub message: Option<Phrase>,
    /// When it goes on by itself, should it wait for its vendor: the first of these that stands.
    #[serde(default)]
    pub reset: Vec<Field>,
    /// Somebody must answer.
    #[serde(default)]
    pub ask: Option<AskSpec>,
    /// A request that was answered: its id.
    #[serde(default)]
    pub settles: Option<Field>,
    /// The turn fails: what it says.
    #[serde(default)]
    pub fails: Option<Phrase>,
    /// The turn was interrupted.
    #[serde(default)]
    pub interrupts: bool,
    /// A person refused something. The turn was interrupted by that, unless the model goes on to say something.
    #[serde(default)]
    pub denies: bool,
    /// A prompt: its id. The first event about it begins a turn.
    #[serde(default)]
    pub prompt: Option<Field>,
    /// A message of the model's: its id.
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

/// Where a new session is described.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginsSpec {
    /// Its id.
    pub session: Field,
    /// The session it belongs to, where it is a subagent's.
    pub parent: Field,
}

/// Where a request of the agent is described.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskSpec {
    /// Its id.
    pub id: Field,
    /// What it is for.
    #[schemars(with = "KindWord")]
    pub kind: BlockedKind,
    /// What is asked, in one line.
    pub title: Phrase,
    /// What it is about.
    #[serde(default)]
    pub body: Option<Phrase>,
    /// A list of what may be answered.
    #[serde(default)]
    pub options: Option<Field>,
    /// Where an option's label stands.
    #[serde(default)]
    pub label: Option<Field>,
}

/// Where a part of a message's text is described.
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

/// A question whose answer is read like events.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookSpec {
    /// What it is called.
    pub id: String,
    /// The path.
    pub path: String,
    /// The kind of event each item of the answer is read as.
    pub reads_as: String,
    /// Where an item is put in that event.
    pub item_at: Field,
    /// The answer is a table by session, not a list; what an item that is not there counts as.
    #[serde(default)]
    pub otherwise: Option<Form>,
}

/// How the windows of the models are listed.
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

/// How it is asked whose session one is.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhoSpec {
    /// The path, with `{/session}`.
    pub path: Phrase,
    /// In the answer: the session it belongs to.
    pub parent: Field,
}

/// How a session is begun.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginSpec {
    /// The request.
    pub request: RequestSpec,
    /// In the answer: its id.
    pub session: Field,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSpec {
    /// What it is called.
    #[serde(default)]
    pub id: String,
    /// The path.
    pub path: Phrase,
    /// What is posted.
    #[serde(default)]
    pub body: Option<Form>,
    /// Only for show: what comes of it does not matter.
    #[serde(default)]
    pub is_for_show: bool,
}

/// How one kind of request is answered with one answer.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// What it is called.
    pub id: String,
    /// Which kind.
    #[schemars(with = "KindWord")]
    pub kind: BlockedKind,
    /// Which answers; none named: any.
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
    /// The value with its texts said about these facts.
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
        // It was checked when the form was read.
        Value::String(text) => {
            Phrase::parse(text).map_or(Value::Null, |phrase| Value::String(phrase.say(facts)))
        }
        Value::Array(items) => items.iter().map(|item| filled(item, facts)).collect(),
        Value::Object(table) => table.iter().map(|(key, item)| (key.clone(), filled(item, facts))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
