//! Finds every fault of one manifest file, with its line: syntax, unknown keys and words, wrong types,
//! invalid templates and patterns, and what is missing once the file is merged over the built-in manifest of
//! the same name.

use std::ops::Range;

use proto::Printable;
use proto::agent::ManifestFault;
use serde::Deserialize;
use toml::de::{DeArray, DeTable, DeValue};
use toml::{Spanned, Table};

use crate::Manifest;
use crate::manifest::KeyPlace;
use crate::merge;
use crate::variation;

/// The most faults that are reported for one file.
const MOST_FAULTS: usize = 50;

/// Returns every fault of a manifest file called `name`, in order of lines; empty when the file can be used.
#[must_use]
pub fn check(name: &str, text: &str) -> Vec<ManifestFault> {
    match read(name, text, crate::catalogue::built_in_table(name).as_deref()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults,
    }
}

/// Returns the JSON Schema of a manifest file.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Manifest).to_value();
    offer_disabled(&mut schema);
    schema
}

/// A manifest and the table that it was read from.
#[derive(Debug)]
pub(crate) struct CheckedManifest {
    pub(crate) manifest: Manifest,
    pub(crate) table: Table,
}

/// Reads a file that is merged over `base`.
pub(crate) fn read(
    name: &str,
    text: &str,
    base: Option<&Table>,
) -> Result<CheckedManifest, Vec<ManifestFault>> {
    let (parsed, errors) = DeTable::parse_recoverable(text);
    let mut found = Findings::default();
    found.faults.extend(name_fault(name));
    found.faults.extend(errors.iter().map(|error| fault(text, error.span(), error.message())));
    if found.faults.is_empty() {
        found = faults_of_values(text, parsed.clone());
    }
    if !found.faults.is_empty() {
        found.faults.sort_by_key(|fault| fault.line);
        found.faults.dedup();
        return Err(found.faults);
    }
    let own: Table =
        text.parse().map_err(|error: toml::de::Error| vec![fault(text, error.span(), error.message())])?;
    if base.is_none() && !own.contains_key("argv") {
        return Err(vec![fault(
            text,
            None,
            "argv is missing: the program and the words it is always started with",
        )]);
    }
    let mut table = base.cloned().unwrap_or_default();
    merge::merge_into(&mut table, own);
    merge::without_disabled(&mut table);
    read_merged(name, table, &found.lacking).map_err(|reasons| {
        reasons
            .iter()
            .map(|(location, reason)| fault(text, location.span(parsed.get_ref()), reason))
            .collect()
    })
}

/// Where to report a fault of a merged manifest.
#[derive(Clone, Debug)]
enum FaultLocation {
    /// Where the file sets this key; the file's first line if the manifest below sets it.
    Said(KeyPlace),
    /// Here.
    Span(Option<Range<usize>>),
}

impl FaultLocation {
    fn span(&self, file: &DeTable<'_>) -> Option<Range<usize>> {
        match self {
            Self::Said(KeyPlace::Table(key)) => file.get(*key).map(Spanned::span),
            Self::Said(KeyPlace::Entry(id)) => entry_span(file, id),
            Self::Span(span) => span.clone(),
        }
    }
}

/// Returns the position of the last entry with this `id`.
fn entry_span(table: &DeTable<'_>, id: &str) -> Option<Range<usize>> {
    let within = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Table(inner) => {
            let is_meant = inner.get("id").and_then(|own| own.get_ref().as_str()) == Some(id);
            if is_meant { Some(value.span()) } else { entry_span(inner, id) }
        }
        _ => None,
    };
    table
        .values()
        .filter_map(|value| match value.get_ref() {
            DeValue::Array(list) => list.iter().rev().find_map(within),
            _ => within(value),
        })
        .next()
}

