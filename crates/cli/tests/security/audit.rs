//! The audit log: who did what to whom, how much was typed, and whether it was changed since.

use proto::audit::{AuditEntry, AuditVerdict};
use proto::request::{Audit, Empty, Request, TypedInput, Write};
use proto::{ErrorCode, ProcessId, Reply};
use testkit::{FakeAgents, MarkedDaemon, child};

use crate::inside::Inside;
use crate::{AGENT, QD};

fn page(stage: &MarkedDaemon, limit: Option<u32>) -> (Vec<AuditEntry>, AuditVerdict) {
    let page = stage.client().audit(Audit { since: 0, limit, verify: true }).unwrap();
    (page.rows, page.verified.unwrap())
}

/// Returns the rows of this verb: caller, target, decision and amount.
fn rows_of(stage: &MarkedDaemon, verb: &str) -> Vec<(String, Option<String>, String, String)> {
    let rows = page(stage, None).0.into_iter().filter(|row| row.verb == verb);
    rows.map(|row| (row.caller, row.target, row.decision, row.detail)).collect()
}

#[test]
fn f11_every_byte_that_is_typed_for_somebody_is_counted_and_none_is_kept() {
    let crew = FakeAgents::start(QD, AGENT);
    crew.run("echo", child::repeat_lines());
    crew.wait_pattern("echo", "ready");
    crew.enlist("agent", &[]);
    let echo = crew.process("echo").id.to_string();
    crew.type_text("echo", "SeCrEt\n");
    crew.wait_pattern("echo", "got:SeCrEt");
    let mut client = crew.client();
    let write = Write {
        target: "echo".into(),
        key: None,
        input: TypedInput::PasteStream(Empty {}),
        submit: false,
        timeout_ms: None,
    };
    let id = client.send(Request::Write(write)).unwrap();
    client.send_data(u32::try_from(id).unwrap(), 0, b"SeCrEt in ").unwrap();
    client.send_data(u32::try_from(id).unwrap(), 10, b"pieces\n").unwrap();
    client.send_data(u32::try_from(id).unwrap(), 17, b"").unwrap();
    let Reply::Wrote(wrote) = client.answer(id).unwrap() else { panic!("not written") };
    let human =
        |bytes: u64| ("human".to_owned(), Some(echo.clone()), "allowed".to_owned(), format!("{bytes} bytes"));
    assert_eq!(rows_of(&crew, "write"), [human(7), human(wrote.written)]);
    crew.submit("agent", "say SeCrEt");
    let agent = crew.process("agent").id.to_string();
    let typed = rows_of(&crew, "type");
    assert!(typed.len() >= 2, "the text and its Enter: {typed:?}");
    assert!(typed.iter().all(|row| row.0 == "quarterdeck" && row.1.as_ref() == Some(&agent)), "{typed:?}");
    assert_eq!(typed[0].3, "10 bytes");
    let (rows, verdict) = page(&crew, None);
    assert!(!format!("{rows:?}").contains("SeCrEt"), "{rows:?}");
    assert!(
        matches!(verdict, AuditVerdict::Intact { rows: count, .. } if count == rows.len() as u64),
        "{verdict:?}"
    );
}

#[test]
fn f11_a_process_that_types_is_named_with_its_run_and_may_not_read_the_log() {
    let stage = MarkedDaemon::start(QD);
    let mut inside = Inside::command(&stage, "inside");
    let id = stage.process("inside").id;
    inside.spawn("--name kid -- cat");
    inside.json("send kid hello");
    // Its own terminal echoes nothing, as for a password.
    assert_ne!(inside.run(&format!("'{QD}' send inside true")).0, 0);
    let rows: Vec<_> = rows_of(&stage, "write").into_iter().filter(|row| row.0 != "human").collect();
    let row = |target: ProcessId, decision: &str, detail: &str| {
        (format!("{id}.1"), Some(target.to_string()), decision.to_owned(), detail.to_owned())
    };
    let kid = stage.process("kid").id;
    assert_eq!(rows, [row(kid, "allowed", "6 bytes"), row(id, "denied", "its terminal reads a secret")]);
    let answers = inside.say(&[
        serde_json::json!({"id": 1, "request": {"hello": {"protocol": proto::version::PROTOCOL}}}),
        serde_json::json!({"id": 2, "request": {"audit": {}}}),
        serde_json::json!({"id": 3, "request": {"attach": {"target": "kid", "size": {}, "read_only": true}}}),
    ]);
    assert_eq!(rows_of(&stage, "attach"), [row(kid, "allowed", "watching")]);
    let code = serde_json::from_value::<ErrorCode>(answers[1]["reply"]["outcome"]["error"]["code"].clone());
    assert!(matches!(code, Ok(ErrorCode::Denied | ErrorCode::NotRelated)), "{answers:?}");
    let refused = page(&stage, None).0.into_iter().filter(|row| row.decision != "allowed");
    let refused: Vec<String> = refused.map(|row| format!("{} {}", row.verb, row.decision)).collect();
    assert_eq!(refused.len(), 3, "leave to start, the secret, the log: {refused:?}");
}

#[test]
fn f11_the_newest_rows_are_shown_and_a_changed_one_is_found() {
    let stage = MarkedDaemon::start(QD);
    stage.run("echo", child::repeat_lines());
    stage.wait_pattern("echo", "ready");
    for n in 1..=5 {
        stage.type_text("echo", &format!("{}\n", "x".repeat(40 + n)));
    }
    let (newest, _) = page(&stage, Some(2));
    let details: Vec<&str> = newest.iter().map(|row| row.detail.as_str()).collect();
    assert_eq!(details, ["45 bytes", "46 bytes"]);
    let (rows, verdict) = page(&stage, None);
    let AuditVerdict::Intact { head, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(Some(&head), rows.last().map(|row| &row.hash));
    stage.kill_9();
    assert!(matches!(page(&stage, None).1, AuditVerdict::Intact { .. }), "a killed daemon breaks no chain");
    // The process stays; the database is closed and complete.
    assert!(stage.qd(&["shutdown"]).status.success());
    let path = stage.dirs().database();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(8).position(|window| window == b"44 bytes").expect("the row is in the file");
    bytes[at + 1] = b'5';
    std::fs::write(&path, bytes).unwrap();
    let row = rows.iter().position(|row| row.detail == "44 bytes").unwrap() as u64 + 1;
    let (changed, verdict) = page(&stage, None);
    assert_eq!(changed[usize::try_from(row).unwrap() - 1].detail, "45 bytes");
    assert!(matches!(&verdict, AuditVerdict::Broken { row: found, .. } if *found == row), "{verdict:?}");
}
