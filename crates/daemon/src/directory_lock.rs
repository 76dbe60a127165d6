//! The lock on the data directory itself. A process that can remove the lock files in a directory cannot
//! exchange the directory's own inode, so two daemons cannot have one directory even while a program removes every file in it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use proto::lock_table::{self, LockTexts, LockedFile};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, major, minor};
use rustix::io::Errno;
use store::ensure_private_dir;

/// The lock of a directory, held until this is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    path: PathBuf,
    /// `None` on a file system where directories cannot be locked: there only the lock files count.
    directory: Option<File>,
}

/// The result of trying to lock a directory.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// It is ours, as far as its file system has such locks.
    Ours(DirectoryLock),
    /// Another process holds it, or it was exchanged at this very moment.
    Busy,
}

impl DirectoryLock {
    /// Tries to lock the directory at `path` without waiting.
    pub(crate) fn acquire(path: &Path) -> io::Result<Attempt> {
        let directory = open(path)?;
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            // A directory that was moved or removed between opening and locking is no longer the one at `path`.
            Ok(()) if is_at(&directory, path) => Ok(Attempt::Ours(Self::of(path, Some(directory)))),
            Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(Attempt::Busy),
            Err(error) => {
                tracing::debug!(%error, "the data directory cannot be locked: the lock files have to do");
                Ok(Attempt::Ours(Self::of(path, None)))
            }
        }
    }

    fn of(path: &Path, directory: Option<File>) -> Self {
        Self { path: path.to_owned(), directory }
    }

    /// Locks the directory that is at its path now, if it is another one. A removed directory is made again.
    ///
    /// # Errors
    /// `ResourceBusy`: another process was faster and holds the new directory.
    pub(crate) fn mend(&mut self) -> io::Result<()> {
        if self.directory.as_ref().is_some_and(|directory| is_at(directory, &self.path)) {
            return Ok(());
        }
        ensure_private_dir(&self.path).map_err(io::Error::other)?;
        match Self::acquire(&self.path)? {
            Attempt::Ours(lock) => *self = lock,
            Attempt::Busy => return Err(io::ErrorKind::ResourceBusy.into()),
        }
        Ok(())
    }
}

/// Returns the process that holds a lock on the file or directory at `path`, if the system says so.
pub(crate) fn holder_of(path: &Path) -> Option<i32> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let found = file.metadata().ok()?;
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    let fdinfo = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()));
    let mountinfo = std::fs::read_to_string("/proc/self/mountinfo");
    let (fdinfo, mountinfo) = (fdinfo.unwrap_or_default(), mountinfo.unwrap_or_default());
    let texts = LockTexts { table: &table, fdinfo: &fdinfo, mountinfo: &mountinfo };
    let file = LockedFile { major: major(found.dev()), minor: minor(found.dev()), inode: found.ino() };
    lock_table::holder_of(&texts, file)
}

/// Returns a process as a person knows it: its pid and, if it can be read, the name of its program.
pub(crate) fn describe(pid: &str) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match name.trim() {
        "" => pid.to_owned(),
        name => format!("{pid}, {}", proto::Printable(name)),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Returns true if this is the directory at `path`.
fn is_at(directory: &File, path: &Path) -> bool {
    let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
    let own = directory.metadata().map(identity);
    let there = std::fs::symlink_metadata(path).map(identity);
    own.is_ok_and(|own| there.is_ok_and(|there| there == own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(path: &Path) -> Option<DirectoryLock> {
        match DirectoryLock::acquire(path).unwrap() {
            Attempt::Ours(lock) => Some(lock),
            Attempt::Busy => None,
        }
    }

    #[test]
    fn m1_a_locked_directory_has_one_owner_whatever_is_removed_in_it() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        ensure_private_dir(&data).unwrap();
        let lock = taken(&data).unwrap();
        assert!(taken(&data).is_none());
        assert_eq!(holder_of(&data), i32::try_from(std::process::id()).ok());
        drop(lock);
        assert!(taken(&data).is_some());
    }

    #[test]
    fn m2_a_moved_or_removed_directory_is_made_and_locked_again_unless_another_was_faster() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        ensure_private_dir(&data).unwrap();
        let mut lock = taken(&data).unwrap();
        std::fs::remove_dir(&data).unwrap();
        lock.mend().unwrap();
        assert!(taken(&data).is_none(), "the new one is locked");
        std::fs::rename(&data, root.path().join("moved")).unwrap();
        ensure_private_dir(&data).unwrap();
        let faster = taken(&data).unwrap();
        assert_eq!(lock.mend().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        drop(faster);
        lock.mend().unwrap();
        assert!(taken(&data).is_none());
    }
}
