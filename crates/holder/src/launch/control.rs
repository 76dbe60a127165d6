//! The launcher's end of one forkserver: starts it, requests holders, notices its death and reaps it. It
//! keeps no run and never retries.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socketpair};

use super::{LaunchError, START_LIMIT, limit_or_io};
use crate::fdpass;
use crate::link::{LinkError, refine};
use crate::signals::can_close_at_exec;

/// A dying process closes its descriptors one after the other: the control socket closes within this time
/// after a link.
const LAST_MOMENTS: Duration = Duration::from_millis(100);

/// A running forkserver, or one whose death was not noticed yet. It owns nothing of any run, so dropping it
/// ends it.
#[derive(Debug)]
pub(super) struct Forkserver {
    /// One message per request, whole or not at all, so that many threads may send at once without a lock.
    control: OwnedFd,
    process: Child,
}

impl Forkserver {
    /// Starts a forkserver from an executable whose `hold` argument leads to [`hold`](crate::hold()).
    pub(super) fn start(executable: BorrowedFd<'_>) -> Result<Forkserver, LaunchError> {
        // On such a kernel a forkserver would end without an answer.
        if !can_close_at_exec() {
            return Err(LaunchError::Unsupported);
        }
        let (control, theirs) = pair(SocketType::SEQPACKET)?;
        set_socket_timeout(&control, Timeout::Send, Some(START_LIMIT)).map_err(limit_or_io)?;
        let mut command = Command::new(format!("/proc/self/fd/{}", executable.as_raw_fd()));
        // Without an environment no holder can be mistaken for a process of the run in which the daemon was
        // started.
        command.arg0("qd").arg("hold").env_clear();
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(typed)?;
        Ok(Forkserver { control, process })
    }

    /// Requests a holder and returns our end of the link to it, on which it or the forkserver answers.
    pub(super) fn request(&self) -> Result<OwnedFd, LaunchError> {
        self.request_with(SendFlags::empty())
    }

    /// The same, and an error if the forkserver has too much to do.
    pub(super) fn request_at_once(&self) -> Result<OwnedFd, LaunchError> {
        self.request_with(SendFlags::DONTWAIT)
    }

    fn request_with(&self, flags: SendFlags) -> Result<OwnedFd, LaunchError> {
        let (ours, theirs) = pair(SocketType::STREAM)?;
        let sent = fdpass::send_with_fds_as(self.control.as_fd(), &[0], &[theirs.as_fd()], flags);
        match sent.map_err(refine) {
            Ok(_) => Ok(ours),
            Err(LinkError::Io(error)) => Err(typed(error)),
            Err(error) => Err(LaunchError::Link(error)),
        }
    }

    /// Returns true if the forkserver is dead or dying; called only when a request ended without an answer.
    pub(super) fn has_ended(&self) -> bool {
        let moments = Timespec { tv_sec: 0, tv_nsec: i64::from(LAST_MOMENTS.subsec_nanos()) };
        let mut fds = [PollFd::new(&self.control, PollFlags::empty())];
        poll(&mut fds, Some(&moments)).is_ok_and(|count| count > 0)
    }
}

impl Drop for Forkserver {
    fn drop(&mut self) {
        // It would end by itself when its control socket closes; one that hangs or is stopped would not.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn pair(kind: SocketType) -> Result<(OwnedFd, OwnedFd), LaunchError> {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).map_err(limit_or_io)
}

fn typed(error: io::Error) -> LaunchError {
    limit_or_io(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
