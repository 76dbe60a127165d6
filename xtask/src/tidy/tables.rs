//! Checks that the tables of modules at the top of a file (`//! | file | …`) name modules that the file declares.

use super::Finding;
use super::scan::{Source, is_word};

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
