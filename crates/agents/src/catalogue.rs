//! All manifests: the built-in ones, merged by name with the project's and the user's files.
//!
//! A broken file is left out and reported as a problem; the manifest that it would have changed stays usable.
//! The daemon reads the files.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use toml::Table;

use crate::Manifest;
use crate::check::{self, CheckedManifest};
use crate::{Version, variation};

/// Where the shipped manifests come from.
pub const BUILT_IN: &str = "built in";

/// The shipped manifests.
const SHIPPED: [(&str, &str); 11] = [
    ("aider", include_str!("../manifests/aider.toml")),
    ("amp", include_str!("../manifests/amp.toml")),
    ("claude", include_str!("../manifests/claude.toml")),
    ("codex", include_str!("../manifests/codex.toml")),
    ("copilot", include_str!("../manifests/copilot.toml")),
    ("cursor-agent", include_str!("../manifests/cursor-agent.toml")),
    ("gemini", include_str!("../manifests/gemini.toml")),
    ("generic", include_str!("../manifests/generic.toml")),
    ("goose", include_str!("../manifests/goose.toml")),
    ("opencode", include_str!("../manifests/opencode.toml")),
    ("qwen", include_str!("../manifests/qwen.toml")),
];

/// The built-in manifests, read once because their patterns are expensive to compile.
static BUILT: LazyLock<(Catalogue, Vec<ManifestProblem>)> = LazyLock::new(|| {
    let mut catalogue = Catalogue { entries: BTreeMap::new() };
    let problems =
        SHIPPED.iter().flat_map(|(name, text)| catalogue.add_manifest(BUILT_IN, name, text)).collect();
    (catalogue, problems)
});

/// Returns the text of a shipped manifest, with its comments.
#[must_use]
pub fn built_in_text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

/// The manifest files of one directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Where the files are, in words for a person.
    pub origin: String,
    /// The stem of each file's name, and its text.
    pub files: Vec<(String, String)>,
}

/// A file that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestProblem {
    /// Where it lies.
    pub origin: String,
    /// The manifest it would have changed.
    pub name: String,
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong.
    pub reason: String,
}

/// Every manifest by its name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    entries: BTreeMap<String, CatalogueEntry>,
}

#[derive(Clone, Debug)]
struct CatalogueEntry {
    manifest: Arc<Manifest>,
    table: Arc<Table>,
    origin: Vec<String>,
    /// The texts it was made of, one for each origin.
    texts: Vec<Arc<str>>,
}

impl Catalogue {
    /// Returns the shipped manifests.
    #[must_use]
    pub fn built_in() -> Self {
        Self::merged(&[]).0
    }

    /// Merges layers over the built-in manifests, the weakest first: the project's, then the user's.
    #[must_use]
    pub fn merged(layers: &[Layer]) -> (Self, Vec<ManifestProblem>) {
        let (mut catalogue, mut problems) = BUILT.clone();
        for layer in layers {
            for (name, text) in &layer.files {
                problems.extend(catalogue.add_manifest(&layer.origin, name, text));
            }
        }
        (catalogue, problems)
    }

    /// Returns the manifest of this name, unless there is none or it is disabled.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Manifest>> {
        self.entries.get(name).map(|entry| &entry.manifest).filter(|manifest| !manifest.disabled)
    }

    /// Returns the manifest of this name as a version of the program needs it; without a version, as the
    /// newest version does.
    #[must_use]
    pub fn for_version(&self, name: &str, version: Option<Version>) -> Option<Arc<Manifest>> {
        let manifest = self.get(name)?;
        let table = self.entries.get(name).map(|entry| &entry.table)?;
        let patched = version.and_then(|version| variation::of_version(manifest, table, version));
        Some(patched.map_or_else(|| Arc::clone(manifest), Arc::new))
    }

    /// Returns the names of all enabled manifests, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|(_, entry)| !entry.manifest.disabled).map(|(name, _)| name.as_str())
    }

    /// Returns where a manifest comes from: its files, the weakest first; empty when there is none.
    #[must_use]
    pub fn origin(&self, name: &str) -> &[String] {
        self.entries.get(name).map_or(&[], |entry| entry.origin.as_slice())
    }

    /// Returns the texts that a manifest was merged from, each with its origin, the weakest first. Empty for
    /// a built-in manifest that no file has changed, and for a disabled one.
    #[must_use]
    pub fn foreign_layers(&self, name: &str) -> Vec<(&str, &str)> {
        let entry = self.entries.get(name).filter(|entry| !entry.manifest.disabled);
        let is_foreign = |entry: &&CatalogueEntry| entry.origin.iter().any(|origin| origin != BUILT_IN);
        let Some(entry) = entry.filter(is_foreign) else { return Vec::new() };
        entry.origin.iter().zip(&entry.texts).map(|(origin, text)| (origin.as_str(), &**text)).collect()
    }

    fn add_manifest(&mut self, origin: &str, name: &str, text: &str) -> Vec<ManifestProblem> {
        let below = self.entries.get(name);
        match check::read(name, text, below.map(|entry| &*entry.table)) {
            Ok(CheckedManifest { manifest, table }) => {
                let mut origins = below.map(|entry| entry.origin.clone()).unwrap_or_default();
                origins.push(origin.to_owned());
                let mut texts = below.map(|entry| entry.texts.clone()).unwrap_or_default();
                texts.push(text.into());
                let (manifest, table) = (Arc::new(manifest), Arc::new(table));
                let entry = CatalogueEntry { manifest, table, origin: origins, texts };
                self.entries.insert(name.to_owned(), entry);
                Vec::new()
            }
            Err(faults) => faults
                .into_iter()
                .map(|fault| ManifestProblem {
                    origin: origin.to_owned(),
                    name: name.to_owned(),
                    line: fault.line,
                    reason: fault.reason,
                })
                .collect(),
        }
    }
}

