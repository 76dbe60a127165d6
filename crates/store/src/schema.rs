//! The tables and their migrations, and the check of a whole file. Migrations only go forward.

use std::path::Path;

use rusqlite::ffi::{Error, SQLITE_CORRUPT};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::{StoreError, old_tables, records};

/// The newest schema this build knows.
pub(crate) const KNOWN: i64 = STEPS.len() as i64;

/// Marks the file as ours, so that another program's database is refused rather than moved: "QDst".
const APPLICATION_ID: i64 = 0x5144_7374;

/// Step `n` leads from schema `n` to `n + 1`. A released step is never edited: files with it exist, and
/// `check` compares their tables with what the steps produce. New needs get a new step.
///
/// No table has an index beside its own tree, because the quick check would not compare them and they could
/// disagree.
const STEPS: [&str; 6] = [
    // 1: what the engine records. `seal` is a checksum that makes a changed byte inside a record detectable.
    "CREATE TABLE processes (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL,
        seal BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE runs (
        process TEXT NOT NULL REFERENCES processes (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
        run INTEGER NOT NULL,
        document TEXT NOT NULL,
        seal BLOB NOT NULL,
        PRIMARY KEY (process, run)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE settings (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        seal BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        process TEXT,
        document TEXT NOT NULL
    ) STRICT;",
    // 2: the audit log. AUTOINCREMENT remembers the highest id, so a cut tail leaves a trace.
    "CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at_ms INTEGER NOT NULL,
        caller TEXT NOT NULL,
        verb TEXT NOT NULL,
        target TEXT,
        decision TEXT NOT NULL,
        detail TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
    CREATE TRIGGER audit_keeps_values BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;",
    // 3: the messages to agents and their turns. Neither refers to its process: a receipt outlives its
    // process, and a turn that lost its process must not make the whole batch fail.
    "CREATE TABLE mail (
        id INTEGER PRIMARY KEY,
        document TEXT NOT NULL,
        seal BLOB NOT NULL
    ) STRICT;
    CREATE TABLE turns (
        process TEXT NOT NULL,
        turn INTEGER NOT NULL,
        document TEXT NOT NULL,
        seal BLOB NOT NULL,
        PRIMARY KEY (process, turn)
    ) STRICT, WITHOUT ROWID;",
    // 4: small documents of several kinds: timers, grants, trust, questions.
    "CREATE TABLE documents (
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        document TEXT NOT NULL,
        seal BLOB NOT NULL,
        PRIMARY KEY (kind, id)
    ) STRICT, WITHOUT ROWID;",
    // 5: the audit log has a limit: its oldest segments may be deleted, and only those. The tables for runs
    // and events go: a run is in its process's record, events are not kept, and neither table was ever
    // written.
    "DROP TABLE runs;
    DROP TABLE events;
    CREATE TABLE audit_segments (
        last INTEGER PRIMARY KEY,
        hash TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        is_kept INTEGER NOT NULL
    ) STRICT;
    DROP TRIGGER audit_keeps_rows;
    CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit
        WHEN NOT EXISTS (SELECT 1 FROM audit_segments WHERE last >= OLD.id AND is_kept = 0)
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;",
    // 6: one table for all records. `migrate` moves the rows, because SQL cannot compute their checksums.
    "DROP TABLE processes;
    DROP TABLE settings;
    DROP TABLE mail;
    DROP TABLE turns;",
];

/// The first schema that has documents of several kinds.
pub(crate) const WITH_DOCUMENTS: i64 = 4;

/// Runs every missing step in one transaction: a kill in between leaves the old schema, whole.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have migrated since the check.
    let found = number(&transaction, "user_version")?;
    let old = old_tables::read(&transaction, found)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    for row in old {
        if !row.is_whole {
            // The check found it whole: it was damaged since.
            return Err(rusqlite::Error::SqliteFailure(Error::new(SQLITE_CORRUPT), None));
        }
        records::put(&transaction, row.kind, &row.id, &row.document)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", KNOWN)?;
    transaction.commit()
}

