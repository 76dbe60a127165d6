//! What is not tracked and decides a status all the same: ignore files, and directories without tracked files.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories that are covered inside one directory without tracked files.
pub const UNTRACKED_LIMIT: usize = 64;
/// Untracked directories and ignore files that are covered in one worktree.
const EXTRA_LIMIT: usize = 4096;
/// Files in directories that decide what git sees.
const RULE_FILES: &[&str] = &[".gitignore", ".gitattributes"];

/// By the tracked directory that they are in; directories without any are left out.
pub(super) type ExtraPaths = BTreeMap<Vec<u8>, Vec<PathBuf>>;

/// Returns untracked directories below tracked ones, and ignore files anywhere among them. None if there are
/// too many.
pub(super) fn extra_paths(top: &Path, tracked: &HashSet<&[u8]>) -> Option<ExtraPaths> {
    let mut extra = ExtraPaths::new();
    let mut count = 0;
    for directory in tracked {
        let found = extra_paths_in(top, directory, tracked);
        count += found.len();
        if count > EXTRA_LIMIT {
            return None;
        }
        if !found.is_empty() {
            extra.insert(directory.to_vec(), found);
        }
    }
    Some(extra)
}

/// Returns those of one tracked directory, sorted.
pub(super) fn extra_paths_in(top: &Path, directory: &[u8], tracked: &HashSet<&[u8]>) -> Vec<PathBuf> {
    let mut extra = Vec::new();
    let directory = Path::new(OsStr::from_bytes(directory));
    for entry in fs::read_dir(top.join(directory)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if RULE_FILES.iter().any(|rule| name == *rule) {
            extra.push(directory.join(name));
        } else if name != ".git" && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = directory.join(name);
            if !tracked.contains(path.as_os_str().as_bytes()) {
                untracked_directories(top, path, &mut extra);
            }
        }
    }
    extra.sort();
    extra
}

/// A directory and those in it, nearest first, up to the limit.
fn untracked_directories(top: &Path, first: PathBuf, extra: &mut Vec<PathBuf>) {
    let mut open = VecDeque::from([first]);
    let mut count = 0;
    while let Some(directory) = open.pop_front().filter(|_| count < UNTRACKED_LIMIT) {
        count += 1;
        for entry in fs::read_dir(top.join(&directory)).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && open.len() < UNTRACKED_LIMIT {
                open.push_back(directory.join(entry.file_name()));
            } else if RULE_FILES.iter().any(|name| entry.file_name() == *name) {
                extra.push(directory.join(entry.file_name()));
            }
        }
        extra.push(directory);
    }
}
