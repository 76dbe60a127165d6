//! Opens, checks and closes the database file. Each call is one transaction. The SQL is in `records`, `audit`
//! and `schema`; `renew` writes a file again that was removed.

mod renew;

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::audit::{self, AuditBound, AuditCheck, AuditReader, AuditRow};
use crate::records::{self, Change, Contents};
use crate::{StoreError, atomic, quarantine, schema, write_ahead_log};

/// How long a call waits for another program (a backup, an SQL shell) before it reports `Locked`. The engine
/// waits for the store meanwhile, so this stays short.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// The size to which a checkpoint truncates the write-ahead log, so that one burst does not keep disk space
/// for ever.
const LOG_LIMIT_BYTES: i64 = 4 * 1024 * 1024;

/// The database and the two files that SQLite keeps beside it.
const FILES: [&str; 3] = ["", "-wal", "-shm"];

/// What a commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Any death of this process; the kernel writes the commit to the disk in its own time.
    ProcessDeath,
    /// A power cut too: the commit is on the disk when it returns, with everything before it.
    PowerCut,
}

impl Durability {
    /// Records that a person or an agent entrusted to us, and that exist nowhere else, must survive a power
    /// cut: messages, timers, grants, trust, questions. So must the end of an entry: what is restored after a
    /// reboot would start again although it was closed. Records of runs may lag, because a power cut ends the
    /// runs too.
    fn of(batch: &[Change]) -> Self {
        let is_entrusted = |change: &Change| match change {
            Change::PutMail { .. }
            | Change::RemoveMail { .. }
            | Change::PutDocument { .. }
            | Change::RemoveDocument { .. }
            | Change::RemoveProcess { .. } => true,
            Change::PutProcess { .. }
            | Change::PutTurn { .. }
            | Change::RemoveTurn { .. }
            | Change::Audit(_)
            | Change::Setting { .. } => false,
        };
        if batch.iter().any(is_entrusted) { Self::PowerCut } else { Self::ProcessDeath }
    }

    /// Returns SQLite's name for it in write-ahead mode.
    fn pragma(self) -> &'static str {
        match self {
            Self::ProcessDeath => "NORMAL",
            Self::PowerCut => "FULL",
        }
    }
}

/// The stored state. One owner; dropping it closes the file cleanly.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// The file that the connection has open; `None` in memory.
    file: Option<renew::FileIdentity>,
    recovered: Option<PathBuf>,
    damaged_log: Option<PathBuf>,
    /// What the connection is set to.
    durability: Durability,
    /// How much of the audit log is kept.
    bound: AuditBound,
}

impl Store {
    /// Opens the database at `path` and creates it when it is missing; the directory must exist.
    ///
    /// The file and what SQLite keeps beside it have mode 0600 with any umask. An older schema is migrated. A
    /// corrupt file is moved to `<name>.corrupt-<unix time>` and replaced by an empty one;
    /// [`Store::recovered`] then returns its new path.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let path = resolve_directory(path)?;
        let log = damaged_log(&path)?;
        match open_checked(&path) {
            Err(StoreError::Corrupt { .. }) => {
                let kept = quarantine::set_aside(&path)?;
                let connection = open_checked(&path)?;
                Ok(Store { recovered: Some(kept), ..Store::over(connection, path) })
            }
            opened => Ok(Store { damaged_log: log, ..Store::over(opened?, path) }),
        }
    }

    fn over(connection: Connection, path: PathBuf) -> Store {
        let (durability, bound) = (Durability::ProcessDeath, AuditBound::ON_DISK);
        let file = renew::identity(&path);
        Store { connection, path, file, recovered: None, damaged_log: None, durability, bound }
    }

    /// Returns a store that lives and dies with the process: for `--ephemeral` and tests.
    pub fn in_memory() -> Result<Store, StoreError> {
        let path = PathBuf::from(":memory:");
        let fail = |error| StoreError::sqlite(&path, error);
        let mut connection = Connection::open_in_memory().map_err(fail)?;
        schema::migrate(&mut connection).map_err(fail)?;
        Ok(Store::over(connection, path).bounding_audit(AuditBound::IN_MEMORY))
    }

    /// Sets how much of the audit log is kept from now on.
    #[must_use]
    pub fn bounding_audit(self, bound: AuditBound) -> Store {
        Store { bound, ..self }
    }

    /// Returns where the previous file was moved when it was found corrupt. The daemon must report it to the
    /// user.
    pub fn recovered(&self) -> Option<PathBuf> {
        self.recovered.clone()
    }

    /// Returns where the copy of a write-ahead log is that was damaged before its end: the newest changes are
    /// lost, all others are there. The daemon must report it to the user.
    pub fn damaged_log(&self) -> Option<PathBuf> {
        self.damaged_log.clone()
    }

    /// Stores all of `batch` or nothing of it. A file that was removed is written again first. It is durable when this returns, and on the disk as well when
    /// the batch has records that a power cut must not lose.
    pub fn apply(&mut self, batch: &[Change]) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.renew()?;
        let fail = |error| StoreError::sqlite(&self.path, error);
        let durability = Durability::of(batch);
        if durability != self.durability {
            self.connection.pragma_update(None, "synchronous", durability.pragma()).map_err(fail)?;
            self.durability = durability;
        }
        records::apply(&mut self.connection, batch, self.bound).map_err(fail)
    }

    /// Sets how long a call waits for another program before it reports `Locked`.
    pub fn wait_for_others(&self, timeout: Duration) {
        // This sets a number in memory, which SQLite never refuses for an open connection.
        let _always_set = self.connection.busy_timeout(timeout);
    }

    /// Returns everything but the audit log, as one consistent view.
    pub fn load(&self) -> Result<Contents, StoreError> {
        records::load(&self.connection, &self.path, schema::KNOWN)
    }

    /// Appends to the audit log; the row's `hash` is ignored and computed here. Durable when it returns. When
    /// the log is too large, the oldest rows are deleted, and a row records it.
    pub fn audit(&mut self, row: &AuditRow) -> Result<(), StoreError> {
        self.renew()?;
        let appended = audit::append(&mut self.connection, row, self.bound);
        appended.map_err(|error| StoreError::sqlite(&self.path, error))
    }

    /// Returns the newest audit rows not older than `since` (milliseconds since 1970), oldest first; 8 MiB of
    /// them at most.
    pub fn audit_rows(&self, since: i64, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        audit::rows(&self.connection, since, limit).map_err(|error| StoreError::sqlite(&self.path, error))
    }

    /// Recomputes the chain of the audit log as far as it is kept.
    pub fn verify_audit(&self) -> Result<AuditCheck, StoreError> {
        audit::verify(&self.connection, drop).map_err(|error| StoreError::sqlite(&self.path, error))
    }

    /// Returns a reader for another thread; `None` for a store in memory.
    pub fn audit_reader(&self) -> Result<Option<AuditReader>, StoreError> {
        self.path.is_absolute().then(|| AuditReader::open(&self.path)).transpose()
    }

    /// Makes the database report a full disk beyond its present size plus `pages`, so that tests need no mount.
    #[cfg(test)]
    pub(crate) fn limit_growth(&self, pages: Option<i64>) {
        let used: i64 = self.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let limit = pages.map_or(i64::from(u32::MAX - 2), |more| used + more);
        self.connection.pragma_update_and_check(None, "max_page_count", limit, |_| Ok(())).unwrap();
    }
}

