//! Templates: text of a manifest with placeholders. The grammar is small and strict: `{name}` is a
//! placeholder, `{{` and `}}` are braces, everything else is literal, and an unknown name is a fault. A
//! placeholder without a value makes the launch fail.

mod phrase;
mod piece;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

pub use phrase::Phrase;
pub use piece::Piece;

/// What a placeholder of a launch template stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placeholder {
    /// The absolute path of this program.
    Qd,
    /// The private directory of this launch.
    Dir,
    /// The vendor session.
    Session,
    /// The directory the agent works in.
    Cwd,
    /// The port the vendor's server is to listen on.
    Port,
    /// The password of the vendor's server.
    Secret,
    /// The daemon's socket.
    Socket,
    /// The file this injection writes.
    File,
    /// The document of this injection as JSON.
    Json,
    /// The command a hook runs, quoted for a shell.
    Hook,
    /// The time limit of a hook; a number where it stands alone.
    Timeout,
    /// The variables that our own programs need; a table where it stands alone.
    Env,
    /// A message or a reason.
    Text,
    /// An event's name in small letters with underscores.
    Event,
    /// The SHA-256 of a hook's identity, in hexadecimal.
    Hash,
}

impl Placeholder {
    /// Every place.
    pub const ALL: [Self; 15] = [
        Self::Qd,
        Self::Dir,
        Self::Session,
        Self::Cwd,
        Self::Port,
        Self::Secret,
        Self::Socket,
        Self::File,
        Self::Json,
        Self::Hook,
        Self::Timeout,
        Self::Env,
        Self::Text,
        Self::Event,
        Self::Hash,
    ];

    /// Returns the word between the braces.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Qd => "qd",
            Self::Dir => "dir",
            Self::Session => "session",
            Self::Cwd => "cwd",
            Self::Port => "port",
            Self::Secret => "secret",
            Self::Socket => "socket",
            Self::File => "file",
            Self::Json => "json",
            Self::Hook => "hook",
            Self::Timeout => "timeout",
            Self::Env => "env",
            Self::Text => "text",
            Self::Event => "event",
            Self::Hash => "hash",
        }
    }

    fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.word() == word)
    }
}

/// Why a template cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// A brace without its partner.
    #[error("a single brace in {0:?}: write {{{{ or }}}} for a brace")]
    Brace(String),
    /// An unknown placeholder.
    #[error("there is no place {{{0}}}: known are {known}", known = Placeholder::ALL.map(Placeholder::word).join(" "))]
    Unknown(String),
    /// A field of a payload that is not a JSON pointer.
    #[error("{{{0}}} is not a JSON pointer: write {{/name}} or {{/name|/other}}")]
    Pointer(String),
}

/// A placeholder that has no value in this launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the manifest uses {{{word}}}, which this launch does not have", word = .0.word())]
pub struct Unfilled(pub Placeholder);

/// Looks the values of placeholders up.
pub type Lookup<'a> = &'a dyn Fn(Placeholder) -> Option<Value>;

/// Text with places.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template {
    source: String,
    parts: Vec<Part<Placeholder>>,
}

