//! Real programs that lead real programs: each calls our tools by its own model's decision, is woken by what
//! its agents do, and ends them when it ends. What a leader learns is checked where its model reads it: in
//! the next request.

use proto::AgentState;
use proto::request::Until;
use serde_json::{Value, json};
use testkit::model::{Api, ModelRequest};
use testkit::vendor::Vendor;

use crate::leading_stage::{LEAD, Leading, call};

/// Matches a turn's first request, whose prompt begins like this.
fn begins<'a>(api: Api, head: &'a str) -> impl Fn(&ModelRequest) -> bool + 'a {
    move |request| request.api == api && request.position == 0 && request.prompt.starts_with(head)
}

/// Matches a turn that a finished MCP task with this result began.
fn is_told_by_task<'a>(result: &'a str) -> impl Fn(&ModelRequest) -> bool + 'a {
    move |request| {
        let last = request.texts.last().map_or("", String::as_str);
        request.api == Api::Messages && last.contains("<task-notification>") && last.contains(result)
    }
}

/// Returns the result of the leader's first turn: its identity, by its nonce.
fn nonce(results: &[String]) -> String {
    let told = results.iter().find_map(|result| result.split_once("\"nonce\":\"")).unwrap().1;
    told.split('"').next().unwrap().to_owned()
}

/// Checks a timer that fired: the header, the body with its marks, and which agents are idle.
fn is_woken_once(stage: &Leading, api: Api, nonce: &str, rests: &str) {
    let head = format!("[timer:1 {nonce}]\n│ @tool ");
    let woken = stage.request("for a timer", begins(api, &head));
    if !woken.prompt.contains(&format!("\n│ {rests}: idle")) {
        stage.fail(&format!("the timer says {:?}", woken.prompt));
    }
    let times = stage.server.submissions("[timer:");
    if times != 1 {
        stage.fail(&format!("the timer woke the leader {times} times"));
    }
}

fn lines(lines: &[String]) -> String {
    lines.join("\n")
}

#[test]
fn claude_leads_codex_and_opencode_and_is_woken_by_tasks_and_a_timer() {
    let own = |tool: &str, arguments: Value| call(Vendor::Claude, tool, arguments);
    let when_woken = lines(&[
        own("get_result", json!({"process": "cod"})),
        own("get_result", json!({"process": "open"})),
        own("scratchpad_write", json!({"pad": "findings", "content": "both have answered\n"})),
        own("close_process", json!({"process": "cod"})),
        own("close_process", json!({"process": "open"})),
        "@say all-closed".to_owned(),
    ]);
    let work = |gate: &str, answer: &str| format!("@gate {gate}\n@say {answer}");
    let script = lines(&[
        own("whoami", json!({})),
        own(
            "spawn_agent",
            json!({"agent": "codex", "name": "cod", "instructions": work("one", "first-codex")}),
        ),
        own(
            "spawn_agent",
            json!({"agent": "opencode", "name": "open", "instructions": work("two", "first-opencode")}),
        ),
        "@say away".to_owned(),
        "@when \"text\":\"first-codex\"".to_owned(),
        own("send_message", json!({"target": "cod", "message": work("three", "second-codex"), "wait": 40})),
        own(
            "timer_set",
            json!({"processes": ["cod", "open"], "mode": "any", "seconds": 600, "body": when_woken}),
        ),
        "@say sent".to_owned(),
        "@when \"text\":\"first-opencode\"".to_owned(),
        "@say noted".to_owned(),
    ]);

    let stage = Leading::by(Vendor::Claude);
    let turn = stage.tell(&script);
    stage.wait(LEAD, Until::Turn(turn));
    assert_eq!(stage.names(), ["cod", LEAD, "open"]);
    assert_eq!((stage.parent("cod").as_deref(), stage.parent("open").as_deref()), (Some(LEAD), Some(LEAD)));
    stage.request("codex's instructions", begins(Api::Responses, "[orchestrator lead "));
    stage.request("opencode's instructions", begins(Api::Chat, "[orchestrator lead "));

    // Nothing is typed: the leader's own program begins a turn with the task's result.
    stage.server.open("two");
    let noted = stage.answered("about opencode's answer", is_told_by_task("\"text\":\"first-opencode\""));
    assert_eq!(noted.results.len(), 3, "whoami and two tasks in the background: {:?}", noted.results);
    stage.server.open("one");
    let sent = stage.answered("about the timer", |request| {
        is_told_by_task("\"text\":\"first-codex\"")(request) && request.position == 2
    });
    assert!(sent.results[3].contains("\"status\":\"submitted\""), "{:?}", sent.results);
    assert!(sent.results[4].contains("\"kind\":\"idle_any\""), "{:?}", sent.results);

    stage.wait(LEAD, Until::State(vec![AgentState::Idle]));
    stage.server.open("three");
    let last = stage.answered("after all was closed", |request| {
        request.prompt.starts_with("[timer:") && request.position == 5
    });
    is_woken_once(&stage, Api::Messages, &nonce(&last.results), "cod");
    let told = &last.results[5..];
    let expected = [
        "\"text\":\"second-codex\"",
        "\"text\":\"first-opencode\"",
        "\"revision\":1",
        "\"closed\":true",
        "\"closed\":true",
    ];
    has_finished(&stage, told, &expected);
    stage.close();
}

