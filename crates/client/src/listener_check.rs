//! Checks who listens at the daemon's socket, before anything is said to it. A process of a run has the same user as
//! the daemon and can put a socket of its own in the place of the daemon's; a person would then type into it.
//!
//! A process of a run carries a mark, a lowered hard limit of file locks, so nothing without one is examined further.
//! A run can lower the daemon's limit as well; so what carries a mark is accepted if it holds the lock of the data
//! directory, which the daemon takes before it listens and which nobody can take from it. Where the system does
//! not tell, everything is accepted. `docs/design/0008` says what is left.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proto::lock_table::{self, LockTexts, LockedFile};
use proto::{Dirs, Printable};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, major, minor};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, getrlimit, test_kill_process};

/// How long a daemon may take to open its socket again where a process of a run listens.
pub(crate) const IMPOSTOR_TIMEOUT: Duration = Duration::from_secs(2);
/// How often that is checked.
pub(crate) const IMPOSTOR_LOOK: Duration = Duration::from_millis(20);
/// The line of the mark in a process's list of limits.
const MARK_LINE: &str = "Max file locks";

/// A process of a run that listens where the daemon should.
#[derive(Debug)]
struct Impostor {
    pid: i32,
    name: String,
    data: PathBuf,
    /// The process that holds the data directory, if the system says so.
    daemon: Option<i32>,
}

impl std::error::Error for Impostor {}

impl fmt::Display for Impostor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, name, data, daemon } = self;
        let (name, data) = (Printable(name), data.display());
        write!(f, "process {pid} ({name}), which one of your Quarterdeck processes started, listens there")?;
        match daemon {
            Some(daemon) => write!(f, "; the daemon of {data} is process {daemon}")?,
            None => write!(f, "; it is not the daemon of {data}")?,
        }
        write!(f, ". End it with `kill {pid}`, then run the command again")
    }
}

/// Returns true if this is the error for a process of a run that listens in the daemon's place.
pub(crate) fn is_impostor(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Impostor>)
}

/// Accepts the process with this pid as the daemon of these directories, or returns why it is none.
pub(crate) fn check(pid: i32, dirs: &Dirs) -> io::Result<()> {
    if let Some(process) = Pid::from_raw(pid.max(0))
        && test_kill_process(process) == Err(Errno::SRCH)
    {
        // Another process has inherited the socket of a dead one. No daemon listens.
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    if !may_be_in_a_run(pid) {
        return Ok(());
    }
    match lock_of(&dirs.data, pid) {
        DirectoryLock::Theirs | DirectoryLock::Unknown => Ok(()),
        DirectoryLock::Not { daemon } => {
            let impostor = Impostor { pid, name: program(pid), data: dirs.data.clone(), daemon };
            Err(io::Error::new(io::ErrorKind::AddrInUse, impostor))
        }
    }
}

/// Returns false if a process is certainly in no run, or in none that this process is not in as well. A run lowers
/// the limit of everything in it, so what has no limit, or a higher one than this process, is outside.
fn may_be_in_a_run(pid: i32) -> bool {
    let own = getrlimit(Resource::Locks).maximum.unwrap_or(u64::MAX);
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    ceiling(&limits).is_some_and(|theirs| theirs <= own)
}

/// Returns the hard limit of file locks, `None` if there is none.
fn ceiling(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(MARK_LINE))?;
    // The soft limit comes first, the unit last.
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whose the lock of the data directory is.
#[derive(Debug, PartialEq, Eq)]
enum DirectoryLock {
    /// The process holds it.
    Theirs,
    /// Another process holds it, or none does.
    Not { daemon: Option<i32> },
    /// The system does not tell, or the file system has no such locks.
    Unknown,
}

/// How often the table of locks is read before it counts as silent on a lock that is held. The kernel hands a long table
/// out in pieces, and what another process unlocks between two of them can hide one entry.
const READINGS: usize = 16;

fn lock_of(data: &Path, pid: i32) -> DirectoryLock {
    let Ok(directory) = open(data) else {
        // It was removed. The daemon makes it again.
        return DirectoryLock::Not { daemon: None };
    };
    for _ in 0..READINGS {
        let Ok(holder) = holder_of(&directory) else { return DirectoryLock::Unknown };
        match holder {
            Some(holder) if holder == pid => return DirectoryLock::Theirs,
            Some(holder) => return DirectoryLock::Not { daemon: Some(holder) },
            // The lock is ours for a moment if nobody holds it; a daemon that starts at this very moment finds it
            // taken, and tries again.
            None if flock(&directory, FlockOperation::NonBlockingLockShared).is_ok() => {
                return DirectoryLock::Not { daemon: None };
            }
            None => {}
        }
    }
    // It is held by a process that our `/proc` does not show.
    DirectoryLock::Unknown
}

/// Returns the process that holds the lock of a data directory and the name of its program, if the system says so.
pub(crate) fn holder(data: &Path) -> Option<(i32, String)> {
    let pid = open(data).and_then(|directory| holder_of(&directory)).ok()??;
    Some((pid, program(pid)))
}

fn open(data: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(data, flags, Mode::empty())?.into())
}

