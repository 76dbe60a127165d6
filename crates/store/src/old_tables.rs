//! Reads the tables that schemas before 6 had, one per kind of record, so that a migration can move their
//! rows into the table of documents.

use rusqlite::{Connection, Row};

use crate::records::{MAIL, PROCESS, SETTING, TURN, checksum, mail_id, rows, turn_id};

/// The first schema that has mail and turns.
const WITH_MAIL: i64 = 3;
/// The first schema that has every record in the table of documents.
pub(crate) const WITHOUT_TABLES: i64 = 6;

/// One row of an old table.
pub(crate) struct OldRow {
    pub(crate) kind: &'static str,
    /// Its id as a document.
    pub(crate) id: String,
    pub(crate) document: String,
    /// True if it fits its checksum.
    pub(crate) is_whole: bool,
}

/// Returns the rows of the tables that a file of this schema has.
pub(crate) fn read(connection: &Connection, version: i64) -> rusqlite::Result<Vec<OldRow>> {
    let mut found = Vec::new();
    if (1..WITHOUT_TABLES).contains(&version) {
        found.extend(rows(connection, "SELECT id, document, seal FROM processes", process)?);
        found.extend(rows(connection, "SELECT key, value, seal FROM settings", setting)?);
    }
    if (WITH_MAIL..WITHOUT_TABLES).contains(&version) {
        found.extend(rows(connection, "SELECT id, document, seal FROM mail", mail)?);
        found.extend(rows(connection, "SELECT process, turn, document, seal FROM turns", turn)?);
    }
    Ok(found)
}

fn process(row: &Row<'_>) -> rusqlite::Result<OldRow> {
    let (id, document): (String, String) = (row.get(0)?, row.get(1)?);
    let is_whole = row.get::<_, Vec<u8>>(2)? == checksum(&["process", &id, &document]);
    Ok(OldRow { kind: PROCESS, id, document, is_whole })
}

fn setting(row: &Row<'_>) -> rusqlite::Result<OldRow> {
    let (id, document): (String, String) = (row.get(0)?, row.get(1)?);
    let is_whole = row.get::<_, Vec<u8>>(2)? == checksum(&["setting", &id, &document]);
    Ok(OldRow { kind: SETTING, id, document, is_whole })
}

fn mail(row: &Row<'_>) -> rusqlite::Result<OldRow> {
    let (id, document): (i64, String) = (row.get(0)?, row.get(1)?);
    let is_whole = row.get::<_, Vec<u8>>(2)? == checksum(&["mail", &id.to_string(), &document]);
    Ok(OldRow { kind: MAIL, id: mail_id(id), document, is_whole })
}

fn turn(row: &Row<'_>) -> rusqlite::Result<OldRow> {
    let (process, turn, document): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let is_whole = row.get::<_, Vec<u8>>(3)? == checksum(&["turn", &process, &turn.to_string(), &document]);
    Ok(OldRow { kind: TURN, id: turn_id(&process, turn), document, is_whole })
}
