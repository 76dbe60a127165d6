//! The result of a tool: a line of words becomes its JSON Schema.
//!
//! The language is `name: type, name?: type`, where a type is `string`, `integer`, `number`, `boolean`,
//! `object`, a list of one of them in brackets, or words joined by `|`. It is small on purpose: a result that
//! it cannot describe is too complicated for its reader.

use serde_json::{Map, Value, json};

/// Returns the schema for `words`; an unknown type is an error, which the test of all tools finds.
pub(crate) fn schema(words: &str) -> Result<Map<String, Value>, String> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in words.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, kind) = part.split_once(':').ok_or_else(|| format!("{part}: no type"))?;
        let (name, is_required) = match name.trim().strip_suffix('?') {
            Some(name) => (name, false),
            None => (name.trim(), true),
        };
        properties.insert(name.to_owned(), type_of(kind.trim())?);
        if is_required {
            required.push(name.to_owned());
        }
    }
    let mut schema = Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
    ]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    Ok(schema)
}

fn type_of(kind: &str) -> Result<Value, String> {
    if let Some(inner) = kind.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Ok(json!({"type": "array", "items": type_of(inner)?}));
    }
    match kind {
        "string" | "integer" | "number" | "boolean" | "object" => Ok(json!({ "type": kind })),
        words if words.contains('|') => {
            Ok(json!({"type": "string", "enum": words.split('|').collect::<Vec<_>>()}))
        }
        other => Err(format!("{other}: no such type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_schema() {
        let object =
            schema("id: string, turn?: integer, end: done|failed, items: [object]").expect("a schema");
        assert_eq!(object["required"], json!(["id", "end", "items"]));
        assert_eq!(object["properties"]["end"], json!({"type": "string", "enum": ["done", "failed"]}));
        assert_eq!(object["properties"]["items"], json!({"type": "array", "items": {"type": "object"}}));
        assert!(schema("id: uint").is_err() && schema("id").is_err());
    }
}
