//! Runs a short program: one that prints a version, delivers a message or notifies a person. Time, output and
//! environment are limited; there is no shell, it has no rights at the door, and nothing of it stays running.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::trust_subject::Program;

/// The most output that is kept; the rest is read and dropped, so that the program does not block on a full
/// pipe.
const MAX_OUTPUT: usize = 64 * 1024;

/// The program to run.
#[derive(Clone, Debug)]
pub(crate) struct Subprocess {
    pub(crate) argv: Vec<String>,
    /// The whole environment.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) input: String,
    pub(crate) limit: Duration,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubprocessError {
    /// It never ran.
    #[error("{program} cannot be run: {source}")]
    NotStarted { program: String, source: io::Error },
    /// It ran longer than its limit, and was ended.
    #[error("{program} took longer than {} s and was ended", limit.as_secs())]
    TooLong { program: String, limit: Duration },
}

impl Subprocess {
    /// Runs it to its end. Blocks: for a thread that may.
    pub(crate) fn run(&self) -> Result<Done, SubprocessError> {
        let (program, words) = self.argv.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let not_started = |source| SubprocessError::NotStarted { program: program.to_owned(), source };
        let mut command = Command::new(find(program, &self.env, &self.cwd).unwrap_or_else(|| program.into()));
        command.args(words).env_clear().envs(&self.env).current_dir(&self.cwd).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // The program may be a file that an agent has written: the mark makes the daemon treat it as nobody.
        holder::run_mark::put_on_program(&mut command);
        let mut child = command.spawn().map_err(not_started)?;
        let outcome = self.attend(&mut child);
        // It may have left children in its group; they end with it.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _gone = kill_process_group(group, Signal::KILL);
        }
        let status = child.wait().map_err(not_started)?;
        match outcome.map_err(not_started)? {
            Some(output) => Ok(Done { code: status.code(), output }),
            None => Err(SubprocessError::TooLong { program: program.to_owned(), limit: self.limit }),
        }
    }

    /// Feeds and reads it until it ends; returns its output, or `None` when the time was over.
    fn attend(&self, child: &mut Child) -> io::Result<Option<String>> {
        let deadline = Instant::now() + self.limit;
        let pid =
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        let ended = pidfd_open(pid, PidfdFlags::empty())?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input must not block us: what fits the pipe is enough here.
            rustix::io::ioctl_fionbio(&stdin, true)?;
            let _unread = stdin.write_all(self.input.as_bytes());
        }
        let mut stdout = child.stdout.take();
        if let Some(stdout) = &stdout {
            rustix::io::ioctl_fionbio(stdout, true)?;
        }
        let mut output = Vec::new();
        loop {
            let has_ended = wait(&ended, stdout.as_ref().map(AsFd::as_fd), deadline)?;
            // A program may close its output and continue; a closed pipe is always ready, so it is no longer
            // polled.
            stdout = stdout.filter(|stdout| take_output(stdout, &mut output));
            if has_ended {
                return Ok(Some(String::from_utf8_lossy(&output).into_owned()));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }
}

/// Reads available output; returns true if more may come.
fn take_output(stdout: &ChildStdout, output: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 4096];
    loop {
        match rustix::io::read(stdout, &mut buffer) {
            Ok(0) => return false,
            Ok(count) => {
                let room = MAX_OUTPUT.saturating_sub(output.len()).min(count);
                output.extend_from_slice(&buffer[..room]);
            }
            Err(error) => return error == rustix::io::Errno::AGAIN,
        }
    }
}

/// Waits until the process has ended, its output can be read, or the time is over; returns true if it has
/// ended.
fn wait(ended: &OwnedFd, stdout: Option<BorrowedFd<'_>>, deadline: Instant) -> io::Result<bool> {
    let left = deadline.saturating_duration_since(Instant::now());
    let mut watched = vec![PollFd::new(ended, PollFlags::IN)];
    watched.extend(stdout.map(|stdout| PollFd::from_borrowed_fd(stdout, PollFlags::IN)));
    match poll(&mut watched, Timespec::try_from(left).ok().as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!watched[0].revents().is_empty()),
        Err(error) => Err(error.into()),
    }
}

/// Finds a program as its own environment would. An empty part of the search path, which is the working directory, is
/// left out: nothing that lies there is run for a list or a version.
pub(crate) fn find(program: &str, env: &BTreeMap<String, String>, cwd: &Path) -> Option<PathBuf> {
    let named = |path: &String| path.split(':').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":");
    let path = env.get("PATH").map(named).filter(|path| !path.is_empty());
    Program::find(program, path.as_deref(), cwd).map(|program| program.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subprocess(script: &str, limit: Duration) -> Subprocess {
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("A".to_owned(), "b".to_owned())].into();
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        Subprocess { argv, env, cwd: "/".into(), input: "in".to_owned(), limit }
    }

    #[test]
    fn a_subprocess_has_its_own_environment_input_and_code() {
        let done = subprocess("echo $A $HOME; cat; exit 3", Duration::from_secs(10)).run().unwrap();
        assert_eq!(done, Done { code: Some(3), output: "b\nin".to_owned() });
    }

    #[test]
    fn a_subprocess_that_takes_too_long_is_ended_with_its_children() {
        let late = subprocess("sleep 1000 & sleep 1000", Duration::from_millis(100)).run();
        assert!(matches!(late, Err(SubprocessError::TooLong { .. })), "{late:?}");
    }

    #[test]
    fn a_program_is_found_by_its_own_path_only() {
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
        assert!(find("sh", &env, Path::new("/")).is_some());
        assert!(find("sh", &[("PATH".to_owned(), "/nowhere".to_owned())].into(), Path::new("/")).is_none());
        assert!(find("", &env, Path::new("/")).is_none());
    }

    #[test]
    fn more_output_than_is_kept_is_read_and_dropped() {
        let done =
            subprocess("head -c 1000000 /dev/zero | tr '\\0' x", Duration::from_secs(10)).run().unwrap();
        assert_eq!(done.output.len(), MAX_OUTPUT);
    }
}
