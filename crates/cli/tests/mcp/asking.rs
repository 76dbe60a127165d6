//! Questions to the person, answered from the command line.

use proto::agent::ItemKind;
use serde_json::{Value, json};
use testkit::FakeAgents;

use crate::lead;
use crate::proxy::{Proxy, with_tasks};

/// Answers an item as a person does.
fn answer(crew: &FakeAgents, item: u64, choice: &str) {
    let output = crew.qd(&["answer", &item.to_string(), choice]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn begin(agent: &mut Proxy, arguments: Value) -> u64 {
    agent.begin("tools/call", json!({"name": "ask_human", "arguments": arguments}))
}

/// Makes the agent ask and a person answer; returns the agent's result. An answer that came before the agent
/// was waiting comes as a message, so the agent asks again.
pub(crate) fn asked(crew: &FakeAgents, agent: &mut Proxy, arguments: &Value, choice: &str) -> Value {
    for _ in 0..10 {
        let id = begin(agent, arguments.clone());
        let item = crew.item_of("lead", ItemKind::Question);
        answer(crew, item.item, choice);
        let told = agent.answer(id)["result"]["structuredContent"].clone();
        if told["status"] != json!("by_message") {
            return told;
        }
        crew.until_state("lead", proto::AgentState::Idle);
    }
    panic!("no answer was waited for");
}

#[test]
fn a_question_is_answered_from_the_command_line_while_the_agent_waits() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let request = json!({"question": "Which colour?", "options": ["red", "blue"]});
    let id = begin(&mut agent, request.clone());
    let item = crew.item_of("lead", ItemKind::Question);
    assert_eq!(item.title, "Which colour?");
    assert_eq!(item.options.iter().map(|option| option.label.as_str()).collect::<Vec<_>>(), ["red", "blue"]);
    answer(&crew, item.item, "red");
    agent.answer(id);
    let told = asked(&crew, &mut agent, &request, "blue");
    assert_eq!((&told["status"], &told["answer"]), (&json!("answered"), &json!("blue")), "{told}");
}

#[test]
fn a_question_is_a_task_where_the_client_has_them() {
    let crew = lead::crew();
    let mut agent = lead::enlist_modern(&crew, "lead", with_tasks());
    let created = agent.call("ask_human", json!({"question": "Anything else?"}));
    assert_eq!(created["resultType"], json!("task"), "{created}");
    let item = crew.item_of("lead", ItemKind::Question);
    answer(&crew, item.item, "no, thank you");
    let done = agent.finished(&created)["structuredContent"].clone();
    assert!(done["answer"] == json!("no, thank you") || done["status"] == json!("by_message"), "{done}");
}

#[test]
fn asking_the_same_again_waits_on_for_the_same_item() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let question = json!({"question": "Go on?"});
    let first = begin(&mut agent, question.clone());
    let item = crew.item_of("lead", ItemKind::Question);
    agent.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": first}}),
    );
    let second = begin(&mut agent, question);
    assert_eq!(agent.tool("help", json!({}))["topic"], json!("topics"));
    assert_eq!(crew.inbox().iter().filter(|item| item.kind == ItemKind::Question).count(), 1);
    answer(&crew, item.item, "yes");
    let told = agent.answer(second)["result"]["structuredContent"].clone();
    assert_eq!(told["item"], json!(item.item), "{told}");
}

#[test]
fn an_answer_that_nobody_waits_for_comes_as_a_message_with_quarterdecks_head() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let nonce = lead::identity(&mut agent)["nonce"].as_str().unwrap().to_owned();
    let id = begin(&mut agent, json!({"question": "Shall I?"}));
    let item = crew.item_of("lead", ItemKind::Question);
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    // The daemon knows that the waiter is gone once it has answered the next request on a connection of its
    // own.
    let until = std::time::Instant::now() + testkit::DEADLINE;
    answer(&crew, item.item, "yes, do");
    while crew.prompts("lead").is_empty() {
        assert!(std::time::Instant::now() < until, "{}", crew.screen("lead"));
        crew.wait_until("lead", proto::request::Until::Silence(50));
    }
    let prompt = crew.prompts("lead").remove(0);
    assert!(prompt.contains(&format!("[system {nonce}]")) && prompt.contains("yes, do"), "{prompt}");
}

#[test]
fn an_answer_is_heard_exactly_once_however_early_it_comes() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    for number in 0..testkit::scaled(8) {
        let before = crew.prompts("lead").len();
        let id = begin(&mut agent, json!({"question": format!("Question {number}?")}));
        let item = crew.item_of("lead", ItemKind::Question);
        crew.answer(item.item, &format!("answer {number}")).unwrap();
        let told = agent.answer(id)["result"]["structuredContent"].clone();
        if told["status"] == json!("answered") {
            assert_eq!(told["answer"], json!(format!("answer {number}")), "{told}");
            assert_eq!(crew.prompts("lead").len(), before, "heard twice");
            continue;
        }
        assert_eq!(told["status"], json!("by_message"), "{told}");
        let until = std::time::Instant::now() + testkit::DEADLINE;
        while !crew.prompts("lead").iter().any(|prompt| prompt.contains(&format!("answer {number}"))) {
            assert!(std::time::Instant::now() < until, "never heard");
            crew.wait_until("lead", proto::request::Until::Silence(50));
        }
        crew.until_state("lead", proto::AgentState::Idle);
    }
}

#[test]
fn a_call_for_attention_leaves_an_item_and_waits_for_nobody() {
    let crew = lead::crew();
    let mut agent = lead::enlist(&crew, "lead");
    let told = agent.tool("request_human_attention", json!({"reason": "the disk is nearly full"}));
    let item = crew.item_of("lead", ItemKind::Attention);
    assert_eq!(told["item"], json!(item.item), "{told}");
    assert!(item.title.contains("nearly full"), "{item:?}");
}

#[test]
fn a_person_and_a_command_cannot_ask_the_person() {
    let crew = lead::crew();
    let mut person = Proxy::greeted(&crew);
    let error = person.refusal("ask_human", json!({"question": "Am I here?"}));
    assert_eq!(error["code"], json!("wrong_kind"), "{error}");
    let error = person.refusal("request_human_attention", json!({"reason": "hello"}));
    assert_eq!(error["code"], json!("wrong_kind"), "{error}");
}
