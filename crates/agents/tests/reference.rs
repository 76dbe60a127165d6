//! Generates the list of keys in docs/manifests.md from the schema of manifests, and checks that it is up to
//! date.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in the functions it calls too")]

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

const BEGIN: &str = "<!-- keys: written by `QD_BLESS=1 cargo test -p agents --test reference` -->\n";
const END: &str = "<!-- end of keys -->\n";

/// Describes a table under the word that a manifest writes for it.
fn describe(out: &mut String, title: &str, schema: &Value) {
    let Some(keys) = schema["properties"].as_object() else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    writeln!(out, "### {title}\n").unwrap();
    if let Some(text) = schema["description"].as_str() {
        writeln!(out, "{}\n", text.lines().next().unwrap_or_default()).unwrap();
    }
    writeln!(out, "| key | kind | meaning |\n|---|---|---|").unwrap();
    for (key, value) in keys {
        let must = if required.contains(&key.as_str()) { ", required" } else { "" };
        let meaning =
            value["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        writeln!(out, "| `{key}` | {}{must} | {meaning} |", kind(value)).unwrap();
    }
    out.push('\n');
}

/// Returns the kind of a value, in a word or two.
fn kind(value: &Value) -> String {
    if let Some(name) = value["$ref"].as_str() {
        return format!("`{}`", name.rsplit('/').next().unwrap_or(name));
    }
    let any = value["anyOf"].as_array().or(value["oneOf"].as_array());
    if let Some(first) = any.into_iter().flatten().find(|one| one["type"] != "null") {
        return kind(first);
    }
    match &value["type"] {
        Value::String(word) if word == "array" => format!("list of {}", kind(&value["items"])),
        Value::String(word) if word == "object" => "table".to_owned(),
        Value::String(word) => word.clone(),
        Value::Array(words) => {
            words.iter().filter_map(Value::as_str).find(|word| *word != "null").unwrap_or("any").to_owned()
        }
        _ => "any".to_owned(),
    }
}

/// The words of a closed list of words, with their meanings.
fn words(out: &mut String, title: &str, schema: &Value) {
    let Some(variants) = schema["oneOf"].as_array() else { return };
    let known: Vec<(&str, &str)> = variants
        .iter()
        .filter_map(|one| Some((one["const"].as_str()?, one["description"].as_str().unwrap_or_default())))
        .collect();
    if known.is_empty() {
        return;
    }
    writeln!(out, "### {title}\n\n| word | meaning |\n|---|---|").unwrap();
    for (word, meaning) in known {
        writeln!(out, "| `{word}` | {} |", meaning.replace('\n', " ")).unwrap();
    }
    out.push('\n');
}

fn written() -> String {
    let schema = agents::schema();
    let mut out = String::new();
    describe(&mut out, "The file", &schema);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        describe(&mut out, name, definition);
        words(&mut out, name, definition);
    }
    out
}

#[test]
fn m23_every_key_of_a_manifest_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manifests.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("the keys' place is missing"));
    let (keys, after) = rest.split_once(END).unwrap_or_else(|| panic!("the keys' end is missing"));
    let written = written();
    if std::env::var_os("QD_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{written}{END}{after}")).unwrap();
        return;
    }
    assert!(
        keys == written,
        "docs/manifests.md is not up to date: QD_BLESS=1 cargo test -p agents --test reference"
    );
}
