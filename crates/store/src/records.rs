//! The records of the engine (processes, mail, turns, settings, small documents) and their SQL. Documents are
//! stored as opaque text.

use std::path::Path;

use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::{AuditBound, AuditRow, StoreError, audit, schema};

/// One thing to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Creates or replaces the document of a process; its turns stay.
    PutProcess {
        /// The process.
        id: String,
        /// What is kept of it.
        document: String,
    },
    /// Removes a process with its turns; an unknown one is no error.
    RemoveProcess {
        /// The process.
        id: String,
    },
    /// Creates or replaces the document of a message.
    PutMail {
        /// The message.
        id: i64,
        /// What is kept of it.
        document: String,
    },
    /// Removes a message; an unknown one is no error.
    RemoveMail {
        /// The message.
        id: i64,
    },
    /// Creates or replaces the document of a turn.
    PutTurn {
        /// The process.
        process: String,
        /// The number of the turn within the process.
        turn: i64,
        /// What is kept of it.
        document: String,
    },
    /// Removes a turn; an unknown one is no error.
    RemoveTurn {
        /// The process.
        process: String,
        /// The number of the turn within the process.
        turn: i64,
    },
    /// Creates or replaces a document of some other kind.
    PutDocument {
        /// Its kind.
        kind: &'static str,
        /// Which of that kind.
        id: String,
        /// What is kept of it.
        document: String,
    },
    /// Removes a document; an unknown one is no error.
    RemoveDocument {
        /// Its kind.
        kind: &'static str,
        /// Which of that kind.
        id: String,
    },
    /// Appends to the audit log, in the order of the batch.
    Audit(AuditRow),
    /// Creates or replaces a setting.
    Setting {
        /// Its name.
        key: String,
        /// Its value.
        value: String,
    },
}

/// Everything stored but the audit log, each list in the order of its key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Id and document.
    pub processes: Vec<(String, String)>,
    /// Key and value.
    pub settings: Vec<(String, String)>,
    /// Number and document.
    pub mail: Vec<(i64, String)>,
    /// Process, number of the turn, document.
    pub turns: Vec<(String, i64, String)>,
    /// Kind, id, document.
    pub documents: Vec<(String, String, String)>,
}

/// Stores all of `batch` in one transaction. It takes the lock at the start, so a busy file fails before any
/// work.
pub(crate) fn apply(
    connection: &mut Connection,
    batch: &[Change],
    bound: AuditBound,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for change in batch {
        write(&transaction, change, bound)?;
    }
    transaction.commit()
}

/// Loads one consistent view of a file of this schema. A record whose checksum does not match is corruption,
/// not data.
pub(crate) fn load(connection: &Connection, path: &Path, version: i64) -> Result<Contents, StoreError> {
    let fail = |error| StoreError::sqlite(path, error);
    let view = connection.unchecked_transaction().map_err(fail)?;
    let sealed = |fits: bool, what: &str| check_seal(path, fits, what);
    let mut contents = Contents::default();
    for (id, document, found) in
        rows(&view, "SELECT id, document, seal FROM processes", pair).map_err(fail)?
    {
        sealed(found == seal(&["process", &id, &document]), "a process")?;
        contents.processes.push((id, document));
    }
    for (key, value, found) in rows(&view, "SELECT key, value, seal FROM settings", pair).map_err(fail)? {
        sealed(found == seal(&["setting", &key, &value]), "a setting")?;
        contents.settings.push((key, value));
    }
    if version >= schema::WITH_MAIL {
        load_mail(&view, path, &mut contents)?;
    }
    if version >= schema::WITH_DOCUMENTS {
        load_documents(&view, path, &mut contents)?;
    }
    Ok(contents)
}

fn load_mail(view: &Connection, path: &Path, contents: &mut Contents) -> Result<(), StoreError> {
    let fail = |error| StoreError::sqlite(path, error);
    for (id, document, found) in rows(view, "SELECT id, document, seal FROM mail", numbered).map_err(fail)? {
        check_seal(path, found == seal(&["mail", &id.to_string(), &document]), "a message")?;
        contents.mail.push((id, document));
    }
    for (process, turn, document, found) in
        rows(view, "SELECT process, turn, document, seal FROM turns", turn).map_err(fail)?
    {
        check_seal(path, found == seal(&["turn", &process, &turn.to_string(), &document]), "a turn")?;
        contents.turns.push((process, turn, document));
    }
    Ok(())
}

