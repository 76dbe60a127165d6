//! The daemon goes away: the proxy stays, and reports what it knows.

use serde_json::json;
use testkit::{FakeDaemon, MarkedDaemon, TestDaemon, child};

use crate::QD;
use crate::proxy::{Proxy, with_tasks};
use proto::reply::{Spawned, Waited};
use proto::{Kind, ProcessId, Reply, Request, RunNumber, Status};

#[test]
fn a_killed_daemon_costs_a_client_nothing_but_a_moment() {
    let stage = MarkedDaemon::start(QD);
    stage.run("kept", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    for _ in 0..3 {
        assert_eq!(proxy.tool("list_processes", json!({}))["processes"][0]["name"], json!("kept"));
        stage.kill_9();
    }
    // A call on a connection whose daemon is known to be gone is not in doubt: it is made with the new one.
    let spawned =
        proxy.tool("spawn_process", json!({"kind": "command", "argv": child::run_for_ever(), "name": "new"}));
    assert_eq!(spawned["status"], json!("running"));
    proxy.tool("close_process", json!({"process": "new"}));
    proxy.end();
}

#[test]
fn a_wait_goes_on_through_the_death_of_the_daemon_and_misses_nothing() {
    let stage = MarkedDaemon::start(QD);
    stage.run("echo", child::repeat_lines());
    stage.wait_pattern("echo", "ready");
    let mut proxy = Proxy::modern(&stage, with_tasks());
    let task = proxy.call("wait_for_pattern", json!({"process": "echo", "pattern": "got:after"}));
    stage.kill_9();
    drop(stage.client());
    stage.type_text("echo", "after\n");
    let until = std::time::Instant::now() + testkit::DEADLINE;
    loop {
        let told = proxy.request("tasks/get", json!({"taskId": task["taskId"]}))["result"].clone();
        if told["status"] == json!("completed") {
            assert_eq!(told["result"]["structuredContent"]["satisfied"][0]["text"], json!("got:after"));
            return;
        }
        assert!(told["status"] == json!("working") && std::time::Instant::now() < until, "{told}");
    }
}

#[test]
fn a_wait_goes_on_through_an_upgrade() {
    let stage = MarkedDaemon::start(QD);
    stage.run("echo", child::repeat_lines());
    stage.wait_pattern("echo", "ready");
    let mut proxy = Proxy::greeted(&stage);
    let wait = json!({"name": "wait_for_pattern", "arguments": {"process": "echo", "pattern": "got:after"}});
    let id = proxy.begin("tools/call", wait);
    assert_eq!(proxy.tool("list_processes", json!({}))["processes"][0]["name"], json!("echo"));
    assert!(stage.qd(&["shutdown"]).status.success());
    drop(stage.client());
    stage.type_text("echo", "after\n");
    assert_eq!(proxy.answer(id)["result"]["structuredContent"]["satisfied"][0]["text"], json!("got:after"));
}

#[test]
fn a_daemon_that_was_ended_on_purpose_is_not_woken_by_what_merely_waits() {
    let stage = MarkedDaemon::start(QD);
    stage.run("kept", child::run_for_ever());
    let mut proxy = Proxy::modern(&stage, with_tasks());
    proxy.begin(
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": ["qd://processes", "qd://screen/kept"]}}),
    );
    let task = proxy.call("wait_for_state", json!({"processes": ["kept"], "states": ["exited"]}));
    assert_eq!(task["status"], json!("working"));
    assert!(stage.qd(&["shutdown"]).status.success());
    // The listeners try again after a second; a wait tries to reach the daemon for fifteen and then reports
    // it.
    let until = std::time::Instant::now() + testkit::DEADLINE;
    let told = loop {
        let told = proxy.request("tasks/get", json!({"taskId": task["taskId"]}))["result"].clone();
        assert!(!stage.dirs().socket().exists(), "the daemon was started");
        if told["status"] != json!("working") {
            break told;
        }
        assert!(std::time::Instant::now() < until, "{told}");
    };
    assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("\"unreachable\""), "{told}");
    // A real request starts it.
    assert_eq!(proxy.tool("list_processes", json!({}))["processes"][0]["name"], json!("kept"));
}

/// Returns a proxy with a fake daemon.
fn with_fake() -> (TestDaemon, FakeDaemon, Proxy) {
    let dirs = TestDaemon::without_start(QD);
    let fake = FakeDaemon::listen(dirs.root());
    let proxy = Proxy::greeted(&dirs);
    (dirs, fake, proxy)
}

#[test]
fn a_question_that_was_cut_off_is_asked_again() {
    let (_places, fake, mut proxy) = with_fake();
    let id = proxy.begin("tools/call", json!({"name": "list_processes", "arguments": {}}));
    for _ in 0..3 {
        let mut peer = fake.accept_welcome();
        assert!(matches!(peer.call().request, Request::List(_)));
    }
    let mut peer = fake.accept_welcome();
    let call = peer.call();
    peer.reply(call.id, Reply::Processes(Vec::new()));
    assert_eq!(proxy.answer(id)["result"]["isError"], json!(false));
}

#[test]
fn a_message_that_was_cut_off_is_sent_again_under_the_same_key() {
    let (_places, fake, mut proxy) = with_fake();
    proxy.begin(
        "tools/call",
        json!({"name": "send_message", "arguments": {"target": "a", "message": "hello"}}),
    );
    let mut keys = Vec::new();
    for _ in 0..2 {
        let mut peer = fake.accept_welcome();
        let Request::Tell(tell) = peer.call().request else { panic!("not a message") };
        keys.push(tell.key.unwrap());
    }
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn a_cancelled_wait_closes_its_connection() {
    let (_places, fake, mut proxy) = with_fake();
    let wait = json!({"name": "wait_for_state", "arguments": {"processes": ["a"], "states": ["exited"]}});
    let id = proxy.begin("tools/call", wait);
    let mut peer = fake.accept_welcome();
    assert!(matches!(peer.call().request, Request::Wait(_)));
    proxy.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert_eq!(peer.receive(), testkit::FromClient::End, "the daemon must learn that the waiter is gone");
}

#[test]
fn one_connection_serves_one_call_after_another() {
    let (_places, fake, mut proxy) = with_fake();
    let first = proxy.begin("tools/call", json!({"name": "restart_process", "arguments": {"process": "a"}}));
    let mut peer = fake.accept_welcome();
    let call = peer.call();
    let spawned = Spawned {
        id: ProcessId::from_entropy(1),
        name: "a".parse().unwrap(),
        kind: Kind::Command,
        status: Status::Running,
        pid: Some(7),
        run: RunNumber(2),
        warning: None,
        shortfalls: Vec::new(),
    };
    peer.reply(call.id, Reply::Spawned(spawned));
    assert_eq!(proxy.answer(first)["result"]["structuredContent"]["run"], json!(2));
    let wait = json!({"name": "wait_for_state", "arguments": {"processes": ["a"], "states": ["exited"]}});
    let second = proxy.begin("tools/call", wait);
    let call = peer.call();
    peer.reply(call.id, Reply::Waited(Waited { satisfied: Vec::new() }));
    assert_eq!(proxy.answer(second)["result"]["structuredContent"]["status"], json!("satisfied"));
}
