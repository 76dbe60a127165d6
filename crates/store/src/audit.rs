//! The audit log: who asked for what and what was decided. Rows are only ever added.
//!
//! The rows form one chain: each carries a hash over the one before it. The chain is cut into segments, and
//! the oldest segments are deleted when all together are too large. A row of the chain records which ones
//! were deleted and the hash of their last row, so that a reader knows where the kept part begins and that
//! nothing else was cut off.
//!
//! | file | what it has |
//! |---|---|
//! | `segments` | when a segment ends, and which ones are deleted |
//! | `verify` | [`AuditCheck`]: the check of the chain |
//! | `reader` | [`AuditReader`]: reading from another thread |

mod reader;
mod segments;
mod verify;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

pub use reader::AuditReader;
pub use segments::AuditBound;
pub use verify::AuditCheck;
pub(crate) use verify::verify;

/// What the first row names as the hash before it.
const BEGINNING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Bytes of the longest text in a row. Rows name who, what and how much, and need no more. The bound on rows
/// bounds the disk only while each row is small.
const MAX_TEXT: usize = 4096;

/// Bytes of text in the rows of one query: twice what a reply can carry.
const MAX_ROWS: usize = 8 << 20; // 8 MiB

/// One decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditRow {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who asked.
    pub caller: String,
    /// For what.
    pub verb: String,
    /// The target.
    pub target: Option<String>,
    /// What was decided.
    pub decision: String,
    /// Why, or with which arguments.
    pub detail: String,
    /// SHA-256 in hex over the hash of the row before and the fields of this one. Computed when stored.
    pub hash: String,
}

/// Appends a row with the chain's next hash. It takes the write lock first: two writers must not continue
/// from the same row.
///
/// Control characters are stored in escaped form, so that a printed row cannot forge another line.
pub(crate) fn append(connection: &mut Connection, row: &AuditRow, bound: AuditBound) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    append_in(&transaction, row, bound)?;
    transaction.commit()
}

/// Appends a row inside a batch, which has the write lock already. A segment ends in the same transaction, so
/// a row is never in two segments or in none.
pub(crate) fn append_in(
    transaction: &Transaction<'_>,
    row: &AuditRow,
    bound: AuditBound,
) -> rusqlite::Result<()> {
    let id = insert(transaction, row)?;
    segments::rotate(transaction, id, row.at_ms, bound)
}

/// Adds one row to the chain and returns its number.
fn insert(transaction: &Transaction<'_>, row: &AuditRow) -> rusqlite::Result<i64> {
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
        .insert(params![row.at_ms, row.caller, row.verb, row.target, row.decision, row.detail, hash])
}

/// Returns the newest rows from `since` on, oldest first, up to [`MAX_ROWS`] bytes.
pub(crate) fn rows(connection: &Connection, since: i64, limit: usize) -> rusqlite::Result<Vec<AuditRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, at_ms, caller, verb, target, decision, detail, hash FROM audit
         WHERE at_ms >= ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = statement.query(params![since, limit])?;
    let (mut newest, mut room) = (Vec::new(), MAX_ROWS);
    while let Some(row) = found.next()? {
        let (_, row) = read(row)?;
        match room.checked_sub(length(&row)) {
            Some(left) => room = left,
            None => break,
        }
        newest.push(row);
    }
    newest.reverse();
    Ok(newest)
}

/// Bytes of a row's texts.
fn length(row: &AuditRow) -> usize {
    let target = row.target.as_deref().unwrap_or_default();
    let texts = [row.caller.as_str(), &row.verb, target, &row.decision, &row.detail, &row.hash];
    texts.iter().map(|text| text.len()).sum()
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

/// Hashes every field with its length, so that moving text from one field to its neighbour changes the hash.
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
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    hash.finalize().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
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

/// Escapes control characters: a caller that has not made its text printable still cannot forge a line. A text
/// that is too long is cut and marked as cut.
fn escape(text: &str) -> String {
    let kept = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
    let mut clean = String::with_capacity(kept.len());
    for character in kept.chars() {
        match character.is_control() {
            true => clean.extend(character.escape_unicode()),
            false => clean.push(character),
        }
    }
    if kept.len() < text.len() {
        clean.push_str(&format!(" … ({} bytes in all)", text.len()));
    }
    clean
}

#[cfg(test)]
mod tests;
