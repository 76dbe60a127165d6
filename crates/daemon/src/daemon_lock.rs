//! The locks that make a daemon the only one: of its data directory, of its database, and of its runtime
//! directory.
//!
//! A daemon first locks the data directory itself, then the lock file in it, into which it writes its address,
//! then that of the runtime directory. The order is the same everywhere, so two daemons cannot wait for each
//! other. The kernel releases all of them when it dies. The directory's own lock keeps a second daemon away
//! while a program removes the lock files; daemons of earlier versions know only the lock files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proto::{Address, Dirs};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::DaemonError;
use crate::directory_lock::{Attempt, DirectoryLock, describe, holder_of};

/// How long a daemon that lost the race waits for the winner's socket.
const LOSER_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it checks.
const LOSER_LOOK: Duration = Duration::from_millis(5);
/// Longest text that is read from a lock.
const MAX_TEXT: u64 = 16 << 10;

/// The result of trying to become the only daemon.
pub(crate) enum Race {
    /// All locks are ours.
    Won(Box<Locks>),
    /// The daemon with this pid has one of them, and answers.
    Lost(String),
}

/// The locks of this daemon, held until it dies.
pub(crate) struct Locks {
    directory: DirectoryLock,
    data: Lock,
    /// `None` when the runtime directory cannot be used.
    runtime: Option<Lock>,
    address: Address,
    /// The address of the previous daemon, which may have had another runtime directory.
    pub(crate) former: Option<Address>,
}

/// A file that this process has locked.
struct Lock {
    path: PathBuf,
    file: File,
    text: String,
}

impl Locks {
    /// Takes all locks, or finds the daemon that has one of them. `has_runtime` is false if the runtime
    /// directory cannot be used.
    pub(crate) fn acquire(dirs: &Dirs, has_runtime: bool) -> Result<Race, DaemonError> {
        let deadline = Instant::now() + LOSER_TIMEOUT;
        let mut taken = Taken::default();
        loop {
            let missing = match taken.take_more(dirs, has_runtime)? {
                StartProgress::Complete(all) => {
                    return Self::own(dirs, *all).map(|locks| Race::Won(Box::new(locks)));
                }
                StartProgress::Missing(missing) => missing,
            };
            let mut sockets = missing.other.sockets.iter();
            if sockets.any(|socket| std::os::unix::net::UnixStream::connect(socket).is_ok()) {
                return Ok(Race::Lost(missing.other.pid));
            }
            if Instant::now() >= deadline {
                return Err(held(missing));
            }
            // No event announces the socket of another process, so this polls with a short pause.
            let look = rustix::event::Timespec { tv_sec: 0, tv_nsec: LOSER_LOOK.subsec_nanos().into() };
            let _timeout = rustix::event::poll(&mut [], Some(&look));
        }
    }

    /// Writes the owner into the locks.
    fn own(dirs: &Dirs, All { directory, data, runtime }: All) -> Result<Self, DaemonError> {
        let former = Address::parse(&read(&data));
        let sockets = dirs.data_socket().into_iter().chain([dirs.socket()]).collect();
        let pid = std::process::id().to_string();
        let address = Address { pid, host: host(), runtime: dirs.runtime.clone(), sockets };
        let data = Lock { path: dirs.data_lock(), file: data, text: address.to_text() };
        let runtime = runtime.map(|file| Lock { path: dirs.lock(), file, text: address.pid.clone() });
        for lock in [Some(&data), runtime.as_ref()].into_iter().flatten() {
            lock.write().map_err(|error| failed(&lock.path, "written", error))?;
        }
        Ok(Self { directory, data, runtime, address, former })
    }

    /// Recreates the data directory and its locks if one of them was removed: without them, a second daemon
    /// could start.
    ///
    /// # Errors
    /// `ResourceBusy`: the directory was replaced, and another process holds the new one.
    pub(crate) fn mend_data(&mut self) -> io::Result<()> {
        self.directory.mend()?;
        self.data.mend()
    }

    /// The same for the runtime directory's, which may have become usable only now.
    pub(crate) fn mend_runtime(&mut self, dirs: &Dirs) -> io::Result<()> {
        if let Some(lock) = &mut self.runtime {
            return lock.mend();
        }
        let made = Lock::make(&dirs.lock(), &self.address.pid)?;
        self.runtime = Some(made);
        Ok(())
    }
}

/// The locks that a starting daemon has so far, in the order in which it takes them.
#[derive(Default)]
struct Taken {
    directory: Option<DirectoryLock>,
    data: Option<File>,
    runtime: Option<File>,
}

/// All locks, before an owner is written into them.
struct All {
    directory: DirectoryLock,
    data: File,
    runtime: Option<File>,
}

/// How far a starting daemon has come.
enum StartProgress {
    Complete(Box<All>),
    Missing(Missing),
}

/// A lock that another process holds, and where the daemon that holds it may listen.
struct Missing {
    lock: PathBuf,
    other: Address,
}

