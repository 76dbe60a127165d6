//! The mark that every process of a run carries from before its first instruction on: a hard limit below its
//! holder's.
//!
//! The limit is inherited by every child, survives `exec`, a cleared environment, a new session and the death
//! of every parent, and only a privileged process can raise it again. It limits nothing, because the kernel
//! no longer counts file locks.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::proc_stat;

/// The mark of a run outside every other run; inside another run it is one less than that run's.
const OUTERMOST: u64 = 1 << 40;

/// The limit's line in a process's list of limits.
const LINE: &str = "Max file locks";

/// A chain of parents longer than this is a loop made by pids changing under us.
const DEEPEST: usize = 4096;

/// This process's own ceiling from before there was any run. A run may lower the limit of every process of its user,
/// the daemon's included, so the present one says nothing.
static OWN: OnceLock<Option<u64>> = OnceLock::new();

/// Records this process's own limit. The daemon and the forkserver call it before they serve anybody; holders have the
/// forkserver's.
pub fn remember_own_limit() {
    let _ = own_ceiling();
}

fn own_ceiling() -> Option<u64> {
    *OWN.get_or_init(|| limit_of(std::process::id()))
}

/// Returns true if a process of a run can carry a mark below this process's own limit: not when somebody has lowered
/// that to less than every mark.
pub fn can_mark() -> bool {
    own_ceiling().is_none_or(leaves_room)
}

/// Returns true if a process with this limit can mark processes below it.
pub fn leaves_room(limit: u64) -> bool {
    limit > OUTERMOST - DEEPEST as u64
}

/// Marks a program like a process of a run, without a holder: whatever it starts and whichever process adopts
/// it, it never counts as a person. It makes files with the umask of the person's shell.
#[expect(unsafe_code, reason = "the standard library cannot check what runs between fork and exec")]
pub fn put_on_program(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the closure makes system calls only.
    unsafe {
        command.pre_exec(|| {
            crate::user_umask::give_back();
            put_on()
        })
    };
}

/// Marks the calling process and everything it will start. Async-signal-safe.
pub(crate) fn put_on() -> io::Result<()> {
    let limit = getrlimit(Resource::Locks);
    let mark = limit.maximum.map_or(OUTERMOST, |outer| outer.saturating_sub(1));
    let current = limit.current.map_or(mark, |current| current.min(mark));
    Ok(setrlimit(Resource::Locks, Rlimit { current: Some(current), maximum: Some(mark) })?)
}

/// Returns true if a process belongs to a run, of whichever Quarterdeck and whether or not its holder lives: it
/// carries a mark below this process's own limit. A process whose limits cannot be read counts as one, unless our
/// own cannot be read either.
///
/// Inside a run everything has that run's mark, a daemon that was started there included; so for that daemon, its
/// neighbours are not marked.
pub fn is_marked(pid: i32) -> bool {
    let Some(own) = own_ceiling() else { return false };
    limit_of(pid).is_none_or(|theirs| theirs < own && theirs <= OUTERMOST)
}

/// Returns true if this is a holder that is not above the calling process.
pub(crate) fn is_others_holder(pid: i32) -> bool {
    is_holder(pid)
        && !crate::descendants::is_descendant_of(i32::try_from(std::process::id()).unwrap_or(0), pid)
}

/// Returns true if the calling process is inside a run: it carries the mark, or a holder is among its
/// ancestors. The environment does not count, because a process of a run may change it.
pub fn is_inside_a_run() -> bool {
    let is_marked = getrlimit(Resource::Locks)
        .maximum
        .is_some_and(|ceiling| (OUTERMOST - DEEPEST as u64..=OUTERMOST).contains(&ceiling));
    is_marked || has_holder_above(i32::try_from(std::process::id()).unwrap_or(0))
}

fn has_holder_above(mut pid: i32) -> bool {
    for _ in 0..DEEPEST {
        match proc_stat::stat(pid).map(|stat| stat.parent) {
            Some(parent) if parent > 1 && is_holder(parent) => return true,
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    true
}

fn is_holder(pid: i32) -> bool {
    proc_stat::stat(pid).is_some_and(|stat| stat.is_named_holder)
}

/// Returns how far a process could raise the limit that marks runs; unlimited is the largest number.
pub fn limit_of(pid: impl std::fmt::Display) -> Option<u64> {
    parse_ceiling(&proc_stat::read_text(&format!("/proc/{pid}/limits")).ok()?)
}

fn parse_ceiling(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(LINE))?;
    // The soft limit comes first, the unit last.
    match line.split_ascii_whitespace().nth(1)? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn b5_the_hard_limit_is_read_from_its_line() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max cpu time              1                    2                    seconds   \n\
                      Max file locks            unlimited            1099511627776        locks     \n";
        assert_eq!(parse_ceiling(limits), Some(OUTERMOST));
        assert_eq!(parse_ceiling("Max file locks  7  unlimited  locks\n"), Some(u64::MAX));
        assert_eq!(parse_ceiling("Max file locks  7\n"), None);
        assert_eq!(parse_ceiling(""), None);
    }

    #[test]
    #[expect(unsafe_code, reason = "the standard library cannot check what runs between fork and exec")]
    fn b5_a_marked_process_is_told_from_an_unmarked_one() {
        let sleeper = |is_marked: bool| {
            let mut command = Command::new("sleep");
            command.arg("1000").stdin(Stdio::null());
            // SAFETY: the closure makes system calls only.
            unsafe { command.pre_exec(move || if is_marked { put_on() } else { Ok(()) }) };
            command.spawn().unwrap()
        };
        for is_marked in [true, false] {
            let mut child = sleeper(is_marked);
            let has_mark = super::is_marked(i32::try_from(child.id()).unwrap());
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(has_mark, is_marked);
        }
        assert!(!super::is_marked(i32::try_from(std::process::id()).unwrap()));
    }
}
