//! Replaces small files as a whole or not at all: it writes a temporary file beside them and renames it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::OFlags;
use rustix::process::{Pid, test_kill_process};

use crate::StoreError;

/// Allows one atomic write at a time per process, so that a temporary file with our pid that exists before a
/// write is surely left over. The files are small, and the lock is held only while one is written.
static WRITING: Mutex<()> = Mutex::new(());

/// Replaces the content of `path` by `bytes` with mode 0600; durable when it returns.
///
/// Readers see the old content or the new one. When it fails, for instance for want of space, the old content
/// is intact. A symbolic link at `path` is replaced, not followed.
pub fn write_file_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let Some(name) = path.file_name() else {
        return Err(StoreError::refused(path, "it does not name a file"));
    };
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut stem = OsString::from(".");
    stem.push(name);
    stem.push(".tmp-");
    remove_left_over(path, &stem);
    stem.push(std::process::id().to_string());
    let temporary = path.with_file_name(stem);
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        // The failure above is the one to report. The next write removes a temporary file that stays.
        drop(fs::remove_file(&temporary));
        return Err(StoreError::io(path, error));
    }
    sync_directory_of(path)
}

/// Makes names in the directory of `path` durable. Some file systems cannot sync a directory and return
/// `EINVAL`; their rename is as durable as it gets.
pub(crate) fn sync_directory_of(path: &Path) -> Result<(), StoreError> {
    let directory = directory_of(path);
    match File::open(&directory).and_then(|opened| opened.sync_all()) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced.map_err(|source| StoreError::io(&directory, source)),
    }
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(nofollow).open(path)?;
    // A strict umask removes bits from the owner too; this sets them again.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes temporary files of killed writers. A live writer's file stays: it is about to rename it.
fn remove_left_over(path: &Path, stem: &OsString) {
    let Ok(entries) = fs::read_dir(directory_of(path)) else {
        return; // The write that follows meets the same directory and reports why.
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let suffix = name.as_encoded_bytes().strip_prefix(stem.as_encoded_bytes());
        if suffix.and_then(|digits| str::from_utf8(digits).ok()).is_some_and(is_left_over) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Returns true if the writer with this pid, taken from a temporary file's name, is gone. The caller has
/// begun no write yet, so a file with our own pid comes from an earlier process.
pub(crate) fn is_left_over(pid: &str) -> bool {
    let is_number = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    let Some(pid) = is_number.then(|| pid.parse::<i32>().ok()).flatten() else {
        return false;
    };
    let Some(writer) = Pid::from_raw(pid) else {
        return true;
    };
    writer == rustix::process::getpid() || test_kill_process(writer) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests;