/// Returns the table of a shipped manifest.
pub(crate) fn built_in_table(name: &str) -> Option<Arc<Table>> {
    BUILT.0.entries.get(name).map(|entry| Arc::clone(&entry.table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(origin: &str, files: &[(&str, &str)]) -> Layer {
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Layer { origin: origin.to_owned(), files }
    }

    #[test]
    fn every_shipped_manifest_is_sound() {
        let (catalogue, problems) = Catalogue::merged(&[]);
        assert_eq!(problems, []);
        assert_eq!(catalogue.names().count(), SHIPPED.len());
        assert!(
            SHIPPED
                .iter()
                .all(|(name, _)| catalogue.get(name).is_some_and(|manifest| manifest.name == *name))
        );
    }

    #[test]
    fn the_user_wins_over_the_project_and_both_over_the_built_in() {
        let project =
            layer("project", &[("claude", "argv = ['from-project']\n[env]\nA = 'project'\nB = 'project'")]);
        let user = layer("user", &[("claude", "[env]\nA = 'user'")]);
        let (catalogue, problems) = Catalogue::merged(&[project, user]);
        assert_eq!(problems, []);
        let claude = catalogue.get("claude").unwrap();
        assert_eq!(claude.argv, ["from-project"]);
        let values: Vec<_> = claude.env.values().map(|value| value.source()).collect();
        assert_eq!(values, ["user", "project"]);
        assert!(claude.mcp.is_some());
        assert_eq!(catalogue.origin("claude"), [BUILT_IN, "project", "user"]);
    }

    #[test]
    fn m4d_a_manifest_that_files_have_changed_names_every_text_it_was_made_of() {
        let user = layer("user", &[("claude", "[env]\nA = 'user'"), ("mine", "argv = ['mine']")]);
        let (catalogue, _) = Catalogue::merged(&[user]);
        let layers = catalogue.foreign_layers("claude");
        assert_eq!(layers[0], (BUILT_IN, built_in_text("claude").unwrap()));
        assert_eq!(layers[1], ("user", "[env]\nA = 'user'"));
        assert_eq!(catalogue.foreign_layers("mine"), [("user", "argv = ['mine']")]);
        for shipped in ["gemini", "no-such-agent"] {
            assert_eq!(catalogue.foreign_layers(shipped), [], "{shipped}");
        }
    }

    #[test]
    fn a_disabled_manifest_is_not_offered() {
        let (catalogue, _) = Catalogue::merged(&[layer("user", &[("gemini", "disabled = true")])]);
        assert!(catalogue.get("gemini").is_none());
        assert!(!catalogue.names().any(|name| name == "gemini"));
    }

    #[test]
    fn a_broken_file_leaves_the_built_in_one_and_all_others() {
        let files =
            [("claude", "argv = ['x']\nbroken ="), ("mine", "argv = ['mine']"), ("other", "[env]\nA = 'x'")];
        let (catalogue, problems) = Catalogue::merged(&[layer("user", &files)]);
        assert_eq!(catalogue.get("claude").unwrap().argv, ["claude"]);
        assert_eq!(catalogue.get("mine").unwrap().argv, ["mine"]);
        assert!(catalogue.get("other").is_none());
        let found: Vec<_> = problems.iter().map(|problem| (problem.name.as_str(), problem.line)).collect();
        assert_eq!(found, [("claude", 2), ("other", 1)]);
        assert!(problems.iter().all(|problem| problem.origin == "user"));
    }
}
