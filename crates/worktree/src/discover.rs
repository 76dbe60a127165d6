//! Finds projects and worktrees below some roots, without running git.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::layout::{Layout, key_of, shared_path_of};

/// Directories with these names are not searched unless the caller has a list of its own; `*` at the end of a name stands
/// for any further characters.
pub const IGNORED_DIRECTORIES: &[&str] = &[".*", "node_modules", "target", "vendor", "__pycache__"];

/// Where to search, how deep, and what to leave out.
#[derive(Debug, Clone)]
pub struct ProjectSearch {
    /// The directories to begin with.
    pub roots: Vec<PathBuf>,
    /// How many levels below a root a repository may lie; 0 looks at the roots themselves only.
    pub depth: usize,
    /// Names of directories that are not entered; `*` at the end of one stands for any further characters.
    pub ignored: Vec<String>,
}

impl ProjectSearch {
    /// Returns a search below `roots` with the usual depth and list.
    #[must_use]
    pub fn below(roots: Vec<PathBuf>) -> Self {
        let ignored = IGNORED_DIRECTORIES.iter().map(|name| (*name).to_owned()).collect();
        Self { roots, depth: 4, ignored }
    }
}

/// A repository with all of its worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredProject {
    /// The key of the project ([`key_of`](crate::key_of)).
    pub key: String,
    /// The end of its path, with as many parts as it takes to distinguish it from the others.
    pub name: String,
    /// The common git directory.
    pub common_dir: PathBuf,
    /// The main checkout; none in a bare repository.
    pub main: Option<PathBuf>,
    /// The linked worktrees whose directories are there, sorted, also those outside of the roots.
    pub worktrees: Vec<PathBuf>,
}

/// Returns all projects below the roots, sorted by name. Links are not followed and repositories are not
/// searched for others inside; what cannot be read is passed over.
#[must_use]
pub fn discover(search: &ProjectSearch) -> Vec<DiscoveredProject> {
    let mut found: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
    for root in search.roots.iter().filter_map(|root| root.canonicalize().ok()) {
        walk(&root, search.depth, search, &mut found);
    }
    let path =
        |(common, main): (&PathBuf, &Option<PathBuf>)| main.clone().unwrap_or_else(|| shared_path_of(common));
    let paths: Vec<PathBuf> = found.iter().map(path).collect();
    let mut projects: Vec<DiscoveredProject> = found
        .into_iter()
        .zip(short_names(&paths))
        .map(|((common_dir, main), name)| {
            let own = main.as_deref().and_then(Layout::at).map(|layout| layout.shared_path());
            let key = key_of(&own.unwrap_or_else(|| shared_path_of(&common_dir)));
            DiscoveredProject { key, name, worktrees: linked_worktrees(&common_dir), main, common_dir }
        })
        .collect();
    projects.sort_by(|one, other| one.name.cmp(&other.name));
    projects
}

fn walk(
    directory: &Path,
    depth: usize,
    search: &ProjectSearch,
    found: &mut BTreeMap<PathBuf, Option<PathBuf>>,
) {
    if let Some(layout) = Layout::at(directory) {
        let main = layout.main_checkout();
        let known = found.entry(layout.common_dir).or_default();
        *known = known.take().or(main);
        return;
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_ignored = is_ignored(&search.ignored, &entry.file_name());
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && !is_ignored {
            walk(&entry.path(), depth, search, found);
        }
    }
}

fn is_ignored(ignored: &[String], name: &std::ffi::OsStr) -> bool {
    ignored.iter().any(|listed| match listed.strip_suffix('*') {
        Some(beginning) => name.as_bytes().starts_with(beginning.as_bytes()),
        None => name == listed.as_str(),
    })
}

/// Returns the directories that `worktrees/*/gitdir` name, if they are there.
fn linked_worktrees(common_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| {
            let text = fs::read(entry.path().join("gitdir")).ok()?;
            let dot_git = entry.path().join(std::ffi::OsStr::from_bytes(text.trim_ascii_end()));
            dot_git.parent().filter(|_| dot_git.is_file()).map(Path::to_owned)
        })
        .collect();
    paths.sort();
    paths
}

/// Returns for each path as many of its last parts as make it unique.
fn short_names(paths: &[PathBuf]) -> Vec<String> {
    let end = |path: &Path, count: usize| {
        let parts: Vec<_> = path.iter().collect();
        let kept: PathBuf = parts[parts.len().saturating_sub(count)..].iter().collect();
        kept.to_string_lossy().into_owned()
    };
    let is_unique = |path: &PathBuf, count: usize| {
        paths.iter().filter(|other| *other != path).all(|other| end(other, count) != end(path, count))
    };
    let name = |path: &PathBuf| {
        let longest = path.iter().count();
        let count = (1..longest).find(|count| is_unique(path, *count)).unwrap_or(longest);
        end(path, count)
    };
    paths.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_a_name_is_ignored_whole_or_by_its_beginning() {
        let ignored = [".*", "target", "build-*"].map(str::to_owned);
        let names = [".git", "target", "targets", "build-x", "build", "src"];
        let found = names.map(|name| is_ignored(&ignored, name.as_ref()));
        assert_eq!(found, [true, true, false, true, false, false]);
    }

    #[test]
    fn f5_short_names_are_the_shortest_ends_that_differ() {
        let paths = ["/a/x/api", "/a/y/api", "/a/web", "/b/x/api"].map(PathBuf::from);
        assert_eq!(short_names(&paths), ["a/x/api", "y/api", "web", "b/x/api"]);
    }
}
