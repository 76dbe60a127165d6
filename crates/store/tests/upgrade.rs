//! A database that a daemon of the former schema wrote comes through the migration with every record in it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in the functions it calls too")]

use std::path::Path;

use rusqlite::{Connection, Row};
use store::{AuditCheck, Contents, Store, StoredDocument, StoredTurn};

const WRITTEN: &str = include_str!("fixtures/written_by_schema_5.sql");

/// Reads everything as the former version had it: a table for each kind of record.
fn former_contents(path: &Path) -> Contents {
    fn rows<T>(path: &Path, sql: &str, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let opened = Connection::open(path).unwrap();
        let mut statement = opened.prepare(sql).unwrap();
        statement.query_map((), read).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }
    Contents {
        processes: rows(path, "SELECT id, document FROM processes", |row| Ok((row.get(0)?, row.get(1)?))),
        settings: rows(path, "SELECT key, value FROM settings", |row| Ok((row.get(0)?, row.get(1)?))),
        mail: rows(path, "SELECT id, document FROM mail", |row| Ok((row.get(0)?, row.get(1)?))),
        turns: rows(path, "SELECT process, turn, document FROM turns", |row| {
            Ok(StoredTurn { process: row.get(0)?, turn: row.get(1)?, document: row.get(2)? })
        }),
        documents: rows(path, "SELECT kind, id, document FROM documents", |row| {
            Ok(StoredDocument { kind: row.get(0)?, id: row.get(1)?, document: row.get(2)? })
        }),
    }
}

fn sorted(mut contents: Contents) -> Contents {
    contents.processes.sort();
    contents.settings.sort();
    contents.mail.sort();
    contents.turns.sort();
    contents.documents.sort();
    contents
}

#[test]
fn s3_a_database_of_the_former_version_has_every_record_after_an_upgrade() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    Connection::open(&path).unwrap().execute_batch(WRITTEN).unwrap();
    let before = sorted(former_contents(&path));
    let counts = [before.processes.len(), before.mail.len(), before.turns.len(), before.documents.len()];
    assert_eq!(counts, [5, 3, 1, 3], "the fixture has something of each kind");

    let store = Store::open(&path).unwrap();
    assert_eq!((store.recovered(), store.damaged_log()), (None, None));
    assert_eq!(sorted(store.load().unwrap()), before, "byte for byte");
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Intact { first: 1, rows: 12, .. })));
    drop(store);
    let again = Store::open(&path).unwrap();
    assert_eq!(again.recovered(), None);
    assert_eq!(sorted(again.load().unwrap()), before, "and the migrated file reads the same");
}
