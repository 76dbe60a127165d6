//! Opening: migration, modes, locks, full disks and every kind of damage.

use std::os::unix::fs::symlink;

use super::*;
use crate::{StoredDocument, StoredTurn};

fn process(id: &str, document: &str) -> Change {
    Change::PutProcess { id: id.into(), document: document.into() }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns a state file with every kind of record, one of them larger than a page.
fn sample(path: &Path) -> (Contents, Vec<AuditRow>) {
    let bound = AuditBound { segment_rows: 4, ..AuditBound::ON_DISK };
    let mut store = Store::open(path).unwrap().bounding_audit(bound);
    let mut batch = Vec::new();
    for number in 0..30_usize {
        let id = format!("p_{number:08}");
        batch.push(process(&id, &format!("{{\"n\":{number},\"pad\":\"{}\"}}", "é".repeat(number * 10))));
        batch.push(Change::PutDocument { kind: "timer", id: id.clone(), document: "{\"at\":0}".into() });
        let document = format!("{{\"turn\":{number}}}");
        batch.push(Change::PutTurn { process: id, turn: 1, document: document.clone() });
        batch.push(Change::PutMail { id: 1 + i64::try_from(number).unwrap(), document });
    }
    batch.push(process("p_big", &"b".repeat(10_000)));
    batch.push(Change::Setting { key: "revision".into(), value: "7".into() });
    store.apply(&batch).unwrap();
    for number in 0..10 {
        let row =
            AuditRow { at_ms: number, caller: "user".into(), verb: "spawn".into(), ..AuditRow::default() };
        store.audit(&row).unwrap();
    }
    (store.load().unwrap(), store.audit_rows(0, 100).unwrap())
}

/// The turn that every file of an older schema has.
fn only_turn() -> StoredTurn {
    StoredTurn { process: "p_aaaaaaaa".to_owned(), turn: 1, document: "{\"v\":1}".to_owned() }
}

/// The document that every file of an older schema has.
fn only_document() -> StoredDocument {
    StoredDocument { kind: "grant".to_owned(), id: "3".to_owned(), document: "{\"v\":1}".to_owned() }
}

#[test]
fn what_was_stored_is_there_after_opening_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let (contents, audit) = sample(&path);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load().unwrap(), contents);
    assert_eq!(store.audit_rows(0, 100).unwrap(), audit);
    assert_eq!(store.recovered(), None);
    let mode: String = store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn a_file_of_schema_1_is_migrated_with_everything_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../tests/fixtures/schema_1.sql")).unwrap();
    drop(old);

    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.recovered(), None);
    let contents = store.load().unwrap();
    assert_eq!(contents.processes[1], ("p_bbbbbbbb".into(), "{\"v\":1,\"name\":\"täst\"}".into()));
    assert_eq!(contents.settings, [("revision".into(), "41".into())]);
    store.audit(&AuditRow::default()).unwrap();
    drop(store);
    let version: i64 =
        Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, schema::KNOWN);
}

#[test]
fn a_file_of_schema_2_is_migrated_with_everything_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("../../tests/fixtures/schema_1.sql")).unwrap();
    old.execute_batch(include_str!("../../tests/fixtures/schema_2.sql")).unwrap();
    drop(old);

    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.recovered(), None);
    let contents = store.load().unwrap();
    assert_eq!((contents.processes.len(), contents.mail.len(), contents.turns.len()), (2, 0, 0));
    let mail = Change::PutMail { id: 1, document: "{}".into() };
    let turn = Change::PutTurn { process: "p_aaaaaaaa".into(), turn: 1, document: "{}".into() };
    store.apply(&[mail, turn]).unwrap();
    drop(store);
    let contents = Store::open(&path).unwrap().load().unwrap();
    assert_eq!((contents.mail.len(), contents.turns.len()), (1, 1));
}

/// A file of schema 4, written by hand. The product never wrote two of its tables; they are filled here only.
fn schema_4(path: &Path) {
    let old = Connection::open(path).unwrap();
    for step in [
        include_str!("../../tests/fixtures/schema_1.sql"),
        include_str!("../../tests/fixtures/schema_2.sql"),
        include_str!("../../tests/fixtures/schema_3.sql"),
        include_str!("../../tests/fixtures/schema_4.sql"),
    ] {
        old.execute_batch(step).unwrap();
    }
}

