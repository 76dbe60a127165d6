//! Waits, follows and subscriptions continue with the next daemon, and undo no shutdown.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use proto::frame::DataKind;
use proto::reply::{Satisfied, Subscribed, Waited};
use proto::request::{Quantifier, Target, Wait};
use proto::{ErrorCode, Event, Failure, ProcessView, Reply, Request};
use serde_json::{Value, json};
use testkit::{FakeDaemon, MarkedDaemon, Peer, child, wait_for_end};

use super::{id, qd, text};

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// Returns a process as a list shows it.
fn view(number: u64, name: &str, run: u32, end: u64) -> ProcessView {
    let id = proto::ProcessId::from_entropy(number);
    let view = json!({"id": id, "name": name, "kind": "command", "status": "running", "pid": 7, "run": run,
        "state": null, "title": "", "parent": null, "task": null, "workspace": "w", "owner": "user", "size": {"cols": 80, "rows": 24},
        "viewers": 0, "log": {"start": 0, "end": end}, "argv": ["x"], "cwd": "/", "started_at": 0,
        "active_at": 0});
    serde_json::from_value(view).unwrap()
}

/// Answers a call for the list.
fn list(peer: &mut Peer, views: Vec<ProcessView>) {
    let call = peer.call();
    assert!(matches!(call.request, Request::List(_)), "{call:?}");
    peer.reply(call.id, Reply::Processes(views));
}

fn asked_to_wait(peer: &mut Peer) -> (u64, Wait) {
    let call = peer.call();
    let Request::Wait(wait) = call.request else { panic!("{call:?}") };
    (call.id, wait)
}

fn satisfied(number: u64, name: &str, found: &str) -> Reply {
    let id = proto::ProcessId::from_entropy(number);
    let one = Satisfied {
        id,
        name: name.parse().unwrap(),
        text: Some(found.to_owned()),
        exit: None,
        state: None,
        dialog: None,
        offset: 9,
    };
    Reply::Waited(Waited { satisfied: vec![one] })
}

fn wait(root: &Path, words: &[&str]) -> Child {
    qd(root, &["wait"]).args(words).spawn().unwrap()
}

#[test]
fn a_wait_is_asked_again_from_where_it_began_and_with_the_time_that_is_left() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let child = wait(root.path(), &["x", "--pattern", "needle", "--since", "now", "--timeout", "600"]);
    let mut peer = daemon.accept_welcome();
    list(&mut peer, vec![view(1, "x", 1, 100)]);
    let (_, first) = asked_to_wait(&mut peer);
    assert_eq!((first.since, first.timeout_ms), (None, Some(600_000)));
    drop(peer);
    // It has another name and has printed more: it is still the same process, from the same byte on.
    let mut peer = daemon.accept_welcome();
    list(&mut peer, vec![view(1, "y", 1, 900)]);
    let (call, again) = asked_to_wait(&mut peer);
    assert_eq!((again.targets, again.since), (vec![Target(id().to_string())], Some(100)));
    assert!(again.timeout_ms.unwrap() < 600_000, "{:?}", again.timeout_ms);
    // A daemon that is ending refuses it: the next one is asked.
    peer.fail(call, Failure::new(ErrorCode::ShuttingDown, "ending"));
    drop(peer);
    let mut peer = daemon.accept_welcome();
    list(&mut peer, vec![view(1, "y", 1, 900)]);
    let (call, again) = asked_to_wait(&mut peer);
    assert_eq!(again.since, Some(100));
    peer.reply(call, satisfied(1, "y", "a needle"));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "a needle\n"));
}

#[test]
fn a_wait_for_several_goes_on_in_each_from_where_that_one_was() {
    let views = || vec![view(1, "a", 1, 100), view(2, "b", 3, 7)];
    for (quantifier, expected) in [(Quantifier::All, "in a\nin b\n"), (Quantifier::Any, "in b\n")] {
        let root = tempfile::tempdir().unwrap();
        let daemon = FakeDaemon::listen(root.path());
        let how = if quantifier == Quantifier::All { "--all" } else { "--any" };
        let child = wait(root.path(), &["a", "b", "--pattern", "in", "--since", "now", how]);
        let mut peer = daemon.accept_welcome();
        list(&mut peer, views());
        let (_, first) = asked_to_wait(&mut peer);
        assert_eq!((first.targets.len(), first.quantifier), (2, quantifier));
        drop(peer);
        let mut peer = daemon.accept_welcome();
        list(&mut peer, views());
        let (one, two) = (asked_to_wait(&mut peer), asked_to_wait(&mut peer));
        assert_eq!((one.1.since, two.1.since), (Some(100), Some(7)));
        // Answers come in any order.
        peer.reply(two.0, satisfied(2, "b", "in b"));
        if quantifier == Quantifier::All {
            peer.reply(one.0, satisfied(1, "a", "in a"));
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), expected));
    }
}

