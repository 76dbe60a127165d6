//! Finds the processes of a contender in `/proc` and measures their cost. A process belongs to a contender
//! when its program, its directory, its command line or its environment is under the contender's root.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::pty::pass;

/// Processor time and wake-ups used so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Effort {
    pub(crate) nanoseconds: u64,
    pub(crate) wakeups: u64,
}

/// Returns the contender's own processes: those whose program file lies under `root`. The children under test
/// are not.
pub(crate) fn servers(root: &Path) -> Vec<u32> {
    all().into_iter().filter(|pid| link(*pid, "exe").is_some_and(|exe| exe.starts_with(root))).collect()
}

/// Returns the proportional memory in bytes; what processes share is counted once.
pub(crate) fn pss(pids: &[u32]) -> u64 {
    let of = |pid: &u32| number_after(&read(*pid, "smaps_rollup"), "Pss:").unwrap_or(0) * 1024;
    pids.iter().map(of).sum()
}

/// Returns the resident memory in bytes, with what is shared.
pub(crate) fn resident(pid: u32) -> u64 {
    number_after(&read(pid, "status"), "\nVmRSS:").unwrap_or(0) * 1024
}

/// Returns the number of open descriptors.
pub(crate) fn descriptors(pid: u32) -> usize {
    numbers_in(&PathBuf::from(format!("/proc/{pid}/fd"))).len()
}

/// Returns the process that started it.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    let parent = number_after(&read(pid, "status"), "\nPPid:")?;
    u32::try_from(parent).ok()
}

/// Returns the effort of all threads of these processes.
pub(crate) fn effort(pids: &[u32]) -> Effort {
    let mut total = Effort::default();
    for pid in pids {
        for thread in numbers_in(&PathBuf::from(format!("/proc/{pid}/task"))) {
            let at = |name: &str| read(*pid, &format!("task/{thread}/{name}"));
            let first = at("schedstat").split(' ').next().and_then(|word| word.parse::<u64>().ok());
            total.nanoseconds += first.unwrap_or(0);
            total.wakeups += number_after(&at("status"), "\nvoluntary_ctxt_switches:").unwrap_or(0);
        }
    }
    total
}

/// Kills whatever belongs to `root`, in rounds until nothing is left.
pub(crate) fn sweep(root: &Path) {
    for _ in 0..50 {
        let mut left: Vec<u32> = all().into_iter().filter(|pid| belongs(*pid, root)).collect();
        left.retain(|pid| *pid != std::process::id());
        if left.is_empty() {
            return;
        }
        for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid as i32)) {
            // A process that has ended meanwhile is fine.
            let _gone = kill_process(pid, Signal::KILL);
        }
        pass(Duration::from_millis(10));
    }
}

fn belongs(pid: u32, root: &Path) -> bool {
    if is_zombie(pid) {
        return false;
    }
    let below = |name: &str| link(pid, name).is_some_and(|path| path.starts_with(root));
    let names = |name: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&format!("{}/", root.display()))
    };
    below("exe") || below("cwd") || names("cmdline") || names("environ")
}

fn is_zombie(pid: u32) -> bool {
    read(pid, "stat").rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

fn all() -> Vec<u32> {
    numbers_in(Path::new("/proc"))
}

fn numbers_in(directory: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn link(pid: u32, name: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/{name}")).ok()
}

fn read(pid: u32, name: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn number_after(text: &str, label: &str) -> Option<u64> {
    let (_, after) = text.split_once(label)?;
    after.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_effort() {
        let me = [std::process::id()];
        assert!(pss(&me) > 100_000);
        assert!(effort(&me).nanoseconds > 0);
    }

    #[test]
    fn resident_memory_descriptors_and_the_parent_are_read() {
        let me = std::process::id();
        assert!(resident(me) > 1_000_000);
        assert!(descriptors(me) >= 3);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(parent(child.id()), Some(me));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((resident(u32::MAX), parent(u32::MAX)), (0, None));
    }

    #[test]
    fn only_what_lies_under_the_root_is_swept() {
        let root = std::env::temp_dir().join(format!("qdbench-sweep-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let mut sleep = std::process::Command::new("sleep");
        let mut inside = sleep.arg("60").current_dir(&root).spawn().unwrap();
        let mut outside = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        sweep(&root);
        assert!(!inside.wait().unwrap().success());
        assert!(outside.try_wait().unwrap().is_none(), "a stranger was killed");
        outside.kill().unwrap();
        outside.wait().unwrap();
        std::fs::remove_dir_all(&root).unwrap();
    }
}
