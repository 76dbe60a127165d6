//! Fields of a vendor's JSON by JSON pointer, and conditions on them, as manifests write them. The tables of
//! transcripts, servers and state files give them their meaning.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A place in a JSON value: a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Field(String);

impl Field {
    /// Returns the value of the field; null counts as missing.
    #[must_use]
    pub fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.pointer(&self.0).filter(|found| !found.is_null())
    }

    /// Returns the text of the field, unless it is empty.
    #[must_use]
    pub fn text<'v>(&self, value: &'v Value) -> Option<&'v str> {
        self.of(value)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns the number in the field.
    #[must_use]
    pub fn count(&self, value: &Value) -> Option<u64> {
        self.of(value)?.as_u64()
    }

    /// Sets the field; missing tables on the way are created.
    pub(crate) fn put(&self, value: &mut Value, new: Value) {
        let mut place = value;
        for name in self.0.split('/').skip(1) {
            if !place.is_object() {
                *place = Value::Object(serde_json::Map::new());
            }
            let Some(table) = place.as_object_mut() else { return };
            place = table.entry(name).or_insert(Value::Null);
        }
        *place = new;
    }
}

impl TryFrom<String> for Field {
    type Error = String;

    fn try_from(pointer: String) -> Result<Self, String> {
        if pointer.len() > 1 && pointer.starts_with('/') {
            Ok(Self(pointer))
        } else {
            Err(format!("{pointer:?} is not a JSON pointer: begin with /"))
        }
    }
}

/// Returns the sum of these fields; `None` when all are missing.
#[must_use]
pub(crate) fn sum(fields: &[Field], value: &Value) -> Option<u64> {
    let counts = fields.iter().filter_map(|field| field.count(value));
    counts.fold(None, |sum: Option<u64>, count| Some(sum.unwrap_or(0).saturating_add(count)))
}

/// Required values of fields; all must match.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Condition(BTreeMap<Field, Wanted>);

/// The required value of one field.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a text, a number, true, false, a list of texts, { not = … }, { begins = … }, { not_begins = … } or { exists = … }"
)]
pub enum Wanted {
    /// This text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// This number.
    Number(i64),
    /// One of these texts.
    OneOf(Vec<String>),
    /// Anything but this, or a missing field.
    Not {
        /// The forbidden value.
        not: Plain,
    },
    /// A text that begins so.
    Begins {
        /// How it begins.
        begins: String,
    },
    /// Anything but a text that begins so, or a missing field.
    NotBegins {
        /// How it must not begin.
        not_begins: String,
    },
    /// Something, or nothing.
    Exists {
        /// Which of both.
        exists: bool,
    },
}

/// A text, a flag or a number.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, a number, true or false")]
pub enum Plain {
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A number.
    Number(i64),
}

impl Condition {
    /// Returns true if this value meets the condition.
    #[must_use]
    pub fn holds(&self, value: &Value) -> bool {
        self.0.iter().all(|(field, wanted)| wanted.is_met(field.of(value)))
    }

    /// Returns false if the JSON in this text cannot meet the condition, without parsing it. Never false for
    /// JSON that does.
    #[must_use]
    pub(crate) fn may_hold(&self, json: &str) -> bool {
        self.0.values().all(|wanted| match wanted {
            Wanted::Text(text) => may_contain(json, text),
            Wanted::OneOf(texts) => texts.iter().any(|text| may_contain(json, text)),
            Wanted::Begins { begins } => !is_plain(begins) || json.contains(begins.as_str()),
            Wanted::Flag(_)
            | Wanted::Number(_)
            | Wanted::Not { .. }
            | Wanted::NotBegins { .. }
            | Wanted::Exists { .. } => true,
        })
    }
}

impl Wanted {
    fn is_met(&self, found: Option<&Value>) -> bool {
        let text = found.and_then(Value::as_str);
        match self {
            Self::Text(wanted) => text == Some(wanted),
            Self::Flag(wanted) => found.and_then(Value::as_bool) == Some(*wanted),
            Self::Number(wanted) => found.and_then(Value::as_i64) == Some(*wanted),
            Self::OneOf(wanted) => text.is_some_and(|text| wanted.iter().any(|one| one == text)),
            Self::Not { not } => !not.is(found),
            Self::Begins { begins } => text.is_some_and(|text| text.starts_with(begins.as_str())),
            Self::NotBegins { not_begins } => !text.is_some_and(|text| text.starts_with(not_begins.as_str())),
            Self::Exists { exists } => found.is_some() == *exists,
        }
    }
}

impl Plain {
    fn is(&self, found: Option<&Value>) -> bool {
        match self {
            Self::Text(wanted) => found.and_then(Value::as_str) == Some(wanted),
            Self::Flag(wanted) => found.and_then(Value::as_bool) == Some(*wanted),
            Self::Number(wanted) => found.and_then(Value::as_i64) == Some(*wanted),
        }
    }
}

/// Returns true if the text may be a value in this JSON. Writers may escape anything but letters and digits.
fn may_contain(json: &str, text: &str) -> bool {
    !is_plain(text) || json.contains(&format!("\"{text}\""))
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' '))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition(toml: &str) -> Condition {
        toml::from_str(toml).unwrap()
    }

    #[test]
    fn every_part_of_a_condition_must_hold() {
        let condition = condition(
            "'/type' = 'user'\n'/meta' = { not = true }\n'/who' = ['a', 'b']\n'/x' = { exists = false }",
        );
        assert!(condition.holds(&json!({ "type": "user", "who": "b" })));
        assert!(!condition.holds(&json!({ "type": "user", "who": "c" })));
        assert!(!condition.holds(&json!({ "type": "user", "who": "a", "meta": true })));
        assert!(!condition.holds(&json!({ "type": "user", "who": "a", "x": 0 })));
        assert!(condition.holds(&json!({ "type": "user", "who": "a", "x": null })));
    }

    #[test]
    fn a_line_is_ruled_out_by_its_words_alone() {
        let condition = condition("'/type' = 'assistant'\n'/text' = { begins = 'stopped by' }");
        assert!(!condition.may_hold(r#"{"type":"user","text":"stopped by x"}"#));
        assert!(!condition.may_hold(r#"{"type":"assistant"}"#));
        assert!(condition.may_hold(r#"{"type":"assistant","text":"stopped by x"}"#));
    }

    #[test]
    fn a_field_that_is_no_pointer_is_refused() {
        assert!(toml::from_str::<Condition>("type = 'user'").is_err());
        assert!(toml::from_str::<Condition>("'/' = 'user'").is_err());
    }

    #[test]
    fn something_is_put_where_a_field_points() {
        let mut value = json!({ "a": 1 });
        Field::try_from("/b/c".to_owned()).unwrap().put(&mut value, json!("x"));
        Field::try_from("/a/d".to_owned()).unwrap().put(&mut value, json!(2));
        assert_eq!(value, json!({ "a": { "d": 2 }, "b": { "c": "x" } }));
    }

    #[test]
    fn a_sum_of_nothing_is_nothing() {
        let fields = ["/a".to_owned(), "/b".to_owned()].map(|pointer| Field::try_from(pointer).unwrap());
        assert_eq!(sum(&fields, &json!({ "b": 3 })), Some(3));
        assert_eq!(sum(&fields, &json!({ "a": 1, "b": 3 })), Some(4));
        assert_eq!(sum(&fields, &json!({ "c": 1 })), None);
    }
}
