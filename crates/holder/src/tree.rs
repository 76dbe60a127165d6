//! Process lineage from `/proc`: descendants, start times, and signals that cannot reach a recycled pid. It
//! does not use process groups, because a group's number can be reused and a pidfd cannot.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A chain of parents longer than this is a loop made by pids changing under us.
const DEEPEST: usize = 4096;

/// More descendants than this are found in the next round.
const MOST: usize = 65_536;

/// The fields of a stat file that we need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// `R`, `S`, `Z` and so on.
    pub state: u8,
    /// The parent.
    pub parent: i32,
    /// The process group.
    pub group: i32,
    /// The session.
    pub session: i32,
    /// When it started, in clock ticks after boot.
    pub start_time: u64,
}

/// Reads a process's stat file; `None` when there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns when a process started (field 22 of its stat file): with the pid, its identity until the next
/// boot.
pub fn start_time(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
}

/// Returns the kernel's identity of this boot: pids and start times recorded under another one are
/// meaningless.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Returns true if `ancestor` is a parent of `pid`, or a parent's parent, and so on. A process is not its own
/// descendant.
pub fn is_descendant_of(pid: i32, ancestor: i32) -> bool {
    let mut current = pid;
    for _ in 0..DEEPEST {
        match stat(current) {
            Some(stat) if stat.parent == ancestor => return true,
            Some(stat) if stat.parent > 1 => current = stat.parent,
            _ => return false,
        }
    }
    false
}

/// Returns every descendant of `root`, parents before children, at one moment: processes may fork meanwhile,
/// so a caller that must reach all of them repeats it until nothing new is found.
pub fn descendants(root: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([root]);
    let mut next = 0;
    let mut parent = root;
    loop {
        for child in children(parent) {
            if found.len() < MOST && seen.insert(child) {
                found.push(child);
            }
        }
        let Some(following) = found.get(next) else { return found };
        parent = *following;
        next += 1;
    }
}

/// Sends a signal to `pid` if it is a descendant of `ancestor`; returns true if it was sent.
///
/// The pidfd is opened first and the lineage checked afterwards: if the pid was recycled in between, the
/// pidfd refers to the dead process and the signal goes nowhere.
pub fn signal_descendant(pid: i32, ancestor: i32, signal: Signal) -> bool {
    let Some(pidfd) = open(pid) else { return false };
    is_descendant_of(pid, ancestor) && pidfd_send_signal(&pidfd, signal).is_ok()
}

/// Opens a pidfd for `pid` if it is still the process that started at `start_time`.
pub fn open_checked(pid: i32, start_time: u64) -> Option<OwnedFd> {
    let pidfd = open(pid)?;
    (self::start_time(pid) == Some(start_time)).then_some(pidfd)
}

pub(crate) fn open(pid: i32) -> Option<OwnedFd> {
    // `Pid::from_raw` asserts that its argument is not negative.
    let pid = Pid::from_raw(pid.max(0))?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Returns every process there is.
pub(crate) fn all_processes() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(list) => found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
            // Kernels without these lists are rare; a thread that has just ended is common.
            Err(_) if !has_children_lists() => return children_by_scan(pid),
            Err(_) => {}
        }
    }
    found
}

fn has_children_lists() -> bool {
    let own = std::process::id();
    fs::exists(format!("/proc/{own}/task/{own}/children")).unwrap_or(false)
}

fn children_by_scan(parent: i32) -> Vec<i32> {
    all_processes().into_iter().filter(|pid| stat(*pid).is_some_and(|stat| stat.parent == parent)).collect()
}

fn parse_stat(text: &[u8]) -> Option<Stat> {
    // The second field is the program's name in parentheses and may hold anything, parentheses included.
    let after_name = text.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(text.get(after_name..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.bytes().next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // Field 22 is the sixteenth after the session, which is the sixth.
    let start_time = fields.nth(15)?.parse().ok()?;
    Some(Stat { state, parent, group, session, start_time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let mut text = b"42 (a) b (c)) S 7 8 9".to_vec();
        (7..22).for_each(|field| text.extend_from_slice(format!(" {field}").as_bytes()));
        text.extend_from_slice(b" 12345 0 0\n");
        let expected = Stat { state: b'S', parent: 7, group: 8, session: 9, start_time: 12345 };
        assert_eq!(parse_stat(&text), Some(expected));
        assert_eq!(parse_stat(b"42 (short) S 1"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn p1_a_pid_with_another_start_time_is_not_opened() {
        let own = i32::try_from(std::process::id()).unwrap();
        let started = start_time(own).unwrap();
        assert!(open_checked(own, started).is_some());
        assert!(open_checked(own, started + 1).is_none());
        assert!(open_checked(-1, started).is_none());
        assert!(open_checked(0, started).is_none());
    }

    #[test]
    fn p1_a_stranger_is_never_signalled() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!signal_descendant(1, own, Signal::CONT));
        assert!(!signal_descendant(own, own, Signal::CONT));
    }

    #[test]
    fn children_are_found_and_are_descendants() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(descendants(own).contains(&pid));
        assert!(is_descendant_of(pid, own));
        assert!(!is_descendant_of(own, pid));
        assert!(signal_descendant(pid, own, Signal::KILL));
        child.wait().unwrap();
        assert!(!is_descendant_of(pid, own));
    }

    #[test]
    fn a_boot_has_an_identity() {
        assert_eq!(boot_id().len(), 36);
    }
}
