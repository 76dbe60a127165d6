//! One call of git: its arguments, environment and limits, and how its end becomes a result.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Git;
use super::process::{self, GitInput, GitLimits, GitOutput};
use crate::error::{GitError, Result};

/// Settings of every call. They override the repository's own, which a program inside a worktree may have
/// written.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=true",
    "core.pager=cat",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gpg.program=false",
    "rerere.enabled=false",
    "color.ui=never",
    "advice.detachedHead=false",
];

/// Most bytes of output that are kept unless the call says otherwise.
const OUTPUT_LIMIT: usize = 64 << 20; // 64 MiB

pub(crate) struct GitCall<'a> {
    git: &'a Git,
    directory: &'a Path,
    name: &'a str,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    settings: Vec<String>,
    input: GitInput<'a>,
    limit: usize,
    timeout: Duration,
}

impl<'a> GitCall<'a> {
    pub(super) fn new(git: &'a Git, directory: &'a Path, name: &'a str) -> Self {
        Self {
            git,
            directory,
            name,
            arguments: Vec::new(),
            environment: Vec::new(),
            settings: Vec::new(),
            input: GitInput::Nothing,
            limit: OUTPUT_LIMIT,
            timeout: git.timeout,
        }
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|one| one.as_ref().to_owned()));
        self
    }

    /// Everything after this is a name or a path, whatever it begins with.
    pub(crate) fn names<S: AsRef<OsStr>>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.arg("--end-of-options").args(names)
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Adds one more setting, as `name=value`.
    pub(crate) fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    pub(crate) fn input(mut self, input: GitInput<'a>) -> Self {
        self.input = input;
        self
    }

    pub(crate) fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs git; anything but success is an error.
    pub(crate) fn run(self) -> Result<Vec<u8>> {
        self.run_expecting(&[0]).map(|(_, printed)| printed)
    }

    /// Runs git and returns its output as text.
    pub(crate) fn text(self) -> Result<String> {
        self.run().map(|printed| String::from_utf8_lossy(&printed).into_owned())
    }

    /// Runs git; exit codes that are not in `codes` are errors.
    pub(crate) fn run_expecting(self, codes: &[i32]) -> Result<(i32, Vec<u8>)> {
        let (limit, name) = (self.limit, self.name.to_owned());
        let output = self.complete(codes, &mut |_| {})?;
        if output.is_truncated {
            return Err(GitError::OutputTooLarge { command: name, limit });
        }
        Ok((output.code.unwrap_or(0), output.printed))
    }

    /// Runs git and keeps the beginning of its output if there is too much of it.
    pub(crate) fn run_truncating(self) -> Result<(Vec<u8>, bool)> {
        self.complete(&[0], &mut |_| {}).map(|output| (output.printed, output.is_truncated))
    }

    /// Runs git and passes on what it prints to its standard error while it works.
    pub(crate) fn run_with_progress(self, progress: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.complete(&[0], progress).map(drop)
    }

    fn complete(mut self, codes: &[i32], progress: &mut dyn FnMut(&[u8])) -> Result<GitOutput> {
        let limits = GitLimits { output: self.limit, timeout: self.timeout, command: self.name };
        let mut command = self.command();
        let input = std::mem::replace(&mut self.input, GitInput::Nothing);
        self.git.started.fetch_add(1, Ordering::Relaxed);
        let child = process::start(&mut command, &input).map_err(|error| self.not_started(error))?;
        let output = process::complete(child, input, &limits, progress)?;
        let is_expected = output.code.is_some_and(|code| codes.contains(&code));
        if is_expected || output.is_truncated {
            return Ok(output);
        }
        let message = String::from_utf8_lossy(&output.message);
        Err(GitError::from_message(self.directory, self.name, output.code, &message))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.git.program);
        command.current_dir(self.directory).env_clear();
        command.envs(self.git.environment.iter().map(|(name, value)| (name, value)));
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_EDITOR", "true");
        command.env("GIT_SEQUENCE_EDITOR", "true").env("GIT_MERGE_AUTOEDIT", "no");
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        command.args(["--no-pager", "--literal-pathspecs"]);
        for setting in SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command.arg(self.name).args(&self.arguments);
        (self.git.prepare)(&mut command);
        command
    }

    /// `NotFound` means either the program or the directory.
    fn not_started(&self, error: std::io::Error) -> GitError {
        match error.kind() {
            std::io::ErrorKind::NotFound if self.directory.is_dir() => GitError::GitMissing,
            _ => GitError::io(self.directory, error),
        }
    }
}
