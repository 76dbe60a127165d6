//! Finds the project of a directory: the nearest directory upwards, by its real path, that has a project's
//! file or a repository; else the directory itself. A project is identified by its real path in the directory that holds the
//! common git directory of its repository, so a link to it and every worktree of it are the same project, and a moved one is
//! another.

use std::io;
use std::path::{Path, PathBuf};

use proto::project::Project;
use proto::{ErrorCode, Failure, Printable};
use worktree::key_of;

/// The file that defines what a project runs.
pub(crate) const FILE: &str = ".quarterdeck.toml";
/// What marks the top of a project, nearest first.
const MARKS: [&str; 2] = [FILE, ".git"];

/// A project that was found on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectDir {
    /// Its real path.
    pub(crate) dir: PathBuf,
    /// The same as clients see it.
    pub(crate) project: Project,
}

impl ProjectDir {
    /// Returns the project of an existing directory. Reads the disk, so it runs on a thread that may block.
    pub(crate) fn of(dir: &Path) -> io::Result<Self> {
        let real = dir.canonicalize()?;
        let top = real.ancestors().find(|dir| is_marked(dir)).unwrap_or(&real);
        Ok(Self::at(top))
    }

    /// Returns the project whose real path this is.
    pub(crate) fn at(dir: &Path) -> Self {
        let shared = worktree::shared_path(dir).unwrap_or_else(|_| dir.to_owned());
        let project = Project { key: key_of(&shared), path: dir.to_string_lossy().into_owned() };
        Self { dir: dir.to_owned(), project }
    }

    /// Returns the keys that this project had before it was known as a worktree of its repository: those of its own path and
    /// of the common git directory. Reads the disk.
    pub(crate) fn former_keys(&self) -> Vec<String> {
        let own = key_of(&self.dir);
        if own == self.project.key {
            return Vec::new();
        }
        let common = worktree::Layout::find(&self.dir).map(|layout| key_of(&layout.common_dir));
        let former = std::iter::once(own).chain(common);
        former.filter(|former| *former != self.project.key).collect()
    }

    /// Returns what a path of this project is called in every worktree of it: its path in the main checkout. Other paths
    /// stay as they are. Reads the disk.
    pub(crate) fn shared(&self, path: &Path) -> PathBuf {
        let Ok(below) = path.strip_prefix(&self.dir) else { return path.to_owned() };
        match worktree::shared_path(&self.dir) {
            Ok(shared) if shared == self.dir => path.to_owned(),
            Ok(shared) if below.as_os_str().is_empty() => shared,
            Ok(shared) => shared.join(below),
            Err(_) => path.to_owned(),
        }
    }

    /// Returns a recorded project, which may be gone.
    pub(crate) fn recorded(project: Project) -> Self {
        Self { dir: PathBuf::from(&project.path), project }
    }
}

/// Returns true if a directory has a mark of a project's top.
pub(crate) fn is_marked(dir: &Path) -> bool {
    MARKS.iter().any(|mark| std::fs::symlink_metadata(dir.join(mark)).is_ok())
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the real path of a directory, as text.
pub(crate) fn real(field: &str, dir: &Path) -> Result<String, Failure> {
    let shown = dir.display().to_string();
    let real = dir.canonicalize().map_err(|error| gone(&shown, &error))?;
    if !real.is_dir() {
        return Err(Failure::invalid(field, format!("{} is not a directory", Printable(&shown))));
    }
    let not_text = |_| Failure::invalid(field, format!("{} is not UTF-8", Printable(&shown)));
    real.into_os_string().into_string().map_err(not_text)
}

/// Returns the error for a directory that cannot be read.
pub(crate) fn gone(dir: &str, error: &io::Error) -> Failure {
    Failure::new(ErrorCode::WorkdirGone, format!("no directory {}: {error}", Printable(dir)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn a_project_is_the_nearest_marked_directory_by_its_real_path() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let inner = root.join("outer/inner/deep");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(ProjectDir::of(&inner).unwrap().dir, inner, "without a mark it is the directory itself");
        std::fs::write(root.join("outer/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(
            ProjectDir::of(&inner).unwrap().dir,
            root.join("outer"),
            "a worktree's file marks as well"
        );
        std::fs::write(root.join("outer/inner").join(FILE), "").unwrap();
        let project_dir = ProjectDir::of(&inner).unwrap();
        assert_eq!(project_dir.dir, root.join("outer/inner"), "the nearest wins");
        symlink(root.join("outer/inner"), root.join("link")).unwrap();
        assert_eq!(
            ProjectDir::of(&root.join("link/deep")).unwrap(),
            project_dir,
            "a link leads to the same project"
        );
        assert!(ProjectDir::of(&root.join("nowhere")).is_err());
    }

    #[test]
    fn a_key_is_the_beginning_of_the_paths_sha_256() {
        // printf /srv/app | sha256sum
        let project_dir = ProjectDir::at(Path::new("/srv/app"));
        let all = hex(&Sha256::digest(b"/srv/app"));
        assert_eq!((project_dir.project.key.as_str(), project_dir.project.key.len()), (&all[..16], 16));
        assert_ne!(ProjectDir::at(Path::new("/srv/app2")).project.key, project_dir.project.key);
    }
}