fn tables(path: &Path) -> Vec<String> {
    let opened = Connection::open(path).unwrap();
    let mut statement = opened.prepare("SELECT name FROM sqlite_schema ORDER BY name").unwrap();
    let names = statement.query_map((), |row| row.get(0)).unwrap();
    names.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn a_file_of_schema_4_loses_the_two_tables_that_nobody_wrote_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let [path, fresh] = ["state.db", "fresh.db"].map(|name| directory.path().join(name));
    schema_4(&path);
    let before = tables(&path);
    assert!(before.contains(&"runs".to_owned()) && before.contains(&"events".to_owned()));

    let mut store = Store::open(&path).unwrap();
    assert_eq!((store.recovered(), store.damaged_log()), (None, None));
    let contents = store.load().unwrap();
    assert_eq!((contents.processes.len(), contents.settings.len()), (2, 1));
    assert_eq!(contents.mail, [(7, "{\"v\":1}".into())]);
    assert_eq!(contents.turns, [only_turn()]);
    assert_eq!(contents.documents, [only_document()]);
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Intact { first: 1, rows: 3, .. })));
    store.audit(&AuditRow::default()).unwrap();
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Intact { first: 1, rows: 4, .. })));
    drop(store);
    drop(Store::open(&fresh).unwrap());
    let after = tables(&path);
    assert!(!after.contains(&"runs".to_owned()) && !after.contains(&"events".to_owned()), "{after:?}");
    assert_eq!(after, tables(&fresh));
}

/// A file of schema 5, which had one table per kind of record.
fn schema_5(path: &Path) {
    schema_4(path);
    let old = Connection::open(path).unwrap();
    old.execute_batch(include_str!("../../tests/fixtures/schema_5.sql")).unwrap();
}

#[test]
fn a_file_of_schema_5_has_all_its_records_in_one_table_of_documents() {
    let directory = tempfile::tempdir().unwrap();
    let [path, fresh] = ["state.db", "fresh.db"].map(|name| directory.path().join(name));
    schema_5(&path);
    let mut store = Store::open(&path).unwrap();
    assert_eq!((store.recovered(), store.damaged_log()), (None, None));
    let contents = store.load().unwrap();
    assert_eq!(contents.processes[1], ("p_bbbbbbbb".into(), "{\"v\":1,\"name\":\"täst\"}".into()));
    assert_eq!(contents.settings, [("revision".into(), "41".into())]);
    assert_eq!(contents.mail, [(7, "{\"v\":1}".into())]);
    assert_eq!(contents.turns, [only_turn()]);
    assert_eq!(contents.documents, [only_document()]);
    store.apply(&[Change::RemoveProcess { id: "p_aaaaaaaa".into() }]).unwrap();
    assert_eq!(store.load().unwrap().turns, [], "its turns are found under their new ids");
    drop(store);
    drop(Store::open(&fresh).unwrap());
    assert_eq!(tables(&path), tables(&fresh));
}

#[test]
fn a_damaged_record_of_an_older_schema_is_not_migrated() {
    for damage in [
        "UPDATE processes SET document = '{}' WHERE id = 'p_aaaaaaaa'",
        "UPDATE mail SET document = '{}'",
        "UPDATE turns SET turn = 2",
        "UPDATE settings SET value = '42'",
        // The version says that these tables are gone.
        "PRAGMA user_version = 6",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        schema_5(&path);
        Connection::open(&path).unwrap().execute_batch(damage).unwrap();
        let store = Store::open(&path).unwrap();
        assert!(store.recovered().is_some(), "{damage}");
        assert_eq!(store.load().unwrap(), Contents::default(), "{damage}");
    }
}

#[test]
fn a_newer_file_is_reported_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    sample(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, known: schema::KNOWN }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_database_of_another_program_is_refused_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Refused { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names(directory.path()), ["state.db"]);
}

#[test]
fn a_missing_directory_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(Store::open(&directory.path().join("no/state.db")), Err(StoreError::Io { .. })));
}

#[test]
fn b12_a_file_that_others_can_read_is_closed_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    sample(&path);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let _store = Store::open(&path).unwrap();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let mode = fs::metadata(directory.path().join(name)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
    }
}