/// Literal text or a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<T> {
    /// As it stands.
    Text(String),
    /// To be filled.
    Open(T),
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// A lone brace or an unknown placeholder.
    pub fn parse(source: &str) -> Result<Self, TemplateFault> {
        let parts = parts(source, |word| {
            Placeholder::named(word).ok_or_else(|| TemplateFault::Unknown(word.to_owned()))
        })?;
        Ok(Self { source: source.to_owned(), parts })
    }

    /// Returns the template as it stands in the manifest.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns true if it contains this placeholder.
    #[must_use]
    pub fn names(&self, place: Placeholder) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Open(named) if *named == place))
    }

    /// Returns its text with every placeholder filled.
    ///
    /// # Errors
    /// The first placeholder that has no value.
    pub fn fill(&self, lookup: Lookup<'_>) -> Result<String, Unfilled> {
        self.parts.iter().try_fold(String::new(), |mut filled, part| {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Open(place) => filled.push_str(&as_text(&lookup(*place).ok_or(Unfilled(*place))?)),
            }
            Ok(filled)
        })
    }

    /// Returns its value: a placeholder that stands alone keeps its type.
    fn fill_value(&self, lookup: Lookup<'_>) -> Result<Value, Unfilled> {
        match self.parts.as_slice() {
            [Part::Open(place)] => lookup(*place).ok_or(Unfilled(*place)),
            _ => self.fill(lookup).map(Value::String),
        }
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateFault;

    fn try_from(source: String) -> Result<Self, TemplateFault> {
        Self::parse(&source)
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let known = Placeholder::ALL.map(|place| format!("{{{}}}", place.word())).join(" ");
        json_schema!({
            "type": "string",
            "description": format!("Text with places: {known}; {{{{ and }}}} are braces."),
        })
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Splits text at its placeholders; `meaning` reads the text between braces.
fn parts<T>(
    source: &str,
    meaning: impl Fn(&str) -> Result<T, TemplateFault>,
) -> Result<Vec<Part<T>>, TemplateFault> {
    let lone = || TemplateFault::Brace(source.to_owned());
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = source;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from_brace) = rest.split_at(at);
        text.push_str(before);
        if let Some(after) = from_brace.strip_prefix("{{").or_else(|| from_brace.strip_prefix("}}")) {
            text.push(if from_brace.starts_with('{') { '{' } else { '}' });
            rest = after;
            continue;
        }
        let inside = from_brace.strip_prefix('{').ok_or_else(lone)?;
        let (word, after) = inside.split_once('}').ok_or_else(lone)?;
        let open = meaning(word)?;
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        parts.push(Part::Open(open));
        rest = after;
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values(place: Placeholder) -> Option<Value> {
        match place {
            Placeholder::Qd => Some(json!("/bin/qd")),
            Placeholder::Port => Some(json!(4096)),
            Placeholder::Env => Some(json!({ "QD_RUNTIME_DIR": "/run/qd" })),
            _ => None,
        }
    }

    #[test]
    fn places_are_filled_and_doubled_braces_are_braces() {
        let template = Template::parse("{qd} mcp {{x}} {port}").unwrap();
        assert_eq!(template.fill(&values).unwrap(), "/bin/qd mcp {x} 4096");
    }

    #[test]
    fn an_unknown_place_and_a_lone_brace_are_faults() {
        assert_eq!(Template::parse("{q}").unwrap_err(), TemplateFault::Unknown("q".into()));
        for lone in ["{", "}", "a}b", "{qd", "x{{}"] {
            assert!(matches!(Template::parse(lone), Err(TemplateFault::Brace(_))), "{lone}");
        }
    }

    #[test]
    fn a_place_without_a_value_is_an_error_not_an_empty_text() {
        assert_eq!(
            Template::parse("--s={session}").unwrap().fill(&values),
            Err(Unfilled(Placeholder::Session))
        );
    }

    #[test]
    fn a_place_that_stands_alone_keeps_its_type() {
        let piece: Piece =
            serde_json::from_value(json!({ "env": "{env}", "port": "{port}", "n": [1, true] })).unwrap();
        let filled = piece.fill(&values).unwrap();
        assert_eq!(filled, json!({ "env": { "QD_RUNTIME_DIR": "/run/qd" }, "port": 4096, "n": [1, true] }));
    }

    #[test]
    fn a_phrase_says_the_first_field_that_says_something() {
        let payload = json!({ "tool": "Bash", "input": { "command": "", "path": "a.rs" }, "n": 3 });
        let phrase = Phrase::parse("{/tool}: {/input/command|/input/path} {/n}{/missing}").unwrap();
        assert_eq!(phrase.render(&payload), "Bash: a.rs 3");
        assert!(Phrase::parse("{tool}").is_err());
        assert!(Phrase::parse("{}").is_err());
    }

    proptest! {
        #[test]
        fn templates_of_any_text_never_panic(text in ".{0,60}", braces in "[{}a-z/|]{0,30}") {
            for source in [text, braces] {
                if let Ok(template) = Template::parse(&source) {
                    let filled = template.fill(&|_| Some(json!("v")));
                    prop_assert!(filled.is_ok());
                }
                if let Ok(phrase) = Phrase::parse(&source) {
                    let _said = phrase.render(&json!({ "a": [1, { "b": null }] }));
                }
            }
        }

        #[test]
        fn text_without_braces_stands_for_itself(text in "[^{}]{0,60}") {
            prop_assert_eq!(Template::parse(&text).unwrap().fill(&|_| None).unwrap(), text);
        }
    }
}