#[test]
fn a_run_that_was_started_meanwhile_is_not_taken_for_the_one_before() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let child = wait(root.path(), &["x", "--exit"]);
    let mut peer = daemon.accept_welcome();
    list(&mut peer, vec![view(1, "x", 1, 100)]);
    asked_to_wait(&mut peer);
    drop(peer);
    list(&mut daemon.accept_welcome(), vec![view(1, "x", 2, 0)]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("x was started again"), "{}", text(&output.stderr));
}

#[test]
fn a_wait_ends_in_time_where_no_daemon_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let mut child = wait(root.path(), &["x", "--ready", "--timeout", "1"]);
    let mut peer = daemon.accept_welcome();
    asked_to_wait(&mut peer);
    // Like a daemon that was shut down: it removes its socket before it closes its connections.
    std::fs::remove_file(daemon.dirs().socket()).unwrap();
    drop((peer, daemon));
    assert_eq!(wait_for_end(&mut child, testkit::DEADLINE).code(), Some(5));
}

#[test]
fn inside_a_run_the_next_daemon_is_waited_for_and_none_is_started() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let child = qd(root.path(), &["wait", "x", "--ready"]).env("QD_RUN_TOKEN", "t").spawn().unwrap();
    let mut peer = daemon.accept_welcome();
    asked_to_wait(&mut peer);
    // Like a killed daemon: its socket is still there without a listener.
    drop((peer, daemon));
    let again = FakeDaemon::listen(root.path());
    let mut peer = again.accept_welcome();
    // A condition that stays true is simply asked again.
    let (call, _) = asked_to_wait(&mut peer);
    peer.reply(call, satisfied(1, "x", "it is ready"));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "it is ready\n"));
    assert!(!again.dirs().daemon_log().exists(), "a real daemon was started");
}

#[test]
fn events_go_on_with_a_resync_and_the_names_that_there_are_then() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let child = qd(root.path(), &["events", "--limit", "3"]).spawn().unwrap();
    let subscribed = |name: &str| {
        let mut peer = daemon.accept_welcome();
        let call = peer.call();
        assert!(matches!(call.request, Request::Subscribe(_)), "{call:?}");
        let processes = vec![view(1, name, 1, 0)];
        peer.reply(call.id, Reply::Subscribed(Subscribed { revision: 7, processes }));
        peer
    };
    let mut peer = subscribed("old");
    peer.event(8, Event::Selected { id: id(), by: None });
    drop(peer);
    subscribed("new").event(9, Event::Selected { id: id(), by: None });
    let output = child.wait_with_output().unwrap();
    // Each line begins with its time.
    let words = text(&output.stdout).lines().map(|line| line.split_once("Z ").unwrap().1);
    let words: Vec<&str> = words.collect();
    let missed = "events were missed; `qd ps` shows the present state";
    assert_eq!((output.status.code(), words), (Some(0), vec!["old is selected", missed, "new is selected"]));
}

/// Returns a `qd` whose output is read line by line.
fn begin(stage: &MarkedDaemon, words: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = stage.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

fn line(lines: &mut impl BufRead) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line
}

fn json_line(lines: &mut impl BufRead) -> Value {
    serde_json::from_str(&line(lines)).unwrap()
}

