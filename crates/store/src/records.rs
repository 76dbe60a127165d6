//! The records of the engine (processes, mail, turns, settings, small documents) in one table of documents,
//! each with its kind and its id. Documents are stored as opaque text.

use std::path::Path;

use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::{AuditBound, AuditRow, StoreError, audit, old_tables, schema};

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

/// The stored record of one turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredTurn {
    /// Whose turn it is.
    pub process: String,
    /// Its number.
    pub turn: i64,
    /// The record.
    pub document: String,
}

/// A stored record of a kind that the caller names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredDocument {
    /// The kind.
    pub kind: String,
    /// Its id among those of the kind.
    pub id: String,
    /// The record.
    pub document: String,
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
    /// The turns of agents.
    pub turns: Vec<StoredTurn>,
    /// Everything else.
    pub documents: Vec<StoredDocument>,
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

/// The kinds of documents that have changes of their own; the others are named by the caller.
pub(crate) const PROCESS: &str = "process";
pub(crate) const SETTING: &str = "setting";
pub(crate) const MAIL: &str = "mail";
pub(crate) const TURN: &str = "turn";

/// Returns the id of a message's document: as many digits as the largest number has, so that the order of
/// texts is the order of numbers.
pub(crate) fn mail_id(number: i64) -> String {
    format!("{number:019}")
}

/// Returns the id of a turn's document: those of one process are beside each other, in their order.
pub(crate) fn turn_id(process: &str, turn: i64) -> String {
    format!("{process}/{turn:019}")
}

/// Loads one consistent view of a file of this schema. A record whose checksum does not match is corruption,
/// not data.
pub(crate) fn load(connection: &Connection, path: &Path, version: i64) -> Result<Contents, StoreError> {
    let fail = |error| StoreError::sqlite(path, error);
    let view = connection.unchecked_transaction().map_err(fail)?;
    let mut contents = Contents::default();
    for row in old_tables::read(&view, version).map_err(fail)? {
        check_checksum(path, row.is_whole, row.kind)?;
        contents.add(path, row.kind.to_owned(), row.id, row.document)?;
    }
    if version >= schema::WITH_DOCUMENTS {
        let found = rows(&view, "SELECT kind, id, document, seal FROM documents", document).map_err(fail)?;
        for (kind, id, document, found) in found {
            check_checksum(path, found == checksum(&["document", &kind, &id, &document]), &kind)?;
            contents.add(path, kind, id, document)?;
        }
    }
    Ok(contents)
}

impl Contents {
    fn add(&mut self, path: &Path, kind: String, id: String, document: String) -> Result<(), StoreError> {
        let no_number = || StoreError::corrupt(path, format!("a {kind} has the id {id}"));
        match kind.as_str() {
            PROCESS => self.processes.push((id, document)),
            SETTING => self.settings.push((id, document)),
            MAIL => self.mail.push((id.parse().map_err(|_| no_number())?, document)),
            TURN => {
                let (process, turn) = id.rsplit_once('/').ok_or_else(no_number)?;
                let turn = turn.parse().map_err(|_| no_number())?;
                self.turns.push(StoredTurn { process: process.to_owned(), turn, document });
            }
            _ => self.documents.push(StoredDocument { kind, id, document }),
        }
        Ok(())
    }
}

fn check_checksum(path: &Path, fits: bool, what: &str) -> Result<(), StoreError> {
    match fits {
        true => Ok(()),
        false => Err(StoreError::corrupt(path, format!("a {what} does not fit its checksum"))),
    }
}

fn write(transaction: &Transaction<'_>, change: &Change, bound: AuditBound) -> rusqlite::Result<()> {
    match change {
        Change::PutProcess { id, document } => put(transaction, PROCESS, id, document),
        Change::RemoveProcess { id } => {
            remove_turns(transaction, id)?;
            remove(transaction, PROCESS, id)
        }
        Change::PutMail { id, document } => put(transaction, MAIL, &mail_id(*id), document),
        Change::RemoveMail { id } => remove(transaction, MAIL, &mail_id(*id)),
        Change::PutTurn { process, turn, document } => {
            put(transaction, TURN, &turn_id(process, *turn), document)
        }
        Change::RemoveTurn { process, turn } => remove(transaction, TURN, &turn_id(process, *turn)),
        Change::PutDocument { kind, id, document } => put(transaction, kind, id, document),
        Change::RemoveDocument { kind, id } => remove(transaction, kind, id),
        Change::Audit(row) => audit::append_in(transaction, row, bound),
        Change::Setting { key, value } => put(transaction, SETTING, key, value),
    }
}

/// Creates or replaces a document.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    kind: &str,
    id: &str,
    document: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO documents (kind, id, document, seal) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET document = excluded.document, seal = excluded.seal",
        )?
        .execute(params![kind, id, document, checksum(&["document", kind, id, document])])
        .map(drop)
}

fn remove(transaction: &Transaction<'_>, kind: &str, id: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM documents WHERE kind = ?1 AND id = ?2";
    transaction.prepare_cached(sql)?.execute(params![kind, id]).map(drop)
}

/// Removes the turns of a process: `0` is the character after `/`.
fn remove_turns(transaction: &Transaction<'_>, process: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM documents WHERE kind = ?1 AND id >= ?2 AND id < ?3";
    let (first, after) = (format!("{process}/"), format!("{process}0"));
    transaction.prepare_cached(sql)?.execute(params![TURN, first, after]).map(drop)
}

/// Returns what a query finds.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map((), read)?;
    found.collect()
}

fn document(row: &Row<'_>) -> rusqlite::Result<(String, String, String, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

/// Checksums a record against bit rot and stray writes, not against people, so eight bytes suffice. SQLite
/// has no checksum over pages: without it a flipped byte inside a document would be read as data.
pub(crate) fn checksum(fields: &[&str]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    }
    hash.finalize()[..8].to_vec()
}

#[cfg(test)]
mod tests;
