//! Reads the audit log through a connection of its own, so that verifying a long chain does not delay
//! writers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{AuditCheck, AuditRow, rows, verify};
use crate::StoreError;

/// How long a query waits for a file that another program has locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// A read-only connection to the audit log of a store that is open elsewhere in this process.
#[derive(Debug)]
pub struct AuditReader {
    connection: Connection,
    path: PathBuf,
}

impl AuditReader {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let fail = |error| StoreError::sqlite(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(fail)?;
        connection.pragma_update(None, "trusted_schema", false).map_err(fail)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Returns the newest rows not older than `since` (milliseconds since 1970), oldest first; 8 MiB of them
    /// at most.
    pub fn rows(&self, since: i64, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        rows(&self.connection, since, limit).map_err(|error| StoreError::sqlite(&self.path, error))
    }

    /// Recomputes the chain as it was when this call began.
    pub fn verify(&self) -> Result<AuditCheck, StoreError> {
        let fail = |error| StoreError::sqlite(&self.path, error);
        // One snapshot: a row that is added during the check must not look like one that is missing at the
        // end.
        let view = self.connection.unchecked_transaction().map_err(fail)?;
        verify(&view, drop).map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use crate::{AuditCheck, AuditRow, Store};

    #[test]
    fn f11_the_log_is_read_beside_a_store_that_writes_and_is_never_written_from_there() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("state.db")).unwrap();
        let row = |n: i64| AuditRow { at_ms: n, verb: "kill".to_owned(), ..AuditRow::default() };
        (0..10).for_each(|n| store.audit(&row(n)).unwrap());
        let reader = store.audit_reader().unwrap().unwrap();
        let view = reader.connection.unchecked_transaction().unwrap();
        assert_eq!(super::rows(&view, 0, 100).unwrap().len(), 10);
        store.audit(&row(10)).unwrap();
        // The row that was added meanwhile does not look like one that is missing at the end.
        assert!(matches!(super::verify(&view, drop), Ok(AuditCheck::Intact { rows: 10, .. })));
        drop(view);
        assert!(matches!(reader.verify(), Ok(AuditCheck::Intact { rows: 11, .. })));
        assert_eq!(reader.rows(9, 100).unwrap().len(), 2);
        assert!(reader.connection.execute("INSERT INTO audit (at_ms) VALUES (1)", ()).is_err());
        assert!(
            Store::in_memory().unwrap().audit_reader().unwrap().is_none(),
            "another thread cannot read memory"
        );
    }
}
