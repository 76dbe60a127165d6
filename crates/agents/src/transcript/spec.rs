//! What a manifest says about its vendor's transcript.
//!
//! Owns the shape of the `[transcript]` table. Refuses reading one: the reader does.

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
    /// The directory it lies below.
    pub root: Root,
    /// The way from there; a hook that names the file is believed first.
    pub path: Way,
    /// What its lines say; every one that fits a line counts.
    pub line: Vec<LineSpec>,
}

impl TranscriptSpec {
    /// Where the transcript of this session lies, or the files one of which it is.
    #[must_use]
    pub fn spot(&self, around: &AgentContext<'_>) -> Option<FileLocation> {
        self.path.spot(&self.root, around)
    }
}

/// What one kind of line says.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineSpec {
    /// What it is called in evidence.
    pub id: String,
    /// Which lines it is about.
    pub when: Condition,
    /// A prompt: a turn begins.
    #[serde(default)]
    pub prompt: bool,
    /// What the agent said.
    #[serde(default)]
    pub text: Option<TextSpec>,
    /// Which message of the model's the line is about: its tokens count once, its last text replaces the one before.
    #[serde(default)]
    pub message: Option<Field>,
    /// Texts of one message in several lines belong together, instead of each replacing the one before.
    #[serde(default)]
    pub joins: bool,
    /// Tokens in the context: the sum of these.
    #[serde(default)]
    pub used: Vec<Field>,
    /// Tokens taken in and given out by this message: the sum of these.
    #[serde(default)]
    pub spent: Vec<Field>,
    /// Tokens taken in and given out so far: the sum of these.
    #[serde(default)]
    pub total: Vec<Field>,
    /// Tokens there is room for.
    #[serde(default)]
    pub window: Option<Field>,
    /// The model.
    #[serde(default)]
    pub model: Option<Field>,
    /// The vendor session.
    #[serde(default)]
    pub session: Option<Field>,
    /// The turn fails: what it says. Its end may come in a later line.
    #[serde(default)]
    pub fails: Option<Phrase>,
    /// It fails because the vendor refuses turns for now.
    #[serde(default)]
    pub quota: bool,
    /// When the vendor takes turns again, should it refuse them: the first of these that stands. It may come in an
    /// earlier line.
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
    /// By itself; it failed if a line of it said so.
    Done,
    /// Somebody interrupted it.
    Interrupted,
}

/// Where what the agent said stands.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a JSON pointer or { list = …, when = …, text = … }")]
pub enum TextSpec {
    /// In one field.
    Field(Field),
    /// In the fitting parts of a list, one after the other.
    Parts {
        /// The list.
        list: Field,
        /// Which of its parts.
        #[serde(default)]
        when: Condition,
        /// Where it stands in a part.
        text: Field,
    },
}

impl TextSpec {
    /// The text, if there is any.
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