#[test]
fn b1_a_link_in_place_of_the_file_is_refused_and_not_written_through() {
    let directory = tempfile::tempdir().unwrap();
    let victim = directory.path().join("victim");
    fs::write(&victim, "").unwrap();
    for (name, second_name) in [("soft.db", false), ("hard.db", true)] {
        let path = directory.path().join(name);
        match second_name {
            true => fs::hard_link(&victim, &path).unwrap(),
            false => symlink(&victim, &path).unwrap(),
        }
        assert!(matches!(Store::open(&path), Err(StoreError::Refused { .. })), "{name}");
        assert_eq!(fs::read(&victim).unwrap(), b"", "{name}");
    }
}

#[test]
fn a_file_locked_by_another_program_is_reported_and_usable_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut store = Store::open(&path).unwrap();
    store.connection.busy_timeout(Duration::from_millis(10)).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(store.apply(&[process("p_1", "{}")]), Err(StoreError::Locked { .. })));
    assert!(matches!(store.audit(&AuditRow::default()), Err(StoreError::Locked { .. })));
    other.execute_batch("ROLLBACK").unwrap();
    store.apply(&[process("p_1", "{}")]).unwrap();
    assert_eq!(store.load().unwrap().processes.len(), 1);
}

#[test]
fn f3_a_refused_batch_leaves_nothing_and_can_be_retried() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("state.db")).unwrap();
    store.apply(&[process("p_1", "old")]).unwrap();
    let batch = [process("p_1", "new"), process("p_2", &"x".repeat(100_000))];
    store.limit_growth(Some(2));
    for _ in 0..3 {
        assert!(matches!(store.apply(&batch), Err(StoreError::NoSpace { .. })));
        assert_eq!(store.load().unwrap().processes, [("p_1".into(), "old".into())]);
    }
    store.limit_growth(None);
    store.apply(&batch).unwrap();
    assert_eq!(store.load().unwrap().processes[0].1, "new");
}

#[test]
fn f1_at_most_five_corrupt_files_are_kept_and_the_newest_is_among_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut kept = Vec::new();
    for number in 0..8 {
        fs::write(&path, format!("not a database {number}")).unwrap();
        let store = Store::open(&path).unwrap();
        kept.push(store.recovered().unwrap());
    }
    let found = names(directory.path()).iter().filter(|name| name.contains(".corrupt-")).count();
    assert_eq!(found, 5);
    for (number, kept) in kept.iter().enumerate().skip(3) {
        assert_eq!(fs::read_to_string(kept).unwrap(), format!("not a database {number}"));
    }
}

#[test]
fn f1_the_log_of_a_corrupt_file_is_kept_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    fs::write(&path, "not a database").unwrap();
    fs::write(with_log(&path), "its log").unwrap();
    let kept = Store::open(&path).unwrap().recovered().unwrap();
    assert_eq!(fs::read_to_string(with_log(&kept)).unwrap(), "its log");
}

#[test]
fn f1_a_log_that_lost_its_database_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    fs::write(with_log(&path), "a log").unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load().unwrap(), Contents::default());
    let found = names(directory.path());
    let kept = found.iter().find(|name| name.contains(".corrupt-")).unwrap();
    assert_eq!(fs::read_to_string(directory.path().join(kept)).unwrap(), "a log");
}

fn with_log(path: &Path) -> PathBuf {
    quarantine::with_suffix(path, "-wal")
}

/// A thousand openings need a thousand syncs; in memory they cost nothing.
fn quick_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Opens damaged bytes. Either the content is true, or the damaged file is kept, byte for byte.
fn open_damaged(bytes: &[u8], truth: &(Contents, Vec<AuditRow>), what: &str) -> &'static str {
    let directory = quick_directory();
    let path = directory.path().join("state.db");
    fs::write(&path, bytes).unwrap();
    match Store::open(&path) {
        Err(StoreError::Newer { .. } | StoreError::Refused { .. }) => {
            assert!(fs::read(&path).unwrap() == bytes, "{what}");
            "left alone"
        }
        Err(error) => panic!("{what}: {error}"),
        Ok(mut store) => {
            let verdict = match store.recovered() {
                Some(kept) => {
                    assert!(fs::read(kept).unwrap() == bytes, "{what}");
                    assert_eq!(store.load().unwrap(), Contents::default(), "{what}");
                    "set aside"
                }
                None => {
                    assert!(store.load().unwrap() == truth.0, "{what}");
                    let is_intact = matches!(store.verify_audit(), Ok(AuditCheck::Intact { .. }));
                    assert!(!is_intact || store.audit_rows(0, 100).unwrap() == truth.1, "{what}");
                    "as it was"
                }
            };
            store.apply(&[process("p_after", "{}")]).unwrap();
            verdict
        }
    }
}

