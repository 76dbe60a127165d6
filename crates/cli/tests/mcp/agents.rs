//! Leading agents: spawn, message, result, dialog, with a program that behaves like an agent's.

use std::time::Instant;

use serde_json::{Value, json};
use testkit::{DEADLINE, FakeAgents};

use crate::proxy::{Proxy, with_tasks};
use crate::{AGENT, QD, lead};

#[test]
fn an_agent_is_spawned_instructed_and_its_results_are_read() {
    let crew = FakeAgents::start(QD, AGENT);
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
    let crew = FakeAgents::start(QD, AGENT);
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
    let refused =
        lead.refusal("answer_prompt", json!({"dialog_id": dialog["dialog_id"], "choice": "nonsense"}));
    assert_eq!(refused["field"], json!("choice"), "{refused}");
    let stale = lead.refusal("answer_prompt", json!({"dialog_id": 4_000_000, "choice": "allow"}));
    assert_eq!(stale["field"], json!("dialog_id"), "{stale}");
    lead.tool("answer_prompt", json!({"dialog_id": dialog["dialog_id"], "choice": "allow"}));
    lead.tool("wait_for_state", json!({"processes": ["asker"], "states": ["idle"], "timeout_seconds": 30}));
    assert_eq!(crew.answers("asker").len(), 1);
}

#[test]
fn instructions_are_a_task_that_completes_with_the_first_answer() {
    let crew = FakeAgents::start(QD, AGENT);
    let mut lead = Proxy::modern(&crew, with_tasks());
    let request = json!({"agent": "fake", "name": "worker", "instructions": "work 300\nsay finished"});
    let created = lead.call("spawn_agent", request);
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
    let crew = FakeAgents::start(QD, AGENT);
    crew.run("shell", testkit::child::run_for_ever());
    let mut lead = Proxy::greeted(&crew);
    let refused = lead.refusal("send_message", json!({"target": "shell", "message": "rm -rf /"}));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("wrong_kind"), &json!("target")));
    let refused = lead.refusal("spawn_agent", json!({"agent": "nobody-knows-this"}));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("not_found"), &json!("agent")));
}

#[test]
fn m24a_a_turn_is_waited_for_and_its_answer_or_its_dialog_is_the_result() {
    let crew = FakeAgents::start(QD, AGENT);
    crew.enlist("worker", &[]);
    let mut lead = Proxy::greeted(&crew);
    let sent =
        lead.tool("send_message", json!({"target": "worker", "message": "work 200\nsay done", "wait": 30}));
    let over = lead.tool("wait_for_turn", json!({"process": "worker", "turn": sent["turn"]}));
    assert_eq!(
        (&over["status"], &over["turn"], &over["end"]),
        (&json!("over"), &sent["turn"], &json!("done"))
    );
    assert!(over["text"].as_str().unwrap().contains("done"), "{over}");
    let again = lead.tool("wait_for_turn", json!({"process": "worker"}));
    assert_eq!(again["text"], over["text"], "without a turn it is the newest");
    let sent = lead
        .tool("send_message", json!({"target": "worker", "message": "ask May I?\nsay thanks", "wait": 30}));
    let blocked = lead.tool("wait_for_turn", json!({"process": "worker", "turn": sent["turn"]}));
    assert_eq!(blocked["status"], json!("blocked"), "{blocked}");
    let choice = blocked["dialog"]["options"][0]["choice"].clone();
    lead.tool("answer_prompt", json!({"dialog_id": blocked["dialog"]["dialog_id"], "choice": choice}));
    let over = lead.tool("wait_for_turn", json!({"process": "worker", "turn": sent["turn"]}));
    assert_eq!(over["status"], json!("over"), "{over}");
    let wrong = lead.refusal("get_result", json!({"process": "worker", "turn": 99}));
    assert_eq!((&wrong["code"], &wrong["field"]), (&json!("not_found"), &json!("turn")), "{wrong}");
}

