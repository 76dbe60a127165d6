//! File and directory names. Owns the list of drawers that attract everything and say nothing.

use super::Finding;

const DRAWERS: &[&str] = &["util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"];

/// A Rust file must not be, or live in, a drawer.
pub(crate) fn check(path: &str) -> Option<Finding> {
    let stem = path.strip_suffix(".rs")?;
    let drawer = stem.split(['/', '_', '-']).find(|word| DRAWERS.contains(word))?;
    Some(Finding::error(path, 1, "name", format!("`{drawer}` says nothing: name it after the noun it owns")))
}
