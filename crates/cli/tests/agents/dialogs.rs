//! What needs a person: found on the screen, answered by its number, never twice and never stale.

use proto::agent::{BlockedKind, ItemKind};
use proto::request::Until;
use proto::{AgentState, ErrorCode};

use testkit::scaled;

use crate::{attach, crew};

#[test]
fn a_dialog_comes_to_the_inbox_and_its_answer_reaches_the_agent() {
    let crew = crew();
    crew.enlist("a", &[]);
    let turn = crew.submit("a", "ask Delete everything?\nsay done then");
    crew.until_state("a", AgentState::Blocked);
    let item = crew.item("a");
    assert_eq!((item.kind, item.title.as_str()), (ItemKind::Dialog, "Delete everything?"));
    let labels: Vec<_> = item.options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["Yes", "Yes, always", "No"]);
    let evidence = crew.agent("a").evidence.unwrap().evidence;
    assert_eq!(evidence.kind, Some(BlockedKind::Permission));
    crew.answer(item.item, "deny").unwrap();
    crew.wait_until("a", Until::Turn(turn));
    assert_eq!(crew.answers("a"), ["3"]);
    assert!(crew.inbox().is_empty());
}

#[test]
fn c3_an_answer_to_a_dialog_that_is_gone_types_nothing() {
    let crew = crew();
    crew.enlist("a", &[]);
    crew.submit("a", "ask First?\nask Second?");
    crew.until_state("a", AgentState::Blocked);
    let first = crew.item("a");
    crew.answer(first.item, "1").unwrap();
    crew.wait_pattern("a", "Second");
    let failure = crew.answer(first.item, "3").unwrap_err();
    assert!(matches!(failure.code, ErrorCode::NotFound | ErrorCode::Conflict), "{failure:?}");
    assert_eq!(crew.answers("a"), ["1"]);
    let second = crew.item("a");
    assert_eq!(second.title, "Second?");
    crew.answer(second.item, "Yes").unwrap();
    crew.until_state("a", AgentState::Idle);
    assert_eq!((crew.answers("a").len(), crew.strays("a")), (2, Vec::new()));
}

#[test]
fn a_choice_that_there_is_not_names_those_there_are() {
    let crew = crew();
    crew.enlist("a", &[]);
    crew.submit("a", "ask Really?");
    let item = crew.item("a");
    let failure = crew.answer(item.item, "perhaps").unwrap_err();
    assert_eq!(failure.code, ErrorCode::InvalidArgs);
    assert!(failure.message.contains("Yes"), "{}", failure.message);
    assert_eq!(crew.answers("a"), Vec::<String>::new());
    crew.answer(item.item, "allow").unwrap();
}

#[test]
fn an_agent_that_is_stuck_before_its_first_prompt_is_blocked() {
    let crew = crew();
    crew.spawn_as(crew.agent_spec("fake", "a", &["--ask-trust"]));
    crew.until_state("a", AgentState::Blocked);
    let item = crew.item("a");
    assert_eq!(item.title, "Do you trust this folder?");
    crew.answer(item.item, "1").unwrap();
    crew.until_state("a", AgentState::Idle);
}

#[test]
fn c3_a_message_for_a_blocked_agent_waits_for_the_answer() {
    let crew = crew();
    crew.enlist("a", &[]);
    crew.submit("a", "ask Really?");
    crew.until_state("a", AgentState::Blocked);
    let item = crew.item("a");
    std::thread::scope(|scope| {
        let told = scope.spawn(|| crew.submit("a", "and then this"));
        crew.wait_until("a", Until::Silence(500));
        assert_eq!(crew.prompts("a"), ["ask Really?"]);
        crew.answer(item.item, "yes").or_else(|_| crew.answer(item.item, "1")).unwrap();
        told.join().unwrap();
    });
    assert_eq!(crew.prompts("a"), ["ask Really?", "and then this"]);
    assert_eq!((crew.answers("a").len(), crew.strays("a")), (1, Vec::new()));
}

#[test]
fn background_work_is_told_beside_the_state() {
    let crew = crew();
    crew.enlist("a", &[]);
    let turn = crew.submit("a", "shells 3");
    crew.wait_until("a", Until::Turn(turn));
    crew.until_view("a", |view| view.agent.as_ref().is_some_and(|agent| agent.background == 3));
    assert_eq!(crew.agent("a").state, AgentState::Idle);
}

/// How long it took from drawing to state is printed and not judged: that depends on the machine.
#[test]
fn each_dialog_is_a_state_of_its_own_that_begins_after_the_last_answer() {
    let crew = crew();
    crew.enlist("a", &[]);
    let (mut late, mut last) = (Vec::new(), 0);
    for round in 0..scaled(10) {
        let question = format!("Round {round}?");
        let turn = crew.submit("a", &format!("ask {question}"));
        crew.until_state("a", AgentState::Blocked);
        let (item, since) = (crew.item("a"), crew.agent("a").since);
        assert_eq!(item.title, question);
        assert!(since >= last, "blocked since {since}, but the dialog before it ended at {last}");
        let drawn = crew.log("a").into_iter().rev().find_map(|line| line["at"].as_u64()).unwrap();
        late.push(since.saturating_sub(drawn));
        crew.answer(item.item, "1").unwrap();
        crew.wait_until("a", Until::Turn(turn));
        last = crew.agent("a").since;
    }
    late.sort_unstable();
    println!("from drawing to state, in milliseconds: {late:?}");
}

#[test]
fn a_person_who_looks_elsewhere_is_told() {
    let crew = crew();
    let told = crew.root().join("told");
    let config = format!(
        "[notify]\ncommand = ['sh', '-c', 'printf \"%s|%s\" \"$1\" \"$2\" > {0}.new && mv {0}.new {0}', 'notify']\ndesktop = false\n",
        told.display()
    );
    std::fs::write(crew.dirs().config.join("config.toml"), config).unwrap();
    crew.enlist("a", &[]);
    crew.run("other", testkit::child::run_for_ever());
    let mut person = attach(&crew, "other", b"ready");
    crew.submit("a", "ask Delete everything?");
    person.expect(b"\x07\x1b]9;");
    let shown = person.expect(b"\x1b\\");
    assert!(String::from_utf8_lossy(&shown).contains("Delete everything?"), "{}", shown.escape_ascii());
    let until = std::time::Instant::now() + testkit::DEADLINE;
    while !told.exists() {
        assert!(std::time::Instant::now() < until, "the command was not run");
        std::thread::yield_now();
    }
    let words = std::fs::read_to_string(told).unwrap();
    assert!(words.contains("Delete everything?"), "{words}");
}

#[test]
fn a_person_who_looks_at_it_is_not_told() {
    let crew = crew();
    crew.enlist("a", &[]);
    let told = crew.root().join("told");
    let config = format!("[notify]\ncommand = ['touch', '{}']\ndesktop = false\n", told.display());
    std::fs::write(crew.dirs().config.join("config.toml"), config).unwrap();
    let mut person = attach(&crew, "a", b">");
    crew.submit("a", "ask Really?");
    person.expect(b"Really?");
    crew.answer(crew.item("a").item, "1").unwrap();
    crew.until_state("a", AgentState::Idle);
    assert!(!told.exists());
}
