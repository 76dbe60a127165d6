//! Deadlines of tests: long enough for a loaded machine, never infinite. Waiting uses `poll`, not sleep.

use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How long anything may take before the test fails.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Returns which of `fds` are readable (or at their end) before `until`; all false when the time is over.
pub(crate) fn readable(fds: &[BorrowedFd<'_>], until: Instant) -> Vec<bool> {
    let mut waiting: Vec<_> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut waiting, Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => panic!("poll: {errno}"),
            Ok(_) => return waiting.iter().map(|fd| !fd.revents().is_empty()).collect(),
        }
    }
}

/// Waits until the child has ended, and fails when it does not in time.
pub fn wait_for_end(child: &mut Child, within: Duration) -> ExitStatus {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid is positive");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("an un-reaped child has a pidfd");
    if !readable(&[pidfd.as_fd()], Instant::now() + within)[0] {
        child.kill().expect("our own child can be killed");
        child.wait().expect("our own child can be waited for");
        panic!("the child did not end within {within:?}");
    }
    child.wait().expect("our own child can be waited for")
}
