//! Limits the length of the audit log: a segment ends after a number of rows, and the oldest segments are
//! deleted when all together are too large.
//!
//! Every deletion adds a row that records it. The segment being written stays. One call deletes only a few
//! segments, because the caller that adds a row waits for it.

use rusqlite::{OptionalExtension, Transaction, params};

use super::{AuditRow, insert};

/// How much of the audit log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditBound {
    /// Rows of one segment. Whole segments are deleted.
    pub segment_rows: u32,
    /// Bytes of all segments together, without the one being written. The newest whole one always stays.
    pub bytes: u64,
}

impl AuditBound {
    /// On a disk: about a quarter of a million decisions, or three weeks with ten thousand a day. Verifying
    /// all of them takes half a second; every start of the daemon reads the file once, which takes a tenth of
    /// one. Deleting a segment delays the row that triggers it by a few milliseconds.
    pub(crate) const ON_DISK: Self = Self { segment_rows: 4096, bytes: 32 << 20 }; // 32 MiB
    /// In memory: the daemon's own, which only the store's thread can verify.
    pub(crate) const IN_MEMORY: Self = Self { segment_rows: 1024, bytes: 1 << 20 }; // 1 MiB
}

/// The most segments that are ended or deleted with one row. A log from before there were segments is divided
/// little by little.
const AT_ONCE: usize = 4;

/// The size of a row beside its texts: its hash, its number, its time and the database's overhead.
const ROW_BYTES: i64 = 96;

/// The caller and the verb of the row that records a deletion.
const CALLER: &str = "quarterdeck";
const VERB: &str = "forget";

/// Where the kept part of the chain begins: the last deleted row and its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChainStart {
    pub(super) id: i64,
    pub(super) hash: String,
}

impl ChainStart {
    /// Returns true if this row records that the chain begins here.
    pub(super) fn is_told_by(&self, row: &AuditRow) -> bool {
        is_farewell(row) && row.detail == self.words()
    }

    fn words(&self) -> String {
        format!("rows up to {} are no longer kept; the hash of the last was {}", self.id, self.hash)
    }
}

/// Returns true if this row records a deletion.
pub(super) fn is_farewell(row: &AuditRow) -> bool {
    row.caller == CALLER && row.verb == VERB
}

/// Ends full segments and deletes the oldest ones, after row `id` was added.
pub(super) fn rotate(
    transaction: &Transaction<'_>,
    id: i64,
    at_ms: i64,
    bound: AuditBound,
) -> rusqlite::Result<()> {
    let length = i64::from(bound.segment_rows.max(1));
    let mut sealed = newest_end(transaction)?;
    if id - sealed < length {
        return Ok(());
    }
    for _ in 0..AT_ONCE {
        sealed = seal(transaction, sealed, length)?.unwrap_or(sealed);
    }
    let mut start = None;
    for _ in 0..AT_ONCE {
        if kept_bytes(transaction)? > bound.bytes {
            start = let_go_of_oldest(transaction, sealed)?.or(start);
        }
    }
    match start {
        Some(start) => insert(transaction, &farewell(&start, at_ms)).map(drop),
        None => Ok(()),
    }
}

fn newest_end(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    let found: Option<i64> = transaction
        .prepare_cached("SELECT last FROM audit_segments ORDER BY last DESC LIMIT 1")?
        .query_row((), |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}

/// Ends a segment of `length` rows after the one that ended at `after`, if there are that many. It records
/// the hash of the last row, from which the next segment continues. It counts rows, not ids, so that a log
/// with a hole can still be written.
fn seal(transaction: &Transaction<'_>, after: i64, length: i64) -> rusqlite::Result<Option<i64>> {
    let last: Option<i64> = transaction
        .prepare_cached("SELECT id FROM audit WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2")?
        .query_row([after, length - 1], |row| row.get(0))
        .optional()?;
    let Some(last) = last else { return Ok(None) };
    transaction
        .prepare_cached(
            "INSERT INTO audit_segments (last, hash, bytes, is_kept)
             SELECT ?2, (SELECT hash FROM audit WHERE id = ?2), sum(?3
                + octet_length(caller) + octet_length(verb) + coalesce(octet_length(target), 0)
                + octet_length(decision) + octet_length(detail)), 1
             FROM audit WHERE id > ?1 AND id <= ?2",
        )?
        .execute(params![after, last, ROW_BYTES])?;
    Ok(Some(last))
}

fn kept_bytes(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    let found: i64 = transaction
        .prepare_cached("SELECT coalesce(sum(bytes), 0) FROM audit_segments WHERE is_kept = 1")?
        .query_row((), |row| row.get(0))?;
    Ok(u64::try_from(found).unwrap_or(0))
}

/// Deletes the oldest segment unless it is also the `newest`, which holds the row that was just written. The
/// record of its end stays, because the chain now begins there. The table's triggers allow no other deletion.
fn let_go_of_oldest(transaction: &Transaction<'_>, newest: i64) -> rusqlite::Result<Option<ChainStart>> {
    let oldest = transaction
        .prepare_cached(
            "SELECT last, hash FROM audit_segments WHERE is_kept = 1 AND last < ?1 ORDER BY last LIMIT 1",
        )?
        .query_row([newest], |row| Ok(ChainStart { id: row.get(0)?, hash: row.get(1)? }))
        .optional()?;
    let Some(start) = oldest else { return Ok(None) };
    for sql in [
        "UPDATE audit_segments SET is_kept = 0 WHERE last = ?1",
        "DELETE FROM audit_segments WHERE last < ?1",
        "DELETE FROM audit WHERE id <= ?1",
    ] {
        transaction.prepare_cached(sql)?.execute([start.id])?;
    }
    Ok(Some(start))
}

fn farewell(start: &ChainStart, at_ms: i64) -> AuditRow {
    AuditRow {
        at_ms,
        caller: CALLER.to_owned(),
        verb: VERB.to_owned(),
        target: None,
        decision: "allowed".to_owned(),
        detail: start.words(),
        hash: String::new(),
    }
}

#[cfg(test)]
mod tests;
