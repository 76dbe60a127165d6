//! The chain: what it accepts and which edits it detects.

use super::*;
use crate::Store;

fn row(number: i64) -> AuditRow {
    AuditRow {
        at_ms: number,
        caller: "p_caller".into(),
        verb: "kill".into(),
        target: Some(format!("p_{number}")),
        decision: "denied".into(),
        detail: "not a descendant".into(),
        hash: "a caller's claim does not count".into(),
    }
}

/// Writes ten rows, then runs SQL as an intruder who can write the file and removes the triggers.
fn check_after(edit: &str) -> AuditCheck {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut store = Store::open(&path).unwrap();
    for number in 1..=10 {
        store.audit(&row(number)).unwrap();
    }
    let intruder = Connection::open(&path).unwrap();
    intruder.execute_batch("DROP TRIGGER audit_keeps_rows; DROP TRIGGER audit_keeps_values;").unwrap();
    intruder.execute_batch(edit).unwrap();
    store.verify_audit().unwrap()
}

fn broken_row(edit: &str) -> u64 {
    match check_after(edit) {
        AuditCheck::Broken { row, .. } => row,
        intact @ AuditCheck::Intact { .. } => panic!("{edit}: {intact:?}"),
    }
}

#[test]
fn f11_the_newest_rows_come_back_in_order_from_a_moment_on() {
    let mut store = Store::in_memory().unwrap();
    for number in 1..=10 {
        store.audit(&row(number)).unwrap();
    }
    let rows = store.audit_rows(4, 3).unwrap();
    assert_eq!(rows.iter().map(|row| row.at_ms).collect::<Vec<_>>(), [8, 9, 10]);
    assert_eq!(rows[0].target.as_deref(), Some("p_8"));
    assert_eq!(store.audit_rows(9, 5).unwrap().len(), 2);
    let AuditCheck::Intact { first: 1, rows: 10, head } = store.verify_audit().unwrap() else {
        panic!("the chain is whole");
    };
    assert_eq!(store.audit_rows(10, 1).unwrap()[0].hash, head);
}

#[test]
fn f11_an_empty_log_is_intact() {
    let store = Store::in_memory().unwrap();
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Intact { rows: 0, .. })));
}

#[test]
fn f11_an_untouched_log_is_intact() {
    assert!(matches!(check_after("SELECT 1"), AuditCheck::Intact { rows: 10, .. }));
}

#[test]
fn f11_an_edit_of_any_field_is_detected_at_its_row() {
    for edit in [
        "at_ms = 99",
        "caller = 'user'",
        "verb = 'read'",
        "target = NULL",
        "target = ''",
        "decision = 'allowed'",
        "detail = ''",
        "hash = (SELECT hash FROM audit WHERE id = 4)",
        "verb = verb || target, target = ''",
    ] {
        assert_eq!(broken_row(&format!("UPDATE audit SET {edit} WHERE id = 5")), 5, "{edit}");
    }
}

#[test]
fn f11_removed_exchanged_and_inserted_rows_are_detected() {
    assert_eq!(broken_row("DELETE FROM audit WHERE id = 1"), 1);
    assert_eq!(broken_row("DELETE FROM audit WHERE id = 5"), 5);
    assert_eq!(broken_row("DELETE FROM audit WHERE id > 8"), 9);
    assert_eq!(broken_row("DELETE FROM audit"), 1);
    assert_eq!(broken_row("DELETE FROM audit WHERE id = 5; UPDATE audit SET id = id - 1 WHERE id > 5"), 5);
    let forged = "INSERT INTO audit SELECT 11, at_ms, caller, verb, target, 'allowed', detail, hash FROM audit WHERE id = 10";
    assert_eq!(broken_row(forged), 11);
}

#[test]
fn f11_rows_cannot_be_changed_or_deleted_in_passing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let mut store = Store::open(&path).unwrap();
    store.audit(&row(1)).unwrap();
    let other = Connection::open(&path).unwrap();
    for sql in ["DELETE FROM audit", "UPDATE audit SET caller = 'user'"] {
        let error = other.execute_batch(sql).unwrap_err();
        assert!(error.to_string().contains("append-only"), "{error}");
    }
}

#[test]
fn f11_control_characters_cannot_forge_another_line() {
    let mut store = Store::in_memory().unwrap();
    let forged = AuditRow { detail: "no\n2030 user kill allowed\u{1b}[2A\u{9b}".into(), ..row(1) };
    store.audit(&forged).unwrap();
    let stored = &store.audit_rows(0, 1).unwrap()[0].detail;
    assert_eq!(stored, "no\\u{a}2030 user kill allowed\\u{1b}[2A\\u{9b}");
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Intact { rows: 1, .. })));
}

#[test]
fn f11_a_long_text_is_cut_where_a_character_ends_and_says_how_long_it_was() {
    let mut store = Store::in_memory().unwrap();
    store
        .audit(&AuditRow { detail: format!("{}é{}", "x".repeat(4095), "y".repeat(9000)), ..row(1) })
        .unwrap();
    let stored = &store.audit_rows(0, 1).unwrap()[0].detail;
    assert_eq!(*stored, format!("{} … (13097 bytes in all)", "x".repeat(4095)));
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Intact { rows: 1, .. })));
}

#[test]
fn f11_a_look_holds_the_newest_rows_and_never_the_whole_log() {
    let mut store =
        Store::in_memory().unwrap().bounding_audit(AuditBound { segment_rows: 4096, bytes: u64::MAX });
    let long = |number| AuditRow { target: Some("t".repeat(4000)), detail: "d".repeat(4000), ..row(number) };
    let batch: Vec<_> = (1..=1200).map(|number| crate::Change::Audit(long(number))).collect();
    store.apply(&batch).unwrap();
    let rows = store.audit_rows(0, usize::MAX).unwrap();
    assert_eq!(rows.last().map(|row| row.at_ms), Some(1200));
    assert!((1000..1100).contains(&rows.len()), "{}", rows.len());
    assert!(matches!(store.verify_audit(), Ok(AuditCheck::Intact { rows: 1200, .. })));
}
