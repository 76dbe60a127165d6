//! Waits for a descriptor with a deadline: the one wrapper around `poll` that restarts after signals.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of `fds` is ready or the time is over; returns how many are ready.
pub(crate) fn wait(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<usize, Errno> {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let left = deadline
            .and_then(|deadline| Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok());
        match poll(fds, left.as_ref()) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Returns true if `fd` becomes readable (or ends) before `deadline`.
pub(crate) fn readable_before(fd: BorrowedFd<'_>, deadline: Instant) -> Result<bool, Errno> {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    Ok(wait(&mut fds, Some(deadline.saturating_duration_since(Instant::now())))? > 0)
}
