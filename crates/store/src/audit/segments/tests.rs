//! What is deleted, what stays, and that nothing else shortens the log: not a kill, not a full disk, not an
//! intruder.

use std::fs;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use rusqlite::Connection;

use super::super::AuditCheck;
use super::*;
use crate::{Store, StoreError};

/// Ten rows are a segment, and about three of them are kept.
const SMALL: AuditBound = AuditBound { segment_rows: 10, bytes: 3600 };

/// Far more than a loaded machine needs.
const TIMEOUT: Duration = Duration::from_secs(60);

fn row(number: i64) -> AuditRow {
    AuditRow { at_ms: number, caller: "human".into(), detail: number.to_string(), ..AuditRow::default() }
}

fn open(path: &Path) -> Store {
    Store::open(path).unwrap().bounding_audit(SMALL)
}

fn append(store: &mut Store, numbers: std::ops::RangeInclusive<i64>) {
    numbers.for_each(|number| store.audit(&row(number)).unwrap());
}

/// Returns the first row that is kept and the newest, of an intact log.
fn span(store: &Store) -> (u64, u64) {
    let AuditCheck::Intact { first, rows, head } = store.verify_audit().unwrap() else {
        panic!("{:?}", store.verify_audit());
    };
    let kept = store.audit_rows(i64::MIN, usize::MAX).unwrap();
    assert_eq!(kept.len() as u64, rows);
    assert!(kept.last().is_none_or(|newest| newest.hash == head));
    (first, first + rows - 1)
}

/// Returns the numbers of the rows that were appended and are still there.
fn numbers(store: &Store) -> Vec<i64> {
    let rows = store.audit_rows(i64::MIN, usize::MAX).unwrap();
    rows.iter().filter(|row| !is_farewell(row)).map(|row| row.detail.parse().unwrap()).collect()
}

#[test]
fn f11_the_oldest_rows_go_in_segments_and_a_row_of_the_chain_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(&directory.path().join("state.db"));
    append(&mut store, 1..=30);
    assert_eq!(span(&store), (1, 30), "nothing is too much yet");
    let tenth = store.audit_rows(10, usize::MAX).unwrap()[0].hash.clone();
    append(&mut store, 31..=40);
    assert_eq!(span(&store), (11, 41));
    let farewell = store.audit_rows(40, usize::MAX).unwrap().pop().unwrap();
    assert!(is_farewell(&farewell));
    assert_eq!(
        farewell.detail,
        format!("rows up to 10 are no longer kept; the hash of the last was {tenth}")
    );
    for number in 41..=1000 {
        append(&mut store, number..=number);
        let (first, newest) = span(&store);
        assert!(first % 10 == 1 && newest - first < 45, "{first} to {newest}");
        let kept = numbers(&store);
        assert_eq!(kept, (number + 1 - i64::try_from(kept.len()).unwrap()..=number).collect::<Vec<_>>());
    }
    drop(store);
    let before = fs::metadata(directory.path().join("state.db")).unwrap().len();
    let mut store = open(&directory.path().join("state.db"));
    append(&mut store, 1001..=3000);
    drop(store);
    assert_eq!(
        fs::metadata(directory.path().join("state.db")).unwrap().len(),
        before,
        "the file grows no more"
    );
}

#[test]
fn f11_a_log_in_memory_is_bounded_too() {
    let mut store = Store::in_memory().unwrap();
    let batch: Vec<_> = (0..30_000).map(|number| crate::Change::Audit(row(number))).collect();
    batch.chunks(500).for_each(|some| store.apply(some).unwrap());
    let (first, newest) = span(&store);
    assert!(first > 1 && newest > 30_000 && newest - first < 20_000, "{first} to {newest}");
}

/// Returns what a check finds after SQL by an intruder who can write the file and removes the triggers.
fn check_after(edit: &str) -> AuditCheck {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut store = open(&path);
    append(&mut store, 1..=95);
    let (first, newest) = span(&store);
    assert_eq!((first, newest), (71, 102), "the edits below count on it");
    let intruder = Connection::open(&path).unwrap();
    intruder.execute_batch("DROP TRIGGER audit_keeps_rows; DROP TRIGGER audit_keeps_values;").unwrap();
    intruder.execute_batch(edit).unwrap();
    store.verify_audit().unwrap()
}

#[test]
fn f11_whoever_shortens_the_log_by_hand_is_found_at_the_first_row_that_is_left() {
    let shortened = |last: i64| {
        format!(
            "UPDATE audit_segments SET is_kept = 0 WHERE last = {last};
             DELETE FROM audit_segments WHERE last < {last}; DELETE FROM audit WHERE id <= {last};"
        )
    };
    let cases = [
        (shortened(80), 81),
        (shortened(100), 101),
        ("DELETE FROM audit WHERE id = 71".to_owned(), 71),
        ("DELETE FROM audit_segments WHERE is_kept = 0".to_owned(), 1),
        ("UPDATE audit_segments SET hash = 'x' WHERE is_kept = 0".to_owned(), 71),
        ("UPDATE audit_segments SET hash = 'x' WHERE last = 80".to_owned(), 80),
        ("UPDATE audit_segments SET last = 81 WHERE last = 80".to_owned(), 81),
        ("INSERT INTO audit_segments VALUES (999, 'x', 1, 1)".to_owned(), 103),
        ("DELETE FROM audit WHERE id > 100".to_owned(), 101),
        ("DELETE FROM audit".to_owned(), 71),
    ];
    for (edit, wanted) in cases {
        let check = check_after(&edit);
        assert!(matches!(&check, AuditCheck::Broken { row, .. } if *row == wanted), "{edit}: {check:?}");
    }
    assert!(matches!(check_after("SELECT 1"), AuditCheck::Intact { first: 71, .. }));
}

