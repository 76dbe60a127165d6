//! Waits for a descriptor with a deadline: the one wrapper around `poll` that restarts after signals.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of `fds` is ready or the time is over; returns how many are ready.
pub(crate) fn wait(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<usize, Errno> {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let left = deadline.map(|deadline| timespec(deadline.saturating_duration_since(Instant::now())));
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

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
