//! The vendor names that may appear only where vendor knowledge lives as data: the engine must not treat one
//! vendor specially.

use super::Finding;
use super::scan::has_word;

/// Distinct enough to be found inside longer words.
const ANYWHERE: &[&str] =
    &["claude", "codex", "opencode", "gemini", "qwen", "copilot", "anthropic", "openai"];
/// Ordinary as parts of other words, so only whole words count.
const WHOLE: &[&str] = &["goose", "aider", "amazonq", "deepseek", "mistral", "kimi", "ollama", "windsurf"];

/// Places made for vendor knowledge, and this list itself.
const ALLOWED: &[&str] = &[
    "crates/agents/",
    "crates/cli/tests/vendors/",
    "crates/testkit/",
    "crates/mcp/src/vendors.json",
    "docs/",
    "CHANGELOG",
    "README",
    "xtask/src/tidy/vendors.rs",
    "xtask/src/tidy/tests.rs",
];

/// Lists of other people's packages, written by tools.
const GENERATED: &[&str] = &["Cargo.lock", "package-lock.json"];

/// Checks every line of a text file outside the allowed places.
pub(crate) fn check(file: &super::File) -> Vec<Finding> {
    let path = file.path.as_str();
    let is_generated = GENERATED.iter().any(|name| path.ends_with(name));
    let is_allowed = ALLOWED.iter().any(|place| path.starts_with(place));
    if is_generated || is_allowed || path.split('/').any(|part| part == "fixtures") {
        return Vec::new();
    }
    let finding = |(index, line): (usize, &str)| {
        let word = vendor_in(&line.to_lowercase())?;
        let advice = format!("`{word}` belongs in crates/agents as data: take it from a manifest");
        Some(Finding::error(path, index + 1, "vendor", advice))
    };
    file.text.lines().enumerate().filter_map(finding).collect()
}

fn vendor_in(line: &str) -> Option<&'static str> {
    let inside = ANYWHERE.iter().find(|word| line.contains(**word));
    inside.or_else(|| WHOLE.iter().find(|word| has_word(line, word))).copied()
}