#[test]
fn f1_no_damaged_byte_panics_lies_or_costs_the_original() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let truth = sample(&path);
    let bytes = fs::read(&path).unwrap();
    // The header of the file and of each page decides most; the rest is stepped through.
    let step = (bytes.len() / testkit::scaled(300)).max(1);
    let positions = (0..bytes.len()).filter(|at| *at < 100 || at % 4096 < 12 || at % step == 0);
    let mut verdicts = std::collections::BTreeMap::new();
    for position in positions {
        for change in [0x01, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= change;
            let verdict = open_damaged(&damaged, &truth, &format!("byte {position} xor {change:#x}"));
            *verdicts.entry(verdict).or_insert(0) += 1;
        }
    }
    println!("{} bytes, step {step}: {verdicts:?}", bytes.len());
    assert!(verdicts["set aside"] > 100 && verdicts["as it was"] > 0, "{verdicts:?}");
}

/// Returns a database that was not closed: its file, its log, and every state that was acknowledged, oldest
/// first.
fn unclosed_sample() -> (Vec<u8>, Vec<u8>, Vec<Contents>) {
    let directory = quick_directory();
    let path = directory.path().join("state.db");
    let mut store = Store::open(&path).unwrap();
    let mut states = vec![store.load().unwrap()];
    for number in 0..6_i64 {
        let document = "d".repeat(usize::try_from(number).unwrap() * 1500);
        let mail = Change::PutMail { id: number + 1, document: document.clone() };
        store.apply(&[process(&format!("p_{number}"), &document), mail]).unwrap();
        states.push(store.load().unwrap());
    }
    (fs::read(&path).unwrap(), fs::read(with_log(&path)).unwrap(), states)
}

/// Opens a database with a damaged log. The content is the newest state; or it is an older state or empty,
/// and then that is reported and the log is kept, byte for byte.
fn open_with_log(database: &[u8], log: &[u8], states: &[Contents], what: &str) -> &'static str {
    let directory = quick_directory();
    let path = directory.path().join("state.db");
    fs::write(&path, database).unwrap();
    fs::write(with_log(&path), log).unwrap();
    let mut store = Store::open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = store.load().unwrap();
    let verdict = match (store.recovered(), store.damaged_log()) {
        (Some(kept), _) => {
            assert!(
                fs::read(&kept).unwrap() == database && fs::read(with_log(&kept)).unwrap() == log,
                "{what}"
            );
            "set aside"
        }
        (None, Some(kept)) => {
            assert!(fs::read(kept).unwrap() == log, "{what}");
            assert!(states.contains(&found), "{what}: no state that ever was");
            "told"
        }
        (None, None) => {
            assert!(states.last() == Some(&found), "{what}: changes are missing without a report");
            "as it was"
        }
    };
    store.apply(&[process("p_after", "{}")]).unwrap();
    verdict
}

#[test]
fn f1_no_damaged_byte_of_the_log_panics_or_hides_that_changes_are_missing() {
    let (database, log, states) = unclosed_sample();
    assert_eq!(open_with_log(&database, &log, &states, "no damage"), "as it was");
    // The header of the log and of some frames decides most; the rest is stepped through.
    let frame = 24 + 4096;
    let frames = (log.len() - 32) / frame;
    let heads = [0, frames / 2, frames - 1].map(|number| 32 + number * frame);
    let step = (log.len() / testkit::scaled(150)).max(1);
    let is_sampled = |at: &usize| {
        *at < 32 || at.is_multiple_of(step) || heads.iter().any(|head| (*head..head + 24).contains(at))
    };
    let mut verdicts = std::collections::BTreeMap::new();
    for position in (0..log.len()).filter(is_sampled) {
        for change in [0x01, 0xff] {
            let mut damaged = log.clone();
            damaged[position] ^= change;
            let what = format!("byte {position} xor {change:#x}");
            *verdicts.entry(open_with_log(&database, &damaged, &states, &what)).or_insert(0) += 1;
        }
    }
    println!("{} bytes, {frames} frames: {verdicts:?}", log.len());
    assert!(verdicts["told"] > 300, "{verdicts:?}");
}

