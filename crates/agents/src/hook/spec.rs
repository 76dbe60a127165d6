//! The manifest's tables about lifecycle hooks: `[hooks]` and `[[hooks.event]]`. `hook` reads the payloads.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proto::agent::{AgentState, BlockedKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use crate::deliver::{KindWord, StateWord};
use crate::inject::{Inject, Injection, Said};
use crate::template::{Phrase, Piece, Template};

/// How a vendor's lifecycle events reach us, and what each means.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "HooksSpec")]
pub struct Hooks {
    /// How the program is configured to run our hook.
    pub injection: Injection,
    /// Words that are needed beside it.
    pub extra: Vec<Template>,
    /// The vendor reads the file only where root owns it and everything above it.
    pub only_as_root: bool,
    /// The key of the vendor's configuration below which each event has its entry.
    pub under: String,
    /// The entry for each event, in the vendor's own shape.
    pub entry: Piece,
    /// The unit of a hook's time limit.
    pub timeout_unit: TimeoutUnit,
    /// How to mark these hooks as trusted; without it the vendor asks.
    pub trust: Option<TrustSpec>,
    /// Where the fields of a payload are.
    pub fields: Fields,
    /// The shapes of our answers.
    pub answer: Answers,
    /// What each event means; the first entry that matches counts.
    pub event: Vec<EventSpec>,
}

/// Where the fields of a payload are, as JSON pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The event's name; left out: the hook gets it as an argument.
    pub event: Option<Pointer>,
    /// The vendor session.
    pub session: Option<Pointer>,
    /// The transcript's path.
    pub transcript: Option<Pointer>,
    /// Fields that only the events of a subagent have.
    pub child: Vec<Pointer>,
    /// The prompt that was submitted.
    pub prompt: Option<Pointer>,
    /// The agent's last message at the end of its turn.
    pub text: Option<Pointer>,
    /// What still runs in the background: a number, or a list to be counted.
    pub background: Option<Pointer>,
}

/// The shapes of answers to a hook.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// Allows the tool.
    #[serde(default)]
    pub allow: Option<Piece>,
    /// Denies the tool; `{text}` is the reason.
    #[serde(default)]
    pub deny: Option<Piece>,
    /// The agent continues with `{text}` instead of ending its turn.
    #[serde(default, rename = "continue")]
    pub go_on: Option<Piece>,
}

/// Trust in hooks for a vendor that identifies each hook by its definition: one entry for each event, beside
/// the hooks themselves.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustSpec {
    /// The key that contains the entries.
    pub under: String,
    /// The key of one entry.
    pub key: Template,
    /// The definition by which the vendor identifies the hook; `{hash}` is computed from it.
    pub identity: Piece,
    /// The entry.
    pub entry: Piece,
}

/// The unit in which a vendor counts a hook's time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutUnit {
    /// Seconds.
    #[default]
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// What one event means.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    /// Its name in evidence and in files that change it.
    pub id: String,
    /// The vendor's name of the event.
    pub event: String,
    /// A condition on the payload.
    #[serde(default)]
    pub when: Option<When>,
    /// The state that it shows, if any.
    #[serde(default)]
    #[schemars(with = "Option<StateWord>")]
    pub state: Option<AgentState>,
    /// What a blocked agent needs.
    #[serde(default)]
    #[schemars(with = "Option<KindWord>")]
    pub kind: Option<BlockedKind>,
    /// The message.
    #[serde(default)]
    pub message: Option<Phrase>,
    /// How long it counts.
    #[serde(default)]
    pub max_age_ms: Option<u64>,
    /// The longest time that the vendor gives this hook, in seconds.
    #[serde(default)]
    pub limit_s: Option<u64>,
    /// What it marks.
    #[serde(default)]
    pub moment: MomentWord,
    /// What the agent asks permission for, in one line.
    #[serde(default)]
    pub title: Option<Phrase>,
    /// The command, the file, the arguments.
    #[serde(default)]
    pub body: Option<Phrase>,
}

impl EventSpec {
    /// Returns true if the entry matches this event.
    pub(crate) fn fits(&self, event: &str, payload: &Value) -> bool {
        self.event == event && self.when.as_ref().is_none_or(|when| when.holds(payload))
    }
}

/// A condition on a payload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// Which field.
    pub at: Pointer,
    /// It is one of these texts.
    pub is: Vec<String>,
}

impl When {
    /// Returns true if the payload meets the condition.
    pub(crate) fn holds(&self, payload: &Value) -> bool {
        self.at.text(payload).is_some_and(|text| self.is.contains(&text))
    }
}

