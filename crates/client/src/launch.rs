//! Starts a daemon: one child process and the line that reports whether it listens. When many start at once,
//! the daemon's own lock lets one win, and the losers report `ready` too.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use proto::{Dirs, Printable};

use crate::token::TOKEN_FILE;
use crate::{ClientError, ready};

/// The longest first line that is accepted from a daemon.
const MAX_LINE: usize = 4096;

/// Set in every process of every run.
const RUN_MARK: &str = "QD_RUN_TOKEN";

/// Returns true if this process is inside a run. Vendors that clean the environment of what they start pass
/// on what their configuration names, and that has the token's file.
pub(crate) fn is_inside_a_run() -> bool {
    [RUN_MARK, TOKEN_FILE].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// How long a daemon lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// It outlives the process that started it.
    Free,
    /// It ends, and everything in it, when the pipe from its starter closes.
    Starter,
}

/// Starts `exe daemon` for `dirs` and waits for its line. It leaves the terminal's session by itself: `qd
/// daemon` calls `setsid` first.
pub(crate) fn start(
    exe: &Path,
    dirs: &Dirs,
    bond: Lifetime,
    deadline: Instant,
) -> Result<Child, ClientError> {
    let mut command = Command::new(exe);
    command.arg("daemon").args((bond == Lifetime::Starter).then_some("--ephemeral"));
    command.env("QD_RUNTIME_DIR", &dirs.runtime);
    command.env("QD_DATA_DIR", &dirs.data).env("QD_CONFIG_DIR", &dirs.config);
    // A private daemon started from inside a run must not carry that run's marks: a sweep of the run would
    // end it before its starter ends it.
    for mark in [RUN_MARK, TOKEN_FILE, "QD_PROCESS_ID", "QD_TASK_ID", "QD_WORKSPACE_ID", "QD_SESSION_ID"] {
        command.env_remove(mark);
    }
    command.current_dir("/").stdout(Stdio::piped()).stderr(Stdio::null());
    command.stdin(if bond == Lifetime::Starter { Stdio::piped() } else { Stdio::null() });
    let mut child = command
        .spawn()
        .map_err(|error| unreachable(format!("{} cannot be started: {error}", exe.display())))?;
    let mut stdout = child.stdout.take().ok_or_else(|| unreachable("its output is missing".to_owned()))?;
    let line = first_line(&mut stdout, deadline);
    match line.as_deref().map(|line| line.split_once(' ').unwrap_or((line, ""))) {
        Ok(("ready", _)) => Ok(child),
        Ok(("error", why)) => Err(refused(child, Printable(why).to_string())),
        Ok(("", _)) => {
            Err(refused(child, format!("it ended at its start, see {}", dirs.daemon_log().display())))
        }
        Ok((other, _)) => Err(refused(child, format!("it said {}", Printable(other)))),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            // It may still come up; killing it could lose what it is adopting.
            Err(unreachable(format!("it is not ready yet, see {}", dirs.daemon_log().display())))
        }
        Err(error) => Err(refused(child, error.to_string())),
    }
}

/// Returns the first line, its end not included; empty when there was none.
fn first_line(stdout: &mut ChildStdout, deadline: Instant) -> io::Result<String> {
    let mut line = Vec::new();
    let mut buffer = [0; 256];
    while !line.contains(&b'\n') && line.len() < MAX_LINE {
        if !ready::readable_before(stdout.as_fd(), deadline)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match stdout.read(&mut buffer)? {
            0 => break,
            count => line.extend_from_slice(&buffer[..count]),
        }
    }
    let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
    Ok(String::from_utf8_lossy(&line[..end]).into_owned())
}

/// Reaps a daemon that will not serve, so that no zombie stays.
fn refused(mut child: Child, why: String) -> ClientError {
    drop(child.stdin.take());
    match child.wait() {
        Ok(_) => unreachable(why),
        Err(error) => unreachable(format!("{why}; and it cannot be waited for: {error}")),
    }
}

fn unreachable(why: String) -> ClientError {
    ClientError::Unreachable(why)
}