/// Reads a merged table. A key that an entry of the file lacks is a fault if the merged entry lacks it too.
fn read_merged(
    name: &str,
    table: Table,
    lacking: &[Lack],
) -> Result<CheckedManifest, Vec<(FaultLocation, String)>> {
    let mut manifest: Manifest = table.clone().try_into().map_err(|error: toml::de::Error| {
        let here = lacking.iter().filter(|lack| lack.reason == error.message());
        let mut reasons: Vec<_> =
            here.map(|lack| (FaultLocation::Span(lack.span.clone()), lack.reason.clone())).collect();
        if reasons.is_empty() {
            reasons.push((FaultLocation::Span(None), error.message().to_owned()));
        }
        reasons
    })?;
    if !manifest.name.is_empty() && manifest.name != name {
        let reason = format!("name is {:?}, but the file is called {name:?}", manifest.name);
        return Err(vec![(FaultLocation::Said(KeyPlace::Table("name")), reason)]);
    }
    name.clone_into(&mut manifest.name);
    let found = manifest.contradictions().into_iter();
    let mut reasons: Vec<_> =
        found.map(|contradiction| (FaultLocation::Said(contradiction.place), contradiction.reason)).collect();
    let patches = variation::faults(&manifest, &table).into_iter();
    reasons.extend(patches.map(|(id, reason)| (FaultLocation::Said(KeyPlace::Entry(id)), reason)));
    if reasons.is_empty() { Ok(CheckedManifest { manifest, table }) } else { Err(reasons) }
}

/// The faults of one file.
#[derive(Debug, Default)]
struct Findings {
    faults: Vec<ManifestFault>,
    /// Required keys that entries of this file lack; the manifest below may have them.
    lacking: Vec<Lack>,
}

#[derive(Debug)]
struct Lack {
    span: Option<Range<usize>>,
    reason: String,
}

/// Reads the file again and again, each time without the last fault, until no fault is left.
fn faults_of_values(text: &str, mut parsed: Spanned<DeTable<'_>>) -> Findings {
    let mut found = Findings::default();
    for patch in patches(parsed.get_ref()) {
        let within = faults_of_values(text, patch);
        found.faults.extend(within.faults);
        found.lacking.extend(within.lacking);
    }
    strip_disabled(parsed.get_mut());
    for _ in 0..MOST_FAULTS {
        let read: Result<Manifest, _> =
            Deserialize::deserialize(toml::de::Deserializer::from(parsed.clone()));
        let Err(error) = read else { break };
        let span = error.span();
        if error.message().starts_with("missing field") {
            found.lacking.push(Lack { span: span.clone(), reason: error.message().to_owned() });
        } else {
            found.faults.push(fault(text, span.clone(), error.message()));
        }
        if !span.is_some_and(|span| forget(parsed.get_mut(), &span)) {
            break;
        }
    }
    found
}

/// Returns the patches of the `[[version]]` entries. Each is read as a manifest of its own, so that its
/// faults have their lines.
fn patches<'a>(file: &DeTable<'a>) -> Vec<Spanned<DeTable<'a>>> {
    let Some(DeValue::Array(entries)) = file.get("version").map(|value| value.get_ref()) else {
        return Vec::new();
    };
    let patch = |entry: &Spanned<DeValue<'a>>| match entry.get_ref() {
        DeValue::Table(entry) => match entry.get("patch")?.get_ref() {
            DeValue::Table(patch) => Some(Spanned::new(entry.get("patch")?.span(), patch.clone())),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(patch).collect()
}

/// Removes the smallest entry that contains a fault. The span of a table is only its header, so all tables
/// are searched.
fn forget(table: &mut DeTable<'_>, fault: &Range<usize>) -> bool {
    if table.iter_mut().any(|(_, value)| forget_within(value.get_mut(), fault)) {
        return true;
    }
    let entry =
        table.iter().find(|(key, value)| is_around(&key.span(), fault) || is_around(&value.span(), fault));
    let Some(key) = entry.map(|(key, _)| key.clone()) else { return false };
    table.remove(&key).is_some()
}

fn forget_within(value: &mut DeValue<'_>, fault: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => forget(table, fault),
        DeValue::Array(list) => {
            if list.iter_mut().any(|entry| forget_within(entry.get_mut(), fault)) {
                return true;
            }
            let Some(at) = list.iter().position(|entry| is_around(&entry.span(), fault)) else {
                return false;
            };
            let mut kept = DeArray::new();
            let others = list.iter().enumerate().filter(|(index, _)| *index != at);
            others.for_each(|(_, entry)| kept.push(entry.clone()));
            *list = kept;
            true
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => false,
    }
}