/// Returns the real directory plus the file's own name: links are fine on the way to the directory, never as
/// the file.
fn resolve_directory(path: &Path) -> Result<PathBuf, StoreError> {
    let Some(name) = path.file_name() else {
        return Err(StoreError::refused(path, "it does not name a file"));
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory = fs::canonicalize(directory).map_err(|source| StoreError::io(directory, source))?;
    Ok(directory.join(name))
}

/// Copies a log that has commits which SQLite will not find, and returns the copy's path. Opening the
/// database reports a log that cannot be read. When the copy fails, the database is not opened, because
/// opening it would overwrite the log.
fn damaged_log(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let log = quarantine::with_suffix(path, "-wal");
    let is_plain = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
    if !is_plain(path) || !is_plain(&log) {
        return Ok(None);
    }
    let is_damaged = fs::read(log).is_ok_and(|bytes| write_ahead_log::has_unreadable_commits(&bytes));
    is_damaged.then(|| quarantine::keep_log(path)).transpose()
}

/// Opens the database and checks it before anything is written to an existing file. A file that fails keeps
/// its log: closing must not merge the log into a file that is about to be moved away.
fn open_checked(path: &Path) -> Result<Connection, StoreError> {
    quarantine::set_aside_orphan_log(path)?;
    assert_private(path)?;
    create_private(path)?;
    let fail = |error| StoreError::sqlite(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let mut connection = Connection::open_with_flags(path, flags).map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(fail)?;
    connection.pragma_update(None, "cell_size_check", true).map_err(fail)?;
    let found = schema::check(&connection, path)?;
    configure(&connection).map_err(fail)?;
    if found < schema::KNOWN {
        schema::migrate(&mut connection).map_err(|error| schema::suspect(path, error))?;
        schema::check(&connection, path)?;
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(fail)?;
    assert_private(path)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", Durability::ProcessDeath.pragma())?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_LIMIT_BYTES, |_| Ok(()))
}

/// Creates the file before SQLite does, which would use the umask's mode. The log inherits the mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let fail = |source| StoreError::io(path, source);
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => {
            // A strict umask removes bits from the owner too; this sets them again.
            file.set_permissions(Permissions::from_mode(0o600)).map_err(fail)?;
            atomic::sync_directory_of(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(fail(error)),
    }
}

/// Restricts the mode of our own files that are too open and refuses files of others. It works by path
/// without opening them: closing any descriptor of a database drops the locks of every connection that this
/// process has to it.
fn assert_private(path: &Path) -> Result<(), StoreError> {
    for suffix in FILES {
        let file = quarantine::with_suffix(path, suffix);
        let found = match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found.map_err(|source| StoreError::io(&file, source))?,
        };
        if !found.is_file() {
            return Err(StoreError::refused(&file, "it is not a regular file; move it away"));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(StoreError::refused(&file, format!("it belongs to user {}", found.uid())));
        }
        if found.nlink() > 1 {
            return Err(StoreError::refused(&file, "it has a second name (hard link); remove that one"));
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(&file, Permissions::from_mode(0o600))
                .map_err(|source| StoreError::io(&file, source))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