#[test]
fn s1_a_log_a_recording_and_waits_survive_daemons_that_are_killed() {
    let stage = MarkedDaemon::start(QD);
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    let (mut logs, mut log) = begin(&stage, &["logs", "x", "-f"]);
    let (mut record, mut cast) = begin(&stage, &["record", "x", "-", "--from-start"]);
    let (mut wait, mut waited) = begin(&stage, &["wait", "x", "--exit"]);
    assert_eq!(line(&mut log), "ready\r\n");
    assert_eq!(json_line(&mut cast)["version"], 2);
    let mut shown = json_line(&mut cast)[2].as_str().unwrap().to_owned();
    for word in ["one", "two", "three"] {
        stage.kill_9();
        stage.type_text("x", &format!("{word}\n"));
        assert_eq!(line(&mut log), format!("got:{word}\r\n"));
    }
    stage.type_text("x", "\u{4}");
    assert_eq!(wait_for_end(&mut logs, testkit::DEADLINE).code(), Some(0));
    assert_eq!(line(&mut log), "", "no byte twice");
    assert_eq!(wait_for_end(&mut record, testkit::DEADLINE).code(), Some(0));
    for event in cast.lines() {
        let event: Value = serde_json::from_str(&event.unwrap()).unwrap();
        assert_eq!(event[1], "o", "{event}");
        shown.push_str(event[2].as_str().unwrap());
    }
    assert_eq!(shown, "ready\r\ngot:one\r\ngot:two\r\ngot:three\r\n");
    assert_eq!(wait_for_end(&mut wait, testkit::DEADLINE).code(), Some(0));
    assert_eq!(line(&mut waited), "x: exit 0\n");
}

#[test]
fn s1_whoever_listens_starts_the_daemon_that_was_killed() {
    let stage = MarkedDaemon::start(QD);
    let (mut events, mut lines) = begin(&stage, &["--json", "events"]);
    assert!(json_line(&mut lines)["processes"].is_array());
    stage.kill_9();
    // No other command starts one.
    assert_eq!(json_line(&mut lines)["what"], json!({"resync": {}}));
    stage.run("x", child::run_for_ever());
    assert_eq!(json_line(&mut lines)["what"]["changed"]["name"], "x");
    events.kill().unwrap();
    events.wait().unwrap();
}

#[test]
fn s3_whoever_listens_undoes_no_shutdown_and_goes_on_after_it() {
    let stage = MarkedDaemon::start(QD);
    stage.run("x", child::repeat_lines());
    stage.wait_pattern("x", "ready");
    // From a file of its own, so that a daemon that it starts differs from others.
    let copy = stage.root().join("listener");
    testkit::child::copy_program(QD, &copy);
    let listener = |words: &[&str]| {
        let mut command = std::process::Command::new(&copy);
        command.args(words).envs(stage.variables()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        (child, lines)
    };
    let (mut events, mut heard) = listener(&["--json", "events"]);
    let (mut logs, mut log) = listener(&["logs", "x", "-f"]);
    assert!(json_line(&mut heard)["processes"].is_array());
    assert_eq!(line(&mut log), "ready\r\n");
    for word in ["one", "two", "three"] {
        assert!(stage.qd(&["shutdown"]).status.success());
        assert!(!stage.dirs().socket().exists(), "another daemon was started");
        stage.type_text("x", &format!("{word}\n"));
        assert_eq!(line(&mut log), format!("got:{word}\r\n"));
        let running = std::fs::read_link(format!("/proc/{}/exe", stage.pid())).unwrap();
        assert_eq!(running, Path::new(QD));
        // It listens again: events from here on arrive.
        while !line(&mut heard).contains("\"resync\"") {}
    }
    stage.type_text("x", "\u{4}");
    assert_eq!(wait_for_end(&mut logs, testkit::DEADLINE).code(), Some(0));
    assert!(heard.lines().any(|line| line.unwrap().contains("\"exited\"")));
    events.kill().unwrap();
    events.wait().unwrap();
}

#[test]
fn a_log_up_to_now_goes_on_where_it_was_and_ends_where_it_was_to_end() {
    let root = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::listen(root.path());
    let child = qd(root.path(), &["logs", "x"]).spawn().unwrap();
    let mut peer = daemon.accept_welcome();
    super::begin_follow(&mut peer);
    peer.data(DataKind::Output, 0, b"abc");
    drop(peer);
    let mut peer = daemon.accept_welcome();
    list(&mut peer, vec![view(1, "x", 1, 9)]);
    let again = super::begin_follow(&mut peer);
    assert_eq!((again.from, again.live), (Some(3), false));
    // What was printed since is not what was asked for.
    peer.data(DataKind::Output, 3, b"defghi");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "abcde"));
}
