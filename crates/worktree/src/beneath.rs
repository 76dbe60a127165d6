//! Files below one directory, opened so that no link leads out of it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags};

/// A directory below which files are opened. No part of a path may be a symbolic link, `..` or a mount point's way out.
pub(crate) struct Beneath {
    directory: OwnedFd,
}

impl Beneath {
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self { directory: rustix::fs::open(directory, flags, Mode::empty())? })
    }

    /// Opens a plain file for reading; a link, pipe or device is [`io::ErrorKind::InvalidInput`].
    pub(crate) fn read(&self, path: &Path) -> io::Result<File> {
        let file = File::from(self.resolve(path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?);
        let is_plain = file.metadata()?.is_file();
        if is_plain { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "no plain file")) }
    }

    /// Makes the directories above `path` and returns the last one with the file's name.
    pub(crate) fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a std::ffi::OsStr)> {
        let bad = || io::Error::new(io::ErrorKind::InvalidInput, "no path below the directory");
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let name = path.file_name().filter(|_| is_plain).ok_or_else(bad)?;
        let mut here = self.directory.try_clone()?;
        for part in path.parent().into_iter().flat_map(Path::components) {
            let is_new = match rustix::fs::mkdirat(&here, part.as_os_str(), Mode::from_raw_mode(0o700)) {
                Ok(()) => true,
                Err(rustix::io::Errno::EXIST) => false,
                Err(error) => return Err(error.into()),
            };
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
            let next = rustix::fs::openat(&here, part.as_os_str(), flags, Mode::empty())?;
            if is_new {
                // As open as the directory above it: this process may have a umask that is not the user's.
                rustix::fs::fchmod(&next, Mode::from_raw_mode(rustix::fs::fstat(&here)?.st_mode & 0o777))?;
            }
            here = next;
        }
        Ok((here, name))
    }

    /// Removes a file or link; one that is not there is no error.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a symbolic link in the place of whatever file is there.
    pub(crate) fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        self.remove(path)?;
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::symlinkat(target, &parent, name)?)
    }

    /// Writes a file under a temporary name and moves it to `path` when it is complete: with `replace` over what is there,
    /// else only if nothing is.
    pub(crate) fn write(
        &self,
        path: &Path,
        mode: u32,
        replace: bool,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        let temporary = temporary_name(name);
        // One that a killed process left behind is replaced, never followed.
        let _left = rustix::fs::unlinkat(&parent, &temporary, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file =
            File::from(rustix::fs::openat(&parent, &temporary, flags, Mode::from_raw_mode(0o600))?);
        let moved = fill(&mut file).and_then(|()| {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o7777))?;
            let how = if replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
            Ok(rustix::fs::renameat_with(&parent, &temporary, &parent, name, how)?)
        });
        if moved.is_err() {
            let _left = rustix::fs::unlinkat(&parent, &temporary, AtFlags::empty());
        }
        moved
    }

    fn resolve(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.directory, path, flags | OFlags::CLOEXEC, mode, rules)?)
    }
}

/// Returns the same name each time, so that what a killed process left is found again.
fn temporary_name(name: &std::ffi::OsStr) -> String {
    format!(".qd-{}", crate::layout::key_of(Path::new(name)))
}
