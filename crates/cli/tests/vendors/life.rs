//! The life of each program: short and long messages, a permission request, an interruption, an end and a
//! resume.

use std::time::Instant;

use proto::AgentState;
use proto::agent::{ItemKind, TurnEnd};
use proto::request::{Kill, Resume};
use testkit::vendor::Vendor;

use crate::vendor_stage::{FakeAgents, NAME, TIMEOUT, shell_script};

/// Returns the words of a prompt that must arrive whole: 500 lines, each with its number.
fn long_prompt(say: &str) -> String {
    let lines: Vec<String> = (1..500).map(|number| format!("line {number} of a long prompt")).collect();
    format!("{}\n@say {say}", lines.join("\n"))
}

fn is_submitted_once(crew: &FakeAgents, prompt: &str) {
    let times = crew.server.submissions(prompt);
    if times != 1 {
        crew.fail(&format!("{prompt:?} was submitted {times} times"));
    }
}

fn is_told_once_and_answers(crew: &FakeAgents) {
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("please\n@say first-answer");
    let result = crew.wait_turn(turn);
    if !result.text.contains("first-answer") || result.end != TurnEnd::Done {
        crew.fail(&format!("the result is {result:?}"));
    }
    is_submitted_once(crew, "first-answer");
}

fn takes_five_hundred_lines_once(crew: &FakeAgents) {
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell(&long_prompt("long-answer"));
    let result = crew.wait_turn(turn);
    if !result.text.contains("long-answer") {
        crew.fail(&format!("the result is {result:?}"));
    }
    is_submitted_once(crew, "long-answer");
    let request = crew
        .server
        .wait_request(|request| !request.is_side && request.prompt.contains("long-answer"), TIMEOUT);
    for number in [1, 250, 499] {
        assert!(
            request.prompt.contains(&format!("line {number} of a long prompt")),
            "line {number} is missing"
        );
    }
}

/// Returns one line of fifteen thousand characters, whose words are numbered.
fn long_line() -> String {
    let words: Vec<String> = (0..1_500).map(|number| format!("word-{number:04}")).collect();
    words.join(" ")
}

/// A composer draws such a line over many rows, cuts it or folds it away: the receipt must still be true.
fn takes_one_long_line_once(crew: &FakeAgents) {
    crew.wait_state(&[AgentState::Idle]);
    let line = long_line();
    let turn = crew.tell(&format!("{line}\n@say line-answer"));
    let result = crew.wait_turn(turn);
    if !result.text.contains("line-answer") {
        crew.fail(&format!("the result is {result:?}"));
    }
    is_submitted_once(crew, "line-answer");
    let request = crew
        .server
        .wait_request(|request| !request.is_side && request.prompt.contains("line-answer"), TIMEOUT);
    if !request.prompt.contains(&line) {
        crew.fail("the long line did not arrive whole");
    }
}

fn works_and_is_idle_again(crew: &FakeAgents) {
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("@gate work\n@say gated-answer");
    crew.wait_state(&[AgentState::Working, AgentState::Thinking]);
    crew.server.open("work");
    crew.wait_turn(turn);
}

fn asks_for_leave_and_gets_it_from_the_inbox(crew: &FakeAgents) {
    let made = crew.home.workdir().join("made-by-agent");
    let turn = crew.tell(&shell_script(crew.home.vendor(), "touch made-by-agent", "after-leave"));
    crew.wait_state(&[AgentState::Blocked]);
    let item = crew.wait_item();
    let told = format!("{} {}", item.title, item.body);
    if item.kind != ItemKind::Dialog || !told.contains("touch made-by-agent") {
        crew.fail(&format!("the inbox has {item:?}"));
    }
    assert!(!made.exists(), "it waits for permission");
    crew.answer(item.item, "allow");
    let result = crew.wait_turn(turn);
    if !result.text.contains("after-leave") || !made.exists() {
        crew.fail(&format!("the result is {result:?}"));
    }
    let stale = crew.daemon.client().answer_item(proto::request::GiveAnswer {
        item: item.item,
        choice: "allow".to_owned(),
        ..proto::request::GiveAnswer::default()
    });
    assert!(stale.is_err(), "an answer to a dialog that is gone is refused");
}

