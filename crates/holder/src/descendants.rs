//! Finds every descendant of a run's holder from `/proc`, and signals them without reaching a recycled pid. It
//! does not use process groups, because a group's number can be reused and a pidfd cannot. `kill_steps` ends them
//! all.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Signal, pidfd_send_signal};

use crate::proc_stat::{all_processes, open, stat};

/// A chain of parents longer than this is a loop made by pids changing under us.
const DEEPEST: usize = 4096;

/// More descendants than this are found in the next round.
const MOST: usize = 65_536;

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
    visit(root, |_| ())
}

/// Calls `act` for every descendant in the moment in which it is found; returns all of them.
pub(crate) fn visit(root: i32, mut act: impl FnMut(i32)) -> Vec<i32> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([root]);
    let mut next = 0;
    let mut parent = root;
    loop {
        for child in children(parent) {
            if found.len() < MOST && seen.insert(child) {
                act(child);
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
