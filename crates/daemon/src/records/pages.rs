//! Pages of the audit log: rows that fit one line of the protocol, and the result of checking the chain.

use proto::audit::{AuditEntry, AuditPage, AuditVerdict};
use proto::request::Audit;
use store::{AuditCheck, AuditRow, StoreError};

use super::store_thread::AuditQuery;

/// Rows in one reply: the default and the maximum.
const ROWS: std::ops::RangeInclusive<u32> = 200..=10_000;
/// Bytes of rows in one reply: a line of the protocol has at most 4 MiB.
const MAX_PAGE: usize = 3 << 20; // 3 MiB

/// Returns the moment from which rows are wanted.
pub(super) fn since(request: &Audit) -> i64 {
    i64::try_from(request.since).unwrap_or(i64::MAX)
}

/// Returns how many rows.
pub(super) fn limit(request: &Audit) -> usize {
    request.limit.unwrap_or(*ROWS.start()).min(*ROWS.end()) as usize
}

/// Returns the reply to a request. It may take as long as the log is long.
pub(super) fn page(look: AuditQuery, request: &Audit) -> Result<AuditPage, StoreError> {
    let (rows, check) = match look {
        AuditQuery::Inside(rows, check) => (rows, check),
        AuditQuery::Beside(reader, refused) => {
            let mut rows = reader.rows(since(request), limit(request))?;
            // Rows that the disk refuses were decided all the same; they have no place in the chain yet.
            rows.extend(refused.into_iter().filter(|row| row.at_ms >= since(request)));
            let excess = rows.len().saturating_sub(limit(request));
            rows.drain(..excess);
            (rows, request.verify.then(|| reader.verify()).transpose()?)
        }
    };
    Ok(AuditPage { rows: fitting(rows), verified: check.map(verdict) })
}

/// Returns the newest rows that fit, oldest first.
fn fitting(rows: Vec<AuditRow>) -> Vec<AuditEntry> {
    let mut room = MAX_PAGE;
    let fits = |entry: &AuditEntry| {
        let length = serde_json::to_string(entry).map_or(0, |text| text.len());
        room.checked_sub(length).map(|left| room = left).is_some()
    };
    let newest = rows.into_iter().rev().map(entry);
    let mut rows: Vec<AuditEntry> = newest.take_while(fits).collect();
    rows.reverse();
    rows
}

fn entry(row: AuditRow) -> AuditEntry {
    AuditEntry {
        at: u64::try_from(row.at_ms).unwrap_or(0),
        caller: row.caller,
        verb: row.verb,
        target: row.target,
        decision: row.decision,
        detail: row.detail,
        hash: row.hash,
    }
}

fn verdict(check: AuditCheck) -> AuditVerdict {
    match check {
        AuditCheck::Intact { first, rows, head } => AuditVerdict::Intact { first, rows, head },
        AuditCheck::Broken { row, reason } => AuditVerdict::Broken { row, reason },
    }
}