#[test]
fn m24d_one_message_goes_to_many_and_each_has_a_receipt() {
    let crew = FakeAgents::start(QD, AGENT);
    crew.enlist("one", &[]);
    crew.enlist("two", &[]);
    let mut lead = Proxy::greeted(&crew);
    let request = json!({"targets": ["one", "two", "nobody"], "message": "say heard", "wait": 30});
    let sent = lead.tool("send_message", request);
    let receipts = sent["receipts"].as_array().unwrap();
    assert_eq!(
        (receipts.len(), &receipts[0]["status"], &receipts[1]["status"]),
        (3, &json!("submitted"), &json!("submitted"))
    );
    assert_eq!(receipts[2]["error"]["code"], json!("not_found"), "{sent}");
    for name in ["one", "two"] {
        let over = lead.tool("wait_for_turn", json!({"process": name}));
        assert!(over["text"].as_str().unwrap().contains("heard"), "{over}");
    }
    let wrong = lead.refusal("send_message", json!({"message": "x"}));
    assert_eq!(wrong["field"], json!("target"), "{wrong}");
}

#[test]
fn m24c_a_message_that_still_waits_is_taken_back() {
    let crew = FakeAgents::start(QD, AGENT);
    crew.enlist("worker", &[]);
    let mut lead = Proxy::greeted(&crew);
    lead.tool("send_message", json!({"target": "worker", "message": "ask May I?\nsay thanks", "wait": 30}));
    lead.tool(
        "wait_for_state",
        json!({"processes": ["worker"], "states": ["blocked"], "timeout_seconds": 30}),
    );
    let queued = lead.tool("send_message", json!({"target": "worker", "message": "say never", "wait": 0}));
    assert_eq!(queued["status"], json!("queued"), "{queued}");
    let message = json!({"message_id": queued["message_id"]});
    assert_eq!(lead.tool("cancel_message", message.clone())["status"], json!("refused"));
    let late = lead.refusal("cancel_message", message);
    assert_eq!((&late["code"], &late["field"]), (&json!("conflict"), &json!("message_id")), "{late}");
    let idle = lead.refusal("interrupt_agent", json!({"process": "worker"}));
    assert_eq!(idle["code"], json!("dialog_open"), "{idle}");
}

#[test]
fn m24e_an_agent_that_cannot_be_started_is_listed_with_the_reason() {
    let crew = FakeAgents::start(QD, AGENT);
    let mut lead = Proxy::greeted(&crew);
    let status = lead.tool("get_project_status", json!({}));
    let agents = status["agents"].as_array().unwrap();
    let of = |name: &str| agents.iter().find(|offer| offer["agent"] == json!(name)).unwrap();
    assert_eq!(of("fake")["can_start"], json!(true), "{status}");
    let missing =
        agents.iter().find(|offer| offer["can_start"] == json!(false)).expect("one is not installed");
    assert!(missing["why"].as_str().is_some_and(|why| !why.is_empty()), "{missing}");
}

#[test]
fn m24c_size_is_chosen_at_spawn_and_a_mode_the_vendor_lacks_is_refused_by_its_field() {
    let crew = FakeAgents::start(QD, AGENT);
    let mut lead = Proxy::greeted(&crew);
    lead.tool("spawn_agent", json!({"agent": "fake", "name": "wide", "size": "132x43"}));
    assert_eq!(lead.tool("get_process_status", json!({"process": "wide"}))["size"], json!("132x43"));
    let refused = lead.refusal("spawn_agent", json!({"agent": "fake", "mode": "plan"}));
    assert_eq!((&refused["code"], &refused["field"]), (&json!("invalid_args"), &json!("mode")), "{refused}");
    let refused = lead.refusal("spawn_agent", json!({"agent": "fake", "size": "wide"}));
    assert_eq!(refused["field"], json!("size"), "{refused}");
}