impl Taken {
    /// Takes one lock after the other, up to the first that another process holds. Lock files are opened anew at
    /// each attempt, because a file that was removed meanwhile keeps nobody away.
    fn take_more(&mut self, dirs: &Dirs, has_runtime: bool) -> Result<StartProgress, DaemonError> {
        if self.directory.is_none() {
            let opened = DirectoryLock::acquire(&dirs.data);
            match opened.map_err(|error| failed(&dirs.data, "opened", error))? {
                Attempt::Ours(lock) => self.directory = Some(lock),
                Attempt::Busy => return Ok(missing(&dirs.data, daemon_of(dirs))),
            }
        }
        if self.data.is_none() {
            let file = open(&dirs.data_lock())?;
            if !try_lock(&file, &dirs.data_lock())? {
                return Ok(missing(&dirs.data_lock(), Address::parse(&read(&file)).unwrap_or_default()));
            }
            self.data = Some(file);
        }
        if has_runtime && self.runtime.is_none() {
            let file = open(&dirs.lock())?;
            if !try_lock(&file, &dirs.lock())? {
                return Ok(missing(&dirs.lock(), beside(dirs, &file)));
            }
            self.runtime = Some(file);
        }
        match (self.directory.take(), self.data.take()) {
            (Some(directory), Some(data)) => {
                Ok(StartProgress::Complete(Box::new(All { directory, data, runtime: self.runtime.take() })))
            }
            _ => Ok(missing(&dirs.data, Address::default())),
        }
    }
}

fn missing(lock: &Path, other: Address) -> StartProgress {
    StartProgress::Missing(Missing { lock: lock.to_owned(), other })
}

/// Returns the daemon that holds our data directory: where its lock file says, and where it listens if a program
/// has just removed that file.
fn daemon_of(dirs: &Dirs) -> Address {
    let recorded = open_plain(&dirs.data_lock()).ok().and_then(|file| Address::parse(&read(&file)));
    let mut other = recorded.unwrap_or_default();
    other.sockets.extend(dirs.data_socket());
    other.sockets.push(dirs.socket());
    if other.pid.is_empty() {
        other.pid = holder_of(&dirs.data).map(|pid| pid.to_string()).unwrap_or_default();
    }
    other
}

impl Lock {
    fn make(path: &Path, text: &str) -> io::Result<Self> {
        let file = open_private(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let lock = Self { path: path.to_owned(), file, text: text.to_owned() };
        lock.write().map(|()| lock)
    }

    fn write(&self) -> io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(self.text.as_bytes())
    }

    fn mend(&mut self) -> io::Result<()> {
        let own = self.file.metadata()?;
        let is_there = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (own.dev(), own.ino()));
        if !is_there {
            *self = Self::make(&self.path, &self.text)?;
        }
        Ok(())
    }
}

/// Opens a lock file, which is made if there is none. A link or a pipe in its place is removed: a program may have put it there to have
/// another file overwritten, or to keep the daemon from starting.
fn open_private(path: &Path) -> io::Result<File> {
    let opened = open_plain(path);
    if !is_foreign(path, opened.as_ref()) {
        return opened;
    }
    tracing::warn!(path = %path.display(), "no plain file is in the place of a lock; it is removed");
    std::fs::remove_file(path)?;
    open_plain(path)
}

fn open_plain(path: &Path) -> io::Result<File> {
    // Opening never blocks, and nothing behind a link is touched.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)
}

/// Returns true if something that can be removed, and is no plain file, is in the place of a lock.
fn is_foreign(path: &Path, opened: Result<&File, &io::Error>) -> bool {
    let kind = match opened {
        Ok(file) => file.metadata(),
        Err(_) => std::fs::symlink_metadata(path),
    };
    kind.is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn open(path: &Path) -> Result<File, DaemonError> {
    open_private(path).map_err(|error| failed(path, "opened", error))
}

fn failed(path: &Path, what: &str, source: io::Error) -> DaemonError {
    let what = format!("the daemon's lock {} cannot be {what}", path.display());
    DaemonError::System { what, source }
}

/// Returns true if the lock is ours now. A file system without locks is refused: nothing would keep a second
/// daemon away.
fn try_lock(file: &File, path: &Path) -> Result<bool, DaemonError> {
    judge(flock(file, FlockOperation::NonBlockingLockExclusive), path)
}

fn judge(locked: Result<(), Errno>, path: &Path) -> Result<bool, DaemonError> {
    match locked {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(DaemonError::NoLocks {
            directory: path.parent().unwrap_or(path).to_owned(),
            source: error.into(),
        }),
    }
}

/// Returns the daemon that has the lock of our runtime directory: one of another database, or of an earlier
/// version.
fn beside(dirs: &Dirs, runtime: &File) -> Address {
    Address { pid: read(runtime).trim().to_owned(), sockets: vec![dirs.socket()], ..Address::default() }
}

fn read(mut file: &File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_TEXT).read_to_string(&mut text));
    read.map(|_| text).unwrap_or_default()
}

