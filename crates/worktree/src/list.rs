//! The worktrees of a repository, as `git worktree list --porcelain -z` prints them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{GitError, Result};
use crate::oid::Oid;
use crate::repository::Repository;

/// One worktree that git knows of, whether or not its directory is still there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedWorktree {
    /// Its directory.
    pub path: PathBuf,
    /// The commit that is checked out; none in a bare or empty repository.
    pub head: Option<Oid>,
    /// The branch that is checked out, without `refs/heads/`; none if `HEAD` is detached.
    pub branch: Option<String>,
    /// The first entry of a bare repository.
    pub is_bare: bool,
    /// The reason of its lock, which may be empty; none if it is not locked.
    pub locked: Option<String>,
    /// Why git would forget it (its directory is gone); none if all is well.
    pub prunable: Option<String>,
}

impl Repository {
    /// Returns all worktrees, the main checkout first.
    ///
    /// # Errors
    /// git cannot be run, or its output cannot be read.
    pub fn worktrees(&self) -> Result<Vec<ListedWorktree>> {
        let printed = self.read("worktree").args(["list", "--porcelain", "-z"]).run()?;
        parse_list(&printed).ok_or_else(|| GitError::Unreadable {
            command: "worktree list".to_owned(),
            detail: "no path".to_owned(),
        })
    }

    /// Returns the worktree at `path`, which need not exist any more.
    pub(crate) fn worktree_at(&self, path: &Path) -> Result<Option<ListedWorktree>> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(self.worktrees()?.into_iter().find(|one| one.path == path || one.path == real))
    }

    /// Returns the directory in `worktrees/` that belongs to the worktree at `path`.
    pub(crate) fn worktree_admin_dir(&self, path: &Path) -> Option<PathBuf> {
        let dot_git = path.join(".git");
        let entries =
            fs::read_dir(self.layout().common_dir.join("worktrees")).into_iter().flatten().flatten();
        let is_wanted = |admin: &PathBuf| {
            fs::read(admin.join("gitdir"))
                .is_ok_and(|text| admin.join(OsStr::from_bytes(text.trim_ascii_end())) == dot_git)
        };
        entries.map(|entry| entry.path()).find(is_wanted)
    }
}

/// Reads records that end with an empty attribute; every attribute ends with NUL.
#[must_use]
pub fn parse_list(printed: &[u8]) -> Option<Vec<ListedWorktree>> {
    let mut found: Vec<ListedWorktree> = Vec::new();
    for attribute in printed.split(|byte| *byte == 0).filter(|attribute| !attribute.is_empty()) {
        let (name, value) = split_attribute(attribute);
        if name == b"worktree" {
            found.push(ListedWorktree { path: OsStr::from_bytes(value).into(), ..ListedWorktree::default() });
            continue;
        }
        let text = || String::from_utf8_lossy(value).into_owned();
        let entry = found.last_mut()?;
        match name {
            b"HEAD" => entry.head = Oid::parse(&text()).ok().filter(|oid| !oid.is_null()),
            b"branch" => entry.branch = text().strip_prefix("refs/heads/").map(str::to_owned),
            b"bare" => entry.is_bare = true,
            b"locked" => entry.locked = Some(text()),
            b"prunable" => entry.prunable = Some(text()),
            _ => {}
        }
    }
    Some(found)
}

fn split_attribute(attribute: &[u8]) -> (&[u8], &[u8]) {
    match attribute.iter().position(|byte| *byte == b' ') {
        Some(at) => (&attribute[..at], &attribute[at + 1..]),
        None => (attribute, b""),
    }
}
