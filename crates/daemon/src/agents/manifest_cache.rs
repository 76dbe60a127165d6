//! Reads the manifests on disk, the user's files and the project's, again when they have changed.
//!
//! When a file breaks, its last valid version stays in use, and the user gets a warning. A project's files
//! may only describe how to read a screen, not choose a program, its words, its environment or what is
//! injected: a project is not trusted until a person trusts it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use agents::catalogue::{BUILT_IN, Catalogue, Layer, ManifestProblem};
use proto::Printable;

use crate::presets::read_text;

/// Largest manifest.
const MAX_FILE: u64 = 256 * 1024;
/// Most files of one directory.
const MAX_FILES: usize = 200;
/// The most projects that are cached; beyond it all are read again.
const MAX_PROJECTS: usize = 64;
/// Where a project keeps its manifests.
const PROJECT: &str = ".quarterdeck/agents";
/// The keys that a project's file may have.
const READING_ONLY: &[&str] =
    &["name", "rule", "dialog", "composer", "background", "trim", "context", "quota"];

/// The path, time and size of a file when it was read.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ManifestStamp {
    path: PathBuf,
    changed_at: Option<SystemTime>,
    length: u64,
}

/// Everything that was read for one project.
pub(crate) struct ManifestSet {
    stamps: Vec<ManifestStamp>,
    /// The manifests.
    pub(crate) catalogue: Catalogue,
    /// What is wrong with which file.
    pub(crate) problems: Vec<FileProblem>,
}

/// What is wrong with a manifest file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileProblem {
    pub(crate) file: String,
    /// The agent that the file would describe.
    name: String,
    /// The file, the line if one is known, and the reason.
    pub(crate) text: String,
}

impl FileProblem {
    /// A file that cannot be read, or that may not say what it says.
    fn unusable(path: &Path, why: &str) -> Self {
        let file = path.display().to_string();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { text: format!("{file}: {why}"), file, name }
    }

    fn of_manifest(problem: &ManifestProblem) -> Self {
        let ManifestProblem { origin, name, line, reason } = problem;
        let text = format!("{origin}:{line}: {}", Printable(reason));
        Self { file: origin.clone(), name: name.clone(), text }
    }
}

impl ManifestSet {
    /// Returns the problems of files that would describe this agent, in words.
    pub(crate) fn problems_of(&self, name: &str) -> Vec<String> {
        let of_agent = self.problems.iter().filter(|problem| problem.name == name);
        of_agent.map(|problem| problem.text.clone()).collect()
    }

    /// Returns the agents that only faulty files describe, each with its file.
    pub(crate) fn only_faulty(&self) -> BTreeMap<String, String> {
        let unknown = self.problems.iter().filter(|problem| self.catalogue.get(&problem.name).is_none());
        unknown.map(|problem| (problem.name.clone(), problem.file.clone())).collect()
    }
}

/// A manifest that is not built in, or that a file has changed: its command, and every text that it was
/// merged from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignManifest {
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    /// The origin of each text, and the text, the weakest first.
    pub(crate) layers: Vec<(String, String)>,
}

impl ForeignManifest {
    /// Returns the manifest of this name, unless there is none or it is built in.
    pub(crate) fn find(catalogue: &Catalogue, name: &str) -> Option<Self> {
        let layers = catalogue.foreign_layers(name);
        let manifest = catalogue.get(name).filter(|_| !layers.is_empty())?;
        let layers = layers.into_iter().map(|(origin, text)| (origin.to_owned(), text.to_owned())).collect();
        Some(Self { name: name.to_owned(), argv: manifest.argv.clone(), layers })
    }

    /// Returns the texts that are not built in.
    pub(crate) fn files(&self) -> impl Iterator<Item = &(String, String)> {
        self.layers.iter().filter(|(origin, _)| origin != BUILT_IN)
    }
}

/// The manifests by project.
pub(crate) struct ManifestCache {
    user: PathBuf,
    shelves: HashMap<Option<PathBuf>, Arc<ManifestSet>>,
    /// The newest valid text of each file.
    sound: HashMap<PathBuf, String>,
}

impl ManifestCache {
    pub(crate) fn new(config: &Path) -> Self {
        Self { user: config.join("agents"), shelves: HashMap::new(), sound: HashMap::new() }
    }

    /// Returns the files that may change a manifest. A project without manifests is not watched: its
    /// directory may be a busy one.
    pub(crate) fn files_of(&self, name: &str, project: &Path) -> Vec<PathBuf> {
        let project = Some(project.join(PROJECT)).filter(|dir| dir.is_dir());
        let dirs = std::iter::once(self.user.clone()).chain(project);
        dirs.map(|dir| dir.join(format!("{name}.toml"))).collect()
    }

    /// Returns the manifests for a project, read again if a file has changed since.
    pub(crate) fn manifest_set(&mut self, project: Option<&Path>) -> Arc<ManifestSet> {
        let project = project.map(|dir| dir.join(PROJECT));
        let mut stamps = project.as_deref().map(stamps).unwrap_or_default();
        let of_project = stamps.len();
        stamps.extend(self::stamps(&self.user));
        if let Some(manifest_set) =
            self.shelves.get(&project).filter(|manifest_set| manifest_set.stamps == stamps)
        {
            return Arc::clone(manifest_set);
        }
        if self.shelves.len() >= MAX_PROJECTS {
            self.shelves.clear();
        }
        let manifest_set = Arc::new(self.read(stamps, of_project));
        self.shelves.insert(project, Arc::clone(&manifest_set));
        manifest_set
    }

