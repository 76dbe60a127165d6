//! Checks that the tables of modules at the top of a file (`//! | file | …`) name modules that the file declares, and
//! that the files that docs/architecture.md names exist.

use super::scan::{Source, is_word};
use super::{Finding, Tree};

/// The page whose files must exist.
const MAP: &str = "docs/architecture.md";

/// How the head of such a table begins.
const HEADS: [&str; 2] = ["//! | file |", "//! | module |"];

/// Finds rows about modules that are not declared below the table.
pub(crate) fn check(source: &Source, text: &str) -> Vec<Finding> {
    let declared: Vec<&str> = source.code.iter().filter_map(|line| declared_module(line)).collect();
    let mut is_table = false;
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate().take_while(|(_, line)| line.starts_with("//!")) {
        is_table = HEADS.iter().any(|head| line.starts_with(head)) || (is_table && line.starts_with("//! |"));
        if !is_table {
            continue;
        }
        for name in named(line).filter(|name| !declared.contains(name)) {
            let advice = format!("the table names the module `{name}`, which is not declared here");
            findings.push(Finding::error(&source.path, index + 1, "module-table", advice));
        }
    }
    findings
}

/// Returns the module that a line declares.
fn declared_module(line: &str) -> Option<&str> {
    let (before, name) = line.trim_end().strip_suffix(';')?.rsplit_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// Returns the names in the first cell of a row. What is no word of Rust is a file of another kind.
fn named(row: &str) -> impl Iterator<Item = &str> {
    let cell = row.trim_start_matches("//! |").split('|').next().unwrap_or_default();
    cell.split('`').skip(1).step_by(2).filter(|name| !name.is_empty() && name.chars().all(is_word))
}

/// Finds files and directories that the map of the code names and that do not exist.
pub(crate) fn check_map(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.find(MAP) else { return Vec::new() };
    let exists = |name: &str| {
        tree.files.iter().any(|file| {
            let path = format!("/{}", file.path);
            if name.ends_with('/') {
                path.contains(&format!("/{name}"))
            } else {
                path.ends_with(&format!("/{name}"))
            }
        })
    };
    let mut findings = Vec::new();
    for (index, line) in map.text.lines().enumerate() {
        let words = line.split('`').skip(1).step_by(2);
        let is_path = |name: &&str| name.ends_with(".rs") || (name.ends_with('/') && !name.contains(' '));
        for name in words.filter(is_path).filter(|name| !exists(name)) {
            let advice = format!("the map names `{name}`, which does not exist");
            findings.push(Finding::error(MAP, index + 1, "map", advice));
        }
    }
    findings
}
