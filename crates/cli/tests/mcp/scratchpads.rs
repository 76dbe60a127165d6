//! Scratchpads as agents and people share them.

use serde_json::{Value, json};

use crate::lead;
use crate::proxy::Proxy;

#[test]
fn a_pad_is_written_read_appended_to_renamed_and_deleted() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    assert_eq!(agent.tool("scratchpad_list", json!({}))["pads"], json!([]));
    let written =
        agent.tool("scratchpad_write", json!({"pad": "plan", "content": "one\n", "expected_revision": 0}));
    assert_eq!((&written["pad"], &written["revision"]), (&json!("plan"), &json!(1)), "{written}");
    assert_eq!(
        agent.tool("scratchpad_write", json!({"pad": "plan", "append": true, "content": "two\n"}))["revision"],
        json!(2)
    );
    let read = agent.tool("scratchpad_read", json!({"pad": "plan"}));
    assert_eq!((&read["content"], &read["author"]), (&json!("one\ntwo\n"), &json!("lead")), "{read}");
    let old = agent.tool("scratchpad_read", json!({"pad": "plan", "revision": 1}));
    assert_eq!(old["content"], json!("one\n"));
    let history = agent.tool("scratchpad_list", json!({"pad": "plan"}));
    let numbers: Vec<&Value> =
        history["revisions"].as_array().unwrap().iter().map(|row| &row["revision"]).collect();
    assert_eq!(numbers, [&json!(2), &json!(1)], "newest first: {history}");
    agent.tool("scratchpad_change", json!({"action": "rename", "pad": "plan", "to": "the-plan"}));
    let listed = agent.tool("scratchpad_list", json!({}));
    assert_eq!(listed["pads"][0]["pad"], json!("the-plan"), "{listed}");
    agent.tool("scratchpad_write", json!({"pad": "the-plan", "content": ""}));
    assert_eq!(agent.tool("scratchpad_read", json!({"pad": "the-plan"}))["content"], json!(""));
    agent.tool("scratchpad_change", json!({"action": "delete", "pad": "the-plan"}));
    let gone = agent.refusal("scratchpad_read", json!({"pad": "the-plan"}));
    assert_eq!((&gone["code"], &gone["field"]), (&json!("not_found"), &json!("pad")), "{gone}");
}

#[test]
fn a_conflict_tells_the_current_revision_and_changes_nothing() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    agent.tool("scratchpad_write", json!({"pad": "plan", "content": "mine"}));
    agent.tool("scratchpad_write", json!({"pad": "plan", "append": true, "content": "and yours"}));
    for (tool, arguments) in [
        ("scratchpad_write", json!({"pad": "plan", "content": "lost", "expected_revision": 1})),
        ("scratchpad_change", json!({"action": "delete", "pad": "plan", "expected_revision": 1})),
    ] {
        let error = agent.refusal(tool, arguments);
        assert_eq!((&error["code"], &error["current_revision"]), (&json!("conflict"), &json!(2)), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("expected_revision"), "{error}");
    }
    let read = agent.tool("scratchpad_read", json!({"pad": "plan"}));
    assert_eq!(read["content"], json!("mine\nand yours"));
}

#[test]
fn f4_a_name_that_leads_elsewhere_is_refused_by_its_field() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    for name in ["../x", "a/b", ".hidden", "A", "a b", "..", "\u{202e}x", "x\n", "-rf", "日本"] {
        for (tool, arguments) in [
            ("scratchpad_read", json!({"pad": name})),
            ("scratchpad_write", json!({"pad": name, "content": "x"})),
            ("scratchpad_write", json!({"pad": name, "append": true, "content": "x"})),
            ("scratchpad_change", json!({"action": "delete", "pad": name})),
            ("scratchpad_list", json!({"pad": name})),
            ("scratchpad_change", json!({"action": "rename", "pad": name, "to": "x"})),
        ] {
            let error = agent.refusal(tool, arguments);
            assert_eq!(
                (&error["code"], &error["field"]),
                (&json!("invalid_args"), &json!("pad")),
                "{tool} {name:?}"
            );
        }
        let error = agent.refusal("scratchpad_change", json!({"action": "rename", "pad": "x", "to": name}));
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("invalid_args"), &json!("to")),
            "{name:?}: {error}"
        );
    }
}

