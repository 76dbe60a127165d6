//! Cleans up when a holder was killed or does not answer: ends the run's leader and every process that
//! carries the run's token in its environment, and nothing else. Also checks whether a holder is gone. A
//! process without the token is touched only as a descendant of the run's own holder.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use crate::kill_steps::{HOPELESS_ROUNDS, ROUND, kill_all};
use crate::{descendants, proc_stat};

/// The variable that the daemon sets to a unique value in every run's environment.
pub const RUN_TOKEN_VARIABLE: &str = "QD_RUN_TOKEN";

/// Processes that fork while they are being ended are found again in the next round.
const MOST_ROUNDS: usize = 64;

/// How long everything below a silent holder is killed again and again. A holder gives up 20 seconds after it began to
/// kill, and is called silent two seconds after that.
const MOST_KILLING: Duration = Duration::from_secs(17);

/// How long a holder without descendants may take to report that.
const REPORT: Duration = Duration::from_millis(500);

/// How often the table of sockets, or of processes, is read before what was looked for counts as gone. Among sockets that come and go as
/// fast as two processors can make them, about one look in ten thousand misses a given one.
const LOOKS: usize = 4;

/// How long one round waits for the processes that it has killed.
const ROUND_LIMIT: Duration = Duration::from_millis(500);

/// A process that a KILL did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unkilled {
    /// Its pid.
    pub pid: i32,
    /// When it started: with the pid, its identity.
    pub start_time: u64,
}

impl Unkilled {
    fn living(pid: i32) -> Option<Unkilled> {
        let stat = proc_stat::stat(pid).filter(|stat| stat.state != b'Z')?;
        Some(Unkilled { pid, start_time: stat.start_time })
    }

    /// Returns true if it still lives.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        Unkilled::living(self.pid) == Some(*self)
    }
}

/// What a sweep has done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many processes were killed.
    pub killed: u32,
    /// The processes that live on: they belong to another user, or they fork faster than they are killed.
    pub left: Vec<Unkilled>,
}

/// Ends what a killed holder has left running.
///
/// `run_marker` is the run's value of [`RUN_TOKEN_VARIABLE`]; the leader is ended only if it still is the
/// process that started at `child_start_time`.
pub fn sweep_lost_run(run_marker: &str, child_pid: i32, child_start_time: u64) -> Swept {
    let entry = format!("{RUN_TOKEN_VARIABLE}={run_marker}").into_bytes();
    let leader = proc_stat::open_checked(child_pid, child_start_time).map(|pidfd| (child_pid, pidfd));
    let (mut found, mut killed) = (Vec::from_iter(leader), 0);
    let mut left = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        found.extend(marked(&entry));
        left.extend(found.iter().filter_map(|(pid, _)| Unkilled::living(*pid)));
        found.retain(|(_, pidfd)| pidfd_send_signal(pidfd, Signal::KILL).is_ok());
        if found.is_empty() {
            break;
        }
        killed += u32::try_from(found.len()).unwrap_or(u32::MAX);
        let dying: Vec<OwnedFd> = found.drain(..).map(|(_, pidfd)| pidfd).collect();
        wait_for(&dying);
    }
    Swept { killed, left: left.into_iter().filter(Unkilled::is_alive).collect() }
}

fn living(pids: impl IntoIterator<Item = i32>) -> Vec<Unkilled> {
    let living: BTreeSet<Unkilled> = pids.into_iter().filter_map(Unkilled::living).collect();
    living.into_iter().collect()
}

/// Ends a holder that does not answer, and first everything below it: a process without the token is still
/// its descendant then. Returns what lives on below it. A holder that has only been slow reports the end of its tree
/// when the last descendant has gone; `has_reported` then spares it.
pub fn end_silent_holder(pid: i32, start_time: u64, has_reported: impl Fn() -> bool) -> Vec<Unkilled> {
    let Some(pinned) = proc_stat::open_checked(pid, start_time) else { return Vec::new() };
    kill_below(&pinned, pid, &has_reported);
    let until = Instant::now() + REPORT;
    while !has_reported() && Instant::now() < until && !ends_within(&pinned, ROUND) {}
    if has_reported() { Vec::new() } else { end_pinned(&pinned, pid) }
}

/// Ends a holder to which no link leads, and first everything below it. Returns what lives on.
pub(crate) fn end_unlinked_holder(pinned: &OwnedFd, pid: i32) -> Vec<Unkilled> {
    kill_below(pinned, pid, &|| false);
    end_pinned(pinned, pid)
}

fn end_pinned(pinned: &OwnedFd, pid: i32) -> Vec<Unkilled> {
    let left = living(descendants::descendants(pid));
    // It may have gone meanwhile.
    let _gone = pidfd_send_signal(pinned, Signal::KILL);
    wait_for(std::slice::from_ref(pinned));
    left
}

/// Kills everything below a holder, again and again while something forks there: once the holder is gone, what has
/// no token cannot be found.
fn kill_below(pinned: &OwnedFd, pid: i32, is_over: &dyn Fn() -> bool) {
    // A holder that somebody has stopped reaps again, and goes on with an end that it was asked for.
    let _gone = pidfd_send_signal(pinned, Signal::CONT);
    let until = Instant::now() + MOST_KILLING;
    let (mut unchanged, mut before) = (0, Vec::new());
    while unchanged < HOPELESS_ROUNDS && Instant::now() < until && !is_over() {
        if kill_all(pid) == 0 {
            let left = look_below(pid);
            if left.is_empty() {
                return;
            }
            // The same processes every time belong to another user; others are new.
            unchanged = if left == before { unchanged + 1 } else { 0 };
            before = left;
        }
        if ends_within(pinned, ROUND) {
            return;
        }
    }
}

/// Returns what lives below a holder. One look may miss a process whose parent has just exited.
fn look_below(pid: i32) -> Vec<Unkilled> {
    let mut looks = (0..LOOKS).map(|_| living(descendants::descendants(pid)));
    looks.find(|left| !left.is_empty()).unwrap_or_default()
}

/// Waits for the end of a process for at most this time; returns true if it has ended.
fn ends_within(pinned: &OwnedFd, time: Duration) -> bool {
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
    matches!(poll(&mut [PollFd::new(pinned, PollFlags::IN)], Some(&timeout)), Ok(1..))
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

/// Returns all living processes that carry the entry, with their pidfds.
fn marked(entry: &[u8]) -> Vec<(i32, OwnedFd)> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let candidates = proc_stat::all_processes().into_iter().filter(|pid| *pid != own && carries(*pid, entry));
    // The environment is read again once the pidfd pins the process: the pid may have been recycled in between.
    candidates.filter_map(|pid| Some((pid, proc_stat::open(pid).filter(|_| carries(pid, entry))?))).collect()
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
