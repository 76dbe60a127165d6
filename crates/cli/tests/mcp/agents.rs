//! Leading agents: spawn, message, result, dialog, with a program that behaves like an agent's.

use std::time::Instant;

use serde_json::{Value, json};
use testkit::{Crew, DEADLINE};

use crate::proxy::{Proxy, with_tasks};
use crate::{AGENT, QD};

#[test]
fn an_agent_is_spawned_instructed_and_its_results_are_read() {
    let crew = Crew::start(QD, AGENT);
    let mut lead = Proxy::greeted(&crew);
    let spawned =
        lead.tool("spawn_agent", json!({"agent": "fake", "name": "worker", "instructions": "say first"}));
    assert_eq!((&spawned["kind"], &spawned["name"]), (&json!("agent"), &json!("worker")));
    crew.wait_until("worker", proto::request::Until::Turn(1));
    assert!(
        lead.tool("get_result", json!({"process": "worker", "turn": 1}))["text"]
            .as_str()
            .unwrap()
            .contains("first")
    );
    let sent = lead
        .tool("send_message", json!({"target": "worker", "message": "say second", "key": "k1", "wait": 30}));
    assert_eq!(sent["status"], json!("submitted"), "{sent}");
    let again = lead
        .tool("send_message", json!({"target": "worker", "message": "say second", "key": "k1", "wait": 30}));
    assert_eq!(again["message_id"], sent["message_id"], "the same key is the same message");
    let turn = sent["turn"].as_u64().unwrap();
    lead.tool("wait_for_state", json!({"processes": ["worker"], "states": ["idle"]}));
    crew.wait_until("worker", proto::request::Until::Turn(turn));
    let result = lead.tool("get_result", json!({"process": "worker", "turn": turn}));
    assert_eq!(result["end"], json!("done"));
    assert!(result["text"].as_str().unwrap().contains("second"), "{result}");
    assert_eq!(lead.tool("get_messages", json!({}))["messages"][0]["message_id"], sent["message_id"]);
    let status = lead.tool("get_process_status", json!({"process": "worker"}));
    assert!(status["agent"]["evidence"]["source"].is_string(), "{status}");
    let why = lead.tool("explain_state", json!({"process": "worker"}));
    assert!(!why["opinions"].as_array().unwrap().is_empty(), "{why}");
    lead.tool("close_process", json!({"process": "worker"}));
    lead.end();
}

#[test]
fn a_dialog_is_shown_with_its_choices_and_answered_by_its_id() {
    let crew = Crew::start(QD, AGENT);
    crew.enlist("asker", &[]);
    let mut lead = Proxy::greeted(&crew);
    lead.tool("send_message", json!({"target": "asker", "message": "ask May I?\nsay thanks", "wait": 30}));
    lead.tool(
        "wait_for_state",
        json!({"processes": ["asker"], "states": ["blocked"], "timeout_seconds": 30}),
    );
    crew.item("asker");
    let status = lead.tool("get_process_status", json!({"process": "asker"}));
    let dialog = &status["dialog"];
    assert!(dialog["title"].as_str().unwrap().contains("May I?"), "{status}");
    assert!(dialog["options"].as_array().is_some_and(|options| options.len() >= 2), "{status}");
    let refused = lead.refusal("answer_prompt", json!({"dialog_id": dialog["id"], "choice": "nonsense"}));
    assert_eq!(refused["field"], json!("choice"), "{refused}");
    let stale = lead.refusal("answer_prompt", json!({"dialog_id": 4_000_000, "choice": "allow"}));
    assert_eq!(stale["field"], json!("dialog_id"), "{stale}");
    lead.tool("answer_prompt", json!({"dialog_id": dialog["id"], "choice": "allow"}));
    lead.tool("wait_for_state", json!({"processes": ["asker"], "states": ["idle"], "timeout_seconds": 30}));
    assert_eq!(crew.answers("asker").len(), 1);
}

#[test]
fn instructions_are_a_task_that_completes_with_the_first_answer() {
    let crew = Crew::start(QD, AGENT);
    let mut lead = Proxy::modern(&crew, with_tasks());
    let wish = json!({"agent": "fake", "name": "worker", "instructions": "work 300\nsay finished"});
    let created = lead.call("spawn_agent", wish);
    assert_eq!(created["resultType"], json!("task"), "{created}");
    assert!(created["statusMessage"].as_str().unwrap().contains("worker"));
    let until = Instant::now() + DEADLINE;
    let done: Value = loop {
        let told = lead.request("tasks/get", json!({"taskId": created["taskId"]}))["result"].clone();
        if told["status"] != json!("working") {
            break told;
        }
        assert!(Instant::now() < until, "{told}\n{}", crew.screen("worker"));
    };
    let result = &done["result"]["structuredContent"];
    assert_eq!((&result["name"], &result["end"]), (&json!("worker"), &json!("done")), "{done}");
    assert!(result["text"].as_str().unwrap().contains("finished"), "{done}");
}

#[test]
fn a_message_to_a_command_is_the_wrong_kind() {
    let crew = Crew::start(QD, AGENT);
    crew.run("shell", testkit::child::run_for_ever());
    let mut lead = Proxy::greeted(&crew);
    let refused = lead.refusal("send_message", json!({"target": "shell", "message": "rm -rf /"}));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("wrong_kind"), &json!("target")));
    let refused = lead.refusal("spawn_agent", json!({"agent": "nobody-knows-this"}));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("not_found"), &json!("agent")));
}
