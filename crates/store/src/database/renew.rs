//! Writes the database's file again when it was removed while it is open. The open connection still has all
//! of it; what is stored in a file without a name is lost with this process.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};

use super::{Durability, FILES, Store, create_private, open_checked};
use crate::private_dir::PASSING;
use crate::{StoreError, atomic, quarantine};

/// Device and inode of a file.
pub(super) type FileIdentity = (u64, u64);

/// Returns which file is at `path`; `None` for a store in memory, and when there is none.
pub(super) fn identity(path: &Path) -> Option<FileIdentity> {
    let found = path.is_absolute().then(|| fs::symlink_metadata(path).ok())??;
    Some((found.dev(), found.ino()))
}

/// A copy of the database. As long as it is open, its inode cannot become that of another file.
struct DatabaseCopy {
    file: Option<FileIdentity>,
    /// Opened for its place only: closing it drops no lock that the database has on the same file.
    _pin: OwnedFd,
}

impl Store {
    /// Writes the file again if it was removed. A file that somebody else has put in its place stays, and
    /// nothing is stored.
    pub(super) fn renew(&mut self) -> Result<(), StoreError> {
        let Some(file) = self.file else { return Ok(()) };
        match fs::symlink_metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == file => Ok(()),
            Ok(_) => Err(StoreError::refused(
                &self.path,
                "another file was put in its place while the daemon runs; move that one away, or restart the \
                 daemon to use it",
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.write_again(),
            Err(error) => Err(StoreError::io(&self.path, error)),
        }
    }

    fn write_again(&mut self) -> Result<(), StoreError> {
        let copy = quarantine::with_suffix(&self.path, ".again");
        // A copy that a killed daemon has left is incomplete.
        drop(fs::remove_file(&copy));
        let placed = self.copy_to(&copy).and_then(|made| self.put_in_place(&copy).map(|()| made));
        if placed.is_err() {
            drop(fs::remove_file(&copy));
        }
        let made = placed?;
        let opened = self.open_copy(&made)?;
        let fail = |error| StoreError::sqlite(&self.path, error);
        // Closing the former connection must not remove the log of the new one, which has the same name.
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
        self.connection = opened;
        (self.file, self.durability) = (made.file, Durability::ProcessDeath);
        Ok(())
    }

    /// Opens the copy in its place. If it was removed meanwhile, SQLite opened an empty file, which is not the copy:
    /// the next call copies everything again.
    fn open_copy(&self, made: &DatabaseCopy) -> Result<Connection, StoreError> {
        let opened = open_checked(&self.path);
        if opened.is_err() || identity(&self.path) != made.file {
            drop(fs::remove_file(&self.path));
            return opened.and(Err(StoreError::io(&self.path, io::ErrorKind::NotFound.into())));
        }
        opened
    }

    /// Writes everything that the connection has to a new file of its own; returns which file that is.
    fn copy_to(&self, copy: &Path) -> Result<DatabaseCopy, StoreError> {
        create_private(copy)?;
        let name = copy.to_str().ok_or_else(|| StoreError::refused(copy, "its path is not UTF-8"))?;
        let copied = self.connection.execute("VACUUM INTO ?1", [name]);
        copied.map_err(|error| StoreError::sqlite(copy, error))?;
        let synced = File::open(copy).and_then(|file| file.sync_all());
        synced.map_err(|source| StoreError::io(copy, source))?;
        let flags = PASSING | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let pin = rustix::fs::open(copy, flags, Mode::empty());
        let pin = pin.map_err(|error| StoreError::io(copy, error.into()))?;
        Ok(DatabaseCopy { file: identity(copy), _pin: pin })
    }

    /// Gives the copy its name. What SQLite kept beside the former file is in the copy.
    fn put_in_place(&self, copy: &Path) -> Result<(), StoreError> {
        for suffix in &FILES[1..] {
            drop(fs::remove_file(quarantine::with_suffix(&self.path, suffix)));
        }
        renameat_with(CWD, copy, CWD, &self.path, RenameFlags::NOREPLACE)
            .map_err(|error| StoreError::io(&self.path, error.into()))?;
        atomic::sync_directory_of(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AuditCheck, Change};
    use super::*;

    fn grant(id: &str) -> [Change; 1] {
        [Change::PutDocument { kind: "grant", id: id.to_owned(), document: "{}".to_owned() }]
    }

    fn grants(store: &Store) -> Vec<String> {
        store.load().unwrap().documents.into_iter().map(|stored| stored.id).collect()
    }

    #[test]
    fn m7g_a_removed_file_is_written_again_with_everything_before_the_next_change_is_acknowledged() {
        for removed in [&FILES[..], &FILES[..1], &FILES[..2]] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("state.db");
            let mut store = Store::open(&path).unwrap();
            store.apply(&grant("before")).unwrap();
            store.audit(&crate::AuditRow { verb: "grant".into(), ..Default::default() }).unwrap();
            for suffix in removed {
                fs::remove_file(quarantine::with_suffix(&path, suffix)).unwrap();
            }
            store.apply(&grant("after")).unwrap();
            store.apply(&grant("later")).unwrap();
            // As after a kill: nothing is closed.
            std::mem::forget(store);
            let store = Store::open(&path).unwrap();
            assert_eq!(grants(&store), ["after", "before", "later"], "{removed:?}");
            assert!(matches!(store.verify_audit().unwrap(), AuditCheck::Intact { .. }));
            assert_eq!((store.recovered(), store.damaged_log()), (None, None));
        }
    }

    #[test]
    fn m7g_a_copy_that_is_removed_before_it_is_opened_is_made_again_and_never_an_empty_one_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let mut store = Store::open(&path).unwrap();
        store.apply(&grant("before")).unwrap();
        fs::remove_file(&path).unwrap();
        let copy = quarantine::with_suffix(&path, ".again");
        let made = store.copy_to(&copy).unwrap();
        store.put_in_place(&copy).unwrap();
        // The file system may give its inode to the next file.
        fs::remove_file(&path).unwrap();
        assert!(store.open_copy(&made).is_err());
        assert!(!path.exists(), "nothing is left that would be taken for the database");
        drop(made);
        store.apply(&grant("after")).unwrap();
        std::mem::forget(store);
        assert_eq!(grants(&Store::open(&path).unwrap()), ["after", "before"]);
    }

    #[test]
    fn m7g_a_file_in_the_place_of_the_database_is_left_alone_and_nothing_is_acknowledged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let mut store = Store::open(&path).unwrap();
        store.apply(&grant("before")).unwrap();
        fs::rename(&path, directory.path().join("away")).unwrap();
        fs::write(&path, "a person's own").unwrap();
        assert!(matches!(store.apply(&grant("after")), Err(StoreError::Refused { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"a person's own");
        fs::remove_file(&path).unwrap();
        store.apply(&grant("again")).unwrap();
        drop(store);
        assert_eq!(grants(&Store::open(&path).unwrap()), ["again", "before"]);
    }

    #[test]
    fn m7g_without_its_directory_nothing_is_acknowledged_until_there_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        fs::create_dir(&data).unwrap();
        let mut store = Store::open(&data.join("state.db")).unwrap();
        fs::remove_dir_all(&data).unwrap();
        assert!(matches!(store.apply(&grant("refused")), Err(StoreError::Io { .. })));
        fs::create_dir(&data).unwrap();
        store.apply(&grant("kept")).unwrap();
        drop(store);
        assert_eq!(grants(&Store::open(&data.join("state.db")).unwrap()), ["kept"]);
    }
}