/// Reads the whole file without writing to it and returns its schema version; 0 is an empty file.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let found = identify(connection, path)?;
    if found == 0 {
        return Ok(0);
    }
    let fail = |error| suspect(path, error);
    let answer: String = connection.query_row("PRAGMA quick_check(1)", (), |row| row.get(0)).map_err(fail)?;
    if answer != "ok" {
        return Err(StoreError::corrupt(path, answer));
    }
    // A header that claims a newer file format makes the file read-only for us; we never write such a header.
    if connection.is_readonly("main").map_err(fail)? {
        return Err(StoreError::corrupt(path, "its header says that it may not be written"));
    }
    let present = entries(connection).map_err(fail)?;
    let claimed = expected(found).map_err(fail)?;
    if let Some((name, _)) = claimed.iter().find(|entry| !present.contains(entry)) {
        return Err(StoreError::corrupt(path, format!("`{name}` is missing or altered")));
    }
    // A version that was damaged downwards: migrating would create tables that exist already.
    let later = expected(KNOWN).map_err(fail)?;
    let is_later = |entry: &&(String, String)| !claimed.contains(entry) && later.contains(entry);
    if let Some((name, _)) = present.iter().find(is_later) {
        return Err(StoreError::corrupt(path, format!("`{name}` is newer than its version says")));
    }
    // A version that was damaged upwards: the records in the tables that it no longer has would be lost.
    let is_left = |entry: &&(String, String)| is_of_older_schema(entry, found).unwrap_or(true);
    if let Some((name, _)) = present.iter().filter(|entry| !claimed.contains(entry)).find(is_left) {
        return Err(StoreError::corrupt(path, format!("`{name}` is older than its version says")));
    }
    records::load(connection, path, found)?;
    Ok(found)
}

/// Returns true for a table that a schema before this one had.
fn is_of_older_schema(entry: &(String, String), version: i64) -> rusqlite::Result<bool> {
    for older in 1..version {
        if expected(older)?.contains(entry) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// During the check of a file, SQL that fails to compile means that its tables are not what they claim.
pub(crate) fn suspect(path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::Unknown) => StoreError::corrupt(path, error.to_string()),
        _ => StoreError::sqlite(path, error),
    }
}

fn identify(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let fail = |error| suspect(path, error);
    let application = number(connection, "application_id").map_err(fail)?;
    let version = number(connection, "user_version").map_err(fail)?;
    match (application, version) {
        (0, 0) if is_stub(path) => Err(StoreError::corrupt(path, "it is cut short")),
        (0, 0) if entries(connection).map_err(fail)?.is_empty() => Ok(0),
        (APPLICATION_ID, found) if found > KNOWN => Err(StoreError::Newer { found, known: KNOWN }),
        (APPLICATION_ID, found) if found > 0 => Ok(found),
        (APPLICATION_ID, found) => Err(StoreError::corrupt(path, format!("schema version {found}"))),
        _ => Err(StoreError::refused(path, "it is a database of another program; move it away")),
    }
}

/// Returns true for a file shorter than SQLite's smallest page. SQLite would treat it as empty and overwrite
/// it.
fn is_stub(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| (1..512).contains(&found.len()))
}

/// Returns name and SQL of every table and trigger in the file. White space does not count; otherwise
/// indenting a step differently would make every existing file corrupt.
fn entries(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement =
        connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")?;
    let found = statement.query_map((), |row| {
        let text: String = row.get(1)?;
        Ok((row.get(0)?, text.split_whitespace().collect::<Vec<_>>().join(" ")))
    })?;
    found.collect()
}

/// Returns what `entries` finds in a healthy file of schema `version`.
fn expected(version: i64) -> rusqlite::Result<Vec<(String, String)>> {
    let reference = Connection::open_in_memory()?;
    for step in STEPS.iter().take(usize::try_from(version).unwrap_or(0)) {
        reference.execute_batch(step)?;
    }
    entries(&reference)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}