#[test]
fn a_long_pad_is_read_in_parts_that_meet_without_a_gap() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let text: String = (0..4_000).map(|number| format!("line {number} \"ü\"\n")).collect();
    agent.tool("scratchpad_write", json!({"pad": "long", "content": text}));
    let (mut since, mut read) = (0, String::new());
    loop {
        let part = agent.tool("scratchpad_read", json!({"pad": "long", "since": since}));
        assert!(part.to_string().len() < 20_000);
        read.push_str(part["content"].as_str().unwrap());
        let Some(offset) = part["offset"].as_u64() else { break };
        since = offset;
    }
    assert!(read == text, "{} of {}", read.len(), text.len());
    let error = agent.refusal("scratchpad_read", json!({"pad": "long", "since": 10_000_000}));
    assert_eq!(error["field"], json!("since"), "{error}");
}

#[test]
fn a_pad_is_a_resource_and_its_readers_hear_of_changes_in_both_eras() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    agent.tool("scratchpad_write", json!({"pad": "plan", "content": "one"}));
    let listed = agent.request("resources/list", json!({}))["result"]["resources"].clone();
    assert!(listed.as_array().unwrap().iter().any(|row| row["uri"] == json!("qd://pads/plan")), "{listed}");
    let read = agent.request("resources/read", json!({"uri": "qd://pads/plan"}));
    assert_eq!(read["result"]["contents"][0]["text"], json!("one"), "{read}");
    assert_eq!(agent.request("resources/subscribe", json!({"uri": "qd://pads/plan"}))["result"], json!({}));
    let mut person = Proxy::modern(&crew, json!({}));
    let wanted = json!({"resourceSubscriptions": ["qd://pads/plan", "qd://pads/../x"]});
    person.begin("subscriptions/listen", json!({ "notifications": wanted }));
    let accepted = person.line();
    assert_eq!(
        accepted["params"]["notifications"]["resourceSubscriptions"],
        json!(["qd://pads/plan"]),
        "{accepted}"
    );
    let is_update = |line: &Value| {
        line["method"] == json!("notifications/resources/updated")
            && line["params"]["uri"] == json!("qd://pads/plan")
    };
    // The watch may begin after the first change; from then on nothing is missed.
    for listener in 0..2 {
        for number in 0.. {
            agent.tool(
                "scratchpad_write",
                json!({"pad": "plan", "append": true, "content": format!("{number}\n")}),
            );
            agent.tool("scratchpad_list", json!({}));
            let heard = if listener == 0 { agent.drained() } else { person.drained() };
            if heard.iter().any(is_update) {
                break;
            }
            assert!(number < 400, "no news of the pad for listener {listener}");
        }
    }
}

#[test]
fn agents_of_one_project_share_pads_and_a_person_sees_them() {
    let crew = lead::crew();
    let (mut first, mut second) = (lead::enlist(&crew, "first"), lead::enlist(&crew, "second"));
    first.tool("scratchpad_write", json!({"pad": "log", "append": true, "content": "from first\n"}));
    second.tool("scratchpad_write", json!({"pad": "log", "append": true, "content": "from second\n"}));
    let mut person = Proxy::greeted(&crew);
    let read = person.tool("scratchpad_read", json!({"pad": "log"}));
    assert_eq!(read["content"], json!("from first\nfrom second\n"), "{read}");
    person.tool("scratchpad_write", json!({"pad": "log", "append": true, "content": "seen\n"}));
    let history = first.tool("scratchpad_list", json!({"pad": "log"}));
    let authors: Vec<&Value> =
        history["revisions"].as_array().unwrap().iter().map(|row| &row["author"]).collect();
    assert_eq!(authors, [&json!("human"), &json!("second"), &json!("first")], "{history}");
}
