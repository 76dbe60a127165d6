//! `qd events`: one line per event, for people and for programs.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use proto::reply::Subscribed;
use proto::{Dirs, Event, Exit, ExitReason, ProcessId, ProcessView, Reply, RunNumber};
use serde_json::{Value, json};
use testkit::{FakeDaemon, MarkedDaemon, child};

use super::{stage, text};

fn follow(stage: &MarkedDaemon, words: &[&str]) -> (Child, impl Iterator<Item = String>) {
    let mut events = stage.command(words).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(events.stdout.take().unwrap()).lines();
    (events, lines.map(Result::unwrap))
}

#[test]
fn events_are_json_lines_that_begin_with_how_things_are() {
    let stage = stage();
    stage.run("old", child::run_for_ever());
    let (mut events, lines) = follow(&stage, &["events", "--json"]);
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let began = lines.next().unwrap();
    assert_eq!(began["processes"][0]["name"], json!("old"));
    let spawned = stage.run("new", child::print_and_exit("hello", 3));
    let mut revision = began["revision"].as_u64().unwrap();
    let exited = lines.find_map(|event| {
        // Every event once and in order.
        revision += 1;
        assert_eq!(event["revision"], json!(revision));
        event["what"].get("exited").cloned()
    });
    let exited = exited.unwrap();
    assert_eq!((&exited["id"], &exited["exit"]["code"]), (&json!(spawned.id), &json!(3)));
    events.kill().unwrap();
    events.wait().unwrap();
}

/// Returns the output of `qd events` for these events, with one process called `web`.
fn printed(words: &[&str], events: Vec<Event>) -> String {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let dirs = Dirs::below(root.path());
    let mut qd = Command::new(env!("CARGO_BIN_EXE_qd"));
    qd.args(["events", "--limit", &events.len().to_string()]).args(words);
    qd.env("QD_RUNTIME_DIR", &dirs.runtime).env("QD_DATA_DIR", &dirs.data);
    qd.env("QD_CONFIG_DIR", &dirs.config).env_remove("QD_RUN_TOKEN").stdin(Stdio::null());
    let child = qd.stdout(Stdio::piped()).spawn().unwrap();
    let mut peer = daemon.accept_welcome();
    let call = peer.call();
    peer.reply(call.id, Reply::Subscribed(Subscribed { revision: 7, processes: vec![web()] }));
    for (revision, what) in (8..).zip(events) {
        peer.event(revision, what);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    text(&output.stdout)
}

fn id() -> ProcessId {
    ProcessId::from_entropy(7)
}

fn web() -> ProcessView {
    let view = json!({
        "id": id(), "name": "web", "kind": "command", "status": "running", "pid": 7, "run": 1, "state": null,
        "parent": null, "task": null, "workspace": "local", "owner": "user", "size": {"cols": 80, "rows": 24},
        "viewers": 0, "log": {"start": 0, "end": 9}, "argv": ["true"], "cwd": "/", "title": "", "started_at": 1,
        "active_at": 2
    });
    serde_json::from_value(view).unwrap()
}

#[test]
fn events_for_people_are_one_line_each_and_name_the_process() {
    let exit = Exit { code: Some(3), signal: None, reason: ExitReason::Exited };
    let author = "evil\u{1b}[2J\u{9b}H\u{202e}".to_owned();
    let events = vec![
        Event::Changed(Box::new(web())),
        Event::Exited { id: id(), run: RunNumber(1), exit, final_offset: 9 },
        Event::TurnEnded { id: id(), turn: 4 },
        Event::PadChanged { project: "00".to_owned(), name: "plan".to_owned(), revision: 2, author },
        Event::TaskChanged { task: 1, name: "fix".to_owned(), dropped: false },
        Event::TaskChanged { task: 1, name: "fix".to_owned(), dropped: true },
        Event::ItemClosed { item: 5 },
        Event::Done { id: id() },
        Event::Selected { id: id(), by: None },
        Event::Resync {},
    ];
    let expected = [
        "web is running".to_owned(),
        "web: exit 3".to_owned(),
        "web: turn 4 is over".to_owned(),
        "pad plan has revision 2, by evil\\u{1b}[2J\\u{9b}H\\u{202e}".to_owned(),
        "task fix has changed".to_owned(),
        "task fix is dropped".to_owned(),
        "item 5 is closed".to_owned(),
        "web: nothing of it is left".to_owned(),
        format!("{} is selected", id()),
        "events were missed; `qd ps` shows the present state".to_owned(),
    ];
    let printed = printed(&[], events);
    // Each line begins with its time.
    let words: Vec<&str> = printed.lines().filter_map(|line| Some(line.split_once("Z ")?.1)).collect();
    assert_eq!(words, expected);
}

#[test]
fn a_program_that_was_too_slow_is_told_so() {
    let printed = printed(&["--json"], vec![Event::Resync {}]);
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["revision"]), (2, &json!(7)));
    assert_eq!((&lines[1]["revision"], &lines[1]["what"]), (&json!(8), &json!({"resync": {}})));
    assert!(lines[1]["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{}", lines[1]);
}
