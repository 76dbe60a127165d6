//! Creates and checks directories that only their user may enter. It refuses a directory that another user
//! could have prepared, instead of repairing it.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Opens a parent only to go through it: it need not be readable.
#[cfg(target_os = "linux")]
pub(crate) const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(crate) const PASSING: OFlags = OFlags::RDONLY;

/// Why a directory cannot be used for sockets and state.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirError {
    /// Someone else may have prepared it. Nothing was written: a person has to look.
    #[error("refusing to use {}: {reason}", .path.display())]
    Refused {
        /// The directory, or the one it is in.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// It could not be created or read.
    #[error("cannot prepare {}: {source}", .path.display())]
    Io {
        /// The directory, or the one it is in.
        path: PathBuf,
        /// The failure below.
        source: io::Error,
    },
}

/// Creates `path` with mode 0700, missing parents too, or accepts it when it is ours alone.
///
/// The last component may not be a link, must belong to us and be closed to everyone else. The directory it
/// is in may be reached through links, but must belong to us or root and not let strangers rename entries:
/// otherwise what was checked here could be exchanged afterwards.
pub fn ensure_private_dir(path: &Path) -> Result<(), PrivateDirError> {
    let Some(name) = path.file_name() else {
        return Err(refused(path, "it does not name a directory"));
    };
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let inside = open_parent(parent)?;
    let opened = match open_itself(&inside, name) {
        Err(Errno::NOENT) => {
            create(&inside, name).map_err(|error| failed(path, error))?;
            open_itself(&inside, name)
        }
        opened => opened,
    };
    let opened = opened.map_err(|error| explain(&inside, path, error))?;
    let found = rustix::fs::fstat(&opened).map_err(|error| failed(path, error))?;
    check_itself(path, &found)
}

/// Creates `path` like [`ensure_private_dir`], or accepts it when no other user can write in it: others may
/// read a user's configuration, and it may be a link into a directory of dotfiles.
pub fn ensure_own_dir(path: &Path) -> Result<(), PrivateDirError> {
    if std::fs::symlink_metadata(path).is_err() {
        return ensure_private_dir(path);
    }
    let found = std::fs::metadata(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            refused(path, "it is a symbolic link to nothing; make its target or remove it")
        }
        _ => PrivateDirError::Io { path: path.to_path_buf(), source },
    })?;
    if !found.is_dir() {
        return Err(refused(path, "it is not a directory; move it away"));
    }
    if found.uid() != me() && found.uid() != 0 {
        return Err(refused(path, format!("it belongs to user {}; move it away", found.uid())));
    }
    let mode = found.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(refused(
            path,
            format!("others may write in it (mode {mode:04o}); run `chmod go-w` on it"),
        ));
    }
    Ok(())
}

fn open_parent(parent: &Path) -> Result<OwnedFd, PrivateDirError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parent)
        .map_err(|source| PrivateDirError::Io { path: parent.to_path_buf(), source })?;
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | PASSING;
    let opened = rustix::fs::open(parent, flags, Mode::empty()).map_err(|error| failed(parent, error))?;
    let found = rustix::fs::fstat(&opened).map_err(|error| failed(parent, error))?;
    check_parent(parent, &found)?;
    Ok(opened)
}

/// Creates the directory. Two starts at once may both find it missing; the second uses the first one's, after
/// the same checks.
fn create(inside: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::mkdirat(inside, name, Mode::RWXU) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

fn open_itself(inside: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    rustix::fs::openat(inside, name, flags, Mode::empty())
}

fn check_parent(path: &Path, found: &Stat) -> Result<(), PrivateDirError> {
    let mode = Mode::from_raw_mode(found.st_mode);
    if found.st_uid != 0 && found.st_uid != me() {
        return Err(refused(path, format!("it belongs to user {} who could exchange it", found.st_uid)));
    }
    if mode.contains(Mode::WOTH) && !mode.contains(Mode::SVTX) {
        return Err(refused(path, "everyone may rename what is in it; run `chmod o-w` on it"));
    }
    Ok(())
}

fn check_itself(path: &Path, found: &Stat) -> Result<(), PrivateDirError> {
    if found.st_uid != me() {
        return Err(refused(path, format!("it belongs to user {}; move it away", found.st_uid)));
    }
    let mode = Mode::from_raw_mode(found.st_mode);
    if mode.intersects(Mode::RWXG | Mode::RWXO) {
        let reason = format!(
            "others may enter it (mode {:04o}); look what is in it, then run `chmod 700` on it",
            mode.bits() & 0o7777
        );
        return Err(refused(path, reason));
    }
    Ok(())
}

/// Explains a failed open. The kernel reports "not a directory" for links and files alike; the message says
/// which it was.
fn explain(inside: &OwnedFd, path: &Path, error: Errno) -> PrivateDirError {
    let name = path.file_name().unwrap_or_default();
    let found = rustix::fs::statat(inside, name, AtFlags::SYMLINK_NOFOLLOW);
    match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::Symlink) => refused(path, "it is a symbolic link; remove it"),
        Ok(FileType::Directory) | Err(_) => failed(path, error),
        Ok(_) => refused(path, "it is not a directory; move it away"),
    }
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn refused(path: &Path, reason: impl Into<String>) -> PrivateDirError {
    PrivateDirError::Refused { path: path.to_path_buf(), reason: reason.into() }
}

fn failed(path: &Path, error: Errno) -> PrivateDirError {
    PrivateDirError::Io { path: path.to_path_buf(), source: error.into() }
}

#[cfg(test)]
mod tests;
