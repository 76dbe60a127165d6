//! What a stream lacks at its beginning is reported, and so is every new size.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use proto::request::ReadMode;
use serde_json::{Value, json};
use testkit::process_scan::eventually;
use testkit::{MarkedDaemon, child};

use super::text;

fn stage() -> MarkedDaemon {
    MarkedDaemon::start(env!("CARGO_BIN_EXE_qd"))
}

#[test]
fn e4_a_log_that_begins_later_than_its_run_says_so() {
    let stage = stage();
    // Longer than the log is kept.
    stage.run("x", child::shell("stty raw -echo; seq 1 1000000"));
    stage.wait_exit("x");
    let start = stage.process("x").live.log.start;
    assert!(start > 0);
    let gone = format!("[{start} bytes are gone]\n");
    let logs = stage.qd(&["logs", "x"]);
    assert_eq!(text(&logs.stderr), gone);
    let logs = stage.qd(&["--json", "logs", "x"]);
    let first: Value = serde_json::from_str(text(&logs.stdout).lines().next().unwrap()).unwrap();
    assert_eq!(first, json!({"gap": {"from": 0, "to": start}}));
    assert_eq!(text(&logs.stderr), "", "reported once, on standard output");
    let record = stage.qd(&["record", "x", "-", "--from-start"]);
    assert_eq!(text(&record.stderr), gone);
    let second: Value = serde_json::from_str(text(&record.stdout).lines().nth(1).unwrap()).unwrap();
    assert_eq!((&second[1], &second[2]), (&json!("m"), &json!(format!("{start} bytes are gone"))));
    let read = stage.qd(&["read", "x", "--mode", "stream", "--since", "0"]);
    assert_eq!(text(&read.stderr), gone);
    let history = stage.json(&["read", "x", "--mode", "history", "--since", "0"]);
    let read = stage.qd(&["read", "x", "--mode", "history", "--since", "0"]);
    assert!(history["missed"].as_u64().unwrap() > 0);
    assert_eq!(text(&read.stderr), format!("[{} lines are gone]\n", history["missed"]));
}

#[test]
fn another_size_is_in_the_log_and_in_recordings() {
    let stage = stage();
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let follow = |words: &[&str]| {
        let mut child = stage.command(words).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()))
    };
    let (mut logs, mut log) = follow(&["--json", "logs", "x", "-f"]);
    let (mut v2, mut cast2) = follow(&["record", "x", "-", "--from-start"]);
    let (mut v3, mut cast3) = follow(&["record", "x", "-", "--from-start", "--format", "v3"]);
    assert_eq!(log.next().unwrap()["text"], "ready\r\n");
    for cast in [&mut cast2, &mut cast3] {
        assert!(cast.any(|event| event[2] == "ready\r\n"));
    }
    assert!(stage.qd(&["resize", "x", "100x30"]).status.success());
    let has_it = || (stage.read("x", ReadMode::Screen).size.cols == 100).then_some(());
    eventually("the terminal has the other size", has_it);
    stage.type_text("x", "after\n");
    assert_eq!(log.next().unwrap(), json!({"size": {"cols": 100, "rows": 30}}));
    for cast in [&mut cast2, &mut cast3] {
        let event = cast.next().unwrap();
        assert_eq!((&event[1], &event[2]), (&json!("r"), &json!("100x30")));
    }
    assert_eq!(log.next().unwrap()["text"], "got:after\r\n");
    // The next daemon reports no size that is known.
    stage.kill_9();
    stage.type_text("x", "more\n");
    assert_eq!(log.next().unwrap()["text"], "got:more\r\n");
    stage.type_text("x", "\u{4}");
    for child in [&mut logs, &mut v2, &mut v3] {
        assert!(testkit::wait_for_end(child, testkit::DEADLINE).success());
    }
}
