//! Cleans up when a holder was killed or does not answer: ends the run's leader and every process that
//! carries the run's token in its environment, and nothing else. Also checks whether a holder is gone. A
//! process without the token is touched only as a descendant of the run's own holder.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use crate::proc_stat;

/// The variable that the daemon sets to a unique value in every run's environment.
pub const RUN_TOKEN_VARIABLE: &str = "QD_RUN_TOKEN";

/// Processes that fork while they are being ended are found again in the next round.
const MOST_ROUNDS: usize = 64;

/// How often the table of sockets is read before a socket counts as gone. Among sockets that come and go as
/// fast as two processors can make them, about one look in ten thousand misses a given one.
const LOOKS: usize = 4;

/// How long one round waits for the processes that it has killed.
const ROUND_LIMIT: Duration = Duration::from_millis(500);

/// Ends what a killed holder has left running and returns how many processes it killed.
///
/// `run_marker` is the run's value of [`RUN_TOKEN_VARIABLE`]; the leader is ended only if it still is the
/// process that started at `child_start_time`.
pub fn sweep_lost_run(run_marker: &str, child_pid: i32, child_start_time: u64) -> io::Result<u32> {
    let entry = format!("{RUN_TOKEN_VARIABLE}={run_marker}").into_bytes();
    let mut killed = 0;
    let mut dying = Vec::from_iter(proc_stat::open_checked(child_pid, child_start_time));
    for _ in 0..MOST_ROUNDS {
        dying.extend(marked(&entry));
        dying.retain(|pidfd| pidfd_send_signal(pidfd, Signal::KILL).is_ok());
        if dying.is_empty() {
            return Ok(killed);
        }
        killed += u32::try_from(dying.len()).unwrap_or(u32::MAX);
        wait_for(&dying);
        dying.clear();
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "processes of a lost run are still being created; end them by hand",
    ))
}

/// Ends a holder that does not answer, and first everything below it: a process without the token is still
/// its descendant then. Returns once the holder has gone, or after a time limit; false if it was not there.
pub fn end_silent_holder(pid: i32, start_time: u64) -> bool {
    proc_stat::open_checked(pid, start_time).is_some_and(|pinned| end_pinned(&pinned, pid))
}

pub(crate) fn end_pinned(pinned: &OwnedFd, pid: i32) -> bool {
    crate::kill_steps::kill_all(pid);
    let was_there = pidfd_send_signal(pinned, Signal::KILL).is_ok();
    wait_for(std::slice::from_ref(pinned));
    was_there
}

/// Returns true if a process listens at this holder's socket, even if the socket's file is gone. An error
/// means that this cannot be found out.
pub fn is_held(socket: &Path) -> io::Result<bool> {
    let Some(name) = socket.file_name() else { return Ok(false) };
    // The directory may have several names; the run's own name is unique.
    let ending = [b"/", name.as_bytes()].concat();
    is_found(|| {
        Ok(fs::read("/proc/net/unix")?.split(|byte| *byte == b'\n').any(|line| line.ends_with(&ending)))
    })
}

/// Looks until something is found, a few times. The kernel gives out its table of sockets in pieces, and a
/// socket that any process closes between two pieces hides another one: what one look has not found may be
/// there.
fn is_found(mut look: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    for _ in 1..LOOKS {
        if look()? {
            return Ok(true);
        }
    }
    look()
}

/// Returns the sockets in a directory at which processes listen, also those whose files are gone.
pub fn listening_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let table = fs::read("/proc/net/unix")?;
    // No other field of a line contains a slash.
    let paths = table.split(|byte| *byte == b'\n').filter_map(|line| {
        let start = line.iter().position(|byte| *byte == b'/')?;
        Some(Path::new(OsStr::from_bytes(&line[start..])))
    });
    Ok(paths.filter(|path| path.parent() == Some(directory)).map(Path::to_owned).collect())
}

/// Pidfds of all living processes that carry the entry.
fn marked(entry: &[u8]) -> Vec<OwnedFd> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let candidates = proc_stat::all_processes().into_iter().filter(|pid| *pid != own && carries(*pid, entry));
    // The environment is read again once the pidfd pins the process: the pid may have been recycled in between.
    candidates.filter_map(|pid| proc_stat::open(pid).filter(|_| carries(pid, entry))).collect()
}

fn carries(pid: i32, entry: &[u8]) -> bool {
    // A zombie's environment is empty, so dead processes do not match.
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|found| found == entry))
}

fn wait_for(dying: &[OwnedFd]) {
    let deadline = Instant::now() + ROUND_LIMIT;
    for pidfd in dying {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(left.subsec_nanos()) };
        // After an error or a time-out the next round looks again.
        if poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn s3_a_socket_that_one_look_has_missed_is_found_by_the_next() {
        let mut looks = [false, false, false, true].into_iter();
        assert!(is_found(|| Ok(looks.next().unwrap())).unwrap());
        let mut count = 0;
        let never = is_found(|| {
            count += 1;
            Ok(false)
        });
        assert_eq!((never.unwrap(), count), (false, LOOKS));
        assert!(is_found(|| Err(io::ErrorKind::PermissionDenied.into())).is_err(), "unknown is not gone");
    }

    #[test]
    fn s3_a_holder_is_held_as_long_as_it_listens_with_or_without_its_file() {
        let directory = tempfile::tempdir().unwrap();
        // Other tests of this program listen, too: this name is only here.
        let path = directory.path().join("p_heldaaaa.1");
        let listener = UnixListener::bind(&path).unwrap();
        assert!(is_held(&path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(is_held(&path).unwrap());
        drop(listener);
        // A program that another test is starting has a copy of the listener until it executes.
        let deadline = Instant::now() + Duration::from_secs(60);
        while is_held(&path).unwrap() {
            assert!(Instant::now() < deadline, "held although nobody listens");
            std::thread::yield_now();
        }
    }
}
