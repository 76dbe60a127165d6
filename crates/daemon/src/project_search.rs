//! Repositories and worktrees below the directories of the settings, for `qd projects` and `qd pick`. Neither git nor the
//! daemon takes part.

use std::path::{Path, PathBuf};

use worktree::{ProjectSearch, discover};

use crate::settings::ProjectSettings;

/// A repository that was found, with its worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProject {
    /// Its key, as tasks and pads have it.
    pub key: String,
    /// The shortest end of its path that no other one has.
    pub name: String,
    /// The main checkout; of a bare repository the directory that leads to it, or the repository itself.
    pub path: PathBuf,
    /// The repository has no checkout of its own.
    pub is_bare: bool,
    /// Its linked worktrees that are there.
    pub worktrees: Vec<PathBuf>,
}

/// Finds every repository below `root`, or below the roots of the settings, sorted by name. Blocks.
pub fn find_projects(settings: &ProjectSettings, root: Option<&Path>) -> Vec<FoundProject> {
    let roots = match root {
        Some(root) => vec![root.to_owned()],
        None if settings.roots.is_empty() => {
            std::env::var_os("HOME").map(PathBuf::from).into_iter().collect()
        }
        None => settings.roots.iter().map(crate::settings::UserPath::resolve).collect(),
    };
    let usual = ProjectSearch::below(roots);
    let search = ProjectSearch {
        depth: settings.depth.map_or(usual.depth, usize::from),
        ignored: settings.ignore.clone().unwrap_or_else(|| usual.ignored.clone()),
        ..usual
    };
    let found = discover(&search).into_iter().map(|project| FoundProject {
        is_bare: project.main.is_none(),
        path: project.main.unwrap_or_else(|| {
            worktree::shared_path(&project.common_dir).unwrap_or_else(|_| project.common_dir.clone())
        }),
        key: project.key,
        name: project.name,
        worktrees: project.worktrees,
    });
    found.collect()
}
