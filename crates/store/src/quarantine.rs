//! Moves a corrupt database away: beside its old place, under a name with the time. It never overwrites or
//! edits one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{StoreError, atomic};

/// How many corrupt files are kept; the oldest goes first.
const KEEP: usize = 5;

/// Returns `path` with something appended to its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Moves the database and its log to `<name>.corrupt-<unix time>` and returns the new path.
///
/// The database goes first: after a kill before the log follows, `set_aside_orphan_log` finds the log. The
/// other way round, the file could open as valid but stale.
pub(crate) fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let kept = fresh_name(path)?;
    move_file(path, &kept)?;
    move_file(&with_suffix(path, "-wal"), &with_suffix(&kept, "-wal"))?;
    remove(&with_suffix(path, "-shm"))?;
    drop_oldest(path)?;
    atomic::sync_directory_of(path)?;
    Ok(kept)
}

/// Moves away a log without its database, which a kill during `set_aside` leaves. SQLite would delete it
/// unread.
pub(crate) fn set_aside_orphan_log(path: &Path) -> Result<(), StoreError> {
    let log = with_suffix(path, "-wal");
    if path.symlink_metadata().is_ok() || log.symlink_metadata().is_err() {
        return Ok(());
    }
    move_file(&log, &with_suffix(&fresh_name(path)?, "-wal"))?;
    remove(&with_suffix(path, "-shm"))?;
    drop_oldest(path)?;
    atomic::sync_directory_of(path)
}

/// Copies the log, because SQLite is about to overwrite what it cannot read in it.
pub(crate) fn keep_log(path: &Path) -> Result<PathBuf, StoreError> {
    let kept = with_suffix(&fresh_name(path)?, "-wal");
    let log = with_suffix(path, "-wal");
    fs::read(&log)
        .map_err(|source| StoreError::io(&log, source))
        .and_then(|bytes| atomic::write_file_atomically(&kept, &bytes))?;
    drop_oldest(path)?;
    Ok(kept)
}

/// Returns a name later than every one used before: two corruptions within one second keep both files, and a
/// clock that was set back does not make the newest file look like the oldest.
fn fresh_name(path: &Path) -> Result<PathBuf, StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let newest = stamps(path).map_err(|source| StoreError::io(path, source))?.last().copied();
    let Some(next) = newest.map_or(Some(now), |newest| newest.checked_add(1)) else {
        return Err(StoreError::refused(
            path,
            "the files set aside beside it have no later name; remove them",
        ));
    };
    Ok(with_suffix(path, &format!(".corrupt-{}", now.max(next))))
}

/// Moves a file and makes it private, whatever its mode was.
fn move_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    let fail = |source| StoreError::io(from, source);
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        moved => moved.map_err(fail)?,
    }
    match to.symlink_metadata().map_err(fail)?.is_file() {
        true => fs::set_permissions(to, Permissions::from_mode(0o600)).map_err(fail),
        false => Ok(()),
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| StoreError::io(path, source)),
    }
}

fn drop_oldest(path: &Path) -> Result<(), StoreError> {
    let stamps = stamps(path).map_err(|source| StoreError::io(path, source))?;
    for stamp in stamps.iter().take(stamps.len().saturating_sub(KEEP)) {
        let old = with_suffix(path, &format!(".corrupt-{stamp}"));
        remove(&old)?;
        remove(&with_suffix(&old, "-wal"))?;
    }
    Ok(())
}

/// Returns the times in the names of earlier quarantined files, oldest first.
fn stamps(path: &Path) -> io::Result<BTreeSet<u64>> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(BTreeSet::new());
    };
    let start = format!("{}.corrupt-", name.to_string_lossy());
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?.file_name();
        let stamp = entry.to_str().and_then(|name| name.strip_prefix(&start));
        found.extend(stamp.and_then(|stamp| stamp.trim_end_matches("-wal").parse::<u64>().ok()));
    }
    Ok(found)
}
