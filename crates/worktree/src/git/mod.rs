//! The one place that starts git. Every other file describes a call and reads what comes back.
//!
//! A call has no shell, a fixed environment and fixed settings: no hook, no file-system monitor, no pager, no external
//! diff, no background maintenance. Filters (large-file storage and the like) stay on, because without them git would
//! write and compare the wrong bytes.

mod call;
mod process;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use call::GitCall;
pub(crate) use process::GitInput;

use crate::error::{GitError, Result};

/// The oldest git that has everything used here (`merge-tree --write-tree --stdin`).
pub const MINIMUM_VERSION: &str = "2.39";

/// How long a local command may take unless the caller says otherwise. A checkout of a very large repository on a slow
/// disk is below this.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Variables of the caller's environment that git gets: where programs and the user's settings are, and what a fetch
/// needs. Everything else, above all `GIT_DIR` and its relatives, is left out.
const KEPT_VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "SSH_AUTH_SOCK",
    "GNUPGHOME",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// How to run git: which program, with which environment, for how long. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    timeout: Duration,
    started: Arc<AtomicU64>,
    /// What is done to each command before it starts.
    prepare: fn(&mut Command),
}

impl Git {
    /// Returns the `git` on `PATH`, with this process's environment.
    ///
    /// # Errors
    /// [`GitError::GitMissing`] or [`GitError::GitTooOld`].
    pub fn find() -> Result<Self> {
        Self::find_prepared(|_| {})
    }

    /// Like [`Git::find`], and does `prepare` to each command before it starts. Filters, merge drivers and other
    /// programs that a repository names run below git, so a caller with rights of its own takes them from git here.
    ///
    /// # Errors
    /// [`GitError::GitMissing`] or [`GitError::GitTooOld`].
    pub fn find_prepared(prepare: fn(&mut Command)) -> Result<Self> {
        let kept = |name: &&str| Some((OsString::from(*name), std::env::var_os(name)?));
        Self::checked("git".into(), KEPT_VARIABLES.iter().filter_map(kept).collect(), prepare)
    }

    /// Uses a given program with a given environment, and nothing of this process's own.
    ///
    /// # Errors
    /// [`GitError::GitMissing`] or [`GitError::GitTooOld`].
    pub fn new(program: impl Into<PathBuf>, environment: Vec<(OsString, OsString)>) -> Result<Self> {
        Self::checked(program.into(), environment, |_| {})
    }

    fn checked(
        program: PathBuf,
        environment: Vec<(OsString, OsString)>,
        prepare: fn(&mut Command),
    ) -> Result<Self> {
        let (timeout, started) = (DEFAULT_TIMEOUT, Arc::default());
        let git = Self { program, environment, timeout, started, prepare };
        let printed = git.read(Path::new("/"), "version").env("GIT_CONFIG_NOSYSTEM", "1").text()?;
        let found = printed.trim().trim_start_matches("git version ").to_owned();
        if version(&found) < version(MINIMUM_VERSION) { Err(GitError::GitTooOld { found }) } else { Ok(git) }
    }

    /// Returns the same with another limit for each command.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns how many git processes this value and its clones have started.
    #[must_use]
    pub fn processes_started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// Returns a call that changes nothing and takes no lock.
    pub(crate) fn read<'a>(&'a self, directory: &'a Path, command: &'a str) -> GitCall<'a> {
        self.write(directory, command).env("GIT_OPTIONAL_LOCKS", "0")
    }

    /// Returns a call that may change the repository.
    pub(crate) fn write<'a>(&'a self, directory: &'a Path, command: &'a str) -> GitCall<'a> {
        GitCall::new(self, directory, command)
    }
}

/// Returns the major and minor number.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text.split(['.', ' ', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests;