    fn read(&mut self, stamps: Vec<ManifestStamp>, of_project: usize) -> ManifestSet {
        let mut problems = Vec::new();
        let mut files = Vec::new();
        for (place, ManifestStamp { path, length, .. }) in stamps.iter().enumerate() {
            match read_file(path, *length, place < of_project) {
                Ok(layer) => files.push((path.clone(), layer)),
                Err(why) => problems.push(FileProblem::unusable(path, &why)),
            }
        }
        let layers: Vec<Layer> = files.iter().map(|(_, layer)| layer.clone()).collect();
        let (mut catalogue, faults) = Catalogue::merged(&layers);
        if !faults.is_empty() {
            problems.extend(faults.iter().map(FileProblem::of_manifest));
            for (path, layer) in &mut files {
                let is_broken = faults.iter().any(|fault| fault.origin == layer.origin);
                match self.sound.get(path).filter(|_| is_broken) {
                    Some(text) => layer.files.iter_mut().for_each(|(_, kept)| kept.clone_from(text)),
                    None if is_broken => layer.files.clear(),
                    None => {}
                }
            }
            let layers: Vec<Layer> = files.iter().map(|(_, layer)| layer.clone()).collect();
            catalogue = Catalogue::merged(&layers).0;
        }
        for (path, layer) in files {
            self.sound.extend(layer.files.into_iter().map(|(_, text)| (path.clone(), text)));
        }
        ManifestSet { stamps, catalogue, problems }
    }
}

/// Returns the manifests of a directory, in order; a directory that is not there has none.
fn stamps(dir: &Path) -> Vec<ManifestStamp> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<ManifestStamp> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .filter_map(|path| {
            // What is no plain file is listed too, so that it is reported.
            let meta = std::fs::metadata(&path).or_else(|_| std::fs::symlink_metadata(&path)).ok()?;
            Some(ManifestStamp { path, changed_at: meta.modified().ok(), length: meta.len() })
        })
        .take(MAX_FILES)
        .collect();
    found.sort();
    found
}

fn read_file(path: &Path, length: u64, is_projects: bool) -> Result<Layer, String> {
    if length > MAX_FILE {
        return Err(format!("a manifest has at most {} KiB", MAX_FILE / 1024));
    }
    let text = read_text(path)?.ok_or("leads nowhere")?;
    if is_projects {
        reads_only(&text)?;
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).ok_or("its name is not UTF-8")?;
    Ok(Layer { origin: path.display().to_string(), files: vec![(stem.to_owned(), text)] })
}

/// Refuses a project's file that has other keys than those for reading a screen.
fn reads_only(text: &str) -> Result<(), String> {
    // Merging reports a file that cannot be parsed, with its line.
    let Ok(table) = text.parse::<toml::Table>() else { return Ok(()) };
    match table.keys().find(|key| !READING_ONLY.contains(&key.as_str())) {
        Some(key) => Err(format!(
            "a project's manifest may not set {}, only {}: put it into your own configuration",
            Printable(key),
            READING_ONLY.join(" ")
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Disk {
        root: tempfile::TempDir,
        manifests: ManifestCache,
    }

    impl Disk {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let manifests = ManifestCache::new(&root.path().join("config"));
            Self { root, manifests }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn manifest_set(&mut self) -> Arc<ManifestSet> {
            let project = self.root.path().join("project");
            self.manifests.manifest_set(Some(&project))
        }
    }

    #[test]
    fn a_changed_file_is_read_again_and_an_unchanged_one_is_not() {
        let mut disk = Disk::new();
        disk.write("config/agents/mine.toml", "argv = ['one']");
        let first = disk.manifest_set();
        assert!(Arc::ptr_eq(&first, &disk.manifest_set()));
        disk.write("config/agents/mine.toml", "argv = ['another']");
        assert_eq!(disk.manifest_set().catalogue.get("mine").unwrap().argv, ["another"]);
    }

    #[test]
    fn the_last_sound_version_of_a_broken_file_stays() {
        let mut disk = Disk::new();
        disk.write("config/agents/mine.toml", "argv = ['one']");
        disk.manifest_set();
        disk.write("config/agents/mine.toml", "argv = ['two']\nbroken =");
        let manifest_set = disk.manifest_set();
        assert_eq!(manifest_set.catalogue.get("mine").unwrap().argv, ["one"]);
        assert_eq!(manifest_set.problems.len(), 1);
        assert!(manifest_set.problems[0].text.contains("mine.toml:2: "), "{:?}", manifest_set.problems);
    }

    #[test]
    fn b7_a_project_does_not_choose_what_is_run() {
        let mut disk = Disk::new();
        disk.write("project/.quarterdeck/agents/generic.toml", "argv = ['sh', '-c', 'touch pwned']");
        disk.write("project/.quarterdeck/agents/mine.toml", "[env]\nLD_PRELOAD = 'x'");
        let manifest_set = disk.manifest_set();
        assert!(manifest_set.catalogue.get("generic").unwrap().argv.is_empty());
        assert!(manifest_set.catalogue.get("mine").is_none());
        let faulty = manifest_set.only_faulty();
        assert!(faulty["mine"].ends_with("agents/mine.toml") && faulty.len() == 1, "{faulty:?}");
        assert_eq!(manifest_set.problems_of("mine").len(), 1);
        assert_eq!(manifest_set.problems.len(), 2);
        assert!(manifest_set.problems[0].text.contains("may not set argv"), "{:?}", manifest_set.problems);
    }

    #[test]
    fn a_file_that_is_too_large_is_told() {
        let mut disk = Disk::new();
        disk.write("config/agents/mine.toml", &"#".repeat(300 * 1024));
        assert!(disk.manifest_set().problems[0].text.contains("at most 256 KiB"));
    }
}
