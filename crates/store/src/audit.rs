//! The audit log: who asked for what and what was decided. Owns the chain of hashes; refuses to change a row.

mod reader;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

pub use reader::AuditReader;

/// What the first row names as the hash before it.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditRow {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who asked.
    pub caller: String,
    /// For what.
    pub verb: String,
    /// On whom.
    pub target: Option<String>,
    /// What was decided.
    pub decision: String,
    /// Why, or with which arguments.
    pub detail: String,
    /// SHA-256 in hex over the hash of the row before and the fields of this one. Computed when stored.
    pub hash: String,
}

/// What a look at the whole chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditCheck {
    /// Every row fits. Noting `head` elsewhere makes a later rewrite of the whole log visible too.
    Intact {
        /// How many rows there are.
        rows: u64,
        /// The hash of the newest row.
        head: String,
    },
    /// From `row` (counted from 1) on the log is not what was written.
    Broken {
        /// The first row that does not fit.
        row: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// Appends with the chain's next hash. The write lock comes first: two writers must not continue one head.
///
/// Control characters are stored in escaped form, so that a shown row cannot forge another line.
pub(crate) fn append(connection: &mut Connection, row: &AuditRow) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    append_in(&transaction, row)?;
    transaction.commit()
}

/// The same inside a batch, which has the write lock already.
pub(crate) fn append_in(transaction: &Transaction<'_>, row: &AuditRow) -> rusqlite::Result<()> {
    let before: Option<String> = transaction
        .prepare_cached("SELECT hash FROM audit ORDER BY id DESC LIMIT 1")?
        .query_row((), |found| found.get(0))
        .optional()?;
    let row = escaped(row);
    let hash = chain(before.as_deref().unwrap_or(BEGINNING), &row);
    transaction
        .prepare_cached(
            "INSERT INTO audit (at_ms, caller, verb, target, decision, detail, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![row.at_ms, row.caller, row.verb, row.target, row.decision, row.detail, hash])
        .map(drop)
}

/// The newest rows from a moment on, oldest first.
pub(crate) fn rows(connection: &Connection, since: i64, limit: usize) -> rusqlite::Result<Vec<AuditRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, at_ms, caller, verb, target, decision, detail, hash FROM audit
         WHERE at_ms >= ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement.query_map(params![since, limit], |row| read(row).map(|(_, row)| row))?;
    let mut newest = found.collect::<rusqlite::Result<Vec<AuditRow>>>()?;
    newest.reverse();
    Ok(newest)
}

/// Walks the chain from its beginning.
pub(crate) fn verify(connection: &Connection) -> rusqlite::Result<AuditCheck> {
    let broken = |row, reason: &str| Ok(AuditCheck::Broken { row, reason: reason.to_owned() });
    let mut statement = connection.prepare_cached(
        "SELECT id, at_ms, caller, verb, target, decision, detail, hash FROM audit ORDER BY id",
    )?;
    let mut found = statement.query(())?;
    let (mut count, mut head) = (0_u64, BEGINNING.to_owned());
    while let Some(row) = found.next()? {
        let Ok((id, row)) = read(row) else {
            return broken(count + 1, "the row cannot be read");
        };
        if u64::try_from(id) != Ok(count + 1) {
            return broken(count + 1, "the row is missing");
        }
        if row.hash != chain(&head, &row) {
            return broken(count + 1, "the row does not follow from the one before it");
        }
        (count, head) = (count + 1, row.hash);
    }
    match highest_id(connection)? == count {
        true => Ok(AuditCheck::Intact { rows: count, head }),
        false => broken(count + 1, "the row is missing at the end"),
    }
}

/// The highest id ever given out, which outlives the row that had it.
fn highest_id(connection: &Connection) -> rusqlite::Result<u64> {
    let found: Option<i64> = connection
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'audit'", (), |row| row.get(0))
        .optional()?;
    Ok(found.and_then(|id| u64::try_from(id).ok()).unwrap_or(0))
}

fn read(row: &Row<'_>) -> rusqlite::Result<(i64, AuditRow)> {
    let entry = AuditRow {
        at_ms: row.get(1)?,
        caller: row.get(2)?,
        verb: row.get(3)?,
        target: row.get(4)?,
        decision: row.get(5)?,
        detail: row.get(6)?,
        hash: row.get(7)?,
    };
    Ok((row.get(0)?, entry))
}

/// Every field with its length, so that moving text from one field to its neighbour changes the hash.
fn chain(before: &str, row: &AuditRow) -> String {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(row.at_ms.to_le_bytes());
    hash.update([u8::from(row.target.is_some())]);
    let target = row.target.as_deref().unwrap_or_default();
    for field in [&row.caller, &row.verb, target, &row.decision, &row.detail] {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn escaped(row: &AuditRow) -> AuditRow {
    AuditRow {
        at_ms: row.at_ms,
        caller: escape(&row.caller),
        verb: escape(&row.verb),
        target: row.target.as_deref().map(escape),
        decision: escape(&row.decision),
        detail: escape(&row.detail),
        hash: String::new(),
    }
}

/// Control characters, and the ones that reorder text or break lines without being control characters.
fn escape(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {
                clean.extend(character.escape_unicode());
            }
            _ if character.is_control() => clean.extend(character.escape_unicode()),
            _ => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests;
