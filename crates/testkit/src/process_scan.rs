//! Looks processes up in `/proc`: those that carry a test's mark in their environment, and what one uses
//! (descriptors, threads, memory, processor time).

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use proto::request::Spawn;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::deadline::{DEADLINE, readable};

/// How often a state is polled that no event announces.
const LOOK: Duration = Duration::from_millis(10);
/// The variable that carries a mark.
const VARIABLE: &str = "QUARTERDECK_TEST_MARK";

/// Returns how many times longer than by default tests loop: `QD_TEST_SCALE`, a whole number from 1; 1 when
/// it is not set. Only this function reads it, so that it means the same everywhere.
#[must_use]
pub fn scale() -> usize {
    let text = std::env::var("QD_TEST_SCALE").unwrap_or_default();
    match text.trim() {
        "" => 1,
        text => match text.parse() {
            Ok(scale) if scale >= 1 => scale,
            _ => panic!("QD_TEST_SCALE multiplies loops: a whole number from 1, not {text:?}"),
        },
    }
}

/// Lets time pass, for moments that are meant to be random or measured; never to wait for something.
pub fn pause(time: Duration) {
    let nobody: [std::os::fd::BorrowedFd<'_>; 0] = [];
    readable(&nobody, Instant::now() + time);
}

/// Polls until `look` returns a value, and fails at the deadline. For states that no event announces.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what}: not within {DEADLINE:?}");
        pause(LOOK);
    }
}

/// A mark that every process of one test carries in its environment. Declare it before the daemon: it is
/// dropped after it and checks that no process of the test is left.
#[derive(Debug)]
pub struct Mark {
    value: String,
}

impl Default for Mark {
    fn default() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { value: format!("{}-{number}-{now}", std::process::id()) }
    }
}

impl Mark {
    /// Returns the variable and its value.
    #[must_use]
    pub fn variable(&self) -> (&'static str, &str) {
        (VARIABLE, &self.value)
    }

    /// Returns a command with this name that carries the mark.
    #[must_use]
    pub fn spawn(&self, name: &str, argv: Vec<String>) -> Spawn {
        let env = BTreeMap::from([(VARIABLE.to_owned(), self.value.clone())]);
        Spawn { name: Some(name.to_owned()), argv, env, ..Spawn::default() }
    }

    /// Returns every living process that carries it.
    #[must_use]
    pub fn living(&self) -> Vec<i32> {
        let entry = format!("{VARIABLE}={}", self.value).into_bytes();
        let carries = |pid: &i32| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|found| found == entry))
        };
        all_pids().into_iter().filter(carries).filter(|pid| is_alive(*pid)).collect()
    }

    /// Waits until exactly `count` processes carry it.
    pub fn expect(&self, count: usize) -> Vec<i32> {
        eventually(&format!("{count} marked processes"), || {
            let living = self.living();
            (living.len() == count).then_some(living)
        })
    }

    /// Waits until no process carries it.
    pub fn expect_gone(&self) {
        let until = Instant::now() + DEADLINE;
        while let Some(pid) = self.living().first().copied() {
            assert!(Instant::now() < until, "{pid} survived: {}", command_line(pid));
            pause(LOOK);
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.expect_gone();
        }
    }
}

/// What a process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vitals {
    /// Open descriptors.
    pub fds: usize,
    /// Threads.
    pub threads: usize,
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// Processor time so far.
    pub cpu: Duration,
}

/// Returns what a process uses now.
#[must_use]
pub fn vitals(pid: i32) -> Vitals {
    let count = |what: &str| std::fs::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let rss_kib = rss.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
    Vitals { fds: count("fd"), threads: count("task"), rss_kib, cpu: processor_time(pid) }
}

/// Returns the processor time of a process so far; a zombie still has it.
#[must_use]
pub fn processor_time(pid: i32) -> Duration {
    let ticks: u64 =
        stat(pid).map_or(0, |fields| fields[11..13].iter().filter_map(|n| n.parse::<u64>().ok()).sum());
    let per_second = rustix::param::clock_ticks_per_second();
    Duration::from_millis(ticks * 1000 / per_second.max(1))
}

/// Returns what a process has open, by descriptor.
#[must_use]
pub fn descriptors(pid: i32) -> BTreeMap<i32, PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let pair = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, std::fs::read_link(entry.path()).ok()?))
    };
    entries.filter_map(pair).collect()
}

/// Returns a process's parent.
#[must_use]
pub fn parent(pid: i32) -> i32 {
    stat(pid).and_then(|fields| fields[1].parse().ok()).unwrap_or(0)
}

/// Returns true if a process runs; a zombie does not.
#[must_use]
pub fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| !matches!(fields[0].as_str(), "Z" | "X"))
}

/// Returns true if a process is dead and not yet reaped.
#[must_use]
pub fn is_zombie(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] == "Z")
}

/// Returns every process's pid.
#[must_use]
pub fn all_pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the command line of a process.
#[must_use]
pub fn command_line(pid: i32) -> String {
    let raw = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&raw).replace('\0', " ")
}

/// Returns a descriptor that becomes readable when the process has ended, even if its pid is used again.
#[must_use]
pub fn pin(pid: i32) -> OwnedFd {
    let pid = Pid::from_raw(pid).expect("a pid is positive");
    pidfd_open(pid, PidfdFlags::empty()).expect("a living process can be pinned")
}

/// Waits until a pinned process has ended and returns how long it took.
pub fn wait_gone(pinned: &OwnedFd) -> Duration {
    let began = Instant::now();
    assert!(readable(&[pinned.as_fd()], began + DEADLINE)[0], "the process did not end within {DEADLINE:?}");
    began.elapsed()
}

/// Returns the fields of `/proc/PID/stat` after the name: state, parent, and so on.
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Returns every file and directory below `root`, links not followed.
#[must_use]
pub fn files(root: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found
}
