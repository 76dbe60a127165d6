//! `qd ask` and `qd attention` from inside a run, `qd inbox` and `qd answer` from outside.

use proto::Event;
use proto::agent::{InboxItem, ItemKind};
use serde_json::json;
use testkit::MarkedDaemon;

use crate::{Inside, QD, crew, text, told};

/// Returns the item that opens while `subscriber` listens.
fn opened(stage: &MarkedDaemon, subscriber: &mut client::Connection) -> InboxItem {
    let events = stage.until_event(subscriber, |event| matches!(event, Event::ItemOpened(_)));
    match events.into_iter().last() {
        Some(Event::ItemOpened(item)) => *item,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_question_is_answered_with_any_text_and_the_asker_prints_it() {
    let stage = crew();
    let lead = Inside::start_agent(&stage, "lead");
    let mut subscriber = stage.subscriber();
    let waiting = lead.begin("ask 'which port?' --wait 60");
    let item = opened(&stage, &mut subscriber);
    assert_eq!((item.kind, item.name.as_str()), (ItemKind::Question, "lead"));
    let inbox = stage.qd(&["inbox"]);
    assert!(told(&inbox).contains("which port?") && told(&inbox).contains("any text"), "{}", told(&inbox));
    told(&stage.qd(&["answer", &item.item.to_string(), "8080, and no other"]));
    let ran = lead.end(waiting);
    assert_eq!((ran.code, ran.out.as_str()), (0, "8080, and no other\n"), "{}", ran.err);
    assert_eq!(told(&stage.qd(&["inbox"])), "nothing needs you\n");
}

#[test]
fn a_question_with_options_takes_one_of_them() {
    let stage = crew();
    let lead = Inside::start_agent(&stage, "lead");
    let mut subscriber = stage.subscriber();
    let waiting = lead.begin("ask 'merge?' --option yes --option no --wait 60 --json");
    let item = opened(&stage, &mut subscriber).item.to_string();
    let refused = stage.qd(&["answer", &item, "perhaps"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    told(&stage.qd(&["answer", &item, "no"]));
    let ran = lead.end(waiting).json();
    assert_eq!((ran["item"].to_string(), &ran["answer"]), (item.clone(), &json!("no")));
    assert_ne!(stage.qd(&["answer", &item, "yes"]).status.code(), Some(0), "a stale answer");
}

#[test]
fn a_question_nobody_answers_in_time_stays_open() {
    let stage = crew();
    let lead = Inside::start_agent(&stage, "lead");
    let (code, error) = lead.qd("ask 'anyone?' --wait 0.1 --json").error();
    assert_eq!((code, &error["code"]), (5, &json!("timeout")), "{error}");
    let inbox = stage.json(&["inbox"]);
    assert_eq!(inbox[0]["kind"], "question", "{inbox}");
    let item = inbox[0]["item"].to_string();
    assert!(error["hint"].as_str().unwrap().contains(&format!("item {item} stays open")), "{error}");
    let file = stage.root().join("answer");
    std::fs::write(&file, "two\nlines\n").unwrap();
    let mut answer = stage.command(&["answer", &item, "-", "--json"]);
    let output = answer.stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(told(&output)).unwrap()["choice"], "two\nlines");
    assert_eq!(stage.json(&["inbox"]), json!([]));
}

#[test]
fn attention_is_called_and_dismissed() {
    let stage = crew();
    let lead = Inside::start_agent(&stage, "lead");
    let item = lead.qd("attention 'the tests hang' --json").json()["item"].to_string();
    let inbox = stage.qd(&["inbox"]);
    assert!(
        told(&inbox).contains("attention") && told(&inbox).contains("the tests hang"),
        "{}",
        told(&inbox)
    );
    told(&stage.qd(&["answer", &item, "dismiss"]));
    assert_eq!(told(&stage.qd(&["inbox"])), "nothing needs you\n");
}

#[test]
fn a_person_and_a_command_have_nobody_to_ask() {
    let stage = MarkedDaemon::start(QD);
    let build = Inside::start(&stage, "build");
    assert_eq!(build.qd("ask 'anyone?' --json").error().1["code"], "wrong_kind");
    for words in [&["ask", "x", "--wait", "1"][..], &["ask", "x"], &["attention", "x"]] {
        let output = stage.qd(words);
        assert_ne!(output.status.code(), Some(0), "{words:?}");
    }
    assert_eq!(stage.json(&["inbox"]), json!([]));
}