/// What an event marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MomentWord {
    /// Nothing beyond its evidence.
    #[default]
    Other,
    /// A prompt was submitted.
    PromptSubmitted,
    /// The turn is over.
    TurnEnded,
    /// The turn failed.
    TurnFailed,
    /// The agent asks permission to use a tool, and takes the answer from its hook.
    PermissionAsked,
    /// The agent asks permission on its screen and takes no answer from its hook; the inbox gets the whole command.
    PermissionShown,
}

/// A JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Pointer(String);

impl Pointer {
    /// Returns the non-empty text at this place, if there is one.
    pub(crate) fn text(&self, payload: &Value) -> Option<String> {
        payload.pointer(&self.0)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns the number at this place, or the length of a list there.
    pub(crate) fn count(&self, payload: &Value) -> Option<u32> {
        let counted = match payload.pointer(&self.0)? {
            Value::Array(list) => u64::try_from(list.len()).ok(),
            Value::Number(number) => number.as_u64(),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => None,
        };
        counted.map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }
}

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(pointer: String) -> Result<Self, String> {
        if pointer.starts_with('/') {
            Ok(Self(pointer))
        } else {
            Err(format!("{pointer:?} is not a JSON pointer: begin with /"))
        }
    }
}

/// How hooks are injected and where the fields of their payloads are.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HooksSpec {
    /// The way.
    inject: Inject,
    /// The words of `flag` and `config_file`.
    #[serde(default)]
    argument: Vec<Template>,
    /// The file of `flag`, `config_file` and `config_env`, relative to the launch's directory.
    #[serde(default)]
    file: Option<String>,
    /// The variable of `env_var` and `config_env`.
    #[serde(default)]
    variable: Option<String>,
    /// The word before each `key=value` of `cli_override`.
    #[serde(default)]
    flag: Option<String>,
    /// The variables of `config_file`.
    #[serde(default)]
    env: BTreeMap<String, Template>,
    /// Words that are needed beside it.
    #[serde(default)]
    extra: Vec<Template>,
    /// The vendor reads the file only where root owns it and everything above it.
    #[serde(default)]
    only_as_root: bool,
    /// The key below which each event has its entry.
    under: String,
    /// The entry for each event; `{hook}` is the command, `{timeout}` its limit.
    entry: Piece,
    /// The unit of a hook's time limit.
    #[serde(default)]
    timeout_unit: TimeoutUnit,
    /// How to mark these hooks as trusted.
    #[serde(default)]
    trust: Option<TrustSpec>,
    /// Where a payload has the event's name; left out: the hook gets it as an argument.
    #[serde(default)]
    event_at: Option<Pointer>,
    /// Where it has the vendor session.
    #[serde(default)]
    session_at: Option<Pointer>,
    /// Where it has the transcript's path.
    #[serde(default)]
    transcript_at: Option<Pointer>,
    /// Where it has fields that only the events of a subagent have.
    #[serde(default)]
    child_at: Vec<Pointer>,
    /// Where it has the prompt that was submitted.
    #[serde(default)]
    prompt_at: Option<Pointer>,
    /// Where it has the agent's last message at the end of its turn.
    #[serde(default)]
    text_at: Option<Pointer>,
    /// Where it has what still runs in the background: a number, or a list to be counted.
    #[serde(default)]
    background_at: Option<Pointer>,
    /// The shapes of answers.
    #[serde(default)]
    answer: Answers,
    /// What each event means.
    #[serde(default)]
    event: Vec<EventSpec>,
}

impl JsonSchema for Hooks {
    fn schema_name() -> Cow<'static, str> {
        "Hooks".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        HooksSpec::json_schema(generator)
    }
}

impl TryFrom<HooksSpec> for Hooks {
    type Error = String;

    fn try_from(spec: HooksSpec) -> Result<Self, String> {
        let HooksSpec { inject, argument, file, variable, flag, env, .. } = spec;
        let injection = Injection::meant(inject, Said { argument, file, variable, flag, env })?;
        Ok(Self {
            injection,
            extra: spec.extra,
            only_as_root: spec.only_as_root,
            under: spec.under,
            entry: spec.entry,
            timeout_unit: spec.timeout_unit,
            trust: spec.trust,
            fields: Fields {
                event: spec.event_at,
                session: spec.session_at,
                transcript: spec.transcript_at,
                child: spec.child_at,
                prompt: spec.prompt_at,
                text: spec.text_at,
                background: spec.background_at,
            },
            answer: spec.answer,
            event: spec.event,
        })
    }
}
