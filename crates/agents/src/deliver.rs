//! The manifest's description of how a prompt reaches a vendor's program and how we know that it accepts
//! prompts. The engine decides when to deliver; the daemon types or calls.

use std::borrow::Cow;

use proto::agent::Source;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;

use crate::template::{Lookup, Template, Unfilled};

/// How long a screen must stand still between a paste and Enter, unless a manifest says more: with a shorter pause, many
/// programs take the Enter for a part of the paste. Every paste that Quarterdeck types waits at least this long.
pub const LEAST_SETTLE_MS: u64 = 150;

/// How we know that the program accepts prompts.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadySpec {
    /// The sources whose first `idle` counts.
    #[serde(default)]
    #[schemars(with = "Vec<SourceWord>")]
    pub sources: Vec<Source>,
    /// A start that takes longer than this is reported to a person.
    #[serde(default = "default_patience_ms")]
    pub patience_ms: u64,
}

impl Default for ReadySpec {
    fn default() -> Self {
        Self { sources: Vec::new(), patience_ms: default_patience_ms() }
    }
}

/// How a prompt reaches the program.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deliver {
    /// The vendor's own channel; typing is the fallback.
    #[serde(default)]
    pub channel: Channel,
    /// The vendor's own channel also reaches an agent in the middle of a turn.
    #[serde(default)]
    pub reaches_busy: bool,
    /// The command of the channel `command`: words with `{session}` and `{text}`.
    #[serde(default)]
    pub command: Vec<Template>,
    /// Typing: how long the screen must be unchanged between the paste and the key that submits it.
    #[serde(default)]
    pub settle_ms: SettleTimes,
    /// Typing: the sources that confirm that a prompt was accepted. Without confirmation the key is sent once
    /// more.
    #[serde(default)]
    #[schemars(with = "Vec<SourceWord>")]
    pub confirm: Vec<Source>,
    /// Typing: what to do when the composer holds a draft.
    #[serde(default)]
    pub draft: DraftPolicy,
    /// The keys that end a turn without ending the agent; empty when none are known.
    #[serde(default)]
    pub interrupt: Vec<NamedKey>,
    /// The keys that clear a composer with text in it. They are pressed when an interrupted program has put the prompt that
    /// we typed back into its composer.
    #[serde(default)]
    pub clear: Vec<NamedKey>,
    /// The key that makes a new line in the composer. The deck sends it for Shift-Enter when the program cannot
    /// distinguish that from Enter, and ends lines with it when the program accepts no bracketed pastes.
    #[serde(default)]
    pub new_line: Option<NamedKey>,
}

impl Default for Deliver {
    fn default() -> Self {
        Self {
            channel: Channel::None,
            reaches_busy: false,
            command: Vec::new(),
            settle_ms: SettleTimes::default(),
            confirm: Vec::new(),
            draft: DraftPolicy::default(),
            interrupt: Vec::new(),
            clear: Vec::new(),
            new_line: None,
        }
    }
}

impl Deliver {
    /// Returns the words of the channel `command` for one message.
    ///
    /// # Errors
    /// A placeholder has no value, as when the session is not known yet.
    pub fn command_words(&self, lookup: Lookup<'_>) -> Result<Vec<String>, Unfilled> {
        self.command.iter().map(|word| word.fill(lookup)).collect()
    }
}

/// A vendor's own channel for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// There is none.
    #[default]
    None,
    /// Its server accepts messages; the manifest's `server` table has the requests.
    Server,
    /// A command delivers it.
    Command,
}

/// What to do when the composer holds a draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DraftPolicy {
    /// The message waits until it is gone.
    #[default]
    Wait,
    /// The composer cannot be read: the message waits until no person has typed for a while.
    Unseen,
}

/// How long a screen must be unchanged, in milliseconds; never less than vendors need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub struct SettleTimes(pub u64);

impl Default for SettleTimes {
    fn default() -> Self {
        Self(LEAST_SETTLE_MS)
    }
}

impl TryFrom<u64> for SettleTimes {
    type Error = String;

    fn try_from(ms: u64) -> Result<Self, String> {
        if ms < LEAST_SETTLE_MS {
            return Err(format!("settle_ms is at least {LEAST_SETTLE_MS}: sooner, the key joins the paste"));
        }
        Ok(Self(ms))
    }
}

impl JsonSchema for SettleTimes {
    fn schema_name() -> Cow<'static, str> {
        "Settle".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LEAST_SETTLE_MS })
    }
}

/// The name of a key, such as `enter` or `ctrl-j`; checked when it is read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct NamedKey(String);

impl NamedKey {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NamedKey {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse::<term::Key>().map_err(|error| error.to_string())?;
        Ok(Self(name))
    }
}

impl JsonSchema for NamedKey {
    fn schema_name() -> Cow<'static, str> {
        "NamedKey".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// The word of a [`Source`], for the schema.
pub(crate) struct SourceWord;

impl JsonSchema for SourceWord {
    fn schema_name() -> Cow<'static, str> {
        "Source".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [
            "process", "program_status", "server", "state_file", "dialog", "hook", "title", "progress", "screen", "silence"
        ] })
    }
}

/// The word of an [`proto::AgentState`], for the schema.
pub(crate) struct StateWord;

impl JsonSchema for StateWord {
    fn schema_name() -> Cow<'static, str> {
        "State".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": proto::AgentState::ALL.map(proto::AgentState::word) })
    }
}

/// The word of a [`proto::agent::BlockedKind`], for the schema.
pub(crate) struct KindWord;

impl JsonSchema for KindWord {
    fn schema_name() -> Cow<'static, str> {
        "BlockedKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let word = |word: &str, meaning: &str| json!({ "const": word, "description": meaning });
        json_schema!({ "oneOf": [
            word("permission", "Permission to use a tool."),
            word("question", "An answer to a question."),
            word("auth", "A login or a key."),
            word("onboarding", "An answer to a dialog that comes before the first prompt."),
        ] })
    }
}

fn default_patience_ms() -> u64 {
    30_000
}