fn holder_of(directory: &File) -> io::Result<Option<i32>> {
    let table = fs::read_to_string("/proc/locks")?;
    let fdinfo = fs::read_to_string(format!("/proc/self/fdinfo/{}", directory.as_raw_fd()));
    let mountinfo = fs::read_to_string("/proc/self/mountinfo");
    let (fdinfo, mountinfo) = (fdinfo.unwrap_or_default(), mountinfo.unwrap_or_default());
    let texts = LockTexts { table: &table, fdinfo: &fdinfo, mountinfo: &mountinfo };
    let found = directory.metadata()?;
    let file = LockedFile { major: major(found.dev()), minor: minor(found.dev()), inode: found.ino() };
    Ok(lock_table::holder_of(&texts, file))
}

fn program(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn m4i_the_lock_of_the_data_directory_says_who_the_daemon_is() {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        assert_eq!(lock_of(&dirs.data, own()), DirectoryLock::Not { daemon: None }, "it is missing");
        fs::create_dir(&dirs.data).unwrap();
        assert_eq!(lock_of(&dirs.data, own()), DirectoryLock::Not { daemon: None }, "nobody holds it");
        let held = File::open(&dirs.data).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(lock_of(&dirs.data, own()), DirectoryLock::Theirs);
        assert_eq!(lock_of(&dirs.data, 1), DirectoryLock::Not { daemon: Some(own()) });
        check(own(), &dirs).unwrap();
    }

    #[test]
    fn m4i_only_a_process_with_a_limit_may_be_in_a_run() {
        let limits =
            |hard: &str| format!("Max cpu time  1  2  seconds\n{MARK_LINE}  unlimited  {hard}  locks\n");
        assert_eq!(ceiling(&limits("1099511627776")), Some(1 << 40));
        assert_eq!(ceiling(&limits("unlimited")), None);
        assert_eq!(ceiling(""), None);
    }

    #[test]
    fn m4i_the_error_names_the_program_the_daemon_and_the_next_step() {
        let impostor =
            |daemon| Impostor { pid: 7, name: "a\u{1b}b".to_owned(), data: "/data".into(), daemon };
        let told = impostor(Some(9)).to_string();
        assert!(told.contains("the daemon of /data is process 9"), "{told}");
        let error = io::Error::new(io::ErrorKind::AddrInUse, impostor(None));
        let told = error.to_string();
        assert!(
            told.contains("process 7") && told.contains("`kill 7`") && !told.contains('\u{1b}'),
            "{told}"
        );
        assert!(is_impostor(&error) && !is_impostor(&io::ErrorKind::AddrInUse.into()));
    }
}