fn is_interrupted_by_escape(crew: &FakeAgents) {
    crew.wait_state(&[AgentState::Idle]);
    let turn = crew.tell("@hang");
    crew.wait_state(&[AgentState::Working, AgentState::Thinking]);
    crew.server.wait_request(|request| request.prompt.contains("@hang"), TIMEOUT);
    // One of them needs a second Escape.
    for _ in 0..3 {
        crew.press(&["escape"]);
        let timeout_ms = Some(4000);
        let wait = proto::request::Wait {
            timeout_ms,
            ..proto::request::Wait::until(vec![NAME.into()], proto::request::Until::Turn(turn))
        };
        if crew.daemon.client().wait(wait).is_ok() {
            crew.wait_state(&[AgentState::Idle]);
            return;
        }
    }
    crew.fail("three Escapes did not interrupt it");
}

fn shows_its_context(crew: &FakeAgents, percent: u8) {
    let context = || crew.view().agent.and_then(|agent| agent.context);
    let until = Instant::now() + TIMEOUT;
    while context().and_then(|context| context.percent()) != Some(percent) {
        if Instant::now() > until {
            crew.fail(&format!("the context is {:?}, not {percent} %", context()));
        }
        testkit::process_scan::pause(std::time::Duration::from_millis(50));
    }
}

fn is_resumed_in_the_same_session(crew: &FakeAgents) {
    let session = crew.view().agent.and_then(|agent| agent.session);
    let Some(session) = session else { crew.fail("its session is not known") };
    crew.daemon.client().kill(Kill { target: NAME.into(), signal: None, grace_ms: None }).unwrap();
    crew.wait_exit();
    assert_eq!(crew.view().state, Some(AgentState::Exited));
    crew.daemon.client().resume(Resume { target: NAME.into(), ..Resume::default() }).unwrap();
    crew.wait_state(&[AgentState::Idle]);
    // The earlier text is on the screen again: the session is restored.
    crew.daemon.wait_pattern(NAME, "after-leave");
    let turn = crew.tell_resumed("@say resumed-answer");
    let result = crew.wait_turn(turn);
    is_submitted_once(crew, "resumed-answer");
    if !result.text.contains("resumed-answer") {
        crew.fail(&format!("the result is {result:?}"));
    }
    let request = crew
        .server
        .wait_request(|request| !request.is_side && request.prompt.contains("resumed-answer"), TIMEOUT);
    let is_continued = request.texts.iter().any(|text| text.contains("first-answer"));
    if !is_continued || crew.view().agent.and_then(|agent| agent.session).as_deref() != Some(&session) {
        crew.fail("the resumed session is another one");
    }
}

fn live(vendor: Vendor, percent: u8) {
    let crew = FakeAgents::seeded(vendor);
    is_told_once_and_answers(&crew);
    shows_its_context(&crew, percent);
    takes_five_hundred_lines_once(&crew);
    takes_one_long_line_once(&crew);
    works_and_is_idle_again(&crew);
    asks_for_leave_and_gets_it_from_the_inbox(&crew);
    is_interrupted_by_escape(&crew);
    is_resumed_in_the_same_session(&crew);
    crew.close();
    assert!(crew.home.living().is_empty(), "left behind: {:?}", crew.home.living());
}

#[test]
fn claude_is_told_asked_interrupted_and_resumed() {
    live(Vendor::Claude, 6);
}

#[test]
fn codex_is_told_asked_interrupted_and_resumed() {
    live(Vendor::Codex, 23);
}

#[test]
fn opencode_is_told_asked_interrupted_and_resumed() {
    live(Vendor::Opencode, 30);
}

#[test]
fn gemini_is_told_asked_interrupted_and_resumed() {
    live(Vendor::Gemini, 6);
}
