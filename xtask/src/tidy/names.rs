//! Checks file and directory names: vague names that attract everything (`utils`, `common`) are forbidden.

use super::Finding;

const DRAWERS: &[&str] = &["util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"];

/// A Rust file must neither have nor be below such a name.
pub(crate) fn check(path: &str) -> Option<Finding> {
    let stem = path.strip_suffix(".rs")?;
    let drawer = stem.split(['/', '_', '-']).find(|word| DRAWERS.contains(word))?;
    Some(Finding::error(path, 1, "name", format!("`{drawer}` says nothing: name it after the noun it owns")))
}
