//! The grammar, the limits and the table of program status reports.

use super::{ProgramState, RECORDS_MAX, StatusReport, StatusTable};

fn parse(payload: &str) -> Option<StatusReport> {
    StatusReport::parse(payload.as_bytes())
}

#[test]
fn a_permission_request_is_read_with_its_message() {
    let report =
        parse("state=blocked:kind=permission:msg=YXBwcm92ZSBCYXNo:app=crew:id=lead/worker.1").unwrap();
    assert_eq!(report.state, Some(ProgramState::Blocked));
    assert_eq!(report.kind.as_deref(), Some("permission"));
    assert_eq!(report.message.as_deref(), Some("approve Bash"));
    assert_eq!(report.app.as_deref(), Some("crew"));
    assert_eq!(report.id, "lead/worker.1");
}

#[test]
fn unknown_keys_are_ignored() {
    assert_eq!(parse("state=idle:colour=blue").unwrap().state, Some(ProgramState::Idle));
}

#[test]
fn one_broken_field_rejects_the_whole_report() {
    let long_id = ["x"; 9].join("/");
    let long_title = "A".repeat(260);
    for broken in [
        "".to_owned(),
        "state".to_owned(),
        "app=crew".to_owned(),
        "state=dancing".to_owned(),
        "state=idle:progress=101".to_owned(),
        "state=idle:progress=+5".to_owned(),
        "state=idle:progress=".to_owned(),
        "state=idle:id=a//b".to_owned(),
        "state=idle:id=a b".to_owned(),
        format!("state=idle:id={long_id}"),
        "state=idle:msg=%%%".to_owned(),
        "state=idle:msg=G1szMW0=".to_owned(),
        format!("state=idle:title={long_title}"),
        "state=idle:app=a\u{7}b".to_owned(),
        "state=idle:x=\u{1}".to_owned(),
        format!("state=idle:x={}", "y".repeat(4096)),
    ] {
        assert_eq!(parse(&broken), None, "{broken:?}");
    }
}

#[test]
fn the_table_keeps_the_most_recent_256_records() {
    let mut table = StatusTable::default();
    for number in 0..300 {
        table.apply(&parse(&format!("state=working:id=w{number}")).unwrap());
    }
    table.apply(&parse("state=idle:id=w44").unwrap());
    assert_eq!(table.records().len(), RECORDS_MAX);
    assert_eq!(table.records()[0].id, "w45");
    assert_eq!(table.records().last().unwrap().id, "w44");
}

#[test]
fn a_withdrawal_removes_its_branch_or_everything() {
    let mut table = StatusTable::default();
    for id in ["a", "a/b", "ab", "c"] {
        table.apply(&parse(&format!("state=working:id={id}")).unwrap());
    }
    table.apply(&parse("state=clear:id=a").unwrap());
    let left: Vec<_> = table.records().iter().map(|record| record.id.as_str()).collect();
    assert_eq!(left, ["ab", "c"]);
    table.apply(&parse("state=clear").unwrap());
    assert!(table.records().is_empty());
}

#[test]
fn a_new_prompt_keeps_only_what_is_final() {
    let mut table = StatusTable::default();
    for (id, state) in [("a", "working"), ("b", "done"), ("c", "error"), ("d", "blocked"), ("e", "idle")] {
        table.apply(&parse(&format!("state={state}:id={id}")).unwrap());
    }
    table.keep_final();
    let left: Vec<_> = table.records().iter().map(|record| record.id.as_str()).collect();
    assert_eq!(left, ["b", "c"]);
}
