//! The arguments of a tool: one table of fields is its schema, its check and its documentation.
//!
//! The check is strict and names the field: a text is not a number, null is not absence, and an unknown field
//! is a mistake.

use serde_json::{Map, Value, json};

use crate::failure::ToolFailure;

/// The longest wait that a caller may ask for, in seconds: a week.
pub(crate) const MAX_SECONDS: f64 = 604_800.0;
/// Most entries of a list or a map.
const MAX_ENTRIES: usize = 256;

/// What a field's value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A text of 1 to this many bytes.
    Text(usize),
    /// A text of 0 to this many bytes.
    Prose(usize),
    /// A whole number between these.
    Integer(i64, i64),
    /// A length of time in seconds, at most this long.
    Seconds(f64),
    /// Yes or no.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Some of these words, at least one.
    SomeOf(&'static [&'static str]),
    /// A list of texts of at most this many bytes each, at least one.
    Texts(usize),
    /// Texts by name, each of at most this many bytes.
    Pairs(usize),
}

/// One argument of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) is_required: bool,
    /// What it is, for the model; empty when the name explains it.
    pub(crate) says: &'static str,
}

/// Returns a field that must be there.
pub(crate) const fn must(name: &'static str, shape: Shape, says: &'static str) -> Field {
    Field { name, shape, is_required: true, says }
}

/// Returns a field that may be there.
pub(crate) const fn may(name: &'static str, shape: Shape, says: &'static str) -> Field {
    Field { name, shape, is_required: false, says }
}

/// The process of a call; nearly every tool has it.
pub(crate) const PROCESS: Field = must("process", Shape::Text(64), "Id or name.");