fn load_documents(view: &Connection, path: &Path, contents: &mut Contents) -> Result<(), StoreError> {
    let fail = |error| StoreError::sqlite(path, error);
    let found = rows(view, "SELECT kind, id, document, seal FROM documents", kinded).map_err(fail)?;
    for (kind, id, document, found) in found {
        check_seal(path, found == seal(&["document", &kind, &id, &document]), "a document")?;
        contents.documents.push((kind, id, document));
    }
    Ok(())
}

fn check_seal(path: &Path, fits: bool, what: &str) -> Result<(), StoreError> {
    match fits {
        true => Ok(()),
        false => Err(StoreError::corrupt(path, format!("{what} does not fit its seal"))),
    }
}

fn write(transaction: &Transaction<'_>, change: &Change, bound: AuditBound) -> rusqlite::Result<()> {
    match change {
        Change::PutProcess { id, document } => put_process(transaction, id, document),
        Change::RemoveProcess { id } => {
            remove(transaction, "DELETE FROM turns WHERE process = ?1", id)?;
            remove(transaction, "DELETE FROM processes WHERE id = ?1", id)
        }
        Change::PutMail { id, document } => put_mail(transaction, *id, document),
        Change::RemoveMail { id } => {
            transaction.prepare_cached("DELETE FROM mail WHERE id = ?1")?.execute([*id]).map(drop)
        }
        Change::PutTurn { process, turn, document } => put_turn(transaction, process, *turn, document),
        Change::RemoveTurn { process, turn } => transaction
            .prepare_cached("DELETE FROM turns WHERE process = ?1 AND turn = ?2")?
            .execute(params![process, turn])
            .map(drop),
        Change::PutDocument { kind, id, document } => put_document(transaction, kind, id, document),
        Change::RemoveDocument { kind, id } => transaction
            .prepare_cached("DELETE FROM documents WHERE kind = ?1 AND id = ?2")?
            .execute(params![kind, id])
            .map(drop),
        Change::Audit(row) => audit::append_in(transaction, row, bound),
        Change::Setting { key, value } => put_setting(transaction, key, value),
    }
}

fn put_process(transaction: &Transaction<'_>, id: &str, document: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO processes (id, document, seal) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET document = excluded.document, seal = excluded.seal",
        )?
        .execute(params![id, document, seal(&["process", id, document])])
        .map(drop)
}

fn put_mail(transaction: &Transaction<'_>, id: i64, document: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO mail (id, document, seal) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET document = excluded.document, seal = excluded.seal",
        )?
        .execute(params![id, document, seal(&["mail", &id.to_string(), document])])
        .map(drop)
}

fn put_turn(transaction: &Transaction<'_>, process: &str, turn: i64, document: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO turns (process, turn, document, seal) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET document = excluded.document, seal = excluded.seal",
        )?
        .execute(params![process, turn, document, seal(&["turn", process, &turn.to_string(), document])])
        .map(drop)
}

fn put_document(transaction: &Transaction<'_>, kind: &str, id: &str, document: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO documents (kind, id, document, seal) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET document = excluded.document, seal = excluded.seal",
        )?
        .execute(params![kind, id, document, seal(&["document", kind, id, document])])
        .map(drop)
}

fn put_setting(transaction: &Transaction<'_>, key: &str, value: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO settings (key, value, seal) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET value = excluded.value, seal = excluded.seal",
        )?
        .execute(params![key, value, seal(&["setting", key, value])])
        .map(drop)
}

fn remove(transaction: &Transaction<'_>, sql: &str, key: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached(sql)?.execute([key]).map(drop)
}

fn rows<T>(
    connection: &Connection,
    sql: &str,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map((), read)?;
    found.collect()
}

fn pair(row: &Row<'_>) -> rusqlite::Result<(String, String, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn numbered(row: &Row<'_>) -> rusqlite::Result<(i64, String, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn turn(row: &Row<'_>) -> rusqlite::Result<(String, i64, String, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn kinded(row: &Row<'_>) -> rusqlite::Result<(String, String, String, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

/// Checksums a record against bit rot and stray writes, not against people, so eight bytes suffice. SQLite
/// has no checksum over pages: without it a flipped byte inside a document would be read as data.
fn seal(fields: &[&str]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    }
    hash.finalize()[..8].to_vec()
}

#[cfg(test)]
mod tests;
