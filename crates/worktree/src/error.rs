//! The errors of this crate, by what the caller can do about them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::MINIMUM_VERSION;
use crate::init_file::InitFileError;
use crate::losses::Losses;

/// The result of everything in this crate that may fail.
pub type Result<T> = std::result::Result<T, GitError>;

/// Why git, or this crate on top of it, did not do what the caller asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git` to run.
    #[error("git is not on PATH: install git {MINIMUM_VERSION} or newer")]
    GitMissing,
    /// The installed git lacks what this crate needs.
    #[error("git {found} is too old: install git {MINIMUM_VERSION} or newer")]
    GitTooOld {
        /// The version that is installed.
        found: String,
    },
    /// The directory belongs to no repository.
    #[error("{} is not in a git repository: name a directory of one, or run `git init` there", .path.display())]
    NotARepository {
        /// The directory of the request.
        path: PathBuf,
    },
    /// The directory is not there any more.
    #[error("there is no directory {}: it was moved or removed", .path.display())]
    DirectoryGone {
        /// The directory of the request.
        path: PathBuf,
    },
    /// Another user owns the repository and git refuses to work there.
    #[error("git does not trust {}: if you do, run `git config --global --add safe.directory PATH`", .path.display())]
    NotTrusted {
        /// The directory of the request.
        path: PathBuf,
    },
    /// The repository has no commit that a worktree could begin from.
    #[error("the repository {} has no commit yet: make one first", .path.display())]
    NoCommits {
        /// The common git directory.
        path: PathBuf,
    },
    /// The name cannot be a branch, a task or a remote.
    #[error("`{name}` is not a valid name: {reason}")]
    BadName {
        /// The name as it was given.
        name: String,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// No commit has this name.
    #[error("`{name}` names no commit: check the spelling, or fetch it first")]
    UnknownRevision {
        /// The revision as it was given.
        name: String,
    },
    /// Something of that name is there already.
    #[error("{what} exists already: choose another name or remove it first")]
    Exists {
        /// The branch, worktree or directory, with its kind.
        what: String,
    },
    /// The requested worktree does not exist.
    #[error("{what} is not there")]
    Missing {
        /// The worktree, branch or trash entry, with its kind.
        what: String,
    },
    /// Removing would lose work. With force it is saved first.
    #[error("{} has work that would be lost: {losses}", .path.display())]
    Dirty {
        /// The worktree.
        path: PathBuf,
        /// Everything that would be lost.
        losses: Box<Losses>,
    },
    /// The worktree holds what cannot be saved, so force does not help either.
    #[error("{} cannot be removed: {reason}", .path.display())]
    Blocked {
        /// The worktree.
        path: PathBuf,
        /// What is in the way and what to do.
        reason: String,
    },
    /// Files changed while they were being saved; nothing was removed.
    #[error("{} changed while it was being saved: nothing was removed, try again", .path.display())]
    Changed {
        /// The worktree.
        path: PathBuf,
    },
    /// Another tool holds a lock.
    #[error("{what} is locked: {reason}")]
    Locked {
        /// The worktree, index or reference.
        what: String,
        /// The reason that the owner of the lock gave, or what to do.
        reason: String,
    },
    /// Another operation of this crate works on the same thing.
    #[error("another operation on {what} is under way: wait for it")]
    Busy {
        /// The worktree or target.
        what: String,
    },
    /// Two sides changed the same place.
    #[error("conflict in {}", .files.join(", "))]
    Conflict {
        /// The files that need a person.
        files: Vec<String>,
    },
    /// A landing would overwrite what a person has changed in the target's checkout.
    #[error("landing would overwrite your changes in {}: {}", .path.display(), listed(.files))]
    WouldOverwrite {
        /// The checkout of the target.
        path: PathBuf,
        /// The files that both change, or that git does not know.
        files: Vec<String>,
    },
    /// git waits for a person to finish something in the target's checkout.
    #[error("{} is in the middle of {operation}: finish or abort it first", .path.display())]
    Unfinished {
        /// The checkout of the target.
        path: PathBuf,
        /// What is unfinished, with its article.
        operation: &'static str,
    },
    /// A reference is no longer where the caller saw it.
    #[error("{reference} moved since it was read: look at it again, then try again")]
    Moved {
        /// The full name of the reference.
        reference: String,
    },
    /// git took longer than its limit and was killed.
    #[error("`git {command}` took longer than {} s and was stopped", .after.as_secs())]
    TimedOut {
        /// The subcommand.
        command: String,
        /// The limit.
        after: Duration,
    },
    /// git printed more than the call's limit.
    #[error("`git {command}` printed more than {limit} bytes")]
    OutputTooLarge {
        /// The subcommand.
        command: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// git printed something that this crate cannot parse.
    #[error("`git {command}` printed something unexpected: {detail}")]
    Unreadable {
        /// The subcommand.
        command: String,
        /// What was found.
        detail: String,
    },
    /// `.worktree-init.toml` has a fault.
    #[error(transparent)]
    InitFile(#[from] InitFileError),
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// git failed for a reason that has no variant of its own.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// The exit code; none if a signal ended git.
        code: Option<i32>,
        /// What git printed to its standard error.
        message: String,
    },
}

impl GitError {
    pub(crate) fn io(path: &Path, source: impl Into<std::io::Error>) -> Self {
        Self::Io { path: path.to_owned(), source: source.into() }
    }

    pub(crate) fn exists(what: impl Into<String>) -> Self {
        Self::Exists { what: what.into() }
    }

    /// Returns the error that git's message means. git runs with `LC_ALL=C`, so its messages are in English.
    pub(crate) fn from_message(directory: &Path, command: &str, code: Option<i32>, message: &str) -> Self {
        let has = |part: &str| message.contains(part);
        let path = directory.to_owned();
        if has("not a git repository") {
            return Self::NotARepository { path };
        }
        if has("detected dubious ownership") {
            return Self::NotTrusted { path };
        }
        if has("but expected") || has("reference already exists") {
            return Self::Moved { reference: quoted(message).unwrap_or(message).to_owned() };
        }
        if has(".lock': File exists") {
            let is_lock = |part: &&str| part.ends_with(".lock");
            let what = message.split('\'').find(is_lock).unwrap_or("the repository").to_owned();
            let reason = "another git process works there, or one was killed: remove the file if none runs";
            return Self::Locked { what, reason: reason.to_owned() };
        }
        if has("already used by worktree") || has("already checked out at") || has("already exists") {
            let what = message.trim().trim_start_matches("fatal: ").replace('\n', " ");
            return Self::Exists { what };
        }
        Self::Failed { command: command.to_owned(), code, message: message.trim().to_owned() }
    }
}

/// How many files an error names before it counts the others.
const LISTED: usize = 8;

fn listed(files: &[String]) -> String {
    let shown = files.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the first text between single quotes.
fn quoted(message: &str) -> Option<&str> {
    message.split('\'').nth(1)
}
