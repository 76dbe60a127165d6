//! What some clients expect by name: a mark on tools that must not be deferred, and the directories for
//! skills. The vendors' words are in a data file beside this one.

use std::sync::OnceLock;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
struct Vendors {
    always_load: String,
    skill_directories: Vec<String>,
}

fn vendors() -> &'static Vendors {
    static VENDORS: OnceLock<Vendors> = OnceLock::new();
    // A test parses the data; a build that cannot runs without marks rather than not at all.
    VENDORS.get_or_init(|| serde_json::from_str(include_str!("vendors.json")).unwrap_or_default())
}

/// Returns the key that marks a tool to be loaded at once.
pub(crate) fn always_load() -> &'static str {
    &vendors().always_load
}

/// Returns where agents look for skills, from a project's root.
pub(crate) fn skill_directories() -> &'static [String] {
    &vendors().skill_directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_can_be_read() {
        assert!(always_load().contains('/'));
        assert_eq!(skill_directories().len(), 2);
    }
}