#[test]
fn m24b_a_turn_is_interrupted_and_the_agent_stays() {
    let crew = FakeAgents::start(QD, AGENT);
    crew.enlist("worker", &[]);
    let mut lead = Proxy::greeted(&crew);
    let idle = lead.refusal("interrupt_agent", json!({"process": "worker"}));
    assert_eq!((&idle["code"], &idle["field"]), (&json!("conflict"), &json!("process")), "{idle}");
    lead.tool("send_message", json!({"target": "worker", "message": "work 600000\nsay late", "wait": 30}));
    lead.tool(
        "wait_for_state",
        json!({"processes": ["worker"], "states": ["working"], "timeout_seconds": 30}),
    );
    assert_eq!(lead.tool("interrupt_agent", json!({"process": "worker"}))["interrupted"], json!(true));
    crew.until_state("worker", proto::AgentState::Idle);
    lead.tool("send_message", json!({"target": "worker", "message": "say back", "wait": 30}));
    assert!(
        lead.tool("wait_for_turn", json!({"process": "worker"}))["text"].as_str().unwrap().contains("back")
    );
}

/// In a search Enter would submit an old prompt again. Keys alone still reach it, so that a leader can close it.
#[test]
fn c17_a_leader_cannot_submit_into_an_open_search_of_its_agent() {
    let crew = lead::crew();
    let mut boss = lead::enlist(&crew, "boss");
    boss.tool("spawn_agent", json!({"agent": "fake", "name": "worker", "instructions": "say first"}));
    crew.wait_until("worker", proto::request::Until::Turn(1));
    crew.until_state("worker", proto::AgentState::Idle);
    let prompts = crew.prompts("worker");
    let search = json!({"process": "worker", "kind": "key", "keys": ["ctrl-r"]});
    boss.tool("send_input", search.clone());
    crew.wait_pattern("worker", "search:");
    let submit = json!({"process": "worker", "kind": "text", "text": "say second", "submit": true});
    let refused = boss.refusal("send_input", submit.clone());
    assert_eq!(refused["code"], json!("not_delivered"), "{refused}");
    let shown = crew.screen("worker");
    assert!(!shown.contains("say second"), "nothing was typed: {shown}");
    assert_eq!(crew.prompts("worker"), prompts, "nothing was submitted");
    boss.tool("send_input", search);
    testkit::process_scan::eventually("its composer again", || {
        let explained = boss.tool("explain_state", json!({"process": "worker"}));
        (explained["composer"] == json!("empty")).then_some(())
    });
    boss.tool("send_input", submit);
    crew.wait_pattern("worker", "second");
}

/// In the shell mode of its program a text is a command that nobody allows.
#[test]
fn c17_a_leader_cannot_enter_a_shell_command_into_its_agent() {
    let crew = lead::crew();
    let mut boss = lead::enlist(&crew, "boss");
    boss.tool("spawn_agent", json!({"agent": "fake", "name": "worker", "instructions": "say first"}));
    crew.wait_until("worker", proto::request::Until::Turn(1));
    crew.until_state("worker", proto::AgentState::Idle);
    let prompts = crew.prompts("worker");
    let mut refuse = |input: Value| {
        let refused = boss.refusal("send_input", input);
        assert_eq!(refused["code"], json!("denied"), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains("shell command"), "{refused}");
        assert!(!crew.screen("worker").contains("touch"), "{}", crew.screen("worker"));
    };
    refuse(json!({"process": "worker", "kind": "text", "text": "!touch x", "submit": true}));
    refuse(json!({"process": "worker", "kind": "text", "text": " !touch x\r"}));
    refuse(json!({"process": "worker", "kind": "paste", "text": "!touch x", "submit": true}));
    refuse(json!({"process": "worker", "kind": "key", "keys": ["!", "x", "enter"]}));
    assert_eq!(crew.prompts("worker"), prompts, "nothing was submitted");
    let shown = json!({"process": "worker", "kind": "text", "text": "!touch x"});
    boss.tool("send_input", shown);
    crew.wait_pattern("worker", "! touch x");
    let refused = boss.refusal("send_input", json!({"process": "worker", "kind": "key", "keys": ["enter"]}));
    assert_eq!(refused["code"], json!("denied"), "{refused}");
    assert_eq!(crew.prompts("worker"), prompts, "nothing was submitted");
}
