//! The two locks that make a daemon the only one: of its database, and of its runtime directory.
//!
//! A daemon first takes the lock of the data directory and writes its address into it; then that of the
//! runtime directory. The order is the same everywhere, so two daemons cannot wait for each other. The kernel
//! releases both when it dies.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proto::{Address, Dirs};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::DaemonError;

/// How long a daemon that lost the race waits for the winner's socket.
const LOSER_PATIENCE: Duration = Duration::from_secs(10);
/// How often it checks.
const LOSER_LOOK: Duration = Duration::from_millis(5);
/// Longest text that is read from a lock.
const MAX_TEXT: u64 = 16 << 10;

/// The result of trying to become the only daemon.
pub(crate) enum Race {
    /// Both locks are ours.
    Won(Box<Locks>),
    /// The daemon with this pid has one of them, and answers.
    Lost(String),
}

/// The locks of this daemon, held until it dies.
pub(crate) struct Locks {
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
    /// Takes both locks, or finds the daemon that has one of them. `has_runtime` is false if the runtime
    /// directory cannot be used.
    pub(crate) fn take(places: &Dirs, has_runtime: bool) -> Result<Race, DaemonError> {
        let data = open(&places.data_lock())?;
        let runtime = if has_runtime { Some(open(&places.lock())?) } else { None };
        let deadline = Instant::now() + LOSER_PATIENCE;
        let mut has_data = false;
        loop {
            has_data = has_data || try_lock(&data, &places.data_lock())?;
            let has_both = match &runtime {
                _ if !has_data => false,
                Some(runtime) => try_lock(runtime, &places.lock())?,
                None => true,
            };
            if has_both {
                return Self::own(places, data, runtime).map(|locks| Race::Won(Box::new(locks)));
            }
            let other = match &runtime {
                Some(runtime) if has_data => beside(places, runtime),
                _ => Address::parse(&read(&data)).unwrap_or_default(),
            };
            if other.sockets.iter().any(|socket| std::os::unix::net::UnixStream::connect(socket).is_ok()) {
                return Ok(Race::Lost(other.pid));
            }
            if Instant::now() >= deadline {
                let lock = if has_data { places.lock() } else { places.data_lock() };
                return Err(held(lock, other));
            }
            // No event announces the socket of another process, so this polls with a short pause.
            let look = rustix::event::Timespec { tv_sec: 0, tv_nsec: LOSER_LOOK.subsec_nanos().into() };
            let _timeout = rustix::event::poll(&mut [], Some(&look));
        }
    }

    /// Writes the owner into the locks.
    fn own(places: &Dirs, data: File, runtime: Option<File>) -> Result<Self, DaemonError> {
        let former = Address::parse(&read(&data));
        let sockets = places.data_socket().into_iter().chain([places.socket()]).collect();
        let pid = std::process::id().to_string();
        let address = Address { pid, host: host(), runtime: places.runtime.clone(), sockets };
        let data = Lock { path: places.data_lock(), file: data, text: address.to_text() };
        let runtime = runtime.map(|file| Lock { path: places.lock(), file, text: address.pid.clone() });
        for lock in [Some(&data), runtime.as_ref()].into_iter().flatten() {
            lock.write().map_err(|error| failed(&lock.path, "written", error))?;
        }
        Ok(Self { data, runtime, address, former })
    }

    /// Recreates the data directory's lock if its file was removed: without it, a second daemon could start.
    pub(crate) fn mend_data(&mut self) -> io::Result<()> {
        self.data.mend()
    }

    /// The same for the runtime directory's, which may have become usable only now.
    pub(crate) fn mend_runtime(&mut self, places: &Dirs) -> io::Result<()> {
        if let Some(lock) = &mut self.runtime {
            return lock.mend();
        }
        let made = Lock::make(&places.lock(), &self.address.pid)?;
        self.runtime = Some(made);
        Ok(())
    }
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

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
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
fn beside(places: &Dirs, runtime: &File) -> Address {
    Address { pid: read(runtime).trim().to_owned(), sockets: vec![places.socket()], ..Address::default() }
}

fn read(mut file: &File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_TEXT).read_to_string(&mut text));
    read.map(|_| text).unwrap_or_default()
}

fn held(lock: PathBuf, other: Address) -> DaemonError {
    let pid = if other.pid.is_empty() { "unknown".to_owned() } else { other.pid };
    if !other.host.is_empty() && other.host != host() {
        return DaemonError::HeldElsewhere { lock, pid, host: other.host };
    }
    DaemonError::Held { lock, pid }
}

/// Returns this computer's name, on one line.
fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> (tempfile::TempDir, Dirs) {
        let root = tempfile::tempdir().unwrap();
        let places = Dirs::below(root.path());
        std::fs::create_dir(&places.data).unwrap();
        std::fs::create_dir(&places.runtime).unwrap();
        (root, places)
    }

    fn taken(places: &Dirs) -> Locks {
        match Locks::take(places, true).unwrap() {
            Race::Won(locks) => *locks,
            Race::Lost(pid) => panic!("lost to {pid}"),
        }
    }

    #[test]
    fn m1_a_removed_lock_is_made_again_and_keeps_others_away() {
        let (_root, places) = places();
        let mut locks = taken(&places);
        for path in [places.data_lock(), places.lock()] {
            std::fs::remove_file(&path).unwrap();
            locks.mend_data().unwrap();
            locks.mend_runtime(&places).unwrap();
            let again = File::open(&path).unwrap();
            assert_eq!(flock(&again, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
        }
        let written = Address::parse(&std::fs::read_to_string(places.data_lock()).unwrap()).unwrap();
        assert_eq!(written.pid, std::process::id().to_string());
        assert_eq!(written.sockets, [places.data.join("qd.sock"), places.socket()]);
    }

    #[test]
    fn m1_the_address_of_a_dead_daemon_is_handed_to_the_next_one() {
        let (_root, places) = places();
        let other = Dirs { runtime: places.data.join("other"), ..places.clone() };
        std::fs::create_dir(&other.runtime).unwrap();
        drop(taken(&other));
        assert_eq!(taken(&places).former.unwrap().runtime, other.runtime);
    }

    #[test]
    fn m1_a_file_system_without_locks_and_a_daemon_on_another_computer_are_told_in_words() {
        let path = Path::new("/somewhere/qd.lock");
        assert!(!judge(Err(Errno::WOULDBLOCK), path).unwrap());
        let message = judge(Err(Errno::NOLCK), path).unwrap_err().to_string();
        assert!(message.contains("/somewhere") && message.contains("QD_DATA_DIR"), "{message}");
        let far = Address { pid: "7".to_owned(), host: "another computer".to_owned(), ..Address::default() };
        let message = held(path.to_owned(), far).to_string();
        assert!(message.contains("another computer") && message.contains("QD_DATA_DIR"), "{message}");
    }
}