/// Returns the error for a lock whose holder does not answer. The kernel says who holds it; what stands in the
/// file may be old, or another program's.
fn held(Missing { lock, other }: Missing) -> DaemonError {
    let written = if other.pid.is_empty() { "unknown".to_owned() } else { other.pid };
    if !other.host.is_empty() && other.host != host() {
        return DaemonError::HeldElsewhere { lock, pid: written, host: other.host };
    }
    let pid = holder_of(&lock).map_or(written, |pid| pid.to_string());
    DaemonError::Held { pid: describe(&pid), lock }
}

/// Returns this computer's name, on one line.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs() -> (tempfile::TempDir, Dirs) {
        let root = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(root.path());
        std::fs::create_dir(&dirs.data).unwrap();
        std::fs::create_dir(&dirs.runtime).unwrap();
        (root, dirs)
    }

    fn taken(dirs: &Dirs) -> Locks {
        match Locks::acquire(dirs, true).unwrap() {
            Race::Won(locks) => *locks,
            Race::Lost(pid) => panic!("lost to {pid}"),
        }
    }

    #[test]
    fn m1_a_removed_lock_is_made_again_and_keeps_others_away() {
        let (_root, dirs) = dirs();
        let mut locks = taken(&dirs);
        for path in [dirs.data_lock(), dirs.lock()] {
            std::fs::remove_file(&path).unwrap();
            locks.mend_data().unwrap();
            locks.mend_runtime(&dirs).unwrap();
            let again = File::open(&path).unwrap();
            assert_eq!(flock(&again, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
        }
        let written = Address::parse(&std::fs::read_to_string(dirs.data_lock()).unwrap()).unwrap();
        assert_eq!(written.pid, std::process::id().to_string());
        assert_eq!(written.sockets, [dirs.data.join("qd.sock"), dirs.socket()]);
    }

    #[test]
    fn m8_a_link_or_a_pipe_in_the_place_of_a_lock_is_removed_and_what_it_leads_to_is_left_alone() {
        let (root, dirs) = dirs();
        let precious = root.path().join("precious");
        std::fs::write(&precious, "mine").unwrap();
        for path in [dirs.data_lock(), dirs.lock()] {
            std::os::unix::fs::symlink(&precious, &path).unwrap();
        }
        let mut locks = taken(&dirs);
        std::fs::remove_file(dirs.data_lock()).unwrap();
        std::os::unix::fs::symlink(&precious, dirs.data_lock()).unwrap();
        locks.mend_data().unwrap();
        drop(locks);
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "mine");
        for path in [dirs.data_lock(), dirs.lock()] {
            std::fs::remove_file(&path).unwrap();
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        }
        let _locks = taken(&dirs);
        for path in [dirs.data_lock(), dirs.lock()] {
            assert!(path.symlink_metadata().unwrap().is_file(), "{}", path.display());
        }
    }

    #[test]
    fn m8_a_directory_in_the_place_of_a_lock_is_named() {
        let (_root, dirs) = dirs();
        std::fs::create_dir(dirs.data_lock()).unwrap();
        let refused = Locks::acquire(&dirs, true).err().unwrap().to_string();
        assert!(refused.contains(dirs.data_lock().to_str().unwrap()), "{refused}");
    }

    #[test]
    fn m1_without_its_lock_files_a_data_directory_still_has_one_daemon_and_the_error_names_it() {
        let (_root, dirs) = dirs();
        let _locks = taken(&dirs);
        for path in [dirs.data_lock(), dirs.lock()] {
            std::fs::remove_file(&path).unwrap();
        }
        let mut second = Taken::default();
        let StartProgress::Missing(missing) = second.take_more(&dirs, true).unwrap() else {
            panic!("a second daemon has the directory");
        };
        let told = held(missing).to_string();
        let own = format!("pid {}, ", std::process::id());
        assert!(told.contains(&own) && told.contains(dirs.data.to_str().unwrap()), "{told}");
    }

    #[test]
    fn m1_the_address_of_a_dead_daemon_is_handed_to_the_next_one() {
        let (_root, dirs) = dirs();
        let other = Dirs { runtime: dirs.data.join("other"), ..dirs.clone() };
        std::fs::create_dir(&other.runtime).unwrap();
        drop(taken(&other));
        assert_eq!(taken(&dirs).former.unwrap().runtime, other.runtime);
    }

    #[test]
    fn m1_a_file_system_without_locks_and_a_daemon_on_another_computer_are_told_in_words() {
        let path = Path::new("/somewhere/qd.lock");
        assert!(!judge(Err(Errno::WOULDBLOCK), path).unwrap());
        let message = judge(Err(Errno::NOLCK), path).unwrap_err().to_string();
        assert!(message.contains("/somewhere") && message.contains("QD_DATA_DIR"), "{message}");
        let far = Address { pid: "7".to_owned(), host: "another computer".to_owned(), ..Address::default() };
        let message = held(Missing { lock: path.to_owned(), other: far }).to_string();
        assert!(message.contains("another computer") && message.contains("QD_DATA_DIR"), "{message}");
    }
}