/// Returns the JSON Schema of a tool's arguments.
pub(crate) fn schema(fields: &[Field]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    let required: Vec<&str> =
        fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn property(field: &Field) -> Value {
    let mut property = match field.shape {
        Shape::Text(_) | Shape::Prose(_) => json!({"type": "string"}),
        Shape::Integer(least, most) if most < i64::MAX => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Shape::Integer(least, _) => json!({"type": "integer", "minimum": least}),
        Shape::Seconds(most) => json!({"type": "number", "minimum": 0, "maximum": most}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::OneOf(words) => json!({"type": "string", "enum": words}),
        Shape::SomeOf(words) => {
            json!({"type": "array", "items": {"type": "string", "enum": words}, "minItems": 1})
        }
        Shape::Texts(_) => json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        Shape::Pairs(_) => json!({"type": "object", "additionalProperties": {"type": "string"}}),
    };
    if !field.says.is_empty() {
        property["description"] = json!(field.says);
    }
    property
}

/// Arguments that fit their fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks the given arguments against the table.
    pub(crate) fn check(fields: &[Field], given: Map<String, Value>) -> Result<Self, ToolFailure> {
        if let Some(unknown) = given.keys().find(|key| fields.iter().all(|field| field.name != **key)) {
            let shown: String = unknown.chars().take(64).collect();
            let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
            let hint = match known.len() {
                0 => "this tool takes no arguments".to_owned(),
                _ => format!("this tool takes {}", known.join(", ")),
            };
            return Err(ToolFailure::invalid(&shown, "no such argument").hint(hint));
        }
        for field in fields {
            match given.get(field.name) {
                Some(value) => fits(field, value).map_err(|why| ToolFailure::invalid(field.name, why))?,
                None if field.is_required => return Err(ToolFailure::invalid(field.name, "missing")),
                None => {}
            }
        }
        Ok(Self(given))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns a text that the table requires; the check has made sure of it.
    pub(crate) fn required(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        whole_number(self.0.get(name)?)
    }

    /// Returns an integer that the table limits to zero or above.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        u64::try_from(self.integer(name)?).ok()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns a length of time in milliseconds.
    pub(crate) fn millis(&self, name: &str) -> Option<u64> {
        let seconds = self.0.get(name)?.as_f64()?;
        let duration = std::time::Duration::try_from_secs_f64(seconds).ok()?;
        u64::try_from(duration.as_millis()).ok()
    }

    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let texts = self.0.get(name)?.as_array()?.iter().filter_map(Value::as_str);
        Some(texts.map(str::to_owned).collect())
    }

    pub(crate) fn pairs(&self, name: &str) -> Option<Vec<(String, String)>> {
        let pairs = self.0.get(name)?.as_object()?.iter();
        Some(pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect())
    }
}

fn fits(field: &Field, value: &Value) -> Result<(), String> {
    match field.shape {
        Shape::Prose(_) if value.as_str() == Some("") => Ok(()),
        Shape::Text(most) | Shape::Prose(most) => is_text(value, most),
        Shape::Integer(least, most) => match whole_number(value) {
            Some(number) if (least..=most).contains(&number) => Ok(()),
            Some(_) if most == i64::MAX => Err(format!("must be at least {least}")),
            Some(_) => Err(format!("must be between {least} and {most}")),
            None => Err(format!("must be a whole number, not {}", kind(value))),
        },
        Shape::Seconds(most) => match value.as_f64() {
            Some(seconds) if seconds.is_finite() && (0.0..=most).contains(&seconds) => Ok(()),
            Some(_) => Err(format!("must be between 0 and {most} seconds")),
            None => Err(format!("must be a number of seconds, not {}", kind(value))),
        },
        Shape::Flag if value.is_boolean() => Ok(()),
        Shape::Flag => Err(format!("must be true or false, not {}", kind(value))),
        Shape::OneOf(words) => is_word(value, words),
        Shape::SomeOf(words) => each(value, |word| is_word(word, words)),
        Shape::Texts(most) => each(value, |text| is_text(text, most)),
        Shape::Pairs(most) => pairs_fit(value, most),
    }
}

fn is_text(value: &Value, most: usize) -> Result<(), String> {
    let Some(text) = value.as_str() else { return Err(format!("must be a text, not {}", kind(value))) };
    match text.len() {
        0 => Err("may not be empty".to_owned()),
        length if length > most => Err(format!("at most {most} bytes, this has {length}")),
        _ if text.contains('\0') => Err("may not contain NUL".to_owned()),
        _ => Ok(()),
    }
}

fn is_word(value: &Value, words: &[&str]) -> Result<(), String> {
    let is_one = value.as_str().is_some_and(|word| words.contains(&word));
    if is_one { Ok(()) } else { Err(format!("must be one of {}", words.join(", "))) }
}

fn each(value: &Value, fits: impl Fn(&Value) -> Result<(), String>) -> Result<(), String> {
    let Some(list) = value.as_array() else { return Err(format!("must be a list, not {}", kind(value))) };
    if list.is_empty() || list.len() > MAX_ENTRIES {
        return Err(format!("must have between 1 and {MAX_ENTRIES} entries"));
    }
    list.iter()
        .enumerate()
        .try_for_each(|(place, entry)| fits(entry).map_err(|why| format!("entry {place} {why}")))
}

fn pairs_fit(value: &Value, most: usize) -> Result<(), String> {
    let Some(pairs) = value.as_object() else {
        return Err(format!("must be an object, not {}", kind(value)));
    };
    if pairs.len() > MAX_ENTRIES {
        return Err(format!("must have at most {MAX_ENTRIES} entries"));
    }
    pairs.iter().try_for_each(|(key, value)| {
        let is_name = !key.is_empty() && key.len() <= 256 && !key.contains(['=', '\0']);
        let text = value.as_str().filter(|text| text.len() <= most && !text.contains('\0'));
        match (is_name, text) {
            (true, Some(_)) => Ok(()),
            (false, _) => Err("has a name that is empty, too long or holds = or NUL".to_owned()),
            (true, None) => Err(format!("values must be texts of at most {most} bytes")),
        }
    })
}

/// Returns a whole number, also when it is written as 5.0.
fn whole_number(value: &Value) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "bounded by the filter to what both can hold exactly"
    )]
    let from_float = || {
        let exact = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9.0e15);
        exact.map(|number| number as i64)
    };
    value.as_i64().or_else(from_float)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        PROCESS,
        may("seconds", Shape::Seconds(MAX_SECONDS), ""),
        may("count", Shape::Integer(1, 10), ""),
        may("states", Shape::SomeOf(&["idle", "exited"]), ""),
        may("env", Shape::Pairs(8), ""),
    ];

    fn refused(given: Value) -> Value {
        let given = given.as_object().cloned().expect("an object");
        Arguments::check(FIELDS, given).expect_err("not refused").to_json()["error"].clone()
    }

    #[test]
    fn f8_a_bad_duration_is_invalid_and_never_a_panic() {
        for bad in [json!(-1), json!(1e308), json!("5"), json!(null), json!(604_801), json!([1]), json!(true)]
        {
            let error = refused(json!({"process": "a", "seconds": bad}));
            assert_eq!(
                (error["code"].as_str(), error["field"].as_str()),
                (Some("invalid_args"), Some("seconds"))
            );
        }
        let tiny = json!({"process": "a", "seconds": 1e-320}).as_object().cloned().expect("an object");
        assert_eq!(Arguments::check(FIELDS, tiny).expect("it is a number").millis("seconds"), Some(0));
    }

    #[test]
    fn the_wrong_argument_is_named() {
        for (given, field) in [
            (json!({}), "process"),
            (json!({"process": ""}), "process"),
            (json!({"process": "a\u{0}b"}), "process"),
            (json!({"process": "a", "count": 0}), "count"),
            (json!({"process": "a", "count": 1.5}), "count"),
            (json!({"process": "a", "states": []}), "states"),
            (json!({"process": "a", "states": ["busy"]}), "states"),
            (json!({"process": "a", "env": {"A=B": "c"}}), "env"),
            (json!({"process": "a", "colour": "blue"}), "colour"),
        ] {
            assert_eq!(refused(given.clone())["field"].as_str(), Some(field), "{given}");
        }
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        let given = json!({"process": "a", "count": 5.0}).as_object().cloned().expect("an object");
        assert_eq!(Arguments::check(FIELDS, given).expect("fits").integer("count"), Some(5));
    }
}
