//! Deletes a directory, also one whose directories are read-only.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Deletes a directory with everything in it; links are not followed. Directories that forbid it to their owner, as in the
/// module cache of a build tool, are made writable first. One that is not there is as good as deleted.
pub(crate) fn delete_directory(directory: &Path) -> io::Result<()> {
    let deleted = match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(directory);
            fs::remove_dir_all(directory)
        }
        other => other,
    };
    match deleted {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Gives the owner all rights to a directory and to those in it. One of another user stays as it is.
fn make_writable(directory: &Path) {
    let Ok(found) = directory.symlink_metadata() else { return };
    if !found.is_dir() {
        return;
    }
    let mode = found.permissions().mode() | 0o700;
    let _another_users = fs::set_permissions(directory, Permissions::from_mode(mode));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        make_writable(&entry.path());
    }
}
