//! The manifest's `[transcript]` table. `TranscriptReader` applies it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::fields::{Condition, Field};
use super::location::{AgentContext, FileLocation, Root, Way};
use crate::template::Phrase;

/// A transcript: one JSON value in each line, appended while the session goes on.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranscriptSpec {
    /// The directory that contains it.
    pub root: Root,
    /// Its path below that; a path that a hook names is tried first.
    pub path: Way,
    /// What its lines mean; every entry that matches a line counts.
    pub line: Vec<LineSpec>,
}

impl TranscriptSpec {
    /// Returns where the transcript of this session is, or a pattern for the files one of which it is.
    #[must_use]
    pub fn file_location(&self, around: &AgentContext<'_>) -> Option<FileLocation> {
        self.path.file_location(&self.root, around)
    }
}

/// What one kind of line means.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineSpec {
    /// Its name in evidence.
    pub id: String,
    /// Which lines it matches.
    pub when: Condition,
    /// A prompt: a turn begins.
    #[serde(default)]
    pub prompt: bool,
    /// The agent's text.
    #[serde(default)]
    pub text: Option<TextSpec>,
    /// The model's message that the line belongs to: its tokens count once, its last text replaces the one
    /// before.
    #[serde(default)]
    pub message: Option<Field>,
    /// Texts of one message in several lines are joined, instead of each replacing the one before.
    #[serde(default)]
    pub joins: bool,
    /// Tokens in the context: the sum of these.
    #[serde(default)]
    pub used: Vec<Field>,
    /// Input and output tokens of this message: the sum of these.
    #[serde(default)]
    pub spent: Vec<Field>,
    /// Input and output tokens so far: the sum of these.
    #[serde(default)]
    pub total: Vec<Field>,
    /// The context window, in tokens.
    #[serde(default)]
    pub window: Option<Field>,
    /// The model.
    #[serde(default)]
    pub model: Option<Field>,
    /// The vendor session.
    #[serde(default)]
    pub session: Option<Field>,
    /// The turn fails, with this message. Its end may come in a later line.
    #[serde(default)]
    pub fails: Option<Phrase>,
    /// It fails because the vendor refuses turns for now.
    #[serde(default)]
    pub quota: bool,
    /// When the vendor accepts turns again, if it refuses them: the first field that exists. It may come in
    /// an earlier line.
    #[serde(default)]
    pub reset: Vec<Field>,
    /// The turn is over.
    #[serde(default)]
    pub end: Option<EndWord>,
}

/// How a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndWord {
    /// By itself; it failed if one of its lines said so.
    Done,
    /// It was interrupted.
    Interrupted,
}

/// Where the agent's text is.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a JSON pointer or { list = …, when = …, text = … }")]
pub enum TextSpec {
    /// In one field.
    Field(Field),
    /// In the matching parts of a list, joined in order.
    Parts {
        /// The list.
        list: Field,
        /// Which of its parts.
        #[serde(default)]
        when: Condition,
        /// Where a part has its text.
        text: Field,
    },
}

impl TextSpec {
    /// Returns the text, if there is any.
    pub(crate) fn of(&self, value: &Value) -> Option<String> {
        let text = match self {
            Self::Field(field) => field.text(value)?.to_owned(),
            Self::Parts { list, when, text } => {
                let parts = list.of(value)?.as_array()?.iter().filter(|part| when.holds(part));
                parts.filter_map(|part| text.text(part)).collect::<Vec<_>>().join("\n")
            }
        };
        (!text.trim().is_empty()).then_some(text)
    }
}
