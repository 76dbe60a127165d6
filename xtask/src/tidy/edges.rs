//! Checks which crate may depend on which: the table of docs/architecture.md as code. An edge that is not in
//! it is a finding even when it compiles.

use super::scan::has_word;
use super::{File, Finding, Tree};

/// (crate, crates of ours it may use). Dev-dependencies are free; `testkit` and `xtask` are free because they never
/// ship.
pub(crate) const TABLE: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("term", &[]),
    ("holder", &[]),
    ("worktree", &[]),
    ("store", &[]),
    ("directory_watch", &[]),
    ("agents", &["proto", "term"]),
    ("engine", &["proto"]),
    ("daemon", &["engine", "agents", "holder", "term", "store", "worktree", "proto", "directory_watch"]),
    ("client", &["proto"]),
    ("tui", &["client", "proto", "term", "directory_watch"]),
    ("http_server", &[]),
    ("mcp", &["client", "http_server", "proto"]),
    ("web", &["client", "http_server", "proto", "directory_watch"]),
    ("cli", &["tui", "mcp", "web", "daemon", "holder", "client", "proto"]),
];

const FREE: &[&str] = &["testkit"];

/// Checks every manifest of a crate in `crates/`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files
        .iter()
        .filter_map(|file| Some((file, crate_of(&file.path)?)))
        .flat_map(check_manifest)
        .collect()
}

const REASONS: &str = "docs/design/0002-dependencies.md";

/// Checks that every foreign crate of the root manifest has its reason on the page of dependencies.
pub(crate) fn unexplained(tree: &Tree) -> Vec<Finding> {
    let Some(manifest) = tree.find("Cargo.toml") else { return Vec::new() };
    let page = tree.find(REASONS).map_or("", |file| file.text.as_str());
    let finding = |(line, name): (usize, String)| {
        let is_explained =
            is_ours(&name) || page.lines().any(|row| row.starts_with('|') && has_word(row, &name));
        let advice = format!("say in {REASONS} why {name} is here and what was rejected");
        (!is_explained).then(|| Finding::error("Cargo.toml", line, "dependency", advice))
    };
    normal_dependencies(&manifest.text).into_iter().filter_map(finding).collect()
}

fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").filter(|name| !name.contains('/'))
}

fn check_manifest((file, name): (&File, &str)) -> Vec<Finding> {
    if FREE.contains(&name) {
        return Vec::new();
    }
    let Some((_, allowed)) = TABLE.iter().find(|(row, _)| *row == name) else {
        let advice = "a new crate needs a row in the table of edges and in docs/architecture.md";
        return vec![Finding::error(&file.path, 1, "edge", advice)];
    };
    let is_forbidden = |used: &str| is_ours(used) && !allowed.contains(&used);
    let finding = |(line, used): (usize, String)| {
        let advice = format!("{name} may not use {used}: move the shared words down or the behaviour up");
        is_forbidden(&used).then(|| Finding::error(&file.path, line, "edge", advice))
    };
    normal_dependencies(&file.text).into_iter().filter_map(finding).collect()
}

fn is_ours(name: &str) -> bool {
    name == "xtask" || FREE.contains(&name) || TABLE.iter().any(|(row, _)| *row == name)
}

/// Returns line numbers and package names under `[dependencies]`, `[build-dependencies]` and their per-target
/// forms.
pub(crate) fn normal_dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_section = false;
    for (index, line) in manifest.lines().map(str::trim).enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_section = is_normal(section);
            if let Some((_, name)) = section.rsplit_once('.').filter(|(parent, _)| is_normal(parent)) {
                found.push((index + 1, name.trim_matches('"').to_owned()));
            }
        } else if in_section && !line.is_empty() && !line.starts_with('#') {
            found.extend(dependency(line).map(|name| (index + 1, name)));
        }
    }
    found
}

fn is_normal(section: &str) -> bool {
    let last = section.rsplit_once('.').map_or(section, |(_, last)| last);
    matches!(last, "dependencies" | "build-dependencies")
}

/// Returns the package a dependency line names, with `package = "…"` winning over the key.
fn dependency(line: &str) -> Option<String> {
    if let Some((_, after)) = line.split_once("package") {
        let renamed = after.split('"').nth(1).filter(|_| after.trim_start().starts_with('='));
        if let Some(name) = renamed {
            return Some(name.to_owned());
        }
    }
    let key = line.split(['=', '.', ' ']).next()?.trim_matches('"');
    (!key.is_empty()).then(|| key.to_owned())
}
