//! Copying the untracked files that `.worktree-init.toml` includes from the main checkout into a new worktree.
//!
//! git itself finds the files, so patterns mean exactly what they mean in `.gitignore`. A copy shares its blocks with the
//! original where the file system can do that (reflink); it is never a link. Nothing is overwritten, no link is followed.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::beneath::Beneath;
use crate::error::{GitError, Result};
use crate::git::Git;

/// What was copied and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Paths from the top of the checkout.
    pub files: Vec<PathBuf>,
    /// Paths that were passed over, with the reason.
    pub skipped: Vec<(PathBuf, String)>,
}

/// Copies every untracked file of the checkout `from` that a pattern matches to the same place below `to`.
///
/// # Errors
/// git cannot list the files, or a directory cannot be opened. A file that cannot be copied is named in
/// [`Copied::skipped`].
pub fn copy_included(git: &Git, from: &Path, to: &Path, patterns: &[String]) -> Result<Copied> {
    let mut copied = Copied::default();
    if patterns.is_empty() {
        return Ok(copied);
    }
    let source = Beneath::open(from).map_err(|error| GitError::io(from, error))?;
    let target = Beneath::open(to).map_err(|error| GitError::io(to, error))?;
    for path in included_files(git, from, patterns)? {
        match copy(&source, &target, &path) {
            Ok(()) => copied.files.push(path),
            Err(error) => copied.skipped.push((path, reason(&error))),
        }
    }
    Ok(copied)
}

/// Returns the untracked files, ignored ones too, that match one of the patterns.
pub(crate) fn included_files(git: &Git, checkout: &Path, patterns: &[String]) -> Result<Vec<PathBuf>> {
    let excludes = patterns.iter().map(|pattern| format!("--exclude={pattern}"));
    let call = git.read(checkout, "ls-files").args(["--others", "--ignored", "-z"]).args(excludes);
    let printed = call.run()?;
    let paths = printed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
}

fn copy(source: &Beneath, target: &Beneath, path: &Path) -> io::Result<()> {
    let original = source.read(path)?;
    let mode = original.metadata()?.mode();
    target.write(path, mode, false, |copy| clone_or_copy(&original, copy))
}

/// Shares the blocks if both files are on one file system that can, else copies the bytes.
fn clone_or_copy(mut original: &File, copy: &mut File) -> io::Result<()> {
    if rustix::fs::ioctl_ficlone(&*copy, original).is_ok() {
        return Ok(());
    }
    io::copy(&mut original, copy).map(drop)
}

fn reason(error: &io::Error) -> String {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::EXIST) => "exists in the worktree already".to_owned(),
        Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => "a link is on the way to it".to_owned(),
        Some(rustix::io::Errno::XDEV) => "it leads out of the checkout".to_owned(),
        _ => error.to_string(),
    }
}
