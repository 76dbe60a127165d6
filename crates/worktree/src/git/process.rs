//! A child process with a deadline: feeds it, reads what it prints within bounds, and kills it with everything it
//! started when the time is over.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::error::{GitError, Result};

/// How much of the standard error is kept for messages.
const MESSAGE_LIMIT: usize = 16 << 10; // 16 KiB
const CHUNK: usize = 64 << 10; // 64 KiB, what a pipe holds

/// What git reads from its standard input.
pub(crate) enum GitInput<'a> {
    Nothing,
    Bytes(Vec<u8>),
    /// Written by a thread of its own while git runs.
    Stream(&'a mut (dyn FnMut(&mut dyn Write) -> io::Result<()> + Send)),
    /// An open lock file. git reads it as empty and holds the lock for as long as it lives, even when this process is
    /// killed: a later operation cannot begin while an orphaned git still writes.
    Lock(&'a File),
}

pub(super) struct GitLimits<'a> {
    pub(super) output: usize,
    pub(super) timeout: Duration,
    pub(super) command: &'a str,
}

#[derive(Default)]
pub(super) struct GitOutput {
    pub(super) code: Option<i32>,
    pub(super) printed: Vec<u8>,
    pub(super) message: Vec<u8>,
    pub(super) is_truncated: bool,
}

/// Starts the child in a process group of its own, so that its helpers can be killed with it.
pub(super) fn start(command: &mut Command, input: &GitInput<'_>) -> io::Result<Child> {
    let stdin = match input {
        GitInput::Nothing => Stdio::null(),
        GitInput::Bytes(_) | GitInput::Stream(_) => Stdio::piped(),
        GitInput::Lock(file) => Stdio::from(file.try_clone()?),
    };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()
}

/// Feeds and reads the child until it has ended.
pub(super) fn complete(
    mut child: Child,
    input: GitInput<'_>,
    limits: &GitLimits<'_>,
    progress: &mut dyn FnMut(&[u8]),
) -> Result<GitOutput> {
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        let feeder = stdin.map(|mut pipe| {
            scope.spawn(move || match input {
                GitInput::Bytes(bytes) => pipe.write_all(&bytes),
                GitInput::Stream(stream) => stream(&mut pipe),
                GitInput::Nothing | GitInput::Lock(_) => Ok(()),
            })
        });
        let output = read_until_exit(&mut child, limits, progress);
        if !matches!(&output, Ok(output) if !output.is_truncated) {
            kill(&mut child);
        }
        let fed = feeder.map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())));
        let mut output = output?;
        let status = child.wait().map_err(|error| GitError::io(Path::new(limits.command), error))?;
        output.code = status.code().or(status.signal().map(|signal| -signal));
        match fed {
            // A child that stopped reading shows the reason in its exit code.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(GitError::io(Path::new("input of git"), error))
            }
            _ => Ok(output),
        }
    })
}

fn read_until_exit(
    child: &mut Child,
    limits: &GitLimits<'_>,
    progress: &mut dyn FnMut(&[u8]),
) -> Result<GitOutput> {
    let failed = |error: io::Error| GitError::io(Path::new(limits.command), error);
    let deadline = Instant::now() + limits.timeout;
    let exit =
        pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    let mut stdout = child.stdout.take().expect("standard output is piped");
    let mut stderr = child.stderr.take().expect("standard error is piped");
    set_nonblocking(stdout.as_fd()).and_then(|()| set_nonblocking(stderr.as_fd())).map_err(failed)?;
    let (mut stdout_open, mut stderr_open) = (true, true);
    let mut output = GitOutput::default();
    let mut buffer = vec![0; CHUNK];
    loop {
        let is_over = wait(
            &exit,
            stdout_open.then(|| stdout.as_fd()),
            stderr_open.then(|| stderr.as_fd()),
            limits,
            deadline,
        )?;
        if stdout_open {
            stdout_open =
                drain(&mut stdout, &mut buffer, |bytes| keep_output(&mut output, bytes, limits.output))
                    .map_err(failed)?;
        }
        if stderr_open {
            let keep = |bytes: &[u8]| {
                progress(bytes);
                let room = MESSAGE_LIMIT.saturating_sub(output.message.len()).min(bytes.len());
                output.message.extend_from_slice(&bytes[..room]);
                true
            };
            stderr_open = drain(&mut stderr, &mut buffer, keep).map_err(failed)?;
        }
        if is_over || output.is_truncated {
            return Ok(output);
        }
    }
}

/// Keeps up to `limit` bytes; false when there were more.
fn keep_output(output: &mut GitOutput, bytes: &[u8], limit: usize) -> bool {
    let room = limit.saturating_sub(output.printed.len()).min(bytes.len());
    output.printed.extend_from_slice(&bytes[..room]);
    output.is_truncated = room < bytes.len();
    !output.is_truncated
}

/// Waits for output, the end of the child or the deadline. Returns true when the child has ended; what it
/// printed is in the pipes by then.
fn wait(
    exit: &OwnedFd,
    stdout: Option<BorrowedFd<'_>>,
    stderr: Option<BorrowedFd<'_>>,
    limits: &GitLimits<'_>,
    deadline: Instant,
) -> Result<bool> {
    let mut fds = vec![PollFd::new(exit, PollFlags::IN)];
    fds.extend(stdout.iter().chain(&stderr).map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            Ok(0) => {
                return Err(GitError::TimedOut { command: limits.command.to_owned(), after: limits.timeout });
            }
            Ok(_) => return Ok(!fds[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(GitError::io(Path::new(limits.command), error)),
        }
    }
}

/// Reads what is there. Returns false at the end of the stream or when `keep` has enough.
fn drain(pipe: &mut impl Read, buffer: &mut [u8], mut keep: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    loop {
        match pipe.read(buffer) {
            Ok(0) => return Ok(false),
            Ok(read) if keep(&buffer[..read]) => {}
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = fcntl_getfl(fd)?;
    Ok(fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// Kills the child's process group and reaps the child.
fn kill(child: &mut Child) {
    // After it was reaped the process does not exist; until then its pid cannot belong to another process.
    let _gone = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _reaped = child.wait();
}