fn is_around(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Removes `disabled` from entries of lists by `id`: it is for merging and not part of the entry.
fn strip_disabled(table: &mut DeTable<'_>) {
    for (_, value) in table.iter_mut() {
        match value.get_mut() {
            DeValue::Table(inner) => strip_disabled(inner),
            DeValue::Array(list) => {
                for entry in list.iter_mut() {
                    if let DeValue::Table(inner) = entry.get_mut() {
                        if inner.get("disabled").is_some_and(|value| value.get_ref().is_bool()) {
                            inner.remove("disabled");
                        }
                        strip_disabled(inner);
                    }
                }
            }
            _ => {}
        }
    }
}

fn name_fault(name: &str) -> Option<ManifestFault> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=40).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('-');
    let reason = format!(
        "{:?} is no name for a manifest: small letters, digits and dashes, at most 40",
        Printable(name).to_text()
    );
    (!fits).then_some(ManifestFault { line: 1, reason })
}

fn fault(text: &str, span: Option<Range<usize>>, reason: &str) -> ManifestFault {
    let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.bytes().filter(|byte| *byte == b'\n').count().saturating_add(1);
    ManifestFault {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        reason: Printable(reason.trim()).to_string(),
    }
}

/// Adds `disabled` to the schema of entries in lists by `id`. Merging removes it before anything is read.
fn offer_disabled(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(object) => {
            if let Some(properties) = object.get_mut("properties").and_then(serde_json::Value::as_object_mut)
                && properties.contains_key("id")
            {
                let word = serde_json::json!({ "type": "boolean", "description": "Leave this entry out." });
                properties.insert("disabled".to_owned(), word);
            }
            object.values_mut().for_each(offer_disabled);
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(offer_disabled),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(name: &str, text: &str) -> Vec<(u32, String)> {
        check(name, text).into_iter().map(|fault| (fault.line, fault.reason)).collect()
    }

    #[track_caller]
    fn says(name: &str, text: &str, expected: &[(u32, &str)]) {
        let found = lines(name, text);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((line, reason), (expected_line, word)) in found.iter().zip(expected) {
            assert_eq!(line, expected_line, "{found:?}");
            assert!(reason.contains(word), "{reason} does not say {word}");
        }
    }

    #[test]
    fn a_good_file_has_no_fault() {
        says("mine", "argv = ['mine']\n[deliver]\nsettle_ms = 200\n", &[]);
    }

    #[test]
    fn u10_a_name_that_no_key_has_is_a_fault_with_its_line() {
        let file = |keys: &str| format!("argv = ['mine']\n[deliver]\n{keys}\n");
        says("mine", &file("new_line = 'alt-enter'"), &[]);
        says("mine", &file("new_line = 'ctrl-line'"), &[(3, "ctrl-line")]);
        says("mine", &file("interrupt = ['esc', 'stop']"), &[(3, "stop")]);
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        says("mine", "argv = ['mine']\n\nenv = {\n", &[(3, "")]);
    }

    #[test]
    fn every_fault_of_a_file_is_told_in_order_of_lines() {
        let text = "argv = ['x']\nfoo = 1\n[session]\nchoose = ['{sesion}']\n[deliver]\nsettle_ms = 20\nchannel = 'pigeon'\n";
        says("mine", text, &[(2, "foo"), (4, "{sesion}"), (6, "at least 150"), (7, "pigeon")]);
    }

    #[test]
    fn a_bad_template_in_a_document_has_its_line() {
        let text = "argv = ['x']\n[mcp]\ninject = 'env_var'\nvariable = 'V'\n[mcp.document.servers.qd]\nargs = ['mcp',\n '{nope}']\n";
        says("mine", text, &[(7, "{nope}")]);
    }

    #[test]
    fn fields_that_do_not_belong_together_are_told_at_their_table() {
        says("mine", "argv = ['x']\n\n[mcp]\ninject = 'env_var'\nflag = '-c'\n", &[(3, "flag")]);
    }

    #[test]
    fn a_new_manifest_needs_argv_but_a_change_of_a_built_in_one_does_not() {
        says("mine", "[env]\nA = 'b'\n", &[(1, "argv")]);
        says("claude", "[env]\nA = 'b'\n", &[]);
    }

    #[test]
    fn an_entry_may_lack_what_the_built_in_one_says() {
        says("claude", "[[hooks.event]]\nid = 'stop'\nmax_age_ms = 5\n", &[]);
        says("claude", "[[hooks.event]]\nid = 'stop'\ndisabled = true\n", &[]);
        says("claude", "disabled = true\n", &[]);
    }

    #[test]
    fn an_entry_that_nobody_completes_is_a_fault_at_its_line() {
        says("claude", "\n[[hooks.event]]\nid = 'new'\n", &[(2, "missing field `event`")]);
    }

    #[test]
    fn the_name_is_the_name_of_the_file() {
        says("mine", "argv = ['x']\nname = 'other'\n", &[(2, "other")]);
        says("No Name", "argv = ['x']\n", &[(1, "no name for a manifest")]);
    }

    #[test]
    fn what_does_not_go_together_is_told_where_it_stands() {
        let twice = "argv = ['x']\n\n[[rule]]\nid = 'a'\nregion = 'whole'\npattern = 'x'\nverdict = 'idle'\n";
        let again = twice.replace("argv = ['x']\n", "");
        says("mine", &format!("{twice}{again}"), &[(9, "twice")]);
        says("mine", "argv = ['x']\n[deliver]\nchannel = 'server'\n", &[(2, "server")]);
        says("mine", &twice.replace("'x'\nverdict", "'('\nverdict"), &[(6, "no pattern")]);
    }

    #[test]
    fn c22_a_fault_in_a_patch_for_some_versions_has_its_line() {
        let entry = "[[version]]\nid = 'old'\nbefore = '1.0'\n";
        let file = |patch: &str| format!("argv = ['x']\n\n{entry}{patch}");
        says("mine", &file("[version.patch]\nargv = ['y']\n"), &[]);
        says("mine", &file("[version.patch]\nfoo = 1\n"), &[(7, "foo")]);
        says("mine", &file("[version.patch.deliver]\nsettle_ms = 20\n"), &[(7, "at least 150")]);
        says("mine", &file("[version.patch]\nname = 'z'\n"), &[(3, "cannot change `name`")]);
        says(
            "mine",
            &file("[version.patch.deliver]\nchannel = 'server'\n"),
            &[(3, "needs the table `server`")],
        );
        says(
            "mine",
            "argv = ['x']\n[[version]]\nid = 'a'\nbefore = 'new'\npatch = {}\n",
            &[(4, "no version")],
        );
        says("mine", "argv = ['x']\n[[version]]\nid = 'a'\npatch = {}\n", &[(2, "`from` or `before`")]);
    }

    #[test]
    fn a_reason_cannot_carry_an_escape() {
        let faults = check("mine", "argv = ['x']\n\"\\u001b[2J\" = 1\n");
        assert!(faults.iter().all(|fault| !fault.reason.contains('\u{1b}')), "{faults:?}");
        assert_eq!(faults.len(), 1);
    }

    #[test]
    fn the_schema_knows_the_keys_of_a_manifest() {
        let schema = schema();
        for key in ["argv", "mcp", "hooks", "session", "deliver", "disabled"] {
            assert!(schema.pointer(&format!("/properties/{key}")).is_some(), "{key}");
        }
        assert_eq!(schema.pointer("/additionalProperties"), Some(&serde_json::Value::Bool(false)));
        assert!(schema.to_string().contains("Leave this entry out."));
    }

    proptest! {
        #[test]
        fn checking_any_text_never_panics(text in "(?s).{0,200}") {
            let _faults = check("mine", &text);
        }

        #[test]
        fn checking_text_like_a_manifest_never_panics(
            lines in prop::collection::vec(
                ("(argv|name|env|mcp|hooks|session|rule|id|inject|document|deliver|disabled)", "( = |\\[|\\]| = \\{| = \\[|\\.)", "('\\{qd\\}'|'x'|1|true|\\[\\]|\\}|é)"),
                0..12,
            ),
        ) {
            let text: String = lines.iter().map(|(key, sign, value)| format!("{key}{sign}{value}\n")).collect();
            let _faults = check("claude", &text);
        }

    }

    proptest! {
        // Every case reads a whole manifest with its patterns, which is slow.
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn checking_a_damaged_manifest_never_panics(at in 0usize..4000, length in 0usize..40, put in ".{0,4}") {
            let text = include_str!("../manifests/claude.toml");
            let (from, to) = (at.min(text.len()), (at + length).min(text.len()));
            if let (Some(before), Some(after)) = (text.get(..from), text.get(to..)) {
                let _faults = check("claude", &format!("{before}{put}{after}"));
            }
        }
    }
}
