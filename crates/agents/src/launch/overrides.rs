//! Writes a document as `key=value` words with TOML values, for programs whose command line overrides their
//! configuration. A table with a key that a dotted path cannot express is written as a whole.

use serde_json::{Map, Value};

/// Returns one `dotted.key=value` for each value of the document.
pub(super) fn overrides(document: &Value) -> Vec<String> {
    let mut pairs = Vec::new();
    if let Value::Object(table) = document {
        collect(table, "", &mut pairs);
    }
    pairs
}

fn collect(table: &Map<String, Value>, path: &str, pairs: &mut Vec<String>) {
    for (key, value) in table {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            Value::Object(inner) if !inner.is_empty() && inner.keys().all(|key| is_bare(key)) => {
                collect(inner, &path, pairs);
            }
            Value::Null => {}
            Value::Object(_) | Value::Array(_) | Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                pairs.push(format!("{path}={}", toml_text(value)));
            }
        }
    }
}

/// Returns a value as TOML in one line.
fn toml_text(value: &Value) -> String {
    match value {
        // TOML has no null; an empty text is the nearest value.
        Value::Null => "\"\"".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(toml_text).collect::<Vec<_>>().join(",")),
        Value::Object(table) => {
            let pairs = table.iter().map(|(key, value)| format!("{}={}", toml_key(key), toml_text(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
    }
}

fn toml_key(key: &str) -> String {
    if is_bare(key) { key.to_owned() } else { quoted(key) }
}

/// JSON's escapes are TOML's, but TOML wants DEL escaped too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_become_dotted_keys_and_lists_stay_whole() {
        let document = json!({ "hooks": { "Stop": [{ "hooks": [{ "command": "a \"b\"", "timeout": 5 }] }] }, "x": { "y": true } });
        let expected = [r#"hooks.Stop=[{hooks=[{command="a \"b\"",timeout=5}]}]"#, "x.y=true"];
        assert_eq!(overrides(&document), expected);
    }

    #[test]
    fn a_table_with_a_dotted_key_is_written_whole() {
        assert_eq!(overrides(&json!({ "env": { "A.B": "c" } })), [r#"env={"A.B"="c"}"#]);
        assert_eq!(overrides(&json!({ "env": {} })), ["env={}"]);
    }

    proptest! {
        #[test]
        fn any_text_reads_back_as_toml(text in "(?s).{0,40}") {
            let line = format!("k={}", toml_text(&json!([text.clone(), { "a b": text.clone() }])));
            let table: toml::Table = line.parse().unwrap();
            let list = table["k"].as_array().unwrap();
            prop_assert_eq!(list[0].as_str(), Some(text.as_str()));
            prop_assert_eq!(list[1]["a b"].as_str(), Some(text.as_str()));
        }
    }
}
