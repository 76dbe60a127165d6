//! What is inside a worktree and cannot be saved with its files: other repositories, and directories that cannot be listed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::checkout::read_porcelain;
use crate::error::{GitError, Result};
use crate::git::Git;
use crate::porcelain::{Porcelain, StatusEntry};
use crate::repository::Repository;

/// Refuses repositories inside the worktree (submodules, other worktrees, clones) and directories that cannot be listed, which
/// git's status leaves out without a word. With `force`, clones that a build tool can fetch again go with the ignored files.
pub(crate) fn refuse_unsavable(git: &Git, top: &Path, force: bool) -> Result<()> {
    let mut found = Vec::new();
    nested_repositories(top, top, &mut found)?;
    found.sort();
    for nested in found {
        let inside = nested.strip_prefix(top).unwrap_or(&nested);
        let blocked = |reason: String| Err(GitError::Blocked { path: top.to_owned(), reason });
        match is_replaceable(git, top, inside) {
            Ok(true) if force => {}
            Ok(true) => {
                return blocked(format!(
                    "`{}` is a clone that git ignores: --force removes it, too",
                    inside.display()
                ));
            }
            // A clone that git cannot read is not replaceable.
            Ok(false) | Err(_) => {
                return blocked(format!(
                    "`{}` is a repository, worktree or submodule of its own: move or remove it first",
                    inside.display()
                ));
            }
        }
    }
    Ok(())
}

/// Returns true for a clone that git ignores and in which a person has done nothing: no change, no stash, no worktree, and no
/// commit that its remotes have not.
fn is_replaceable(git: &Git, top: &Path, inside: &Path) -> Result<bool> {
    let nested = top.join(inside);
    let git_dir = nested.join(".git");
    // A `.git` file leads to a submodule's or another repository's directory.
    if !git_dir.symlink_metadata().is_ok_and(|found| found.is_dir()) || git_dir.join("worktrees").exists() {
        return Ok(false);
    }
    if !is_ignored(git, top, inside)? {
        return Ok(false);
    }
    let porcelain = read_porcelain(git, &nested, &["--untracked-files=all"])?;
    if porcelain.head.is_none() || !porcelain.entries.is_empty() {
        return Ok(false);
    }
    let repository = Repository::open(git, &nested)?;
    if !repository.references("refs/stash")?.is_empty() {
        return Ok(false);
    }
    let call = git.read(&nested, "rev-list").args(["--max-count=1", "HEAD", "--branches"]);
    Ok(call.args(["--not", "--remotes"]).run()?.is_empty())
}

fn is_ignored(git: &Git, top: &Path, inside: &Path) -> Result<bool> {
    let call = git.read(top, "status").args(["--porcelain=v2", "-z", "--ignored=matching"]);
    let printed = call.arg("--").arg(inside).run()?;
    let entries = Porcelain::parse(&printed).map(|porcelain| porcelain.entries).unwrap_or_default();
    Ok(!entries.is_empty() && entries.iter().all(|entry| matches!(entry, StatusEntry::Ignored(_))))
}

fn nested_repositories(top: &Path, directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let inside = directory.strip_prefix(top).unwrap_or(directory).display();
            let reason = format!("`{inside}` cannot be read ({error}), so its files cannot be saved");
            return Err(GitError::Blocked { path: top.to_owned(), reason });
        }
    };
    for entry in entries.flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if entry.file_name() == ".git" {
            found.extend((directory != top).then(|| directory.to_owned()));
        } else if is_directory {
            nested_repositories(top, &entry.path(), found)?;
        }
    }
    Ok(())
}
