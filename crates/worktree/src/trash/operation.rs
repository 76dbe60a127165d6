//! A merge, rebase or cherry-pick that is under way in a worktree. git keeps it in files beside the worktree's index; without them the
//! next commit of a merge is none, and a rebase cannot go on.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::beneath::Beneath;

/// Each operation with the file or directory that says that it is under way.
const SIGNS: [(&str, &str); 5] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
];
/// Everything that such operations keep, the signs included.
const KEPT: [&str; 10] = [
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "ORIG_HEAD",
];
/// Levels of directories below git's own.
const DEPTH: usize = 3;

/// Returns the operation that is under way in a worktree with this git directory.
pub(crate) fn under_way(git_dir: &Path) -> Option<&'static str> {
    SIGNS.iter().find(|(sign, _)| git_dir.join(sign).exists()).map(|(_, name)| *name)
}

/// Returns the files of the operation that is under way, by their paths below the git directory.
pub(super) fn read(git_dir: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    if under_way(git_dir).is_some() {
        for name in KEPT {
            add(git_dir, Path::new(name), DEPTH, &mut found)?;
        }
    }
    Ok(found)
}

fn add(git_dir: &Path, path: &Path, depth: usize, found: &mut Vec<(PathBuf, Vec<u8>)>) -> io::Result<()> {
    let full = git_dir.join(path);
    let Ok(metadata) = fs::symlink_metadata(&full) else { return Ok(()) };
    if metadata.is_file() {
        found.push((path.to_owned(), fs::read(&full)?));
    } else if metadata.is_dir() && depth > 0 {
        for entry in fs::read_dir(&full)? {
            add(git_dir, &path.join(entry?.file_name()), depth - 1, found)?;
        }
    }
    Ok(())
}

/// Writes a file of an operation where git looks for it.
pub(crate) fn write(git_dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    Beneath::open(git_dir)?.write(path, 0o644, true, |file| file.write_all(bytes))
}
