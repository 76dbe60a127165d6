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

    /// Returns the path that stands for the repository in all of its worktrees: the directory that holds the common git
    /// directory (the main checkout, or the directory of a bare repository and its worktrees), or else the common git
    /// directory itself. A directory that only claims to belong to the repository stands for itself.
    #[must_use]
    pub fn shared_path(&self) -> PathBuf {
        let Some(top) = &self.top else { return shared_path_of(&self.common_dir) };
        if self.is_linked() && self.is_registered(top) {
            return shared_path_of(&self.common_dir);
        }
        top.clone()
    }

    /// Returns the main checkout; none in a bare repository, also if a `.git` file beside the worktrees leads to it.
    #[must_use]
    pub fn main_checkout(&self) -> Option<PathBuf> {
        let is_bare =
            core_setting(&self.common_dir, "bare").is_some_and(|value| value.eq_ignore_ascii_case(b"true"));
        let holder = || holder_of(&self.common_dir);
        let main = if self.is_linked() { holder() } else { self.top.clone() };
        main.filter(|_| !is_bare)
    }

    /// Returns true if the repository names this worktree, too.
    fn is_registered(&self, top: &Path) -> bool {
        let Ok(text) = fs::read(self.git_dir.join("gitdir")) else { return false };
        let named = self.git_dir.join(std::ffi::OsStr::from_bytes(text.trim_ascii_end()));
        named.canonicalize().is_ok_and(|named| named == top.join(".git"))
    }
}

/// Returns the directory that stands for a repository: the one that holds it ([`holder_of`]), or its common git directory.
pub(crate) fn shared_path_of(common_dir: &Path) -> PathBuf {
    holder_of(common_dir).unwrap_or_else(|| common_dir.to_owned())
}

/// Returns the directory whose `.git` leads to this common git directory and that the repository names, too: it lies in
/// that directory, or `core.worktree` names that one, as git writes it for submodules. A directory elsewhere that only
/// claims the repository by a `.git` file is not believed.
fn holder_of(common_dir: &Path) -> Option<PathBuf> {
    let leads_here = |directory: &PathBuf| git_dir_of(directory).as_deref() == Some(common_dir);
    let above = common_dir.parent().map(Path::to_owned).filter(leads_here);
    above.or_else(|| {
        let named = core_setting(common_dir, "worktree")?;
        let real = common_dir.join(std::ffi::OsStr::from_bytes(&named)).canonicalize().ok()?;
        Some(real).filter(leads_here)
    })
}

/// Returns a setting of the section `core` in the repository's own file.
fn core_setting(common_dir: &Path, name: &str) -> Option<Vec<u8>> {
    let text = fs::read(common_dir.join("config")).ok()?;
    let (mut is_core, mut found) = (false, None);
    for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.starts_with(b"[") {
            is_core = line.eq_ignore_ascii_case(b"[core]");
        } else if let Some(at) = line.iter().position(|byte| *byte == b'=')
            && is_core
            && line[..at].trim_ascii().eq_ignore_ascii_case(name.as_bytes())
        {
            found = Some(unquoted(line[at + 1..].trim_ascii()));
        }
    }
    found
}

/// Returns a value without the quotes and backslashes that git writes around special characters.
fn unquoted(value: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {}
            b'\\' => plain.extend(bytes.next()),
            other => plain.push(*other),
        }
    }
    plain
}

/// Returns where `directory` would be in the main checkout of its repository; without a repository, its real path.
///
/// # Errors
/// The directory cannot be resolved.
pub fn shared_path(directory: &Path) -> std::io::Result<PathBuf> {
    let real = directory.canonicalize()?;
    let Some(layout) = Layout::find(&real) else { return Ok(real) };
    let below = layout.top.as_deref().and_then(|top| real.strip_prefix(top).ok());
    Ok(match below {
        // To join nothing would add a slash at the end.
        Some(below) if !below.as_os_str().is_empty() => layout.shared_path().join(below),
        _ => layout.shared_path(),
    })
}

/// Returns the key of a resolved path: the first 16 hexadecimal digits of its SHA-256. A project has the key of its
/// [`shared_path`], so that all worktrees of a repository are one project.
#[must_use]
pub fn key_of(path: &Path) -> String {
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