#[test]
fn codex_leads_claude_and_gemini_and_is_woken_by_a_timer() {
    let own = |tool: &str, arguments: Value| call(Vendor::Codex, tool, arguments);
    let work = |gate: &str, answer: &str| format!("@gate {gate}\n@say {answer}");
    let when_woken = lines(&[
        own("get_result", json!({"process": "gem"})),
        own("send_message", json!({"target": "cla", "message": work("three", "second-claude"), "wait": 40})),
        own("wait_for_state", json!({"processes": ["cla"], "states": ["idle", "error"]})),
        own("get_result", json!({"process": "cla"})),
        own(
            "scratchpad_write",
            json!({"pad": "findings", "append": true, "content": "both have answered\n"}),
        ),
        own("close_process", json!({"process": "cla"})),
        own("close_process", json!({"process": "gem"})),
        "@say all-closed".to_owned(),
    ]);
    let script = lines(&[
        own("whoami", json!({})),
        own(
            "spawn_agent",
            json!({"agent": "claude", "name": "cla", "instructions": work("one", "first-claude")}),
        ),
        own("wait_for_state", json!({"processes": ["cla"], "states": ["idle", "error"]})),
        own("get_result", json!({"process": "cla"})),
        own(
            "spawn_agent",
            json!({"agent": "gemini", "name": "gem", "instructions": work("two", "first-gemini")}),
        ),
        own("timer_set", json!({"processes": ["cla", "gem"], "seconds": 600, "body": when_woken})),
        "@say away".to_owned(),
    ]);

    let stage = Leading::by(Vendor::Codex);
    let turn = stage.tell(&script);
    // A client without tasks waits within its call, also for an agent whose instructions are still on their
    // way.
    stage.request("claude's instructions", begins(Api::Messages, "[orchestrator lead "));
    stage.server.open("one");
    stage.wait(LEAD, Until::Turn(turn));
    assert_eq!(stage.names(), ["cla", "gem", LEAD]);
    stage.request("gemini's instructions", begins(Api::Generate, "[orchestrator lead "));
    stage.server.open("two");
    let waits = |request: &ModelRequest| request.prompt.starts_with("[timer:") && request.position == 2;
    stage.answered("with a wait", waits);
    stage.server.open("three");
    let last = stage.answered("after all was closed", |request| {
        request.prompt.starts_with("[timer:") && request.position == 7
    });
    is_woken_once(&stage, Api::Responses, &nonce(&last.results), "cla");
    let told = &last.results[2..];
    let expected = [
        "\"status\":\"satisfied\"",
        "\"text\":\"first-claude\"",
        "\"name\":\"gem\"",
        "\"kind\":\"idle_all\"",
        "first-gemini",
        "\"status\":\"submitted\"",
        "\"status\":\"satisfied\"",
        "\"text\":\"second-claude\"",
        "\"revision\":1",
        "\"closed\":true",
        "\"closed\":true",
    ];
    has_finished(&stage, told, &expected);
    stage.close();
}

#[test]
fn an_agent_that_is_led_leads_another_and_all_go_with_the_first() {
    let leaf = lines(&[
        call(Vendor::Claude, "send_message", json!({"target": "mid", "message": "@say heard-leaf"})),
        "@say first-leaf".to_owned(),
    ]);
    let mid = lines(&[
        call(Vendor::Codex, "spawn_agent", json!({"agent": "claude", "name": "leaf", "instructions": leaf})),
        "@say first-mid".to_owned(),
    ]);
    let script = lines(&[
        call(Vendor::Claude, "spawn_agent", json!({"agent": "codex", "name": "mid", "instructions": mid})),
        "@say away".to_owned(),
    ]);
    let stage = Leading::by(Vendor::Claude);
    stage.tell(&script);
    stage.answered("about the one in the middle", is_told_by_task("\"text\":\"first-mid\""));
    let heard = stage.answered("about the last one's message", begins(Api::Responses, "[sub-agent:leaf "));
    assert!(heard.prompt.ends_with("]\n│ @say heard-leaf"), "{:?}", heard.prompt);
    assert_eq!(stage.parent("leaf").as_deref(), Some("mid"));
    assert_eq!(stage.parent("mid").as_deref(), Some(LEAD));
    stage.close();
}

/// Checks that the leader got all this, in this order, wrote its pad and has closed all its agents.
fn has_finished(stage: &Leading, told: &[String], expected: &[&str]) {
    for (result, expected) in told.iter().zip(expected) {
        assert!(result.contains(expected), "{expected} is not in {told:#?}");
    }
    assert_eq!(stage.names(), [LEAD]);
    assert_eq!(stage.pad("findings"), ("both have answered\n".to_owned(), LEAD.to_owned()));
}
