//! Finds the directories of a repository without running git.
//!
//! A directory belongs to the repository whose `.git` is nearest above it. `.git` is a directory in a main
//! checkout and a file in a linked worktree or submodule. All worktrees of one repository share its common
//! git directory.

use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The first line of a `.git` file begins with this.
const GIT_FILE: &[u8] = b"gitdir: ";

/// The directories of one repository, by their real paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The top of the checkout; none in a bare repository.
    pub top: Option<PathBuf>,
    /// Where this worktree has its `HEAD` and index.
    pub git_dir: PathBuf,
    /// Where the repository has its objects and references.
    pub common_dir: PathBuf,
}

impl Layout {
    /// Returns the repository that `directory` belongs to.
    #[must_use]
    pub fn find(directory: &Path) -> Option<Self> {
        let real = directory.canonicalize().ok()?;
        real.ancestors().find_map(Self::at)
    }

    /// Returns the repository whose top, or whose bare directory, is exactly `directory`.
    #[must_use]
    pub fn at(directory: &Path) -> Option<Self> {
        if let Some(git_dir) = git_dir_of(directory) {
            let common_dir = common_dir(&git_dir)?;
            return Some(Self { top: Some(directory.to_owned()), git_dir, common_dir });
        }
        let is_bare = is_git_dir(directory) && directory.file_name() != Some(".git".as_ref());
        is_bare.then(|| Self { top: None, git_dir: directory.to_owned(), common_dir: directory.to_owned() })
    }

    /// Returns true for a linked worktree, false for a main checkout, a submodule or a bare repository.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.git_dir != self.common_dir
    }
}

/// Returns the key of the project that `directory` belongs to: the first 16 hexadecimal digits of SHA-256
/// over the real path of the common git directory, so that all worktrees of a repository are one project.
/// Without git, over the directory's own.
///
/// # Errors
/// The directory cannot be resolved.
pub fn project_key(directory: &Path) -> std::io::Result<String> {
    let path = match Layout::find(directory) {
        Some(layout) => layout.common_dir,
        None => directory.canonicalize()?,
    };
    Ok(key_of(&path))
}

/// Returns the key of a project by its resolved path.
pub(crate) fn key_of(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    digest.iter().take(8).fold(String::with_capacity(16), |mut key, byte| {
        write!(key, "{byte:02x}").expect("a string takes everything");
        key
    })
}

/// Returns what `.git` in `directory` leads to.
pub(crate) fn git_dir_of(directory: &Path) -> Option<PathBuf> {
    let dot_git = directory.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok().filter(|path| is_git_dir(path));
    }
    let text = fs::read(&dot_git).ok()?;
    let target = text.strip_prefix(GIT_FILE)?.trim_ascii_end();
    let path = directory.join(std::ffi::OsStr::from_bytes(target));
    path.canonicalize().ok().filter(|path| is_git_dir(path))
}

fn is_git_dir(path: &Path) -> bool {
    let has_store = path.join("objects").is_dir() && path.join("refs").is_dir();
    path.join("HEAD").symlink_metadata().is_ok() && (has_store || path.join("commondir").is_file())
}

/// Returns the common directory that a git directory names in its `commondir` file, or itself.
fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    match fs::read(git_dir.join("commondir")) {
        Ok(text) => git_dir.join(std::ffi::OsStr::from_bytes(text.trim_ascii_end())).canonicalize().ok(),
        Err(_) => Some(git_dir.to_owned()),
    }
}
