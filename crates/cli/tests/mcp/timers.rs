//! Timers as an agent sets them: they wake it, or answer it when it waits.

use serde_json::{Value, json};
use testkit::FakeAgents;

use crate::lead;
use crate::proxy::with_tasks;

/// Waits until the agent got a prompt that contains this; returns all of its text.
fn woken(crew: &FakeAgents, name: &str, text: &str) -> String {
    let until = std::time::Instant::now() + testkit::DEADLINE;
    loop {
        if let Some(prompt) = crew.prompts(name).into_iter().find(|prompt| prompt.contains(text)) {
            return prompt;
        }
        assert!(std::time::Instant::now() < until, "{:?}\n{}", crew.prompts(name), crew.screen(name));
        crew.wait_until(name, proto::request::Until::Silence(50));
    }
}

#[test]
fn a_timer_wakes_the_agent_that_set_it_under_its_own_head() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let nonce = lead::identity(&mut agent)["nonce"].as_str().unwrap().to_owned();
    let set = agent.tool("timer_set", json!({"seconds": 0.2, "body": "look at the build", "label": "build"}));
    assert_eq!((&set["kind"], &set["label"]), (&json!("delay"), &json!("build")), "{set}");
    let prompt = woken(&crew, "lead", "look at the build");
    assert!(prompt.contains(&format!("[timer:build {nonce}]")), "{prompt}");
    assert!(prompt.contains("│ look at the build"), "{prompt}");
    let listed = agent.tool("timer_list", json!({}));
    let row = listed["timers"].as_array().unwrap().iter().find(|row| row["timer"] == set["timer"]);
    assert!(row.is_none_or(|row| row["status"] == json!("fired")), "{listed}");
}

#[test]
fn a_timer_wakes_its_owner_when_a_child_comes_to_rest_or_all_do() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let spawn = json!({"agent": "fake", "name": "worker", "instructions": "work 600\nsay finished"});
    agent.tool("spawn_agent", spawn);
    let any = json!({"processes": ["worker"], "body": "one rests", "mode": "any", "seconds": 30});
    assert_eq!(agent.tool("timer_set", any)["kind"], json!("idle_any"));
    let prompt = woken(&crew, "lead", "one rests");
    assert!(prompt.contains("worker: idle"), "{prompt}");
    let all = json!({"processes": ["worker"], "body": "all rest", "seconds": 30});
    assert_eq!(agent.tool("timer_set", all)["kind"], json!("idle_all"));
    woken(&crew, "lead", "all rest");
    let late = json!({"processes": ["worker"], "body": "too late", "mode": "any", "seconds": 0.2});
    agent.tool("timer_set", late);
    assert!(woken(&crew, "lead", "too late").contains("max_wait"), "it says why it fired");
}

#[test]
fn a_timer_that_is_waited_for_is_the_answer_and_no_message() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let set = agent.tool("timer_set", json!({"seconds": 0.3, "body": "first\n\"second\""}));
    let fired = agent.tool("timer_wait", json!({"timer": set["timer"]}));
    assert_eq!((&fired["status"], &fired["timer"]), (&json!("fired"), &set["timer"]), "{fired}");
    assert!(fired["body"].as_str().unwrap().contains("first\n\"second\""), "{fired}");
    let long = agent.tool("timer_set", json!({"seconds": 3600, "body": "never"}));
    let error = agent.refusal("timer_wait", json!({"timer": long["timer"], "timeout_seconds": 0.2}));
    assert_eq!(error["code"], json!("timeout"), "{error}");
    assert!(crew.prompts("lead").is_empty(), "{:?}", crew.prompts("lead"));
}

#[test]
fn a_client_with_tasks_waits_for_a_timer_as_a_task() {
    let crew = lead::crew();
    let mut agent = lead::enlist_modern(&crew, "lead", with_tasks());
    let set = agent.tool("timer_set", json!({"seconds": 0.3, "body": "now"}));
    let created = agent.call("timer_wait", json!({"timer": set["timer"]}));
    assert_eq!(created["resultType"], json!("task"), "{created}");
    let done = agent.finished(&created);
    assert_eq!(done["structuredContent"]["status"], json!("fired"), "{done}");
}

#[test]
fn a_timer_is_paused_resumed_cancelled_and_listed() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let set = agent.tool("timer_set", json!({"seconds": 100, "body": "later"}));
    let timer = |action: &str| json!({"timer": set["timer"], "action": action});
    let paused = agent.tool("timer_change", timer("pause"));
    assert_eq!(paused["status"], json!("paused"), "{paused}");
    assert!(paused["seconds_left"].as_f64().is_some_and(|left| left > 50.0 && left <= 100.0), "{paused}");
    assert_eq!(agent.tool("timer_change", timer("resume"))["status"], json!("armed"));
    assert_eq!(agent.tool("timer_list", json!({}))["timers"][0]["body"], json!("later"));
    assert_eq!(agent.tool("timer_change", timer("cancel"))["status"], json!("cancelled"));
    let error = agent.refusal("timer_change", timer("pause"));
    assert_eq!((&error["code"], &error["field"]), (&json!("conflict"), &json!("timer")), "{error}");
}

#[test]
fn f8_a_wrong_timer_is_told_its_field_by_whoever_judges_it() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    for (tool, arguments, code, field) in [
        ("timer_set", json!({"seconds": 0, "body": "x"}), "invalid_args", "seconds"),
        ("timer_set", json!({"seconds": -1, "body": "x"}), "invalid_args", "seconds"),
        ("timer_set", json!({"seconds": 1, "body": " "}), "invalid_args", "body"),
        ("timer_set", json!({"seconds": 1, "body": "x", "label": "a]b"}), "invalid_args", "label"),
        ("timer_set", json!({"processes": ["nobody"], "body": "x", "seconds": 1}), "not_found", "processes"),
        (
            "timer_set",
            json!({"processes": ["lead"], "body": "x", "mode": "any", "seconds": 0}),
            "invalid_args",
            "seconds",
        ),
        ("timer_wait", json!({"timer": 4_000}), "not_found", "timer"),
        ("timer_change", json!({"timer": 4_000, "action": "cancel"}), "not_found", "timer"),
    ] {
        let error = agent.refusal(tool, arguments.clone());
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!(code), &json!(field)),
            "{tool} {arguments}: {error}"
        );
    }
    let mut person = crate::proxy::Proxy::greeted(&crew);
    assert_eq!(person.refusal("timer_set", json!({"seconds": 1, "body": "x"}))["code"], json!("wrong_kind"));
}

#[test]
fn many_timers_with_long_bodies_are_listed_in_parts_below_twenty_kilobytes() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let body = "\"".repeat(16_000);
    for _ in 0..100 {
        agent.tool("timer_set", json!({"seconds": 3600, "body": body}));
    }
    let error = agent.refusal("timer_set", json!({"seconds": 3600, "body": "one more"}));
    assert_eq!(error["code"], json!("limit"), "{error}");
    let (mut seen, mut cursor) = (0, Value::Null);
    loop {
        let request = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let part = agent.tool("timer_list", request);
        assert!(part.to_string().len() < 20_000);
        seen += part["timers"].as_array().unwrap().len();
        cursor = part["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, 100);
    let read = agent.request("resources/read", json!({"uri": "qd://timers"}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["timers"].as_array().unwrap().len(), 100);
}
