//! Checks that every Rust file is compiled: walks from each crate's roots (`src`, `tests`, `benches`,
//! `examples`) along `mod` declarations. A file that no `mod` names has tests that never run and code that
//! never builds.

use std::collections::BTreeSet;

use super::scan::Source;
use super::{Finding, Tree};

/// Files of crates and of xtask that no root reaches.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let sources: Vec<&Source> = tree.sources().filter(|source| home(&source.path).is_some()).collect();
    let declared = declared_roots(tree);
    let is_start = |source: &&Source| is_root(&source.path) || declared.contains(&source.path);
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Source> = sources.iter().copied().filter(is_start).collect();
    while let Some(source) = open.pop() {
        if !reached.insert(source.path.as_str()) {
            continue;
        }
        let named = named_files(source, is_start(&source));
        open.extend(sources.iter().copied().filter(|candidate| named.contains(&candidate.path)));
    }
    let advice = "no `mod` names this file, so it is never compiled: name it or delete it";
    let lost = sources.iter().filter(|source| !reached.contains(source.path.as_str()));
    lost.map(|source| Finding::error(&source.path, 1, "unreached", advice)).collect()
}

/// Returns the path inside its crate: `src/…`, `tests/…`; none for files outside crates and xtask.
fn home(path: &str) -> Option<&str> {
    let inside = match path.strip_prefix("crates/") {
        Some(rest) => rest.split_once('/')?.1,
        None => path.strip_prefix("xtask/")?,
    };
    let is_compiled =
        ["src/", "tests/", "benches/", "examples/"].iter().any(|place| inside.starts_with(place));
    let is_data = inside.split('/').any(|part| matches!(part, "fixtures" | "recordings"));
    (is_compiled && !is_data).then_some(inside)
}

/// Returns true for a file that cargo compiles by default.
fn is_root(path: &str) -> bool {
    let Some(inside) = home(path) else { return false };
    let parts: Vec<&str> = inside.split('/').collect();
    match parts[..] {
        ["src", file] => matches!(file, "lib.rs" | "main.rs"),
        ["src", "bin", _] | ["src", "bin", _, "main.rs"] => true,
        ["tests" | "benches" | "examples", _] | ["tests" | "benches" | "examples", _, "main.rs"] => true,
        _ => false,
    }
}

/// Targets that a manifest places elsewhere with `path = "….rs"`.
fn declared_roots(tree: &Tree) -> BTreeSet<String> {
    let mut roots = BTreeSet::new();
    for file in &tree.files {
        let Some(directory) = file.path.strip_suffix("Cargo.toml") else { continue };
        let paths = file.text.lines().filter_map(|line| line.trim().strip_prefix("path")?.split('"').nth(1));
        roots.extend(paths.filter(|path| path.ends_with(".rs")).map(|path| format!("{directory}{path}")));
    }
    roots
}

/// Returns the files that the `mod name;` lines of this file may mean.
fn named_files(source: &Source, is_start: bool) -> BTreeSet<String> {
    let (directory, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.trim_end_matches(".rs");
    let beside = is_start || stem == "mod";
    let children = if beside { directory.to_owned() } else { format!("{directory}/{stem}") };
    let mut files = BTreeSet::new();
    let mut path_attribute = None;
    for (index, line) in source.literal.iter().enumerate() {
        if let Some(path) = attribute_path(line) {
            path_attribute = Some(path.to_owned());
        }
        let Some(name) = declared_module(&source.code[index]) else { continue };
        match path_attribute.take() {
            Some(path) => files.extend([format!("{directory}/{path}")]),
            None => files.extend([format!("{children}/{name}.rs"), format!("{children}/{name}/mod.rs")]),
        }
    }
    files
}

fn attribute_path(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("#[path")?;
    after.split('"').nth(1)
}

/// Returns the name in `mod name;`, with any visibility before it.
fn declared_module(line: &str) -> Option<&str> {
    let declaration = line.trim().strip_suffix(';')?;
    let (before, name) = declaration.rsplit_once("mod ")?;
    let is_declaration = before.is_empty() || before.ends_with([' ', ']']);
    (is_declaration && !name.contains(' ')).then_some(name)
}
