//! Phrases: texts whose placeholders are fields of a payload, by JSON pointer. A missing field becomes empty.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Part, TemplateFault, as_text, parts};

/// Text about a payload: `{/tool_name}` is a field by JSON pointer, `{/a|/b}` the first of several that is
/// not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Phrase {
    source: String,
    parts: Vec<Part<Vec<String>>>,
}

impl Phrase {
    /// Parses a phrase.
    ///
    /// # Errors
    /// A lone brace, or a field that is not a JSON pointer.
    pub fn parse(source: &str) -> Result<Self, TemplateFault> {
        let parts = parts(source, |inside| {
            let pointers: Vec<String> = inside.split('|').map(str::to_owned).collect();
            let are_pointers = pointers.iter().all(|pointer| pointer.starts_with('/') && pointer.len() > 1);
            are_pointers.then_some(pointers).ok_or_else(|| TemplateFault::Pointer(inside.to_owned()))
        })?;
        Ok(Self { source: source.to_owned(), parts })
    }

    /// Fills the fields from this payload; missing ones become empty.
    #[must_use]
    pub fn render(&self, payload: &Value) -> String {
        self.parts.iter().fold(String::new(), |mut whole, part| {
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Open(pointers) => whole.push_str(&first_text(payload, pointers)),
            }
            whole
        })
    }
}

impl TryFrom<String> for Phrase {
    type Error = TemplateFault;

    fn try_from(source: String) -> Result<Self, TemplateFault> {
        Self::parse(&source)
    }
}

impl From<Phrase> for String {
    fn from(phrase: Phrase) -> Self {
        phrase.source
    }
}

impl JsonSchema for Phrase {
    fn schema_name() -> Cow<'static, str> {
        "Phrase".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Text about a payload: {/name} is a field by JSON pointer, {/a|/b} the first of several that says something.",
        })
    }
}

fn first_text(payload: &Value, pointers: &[String]) -> String {
    let fields = pointers.iter().filter_map(|pointer| payload.pointer(pointer));
    fields.map(as_text).find(|text| !text.is_empty()).unwrap_or_default()
}
