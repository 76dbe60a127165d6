//! Temporary private directories: for objects that must not be kept, and for a second index.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{GitError, Result};
use crate::git::GitCall;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A directory that only this user may enter, removed when it is dropped.
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
}

impl TemporaryDirectory {
    pub(crate) fn new() -> Result<Self> {
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("qd-git-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(GitError::io(&path, error)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the call with its new objects written here instead of into the repository.
    pub(crate) fn quarantine<'a>(&self, call: GitCall<'a>, common_dir: &Path) -> GitCall<'a> {
        call.env("GIT_OBJECT_DIRECTORY", self.path.as_os_str())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&common_dir.join("objects")))
    }
}

/// git splits the list of directories at colons unless they are quoted.
fn quoted(path: &Path) -> std::ffi::OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    std::ffi::OsString::from_vec(crate::quote::c_quote(path.as_os_str().as_bytes()))
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What cannot be removed stays in the system's directory for temporary files.
        let _left = fs::remove_dir_all(&self.path);
    }
}