#[test]
fn f11_only_rows_of_a_segment_that_went_can_be_deleted_in_passing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    append(&mut open(&path), 1..=95);
    let other = Connection::open(&path).unwrap();
    for sql in ["DELETE FROM audit", "DELETE FROM audit WHERE id = 71", "UPDATE audit SET caller = 'x'"] {
        let error = other.execute_batch(sql).unwrap_err();
        assert!(error.to_string().contains("append-only"), "{sql}: {error}");
    }
}

#[test]
fn f11_a_hole_that_somebody_made_is_told_and_does_not_stop_the_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut store = open(&path);
    append(&mut store, 1..=15);
    let intruder = Connection::open(&path).unwrap();
    let hole = "DROP TRIGGER audit_keeps_rows; DELETE FROM audit WHERE id IN (13, 20);
                UPDATE sqlite_sequence SET seq = 1000000 WHERE name = 'audit'";
    intruder.execute_batch(hole).unwrap();
    append(&mut store, 16..=25);
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Broken { row: 13, .. })));
    append(&mut store, 26..=200);
    assert_eq!(numbers(&store).last(), Some(&200));
    assert!(numbers(&store).len() < 45, "it is bounded all the same");
}

#[test]
fn a_log_from_before_there_were_segments_is_cut_up_little_by_little() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let unbounded = AuditBound { segment_rows: u32::MAX, bytes: u64::MAX };
    append(&mut Store::open(&path).unwrap().bounding_audit(unbounded), 1..=500);
    let mut store = open(&path);
    let mut before = span(&store);
    assert_eq!(before, (1, 500));
    for number in 501..=600 {
        append(&mut store, number..=number);
        let now = span(&store);
        assert!(now.0 - before.0 <= 40, "a row lets go of a few segments, not of all: {before:?}, {now:?}");
        before = now;
    }
    assert!(before.1 - before.0 < 45, "{before:?}");
}

#[test]
fn f2_a_write_that_was_cut_anywhere_while_segments_end_and_go_leaves_the_log_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let log = directory.path().join("state.db-wal");
    let mut store = open(&path);
    append(&mut store, 1..=48);
    let (before, short) = (span(&store), fs::read(&log).unwrap().len());
    append(&mut store, 49..=49);
    let (after, long) = (span(&store), fs::read(&log).unwrap());
    assert_eq!((before, after), ((11, 49), (21, 51)), "with this row one segment ends and one goes");
    let database = fs::read(&path).unwrap();
    let frame = 24 + 4096;
    let frames = (long.len() - short) / frame;
    assert!(frames >= 3, "{frames}");
    let copies = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for length in (short..=long.len()).filter(|at| (at - short) % 515 == 0 || (at - short) % frame == 0) {
        let copy = copies.path().join(format!("{length}.db"));
        fs::write(&copy, &database).unwrap();
        fs::write(copies.path().join(format!("{length}.db-wal")), &long[..length]).unwrap();
        let mut opened = open(&copy);
        assert_eq!((opened.recovered(), opened.damaged_log()), (None, None), "cut to {length}");
        let expected = if length == long.len() { after } else { before };
        assert_eq!(span(&opened), expected, "cut to {length}");
        append(&mut opened, 50..=99);
        assert_eq!(numbers(&opened).last(), Some(&99));
        span(&opened);
    }
}

#[test]
fn f3_a_disk_that_is_full_when_segments_go_refuses_the_row_and_keeps_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(&directory.path().join("state.db"));
    let (mut written, mut refused) = (Vec::new(), 0);
    for number in 1..=400 {
        // In every other stretch of rows the database may not grow by a single page.
        store.limit_growth((number / 7 % 2 == 0).then_some(0));
        let target = Some("x".repeat(usize::try_from(number).unwrap() * 10));
        match store.audit(&AuditRow { target, ..row(number) }) {
            Ok(()) => written.push(number),
            Err(StoreError::NoSpace { .. }) => refused += 1,
            Err(error) => panic!("{number}: {error}"),
        }
        span(&store);
    }
    assert!(refused > 10 && written.len() > 100, "{refused} refused, {} written", written.len());
    let kept = numbers(&store);
    assert_eq!(kept, written[written.len() - kept.len()..], "each that was acknowledged, once and in order");
}

#[test]
fn f11_rows_are_written_and_segments_go_while_somebody_walks_the_chain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut store = open(&path);
    append(&mut store, 1..=95);
    let (first, newest) = span(&store);
    let (midway, at_midway) = sync_channel(0);
    let (go_on, told_to_go_on) = sync_channel::<()>(0);
    let reader = Connection::open(&path).unwrap();
    std::thread::scope(|scope| {
        let verify = scope.spawn(move || {
            let view = reader.unchecked_transaction().unwrap();
            super::super::verify(&view, |number| {
                if number == first + 10 {
                    midway.send(()).unwrap();
                    told_to_go_on.recv_timeout(TIMEOUT).unwrap();
                }
            })
            .unwrap()
        });
        at_midway.recv_timeout(TIMEOUT).expect("the walk comes to its middle");
        // These rows are acknowledged while the check stands still in its middle, and everything that it
        // still has to read is deleted with them.
        append(&mut store, 96..=300);
        assert!(span(&store).0 > newest);
        go_on.send(()).unwrap();
        let check = verify.join().unwrap();
        assert!(
            matches!(check, AuditCheck::Intact { first: seen, rows, .. } if seen == first && seen + rows == newest + 1),
            "{check:?}"
        );
    });
}
