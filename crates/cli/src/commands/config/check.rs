//! Compares a TOML text with a JSON Schema, as far as our schemas go: types, words, limits and known keys.

use proto::Printable;
use proto::nearest::unknown_key;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Fault;

/// Returns everything that is wrong with a text; a text that does not read has one fault.
pub(super) fn check(schema: &str, text: &str) -> Vec<Fault> {
    let line_at = |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
    let schema: Value = match serde_json::from_str(schema) {
        Ok(schema) => schema,
        Err(error) => {
            return vec![Fault { line: None, message: format!("the schema cannot be read: {error}") }];
        }
    };
    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map(|span| line_at(span.start));
            return vec![Fault { line, message: Printable(error.message()).to_string() }];
        }
    };
    let mut found = Vec::new();
    check_table(&schema, table.get_ref(), &mut found);
    let fault = |(offset, message)| Fault { line: Some(line_at(offset)), message };
    let mut faults: Vec<Fault> = found.into_iter().map(fault).collect();
    faults.sort_by_key(|fault| fault.line);
    faults
}

/// An offset and what is wrong there.
type Found = Vec<(usize, String)>;

fn check_table(schema: &Value, table: &DeTable<'_>, found: &mut Found) {
    let known = schema["properties"].as_object();
    for (key, value) in table {
        let name: &str = key.get_ref();
        let own = known.and_then(|known| known.get(name));
        match (own, &schema["additionalProperties"]) {
            (Some(own), _) => check_value(own, name, value, found),
            (None, Value::Object(_)) => check_value(&schema["additionalProperties"], name, value, found),
            (None, _) => {
                let keys = known.map_or_else(Vec::new, |known| known.keys().map(String::as_str).collect());
                found.push((key.span().start, unknown_key(&Printable(name).to_string(), &keys)));
            }
        }
    }
}

fn check_value(schema: &Value, name: &str, value: &Spanned<DeValue<'_>>, found: &mut Found) {
    if schema["type"] == "object"
        && let DeValue::Table(table) = value.get_ref()
    {
        return check_table(schema, table, found);
    }
    // A list of tables: each of them is looked at, so that a fault has its own line.
    if schema["items"]["type"] == "object"
        && let DeValue::Array(list) = value.get_ref()
    {
        return list.iter().for_each(|one| check_value(&schema["items"], name, one, found));
    }
    if !fits(schema, value.get_ref()) {
        found.push((value.span().start, format!("`{}` must be {}", Printable(name), wanted(schema))));
    }
}

fn fits(schema: &Value, value: &DeValue<'_>) -> bool {
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().any(|option| fits(option, value));
    }
    if let Some(words) = schema["enum"].as_array() {
        return value.as_str().is_some_and(|text| words.iter().any(|word| word == text));
    }
    match (schema["type"].as_str(), value) {
        (Some("string"), DeValue::String(_)) | (Some("boolean"), DeValue::Boolean(_)) => true,
        (Some("integer"), DeValue::Integer(number)) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            let limit = |name: &str, default: i64| schema[name].as_i64().unwrap_or(default);
            number.is_ok_and(|number| {
                (limit("minimum", i64::MIN)..=limit("maximum", i64::MAX)).contains(&number)
            })
        }
        (Some("array"), DeValue::Array(list)) => list.iter().all(|one| fits(&schema["items"], one.get_ref())),
        _ => false,
    }
}

/// What a schema wants, in words.
fn wanted(schema: &Value) -> String {
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().map(wanted).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ");
    }
    match (schema["type"].as_str(), schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some("integer"), Some(least), Some(most)) => format!("a whole number between {least} and {most}"),
        (Some("integer"), ..) => "a whole number".to_owned(),
        (Some("boolean"), ..) => "true or false".to_owned(),
        (Some("string"), ..) => "a text".to_owned(),
        (Some("array"), ..) => format!("a list of {}", plural(&schema["items"])),
        _ => "a table".to_owned(),
    }
}

fn plural(schema: &Value) -> &'static str {
    if schema["type"] == "string" { "texts" } else { "texts or of lists of texts" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_every_fault_is_found_with_its_line() {
        let schema = include_str!("config.schema.json");
        let text = "history = 'many'\nterminals = 'mine'\n[attach]\nclipboard = 1\n[spawn]\nenv_drop = [1]\n";
        let faults = check(schema, text);
        let lines: Vec<Option<usize>> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [Some(1), Some(2), Some(4), Some(6)], "{faults:?}");
        assert!(faults[0].message.contains("between 0 and 1000000"), "{faults:?}");
        assert!(faults[1].message.contains("person or own"), "{faults:?}");
        assert!(faults[3].message.contains("a list of texts"), "{faults:?}");
        assert_eq!(check(schema, "history = 2000000\n").len(), 1);
        assert_eq!(check(schema, "[attach\n")[0].line, Some(1));
        assert!(check(schema, "").is_empty());
    }
}
