//! Reads and writes the files of one directory through its descriptor. It refuses links, special files and
//! files with a second name, so that the file that was checked is the file that is used, even if another
//! program swaps entries meanwhile.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::PadName;
use crate::StoreError;
use crate::atomic::is_left_over;

/// One directory.
pub(super) struct DirFd {
    path: PathBuf,
    directory: OwnedFd,
}

/// Stands between a file's name and the writer's pid in the name of a temporary file.
const TEMPORARY: &str = ".tmp-";

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

impl DirFd {
    /// Opens the directory, if it exists.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        match rustix::fs::open(path, DIRECTORY, Mode::empty()) {
            Ok(directory) => Ok(Some(Self { path: path.to_path_buf(), directory })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(StoreError::io(path, error.into())),
        }
    }

    /// Opens a directory in this one and creates it when it is missing.
    pub(super) fn inner(&self, name: &str) -> Result<Self, StoreError> {
        let path = self.path.join(name);
        match rustix::fs::mkdirat(&self.directory, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(StoreError::io(&path, error.into())),
        }
        let found = self.existing(name)?;
        found.ok_or_else(|| StoreError::io(&path, std::io::ErrorKind::NotFound.into()))
    }

    /// Opens a directory in this one, if it exists.
    pub(super) fn existing(&self, name: &str) -> Result<Option<Self>, StoreError> {
        let path = self.path.join(name);
        match rustix::fs::openat(&self.directory, name, DIRECTORY, Mode::empty()) {
            Ok(directory) => Ok(Some(Self { path, directory })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(StoreError::io(&path, error.into())),
        }
    }

    /// Returns every entry whose name is a valid pad name.
    pub(super) fn names(&self) -> Result<Vec<PadName>, StoreError> {
        Ok(self.entries()?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns every name that is text.
    pub(super) fn entries(&self) -> Result<Vec<String>, StoreError> {
        let fail = |error: Errno| StoreError::io(&self.path, error.into());
        let entries = Dir::read_from(&self.directory).map_err(fail)?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fail)?;
            names.extend(entry.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    /// Reads a plain file of at most `limit` bytes; `None` when there is none.
    pub(super) fn read(&self, name: &PadName, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_entry(name.as_str(), limit)
    }

    pub(super) fn read_entry(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path.join(name);
        // Non-blocking: opening a pipe that another program put there must not wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(&self.directory, name, flags, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(StoreError::refused(&path, "it is a symbolic link; remove it")),
            Err(Errno::NXIO) => {
                return Err(StoreError::refused(&path, "it is not a plain file; move it away"));
            }
            Err(error) => return Err(StoreError::io(&path, error.into())),
        };
        let found = rustix::fs::fstat(&opened).map_err(|error| StoreError::io(&path, error.into()))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(StoreError::refused(&path, "it is not a plain file; move it away"));
        }
        if found.st_nlink > 1 {
            return Err(StoreError::refused(
                &path,
                "it has a second name elsewhere; make it a file of its own",
            ));
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        File::from(opened)
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| StoreError::io(&path, error))?;
        if bytes.len() > limit {
            return Err(StoreError::refused(&path, format!("it has more than {limit} bytes; shorten it")));
        }
        Ok(Some(bytes))
    }

    /// Creates a file or replaces it as a whole.
    pub(super) fn replace(&self, name: &PadName, bytes: &[u8]) -> Result<(), StoreError> {
        self.replace_entry(name.as_str(), bytes)
    }

    pub(super) fn replace_entry(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path.join(name);
        let temporary = format!(".{name}{TEMPORARY}{}", std::process::id());
        // A process makes one change at a time, so a temporary file with our pid is left over from an earlier
        // process.
        let _absent = rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
        let written = self.write_new(&temporary, bytes).and_then(|()| {
            rustix::fs::renameat(&self.directory, &temporary, &self.directory, name).map_err(Into::into)
        });
        if let Err(error) = written {
            let _kept = rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
            return Err(StoreError::io(&path, error));
        }
        self.sync()
    }

    /// Removes temporary files of killed writers whose names are ours. A live writer's file stays: it is
    /// about to rename it.
    pub(super) fn remove_left_over(&self, is_ours: impl Fn(&str) -> bool) -> Result<(), StoreError> {
        for entry in self.entries()? {
            let parts = entry.strip_prefix('.').and_then(|rest| rest.rsplit_once(TEMPORARY));
            if parts.is_some_and(|(name, pid)| is_ours(name) && is_left_over(pid)) {
                self.remove_entry(&entry)?;
            }
        }
        Ok(())
    }

    fn write_new(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Removes a file; one that is gone already is no error.
    pub(super) fn remove(&self, name: &PadName) -> Result<(), StoreError> {
        self.remove_entry(name.as_str())
    }

    pub(super) fn remove_entry(&self, name: &str) -> Result<(), StoreError> {
        match rustix::fs::unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => self.sync(),
            Err(error) => Err(StoreError::io(&self.path.join(name), error.into())),
        }
    }

    /// Returns when a file was last changed, in milliseconds since the epoch, and how long it is.
    pub(super) fn changed_at(&self, name: &str) -> Option<(u64, u64)> {
        let found = rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let seconds = u64::try_from(found.st_mtime).ok()?;
        let at =
            seconds.saturating_mul(1000).saturating_add(u64::from(found.st_mtime_nsec as u32) / 1_000_000);
        Some((at, u64::try_from(found.st_size).ok()?))
    }

    fn sync(&self) -> Result<(), StoreError> {
        match rustix::fs::fsync(&self.directory) {
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(StoreError::io(&self.path, error.into())),
        }
    }
}
