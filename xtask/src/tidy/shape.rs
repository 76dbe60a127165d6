//! Checks the shape of types: how many methods and fields one may have, and that a public name is declared in one
//! crate only. It lists the types over a limit; a list may only shrink. `tuples` has tuples that dodge a limit.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{end_of_item, is_word};
use super::{Finding, Tree};

/// Most methods of one type, over all its `impl` blocks in a crate. Implementations of traits that this
/// repository does not declare are not counted: the number of their methods is not ours to choose. Nor are methods that
/// a macro makes from a list, as `client::Connection` has one for each verb: a list may be long (docs/design/0018).
pub(crate) const MAX_METHODS: usize = 60;
/// Most fields of one struct.
pub(crate) const MAX_FIELDS: usize = 20;

/// Structs with more fields, as `crate::Type` with their recorded number. Entries leave this list; none joins it.
pub(crate) const FIELDS: &[(&str, usize)] = &[];
/// Structs that are documents: each field is a key that people write in a file. `deny_unknown_fields`, which finds a
/// misspelt key, forbids flattened groups, and a sub-table per group would be another format. They may have as many
/// fields as recorded here; entries are checked to refuse unknown keys.
pub(crate) const DOCUMENTS: &[(&str, usize)] = &[("agents::HooksSpec", 21), ("agents::Manifest", 25)];

/// Checks the three rules over the whole tree.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = limited("methods", &count_methods(tree), MAX_METHODS, &[]);
    let recorded: Vec<(&str, usize)> = FIELDS.iter().chain(DOCUMENTS).copied().collect();
    findings.extend(limited("fields", &count_fields(tree), MAX_FIELDS, &recorded));
    findings.extend(lenient_documents(tree, DOCUMENTS));
    findings.extend(shared_names(&public_names(tree)));
    findings
}

/// Where a type was first seen and how many of something it has.
#[derive(Debug)]
pub(crate) struct Count {
    path: String,
    line: usize,
    number: usize,
}

/// Finds types over the limit that are not recorded, and records that no longer fit.
pub(crate) fn limited(
    what: &'static str,
    counts: &BTreeMap<String, Count>,
    limit: usize,
    recorded: &[(&str, usize)],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, count) in counts {
        let allowed = recorded.iter().find(|(known, _)| known == name).map_or(limit, |(_, number)| *number);
        if count.number > allowed {
            let advice = format!("{name} has {} {what}, the limit is {allowed}: split it", count.number);
            findings.push(Finding::error(&count.path, count.line, what, advice));
        }
    }
    for (name, number) in recorded {
        let now = counts.get(*name).map_or(0, |count| count.number);
        if now < *number {
            let advice = format!("{name} shrank to {now}: lower or remove its record of {number}");
            findings.push(Finding::error("xtask/src/tidy/shape.rs", 1, what, advice));
        }
    }
    findings
}

/// Finds public type names that two crates declare.
pub(crate) fn shared_names(names: &BTreeMap<String, BTreeSet<(String, String)>>) -> Vec<Finding> {
    let is_shared = |places: &BTreeSet<(String, String)>| {
        places.iter().map(|(crate_name, _)| crate_name).collect::<BTreeSet<_>>().len() > 1
    };
    let finding = |(name, places): (&String, &BTreeSet<(String, String)>)| {
        let crates: Vec<&str> = places.iter().map(|(crate_name, _)| crate_name.as_str()).collect();
        let path = places.first().map_or("", |(_, path)| path.as_str());
        let advice = format!("`{name}` is public in {}: one name, one thing", crates.join(" and "));
        Finding::error(path, 1, "shared-name", advice)
    };
    names.iter().filter(|(_, places)| is_shared(places)).map(finding).collect()
}

fn count_methods(tree: &Tree) -> BTreeMap<String, Count> {
    let own_traits = declared_traits(tree);
    let is_foreign = |line: &str| implemented_trait(line).is_some_and(|name| !own_traits.contains(name));
    let mut counts = BTreeMap::new();
    for source in tree.sources() {
        let Some(crate_name) = shipped_crate(&source.path) else { continue };
        for (index, line) in source.code.iter().enumerate() {
            let is_counted = !source.is_test[index] && !is_foreign(line);
            let Some(name) = implemented_type(line).filter(|_| is_counted) else { continue };
            let end = end_of_item(&source.code, index);
            let methods = source.code[index..=end].iter().filter(|line| is_method(line)).count();
            let count = counts.entry(format!("{crate_name}::{name}")).or_insert_with(|| Count {
                path: source.path.clone(),
                line: index + 1,
                number: 0,
            });
            count.number += methods;
        }
    }
    counts
}

