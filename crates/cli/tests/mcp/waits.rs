//! Waiting: as a task, in slices with progress, cancelled.

use std::time::Instant;

use serde_json::{Value, json};
use testkit::{MarkedDaemon, child};

use crate::QD;
use crate::proxy::{Proxy, with_tasks};

#[test]
fn a_client_with_tasks_gets_one_and_its_result() {
    let stage = MarkedDaemon::start(QD);
    stage.run("echo", child::repeat_lines());
    stage.wait_pattern("echo", "ready");
    let mut proxy = Proxy::modern(&stage, with_tasks());
    let created = proxy.call("wait_for_pattern", json!({"process": "echo", "pattern": "got:now"}));
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    let task = created["taskId"].as_str().unwrap().to_owned();
    proxy.call("send_input", json!({"process": "echo", "kind": "text", "text": "now", "submit": true}));
    let done = until_over(&mut proxy, &task);
    assert_eq!(done["status"], json!("completed"), "{done}");
    assert_eq!(done["result"]["structuredContent"]["satisfied"][0]["text"], json!("got:now"));
    proxy.end();
}

fn until_over(proxy: &mut Proxy, task: &str) -> Value {
    let until = Instant::now() + testkit::DEADLINE;
    loop {
        let told = proxy.request("tasks/get", json!({"taskId": task}))["result"].clone();
        if told["status"] != json!("working") {
            return told;
        }
        assert!(Instant::now() < until, "{told}");
    }
}

#[test]
fn a_task_can_be_cancelled_and_the_daemon_forgets_its_wait() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quiet", child::run_for_ever());
    let mut proxy = Proxy::modern(&stage, with_tasks());
    let created = proxy.call("wait_for_state", json!({"processes": ["quiet"], "states": ["exited"]}));
    let task = created["taskId"].as_str().unwrap().to_owned();
    proxy.request("tasks/cancel", json!({"taskId": task}));
    assert_eq!(until_over(&mut proxy, &task)["status"], json!("cancelled"));
    assert_eq!(proxy.request("tasks/get", json!({"taskId": "nobody"}))["error"]["code"], json!(-32602));
}

#[test]
fn what_is_so_already_is_answered_without_a_task() {
    let stage = MarkedDaemon::start(QD);
    stage.run("over", child::print_and_exit("x", 3));
    stage.wait_exit("over");
    let mut proxy = Proxy::modern(&stage, with_tasks());
    let told = proxy.call("wait_for_state", json!({"processes": ["over"], "states": ["exited"]}));
    assert_eq!(told["structuredContent"]["satisfied"][0]["exit"], json!("code 3"));
    let told = proxy.call("wait_for_state", json!({"processes": ["over"], "states": ["idle"]}));
    assert_eq!(told["isError"], json!(true), "a command has no such state: {told}");
}

#[test]
fn a_client_without_tasks_hears_progress_and_may_cancel() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quiet", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let params = json!({"name": "wait_for_pattern", "arguments": {"process": "quiet", "pattern": "never"}, "_meta": {"progressToken": "p"}});
    let id = proxy.begin("tools/call", params);
    let note = proxy.note(|line| line["method"] == json!("notifications/progress"));
    assert_eq!(note["params"]["progressToken"], json!("p"));
    proxy.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert_eq!(proxy.request("ping", json!({}))["result"], json!({}));
    assert!(proxy.notes.iter().all(|note| note["id"] != json!(id)), "a cancelled request was answered");
}

#[test]
fn a_timeout_is_an_error_and_a_fraction_of_a_second_is_a_time() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quiet", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let error = proxy
        .refusal("wait_for_pattern", json!({"process": "quiet", "pattern": "never", "timeout_seconds": 0.2}));
    assert_eq!(error["code"], json!("timeout"));
    let error = proxy.refusal(
        "wait_for_state",
        json!({"processes": ["quiet"], "states": ["exited"], "timeout_seconds": 0}),
    );
    assert_eq!(error["code"], json!("timeout"));
}

#[test]
fn of_several_processes_any_or_all_are_waited_for() {
    let stage = MarkedDaemon::start(QD);
    stage.run("short", child::print_and_exit("", 0));
    stage.run("long", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let both = json!({"processes": ["short", "long"], "states": ["exited"], "mode": "any"});
    assert_eq!(proxy.tool("wait_for_state", both)["satisfied"][0]["name"], json!("short"));
    let all = json!({"processes": ["short", "long"], "states": ["exited"], "timeout_seconds": 0.2});
    assert_eq!(proxy.refusal("wait_for_state", all)["code"], json!("timeout"));
}

#[test]
fn e7_more_calls_than_there_is_room_for_are_told_so() {
    let stage = MarkedDaemon::start(QD);
    stage.run("quiet", child::run_for_ever());
    let mut proxy = Proxy::greeted(&stage);
    let wait = json!({"name": "wait_for_state", "arguments": {"processes": ["quiet"], "states": ["exited"]}});
    let ids: Vec<u64> = (0..60).map(|_| proxy.begin("tools/call", wait.clone())).collect();
    let busy = proxy.note(|line| line["result"]["isError"] == json!(true));
    assert!(busy["result"]["content"][0]["text"].as_str().unwrap().contains("\"busy\""), "{busy}");
    for id in ids {
        proxy.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
    }
    assert_eq!(proxy.tool("help", json!({}))["topic"], json!("topics"));
}

#[test]
fn m14_the_first_wait_on_a_run_that_one_started_counts_from_its_start() {
    let stage = MarkedDaemon::start(QD);
    let mut proxy = Proxy::greeted(&stage);
    let line = "echo listening on 80; exec sleep 1000";
    proxy.tool("spawn_process", json!({"kind": "command", "name": "server", "shell": line}));
    stage.wait_pattern("server", "listening");
    let wait = json!({"process": "server", "pattern": "listening", "timeout_seconds": 0.1});
    // A wrong pattern is no wait.
    proxy.refusal("wait_for_pattern", json!({"process": "server", "pattern": "("}));
    let told = proxy.tool("wait_for_pattern", wait.clone());
    assert_eq!(told["satisfied"][0]["text"], json!("listening on 80"), "{told}");
    let told = proxy.refusal("wait_for_pattern", wait);
    assert_eq!(told["code"], json!("timeout"), "from then on only what is new counts: {told}");
}
