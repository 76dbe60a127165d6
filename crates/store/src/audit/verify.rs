//! Checks that the audit log is unchanged: recomputes the chain row by row and detects a shortened log. It
//! repairs nothing.

use rusqlite::{Connection, OptionalExtension};

use super::segments::{ChainStart, is_farewell};
use super::{AuditRow, BEGINNING, chain, read};

/// The result of checking the whole chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditCheck {
    /// Every row fits. Recording `head` elsewhere makes a later rewrite of the whole log detectable too.
    Intact {
        /// The number of the oldest row that is kept; 1 when nothing was deleted yet.
        first: u64,
        /// How many rows there are.
        rows: u64,
        /// The hash of the newest row.
        head: String,
    },
    /// From `row` on the log is not what was written.
    Broken {
        /// The number of the first row that does not fit; the first ever written was 1.
        row: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// Checks the chain from where it is kept. `each` is called with the number of every row that fits.
pub(crate) fn verify(connection: &Connection, mut each: impl FnMut(u64)) -> rusqlite::Result<AuditCheck> {
    let start = start(connection)?;
    let mut verify = Verification::begin(connection, start)?;
    let mut statement = connection.prepare_cached(
        "SELECT id, at_ms, caller, verb, target, decision, detail, hash FROM audit ORDER BY id",
    )?;
    let mut found = statement.query(())?;
    while let Some(row) = found.next()? {
        let step = read(row).map_err(|_| "the row cannot be read").and_then(|(id, row)| verify.step(id, row));
        if let Err(reason) = step {
            return Ok(verify.broken(reason));
        }
        each(verify.number());
    }
    Ok(verify.end(highest_id(connection)?))
}

struct Verification {
    start: Option<ChainStart>,
    /// A row records that the rows before the start were deleted.
    is_start_told: bool,
    /// Ends of segments that are still to come, the next one last.
    ends: Vec<ChainStart>,
    /// The newest row so far.
    at: ChainStart,
}

impl Verification {
    fn begin(connection: &Connection, start: Option<ChainStart>) -> rusqlite::Result<Self> {
        let at = start.clone().unwrap_or_else(|| ChainStart { id: 0, hash: BEGINNING.to_owned() });
        let mut statement = connection
            .prepare_cached("SELECT last, hash FROM audit_segments WHERE is_kept <> 0 ORDER BY last DESC")?;
        let found = statement.query_map((), |row| Ok(ChainStart { id: row.get(0)?, hash: row.get(1)? }))?;
        let ends = found.collect::<rusqlite::Result<Vec<ChainStart>>>()?;
        Ok(Self { is_start_told: start.is_none(), start, ends, at })
    }

    fn step(&mut self, id: i64, row: AuditRow) -> Result<(), &'static str> {
        if id != self.at.id + 1 {
            return Err("the row is missing");
        }
        if row.hash != chain(&self.at.hash, &row) {
            return Err("the row does not follow from the one before it");
        }
        if is_farewell(&row) {
            // The newest such row counts; an older one records an earlier deletion.
            self.is_start_told = self.start.as_ref().is_some_and(|start| start.is_told_by(&row));
        }
        let next = ChainStart { id, hash: row.hash };
        if self.ends.last().is_some_and(|end| end.id <= id) && self.ends.pop().as_ref() != Some(&next) {
            return Err("the row does not fit the end of its segment");
        }
        self.at = next;
        Ok(())
    }

    fn end(self, highest: i64) -> AuditCheck {
        if self.at.id != highest || !self.ends.is_empty() {
            return self.broken("the row is missing at the end");
        }
        let first = self.start.as_ref().map_or(1, |start| number(start.id) + 1);
        if !self.is_start_told {
            let reason = "older rows are missing, and no row records that they were dropped".to_owned();
            return AuditCheck::Broken { row: first, reason };
        }
        AuditCheck::Intact { first, rows: self.number() + 1 - first, head: self.at.hash }
    }

    fn number(&self) -> u64 {
        number(self.at.id)
    }

    fn broken(&self, reason: &str) -> AuditCheck {
        AuditCheck::Broken { row: self.number() + 1, reason: reason.to_owned() }
    }
}

fn number(id: i64) -> u64 {
    u64::try_from(id).unwrap_or(0)
}

/// Returns where the chain begins, if rows were deleted.
fn start(connection: &Connection) -> rusqlite::Result<Option<ChainStart>> {
    connection
        .prepare_cached("SELECT last, hash FROM audit_segments WHERE is_kept = 0 ORDER BY last DESC LIMIT 1")?
        .query_row((), |row| Ok(ChainStart { id: row.get(0)?, hash: row.get(1)? }))
        .optional()
}

/// Returns the highest id ever given out, which outlives the row that had it.
fn highest_id(connection: &Connection) -> rusqlite::Result<i64> {
    let found: Option<i64> = connection
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'audit'", (), |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}