#[test]
fn f1_a_damaged_log_of_which_no_copy_can_be_kept_is_not_written_over() {
    let (database, mut log, states) = unclosed_sample();
    let middle = log.len() / 2;
    log[middle] ^= 0xff;
    let directory = quick_directory();
    let path = directory.path().join("state.db");
    fs::write(&path, &database).unwrap();
    fs::write(with_log(&path), &log).unwrap();
    // No later name exists after this one.
    let last = directory.path().join(format!("state.db.corrupt-{}-wal", u64::MAX));
    fs::write(&last, "kept before").unwrap();
    for _ in 0..2 {
        assert!(matches!(Store::open(&path), Err(StoreError::Refused { .. })));
        assert!(fs::read(&path).unwrap() == database && fs::read(with_log(&path)).unwrap() == log);
        assert_eq!(fs::read(&last).unwrap(), b"kept before");
    }
    fs::remove_file(&last).unwrap();
    let store = Store::open(&path).unwrap();
    assert!(fs::read(store.damaged_log().unwrap()).unwrap() == log);
    assert!(states.contains(&store.load().unwrap()));
}

#[test]
fn f1_at_most_five_logs_that_lost_their_database_are_kept_and_nobody_else_reads_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    for number in 0..8 {
        drop(fs::remove_file(&path));
        fs::write(with_log(&path), format!("log {number}")).unwrap();
        fs::set_permissions(with_log(&path), Permissions::from_mode(0o644)).unwrap();
        drop(Store::open(&path).unwrap());
    }
    let kept: Vec<_> =
        names(directory.path()).into_iter().filter(|name| name.contains(".corrupt-")).collect();
    let contents = kept.iter().map(|name| fs::read_to_string(directory.path().join(name)).unwrap());
    assert_eq!(contents.collect::<Vec<_>>(), ["log 3", "log 4", "log 5", "log 6", "log 7"]);
    for name in kept {
        assert_eq!(fs::metadata(directory.path().join(&name)).unwrap().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn f1_a_log_that_ends_in_the_middle_of_a_commit_is_no_damage() {
    let (database, log, states) = unclosed_sample();
    let frame = 24 + 4096;
    for length in
        [log.len() - 1, log.len() - 4096, log.len() - frame, log.len() - frame - 1, 40, 32, 31, 1, 0]
    {
        let directory = quick_directory();
        let path = directory.path().join("state.db");
        fs::write(&path, &database).unwrap();
        fs::write(with_log(&path), &log[..length]).unwrap();
        let store = Store::open(&path).unwrap();
        assert!(states.contains(&store.load().unwrap()), "cut to {length}");
        assert_eq!((store.recovered(), store.damaged_log()), (None, None), "cut to {length}");
    }
}

#[test]
fn f1_what_was_entrusted_waits_for_the_disk_and_what_describes_runs_does_not() {
    let directory = quick_directory();
    let mut store = Store::open(&directory.path().join("state.db")).unwrap();
    let mail = || Change::PutMail { id: 1, document: "{}".into() };
    let trust = || Change::RemoveDocument { kind: "trust", id: "x".into() };
    let mut waits = |batch: &[Change]| {
        store.apply(batch).unwrap();
        let level: i64 = store.connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        level >= 2
    };
    assert!(!waits(&[process("p_1", "{}")]));
    assert!(waits(&[mail()]));
    assert!(!waits(&[process("p_1", "{}"), Change::Audit(AuditRow::default())]));
    assert!(waits(&[process("p_1", "{}"), trust()]));
    assert!(waits(&[mail(), process("p_1", "{}")]));
}

#[test]
fn m7h_the_end_of_an_entry_waits_for_the_disk() {
    let directory = quick_directory();
    let mut store = Store::open(&directory.path().join("state.db")).unwrap();
    store.apply(&[process("p_1", "{}")]).unwrap();
    assert_eq!(store.durability, Durability::ProcessDeath);
    store.apply(&[Change::RemoveProcess { id: "p_1".into() }]).unwrap();
    assert_eq!(store.durability, Durability::PowerCut);
}

#[test]
fn f1_a_truncated_file_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let truth = sample(&path);
    let bytes = fs::read(&path).unwrap();
    for length in [1, 15, 16, 99, 100, 511, 512, 4095, 4096, 5000, 8192, bytes.len() / 2, bytes.len() - 4096]
    {
        let verdict = open_damaged(&bytes[..length], &truth, &format!("cut to {length}"));
        assert_eq!(verdict, "set aside", "cut to {length}");
    }
    // The last byte may carry nothing; the content is true either way.
    open_damaged(&bytes[..bytes.len() - 1], &truth, "cut by one byte");
}
