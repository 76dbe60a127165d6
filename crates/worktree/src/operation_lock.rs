//! Allows one operation at a time on one worktree or target, even after the process that began it was killed.
//!
//! The lock is an `flock` on a file in the common git directory. git gets that file as its standard input, so
//! the lock is held until the last git process of the operation has ended, even when its parent was killed.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{GitError, Result};
use crate::git::GitInput;
use crate::layout::key_of;

/// Where our own files are, inside the common git directory.
pub(crate) const OWN_DIRECTORY: &str = "quarterdeck";

/// Held until it is dropped.
pub(crate) struct OperationLock {
    path: PathBuf,
    file: File,
}

impl OperationLock {
    /// Takes the lock of `subject`, or fails with [`GitError::Busy`].
    pub(crate) fn acquire(common_dir: &Path, subject: &Path) -> Result<Self> {
        Self::with(common_dir, subject, FlockOperation::NonBlockingLockExclusive)
    }

    /// Takes the lock of `subject`; waits for git processes of an earlier process, which end by themselves.
    pub(crate) fn wait(common_dir: &Path, subject: &Path) -> Result<Self> {
        Self::with(common_dir, subject, FlockOperation::LockExclusive)
    }

    fn with(common_dir: &Path, subject: &Path, operation: FlockOperation) -> Result<Self> {
        let directory = common_dir.join(OWN_DIRECTORY);
        fs::create_dir_all(&directory).map_err(|error| GitError::io(&directory, error))?;
        let path = directory.join(format!("{}.lock", key_of(subject)));
        let failed = |error: std::io::Error| GitError::io(&path, error);
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(failed)?;
            match flock(&file, operation) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(GitError::Busy { what: subject.display().to_string() });
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(failed(error.into())),
            }
            // Its last owner may have removed the locked file meanwhile.
            let is_current = match (fs::metadata(&path), file.metadata()) {
                (Ok(there), Ok(ours)) => there.ino() == ours.ino() && there.dev() == ours.dev(),
                _ => false,
            };
            if is_current {
                return Ok(Self { path, file });
            }
        }
    }

    /// Returns the lock as git's standard input.
    pub(crate) fn input(&self) -> GitInput<'_> {
        GitInput::Lock(&self.file)
    }
}

impl Drop for OperationLock {
    fn drop(&mut self) {
        // A file that stays is empty, and the next operation locks it again.
        let _left = fs::remove_file(&self.path);
    }
}