fn count_fields(tree: &Tree) -> BTreeMap<String, Count> {
    let mut counts = BTreeMap::new();
    for source in tree.sources() {
        let Some(crate_name) = shipped_crate(&source.path) else { continue };
        for (index, line) in source.code.iter().enumerate() {
            let declared = declared_type(line, &["struct"]).filter(|_| !source.is_test[index]);
            let Some((name, _)) = declared else { continue };
            let end = end_of_item(&source.code, index);
            let number = source.code[index + 1..=end.max(index + 1).min(source.code.len() - 1)]
                .iter()
                .filter(|line| is_field(line))
                .count();
            let count = Count { path: source.path.clone(), line: index + 1, number };
            counts.insert(format!("{crate_name}::{name}"), count);
        }
    }
    counts
}

/// Returns the names of all traits that this repository declares.
fn declared_traits(tree: &Tree) -> BTreeSet<String> {
    let declared = |line: &String| declared_type(line, &["trait"]).map(|(name, _)| name);
    tree.sources().flat_map(|source| source.code.iter().filter_map(declared)).collect()
}

/// Finds structs that are listed as documents and accept unknown keys: these could have groups.
pub(crate) fn lenient_documents(tree: &Tree, documents: &[(&str, usize)]) -> Vec<Finding> {
    let is_strict = |name: &str| {
        tree.sources().any(|source| {
            let crate_name = shipped_crate(&source.path).unwrap_or_default();
            source.code.iter().enumerate().any(|(index, line)| {
                let declared =
                    declared_type(line, &["struct"]).map(|(name, _)| format!("{crate_name}::{name}"));
                let above = &source.code[index.saturating_sub(8)..index];
                let attributes =
                    above.iter().rev().take_while(|line| line.starts_with("#[") || line.trim().is_empty());
                declared.as_deref() == Some(name)
                    && attributes.into_iter().any(|line| line.contains("deny_unknown_fields"))
            })
        })
    };
    let finding = |(name, _): &(&str, usize)| {
        let advice = format!("{name} is no document: it does not refuse unknown keys");
        Finding::error("xtask/src/tidy/shape.rs", 1, "fields", advice)
    };
    documents.iter().filter(|(name, _)| !is_strict(name)).map(finding).collect()
}

fn public_names(tree: &Tree) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let mut names: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for source in tree.sources() {
        let Some(crate_name) = shipped_crate(&source.path) else { continue };
        for (index, line) in source.code.iter().enumerate() {
            let declared = declared_type(line, &["struct", "enum", "trait", "type"]);
            let Some((name, true)) = declared.filter(|_| !source.is_test[index]) else { continue };
            names.entry(name).or_default().insert((crate_name.to_owned(), source.path.clone()));
        }
    }
    names
}

/// Returns the crate of a file below `crates/NAME/src`.
pub(super) fn shipped_crate(path: &str) -> Option<&str> {
    let (crate_name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(crate_name)
}

/// Returns the type of an `impl` block that begins on this line, whether it implements a trait or not.
fn implemented_type(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    let rest = rest.strip_prefix('<').map_or(rest, |generics| after_generics(generics));
    let subject = rest.split_once(" for ").map_or(rest, |(_, subject)| subject);
    let name: String = subject.trim_start().chars().take_while(|character| is_word(*character)).collect();
    (!name.is_empty()).then_some(name)
}

/// Returns the trait that an `impl` block on this line implements, without its path and its parameters.
fn implemented_trait(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = rest.strip_prefix('<').map_or(rest, |generics| after_generics(generics));
    let (path, _) = rest.split_once(" for ")?;
    let path = path.split('<').next().unwrap_or(path);
    Some(path.rsplit("::").next().unwrap_or(path).trim())
}

/// Returns what follows the closing bracket of a list of generic parameters.
fn after_generics(text: &str) -> &str {
    let mut depth = 1usize;
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if depth == 1 => return &text[at + 1..],
            '>' => depth -= 1,
            _ => {}
        }
    }
    ""
}

/// Returns the name of a type that this line declares with one of `kinds`, and whether the whole crate graph
/// may see it.
fn declared_type(line: &str, kinds: &[&str]) -> Option<(String, bool)> {
    let line = line.trim_start();
    let is_public = line.starts_with("pub ");
    let rest = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) if rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    };
    let (kind, rest) = rest.split_once(' ')?;
    let name: String = rest.chars().take_while(|character| is_word(*character)).collect();
    (kinds.contains(&kind) && !name.is_empty()).then_some((name, is_public))
}

/// Returns true if a line inside an `impl` block begins a method: one level of indentation, then `fn`.
fn is_method(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' ')) else { return false };
    let mut words = rest.split([' ', '(']).filter(|word| !word.is_empty());
    words.by_ref().take(6).any(|word| word == "fn")
}

/// Returns true if a line of a struct's body declares a field.
fn is_field(line: &str) -> bool {
    let line = line.trim_start();
    let rest = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')').map_or("", |(_, rest)| rest).trim_start(),
        Some(rest) if rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    };
    rest.split_once(':').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_word))
}
