//! One process in `/proc`: its parent, group, session and start time, and a pidfd that cannot mean a recycled pid.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The most that the kernel writes into such a file at once.
const PAGE: usize = 4096;

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
    /// True if it has the name of a holder, which any process may give itself.
    pub is_named_holder: bool,
}

/// The process name of a holder.
const HOLDER: &[u8] = b"qd-hold";

/// Reads a process's stat file; `None` when there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&read_whole(&format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a file of `/proc` with as few calls as possible: the kernel writes it at once if it fits, and then there is
/// no need to read on to its end. Such a file does not say how long it is, so `fs::read` would ask for its length and
/// begin with pieces of 32 bytes; a connection reads a handful of files.
pub(crate) fn read_whole(path: &str) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = vec![0; PAGE];
    let count = file.read(&mut text)?;
    text.truncate(count);
    if count == PAGE {
        file.take(u64::MAX).read_to_end(&mut text)?;
    }
    Ok(text)
}

/// Like [`read_whole`], for a file that is text.
pub(crate) fn read_text(path: &str) -> io::Result<String> {
    String::from_utf8(read_whole(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns when a process started (field 22 of its stat file): with the pid, its identity until the next
/// boot.
pub fn start_time(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.start_time)
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

fn parse_stat(text: &[u8]) -> Option<Stat> {
    // The second field is the program's name in parentheses and may hold anything, parentheses included.
    let after_name = text.iter().rposition(|byte| *byte == b')')? + 1;
    let before_name = text.iter().position(|byte| *byte == b'(')? + 1;
    let is_named_holder = text.get(before_name..after_name - 1) == Some(HOLDER);
    let rest = std::str::from_utf8(text.get(after_name..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.bytes().next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // Field 22 is the sixteenth after the session, which is the sixth.
    let start_time = fields.nth(15)?.parse().ok()?;
    Some(Stat { state, parent, group, session, start_time, is_named_holder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let mut text = b"42 (a) b (c)) S 7 8 9".to_vec();
        (7..22).for_each(|field| text.extend_from_slice(format!(" {field}").as_bytes()));
        text.extend_from_slice(b" 12345 0 0\n");
        let expected =
            Stat { state: b'S', parent: 7, group: 8, session: 9, start_time: 12345, is_named_holder: false };
        assert_eq!(parse_stat(&text), Some(expected));
        let named = |name: &str| {
            let text = String::from_utf8_lossy(&text).replace("(a) b (c))", name);
            parse_stat(text.as_bytes()).map(|stat| stat.is_named_holder)
        };
        assert_eq!(named("(qd-hold)"), Some(true));
        assert_eq!(named("(qd-hold) (qd-hold)"), Some(false));
        assert_eq!(named("(qd-forkserver)"), Some(false));
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
}
