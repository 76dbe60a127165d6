//! Questions to the person: who may ask, who may answer, and how the answer comes back.

use proto::agent::{InboxItem, ItemKind};
use proto::event::Event;
use proto::request::{Ask, Attention, GiveAnswer, Select, Until, Wait};
use proto::{AgentState, ErrorCode, Reply};

use super::random_tree::Crew;
use super::stage::{command, next, restart, target, terminal, trust_subject};
use crate::{Caller, Command, Effect, Rule, RunFact, RunKey, SpawnOrder, Ticket};

fn ask(question: &str, options: &[&str]) -> Command {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Command::Ask(Ask { question: question.to_owned(), options, key: None })
}

/// The same under a key.
fn keyed(question: &str, key: &str) -> Command {
    Command::Ask(Ask { question: question.to_owned(), options: Vec::new(), key: Some(key.to_owned()) })
}

fn asked(crew: &mut Crew, run: RunKey, command: Command) -> u64 {
    let ticket = crew.ask_as(Caller::Process(run), command);
    let Reply::Asked(asked) = crew.stage.reply(ticket) else { panic!("not asked") };
    asked.item
}

fn inbox(crew: &mut Crew, caller: Caller) -> Vec<InboxItem> {
    let ticket = crew.ask_as(caller, Command::Inbox);
    let Reply::Inbox(items) = crew.stage.reply(ticket) else { panic!("no inbox") };
    items
}

fn answer(crew: &mut Crew, caller: Caller, item: u64, choice: &str) -> Option<ErrorCode> {
    let ticket = crew.ask_as(
        caller,
        Command::Answer(GiveAnswer { item, choice: choice.to_owned(), ..GiveAnswer::default() }),
    );
    crew.stage.answer(ticket).expect("answered at once").err().map(|failure| failure.code)
}

fn wait_for(crew: &mut Crew, run: RunKey, item: u64) -> Ticket {
    let wait = Wait::until(vec![target(run)], Until::Item(item));
    crew.ask_as(Caller::Process(run), Command::Wait(wait))
}

fn text(crew: &Crew, ticket: Ticket) -> String {
    let Reply::Waited(waited) = crew.stage.reply(ticket) else { panic!("not waited") };
    waited.satisfied[0].text.clone().unwrap_or_default()
}

#[test]
fn an_answer_comes_as_a_message_from_the_system() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let item = asked(&mut crew, boss, ask("Which database?\nIt matters.", &["postgres", "sqlite"]));
    let items = inbox(&mut crew, Caller::Person);
    assert_eq!((items.len(), items[0].kind), (1, ItemKind::Question));
    assert_eq!(
        (items[0].title.as_str(), items[0].body.as_str()),
        ("Which database?", "Which database?\nIt matters.")
    );
    assert_eq!(answer(&mut crew, Caller::Person, item, "mysql"), Some(ErrorCode::InvalidArgs));
    assert_eq!(answer(&mut crew, Caller::Person, item, "2"), None);
    let messages = crew.messages_to(boss);
    assert!(messages[0].starts_with("[system "), "{}", messages[0]);
    assert!(messages[0].ends_with(&format!("│ the person answered item {item}: sqlite")), "{}", messages[0]);
    assert!(inbox(&mut crew, Caller::Person).is_empty());
    assert_eq!(answer(&mut crew, Caller::Person, item, "1"), Some(ErrorCode::Conflict));
    assert_eq!(crew.messages_to(boss).len(), 1);
}

#[test]
fn without_options_any_words_are_an_answer() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let item = asked(&mut crew, boss, ask("Why?", &[]));
    for words in ["", "  ", &"x".repeat((4 << 10) + 1)] {
        assert_eq!(answer(&mut crew, Caller::Person, item, words), Some(ErrorCode::InvalidArgs));
    }
    assert_eq!(answer(&mut crew, Caller::Person, item, "because\nI say so"), None);
    assert!(crew.messages_to(boss)[0].ends_with("because\n│ I say so"));
}

#[test]
fn whoever_waits_for_the_answer_gets_it_and_no_message_is_sent() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let item = asked(&mut crew, boss, ask("Go?", &["yes", "no"]));
    let ticket = wait_for(&mut crew, boss, item);
    assert!(crew.stage.answer(ticket).is_none());
    answer(&mut crew, Caller::Person, item, "yes");
    assert_eq!(text(&crew, ticket), "yes");
    assert!(crew.messages_to(boss).is_empty() && crew.system_messages("item:").is_empty());
}

#[test]
fn a_wait_that_comes_after_the_answer_takes_it_out_of_the_mail() {
    let mut crew = Crew::new();
    let boss = crew.stage.spawn(super::agents::scene::agent("boss"));
    let item = asked(&mut crew, boss, ask("Go?", &[]));
    answer(&mut crew, Caller::Person, item, "yes");
    assert_eq!(crew.system_messages("item:").len(), 1);
    crew.crash();
    let ticket = wait_for(&mut crew, boss, item);
    assert!(text(&crew, ticket).ends_with("yes"));
    crew.report(boss, AgentState::Idle);
    crew.pass(60_000);
    assert!(crew.messages_to(boss).is_empty());
    let again = wait_for(&mut crew, boss, item);
    assert_eq!(crew.stage.failure(again).code, ErrorCode::Conflict);
}

#[test]
fn a_wait_for_leave_to_start_something_hears_the_answer_and_no_message_is_sent() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    for (choice, word) in [("allow_once", "once"), ("deny", "refused")] {
        let order =
            SpawnOrder { trust_subject: Some(trust_subject(choice, Rule::Ask)), ..command("build").into() };
        let ticket = crew.ask_as(Caller::Process(boss), Command::Spawn(Box::new(order)));
        let failure = crew.stage.failure(ticket);
        assert_eq!(failure.code, ErrorCode::NeedsTrust);
        let item = failure.item.unwrap();
        let ticket = wait_for(&mut crew, boss, item);
        assert_eq!(answer(&mut crew, Caller::Process(boss), item, choice), Some(ErrorCode::Denied));
        assert_eq!(answer(&mut crew, Caller::Person, item, choice), None);
        assert!(text(&crew, ticket).contains(word), "{}", text(&crew, ticket));
        assert!(crew.messages_to(boss).is_empty());
    }
}

#[test]
fn only_people_answer_what_a_person_was_asked() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    let item = asked(&mut crew, one, ask("Go?", &["yes"]));
    for caller in [Caller::Process(boss), Caller::Process(one)] {
        assert!(inbox(&mut crew, caller).is_empty());
        assert_eq!(answer(&mut crew, caller, item, "yes"), Some(ErrorCode::Denied));
    }
    assert_eq!(answer(&mut crew, Caller::Nobody, item, "yes"), Some(ErrorCode::Unauthorized));
    assert_eq!(answer(&mut crew, Caller::Person, item, "YES"), None);
}

#[test]
fn a_call_for_attention_is_dismissed_without_beginning_a_turn() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let attention = || Command::Attention(Attention { reason: "the build is red".into(), key: None });
    let item = asked(&mut crew, boss, attention());
    assert_eq!(inbox(&mut crew, Caller::Person)[0].kind, ItemKind::Attention);
    assert_eq!(answer(&mut crew, Caller::Person, item, "dismiss"), None);
    assert!(crew.messages_to(boss).is_empty());
    let item = asked(&mut crew, boss, attention());
    let ticket = wait_for(&mut crew, boss, item);
    answer(&mut crew, Caller::Person, item, "1");
    assert_eq!(text(&crew, ticket), "Dismiss");
}

#[test]
fn a_question_survives_the_daemon_and_ends_with_the_run_that_asked() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let item = asked(&mut crew, boss, ask("Go?", &[]));
    crew.crash();
    assert_eq!(inbox(&mut crew, Caller::Person)[0].item, item);
    let ticket = wait_for(&mut crew, boss, item);
    crew.ask(restart(boss));
    crew.die(boss);
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::NotRunning);
    assert!(inbox(&mut crew, Caller::Person).is_empty());
    crew.fact(next(boss), RunFact::Started { pid: 2 });
    crew.launch(next(boss));
    assert_eq!(answer(&mut crew, Caller::Person, item, "late"), Some(ErrorCode::Conflict));
    crew.crash();
    assert!(inbox(&mut crew, Caller::Person).is_empty());
    assert!(super::agents::scene::saved(&crew.stage.effects).questions.is_empty());
    assert!(crew.messages_to(next(boss)).is_empty());
}

#[test]
fn f4_a_question_under_a_key_is_asked_once_whatever_becomes_of_it_and_of_the_daemon() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let item = asked(&mut crew, boss, keyed("Go?", "k"));
    assert_eq!(asked(&mut crew, boss, keyed("Go?", "k")), item);
    crew.crash();
    assert_eq!(asked(&mut crew, boss, keyed("Go?", "k")), item, "the daemon that heard it is gone");
    assert_eq!(inbox(&mut crew, Caller::Person).len(), 1);
    let attention = |key: &str| {
        Command::Attention(Attention { reason: "the build is red".into(), key: Some(key.to_owned()) })
    };
    let looked = asked(&mut crew, boss, attention("l"));
    assert_eq!(asked(&mut crew, boss, attention("l")), looked);
    assert_ne!(asked(&mut crew, boss, keyed("Go?", "other")), item);
    answer(&mut crew, Caller::Person, item, "yes");
    assert_eq!(asked(&mut crew, boss, keyed("Go?", "k")), item, "it was answered meanwhile");
    assert_eq!(inbox(&mut crew, Caller::Person).len(), 2);
    // Somebody else's key is another one, and so is that of the next run.
    let peer = crew.agent("peer", None);
    assert_ne!(asked(&mut crew, peer, keyed("Go?", "k")), item);
    for bad in ["", &"x".repeat(201)] {
        let ticket = crew.ask_as(Caller::Process(boss), keyed("Go?", bad));
        assert_eq!(crew.stage.failure(ticket).code, ErrorCode::InvalidArgs);
    }
}

#[test]
fn f4_a_key_is_known_also_when_nothing_more_may_be_asked_and_old_keys_are_let_go() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let first = asked(&mut crew, boss, keyed("0?", "k0"));
    for number in 1..20 {
        asked(&mut crew, boss, keyed("again?", &format!("k{number}")));
    }
    let ticket = crew.ask_as(Caller::Process(boss), keyed("one more?", "more"));
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::Limit);
    assert_eq!(asked(&mut crew, boss, keyed("0?", "k0")), first);
    for number in 0..100 {
        answer(&mut crew, Caller::Person, first + number, "yes");
        asked(&mut crew, boss, keyed("again?", &format!("n{number}")));
    }
    assert_eq!(crew.stage.engine.inbox.asked.len(), 100);
    assert!(!crew.stage.engine.inbox.asked.contains_key(&(boss, "k0".to_owned())));
}

#[test]
fn an_answer_that_was_not_delivered_does_not_reach_the_next_run() {
    let mut crew = Crew::new();
    let boss = crew.stage.spawn(super::agents::scene::agent("boss"));
    let item = asked(&mut crew, boss, ask("Go?", &[]));
    answer(&mut crew, Caller::Person, item, "yes");
    crew.ask(restart(boss));
    crew.die(boss);
    crew.fact(next(boss), RunFact::Started { pid: 2 });
    crew.launch(next(boss));
    crew.report(next(boss), AgentState::Idle);
    crew.pass(60_000);
    assert!(crew.messages.is_empty());
}

#[test]
fn who_may_ask_and_what_is_refused_at_the_door() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let shell = crew.stage.spawn(terminal("shell"));
    let many: Vec<String> = (0..21).map(|n| format!("o{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let long = "x".repeat(201);
    let cases = [
        (Caller::Person, ask("q", &[]), ErrorCode::WrongKind),
        (Caller::Process(shell), ask("q", &[]), ErrorCode::WrongKind),
        (Caller::Nobody, ask("q", &[]), ErrorCode::Unauthorized),
        (Caller::Process(boss), ask(" ", &[]), ErrorCode::InvalidArgs),
        (Caller::Process(boss), ask(&"x".repeat((4 << 10) + 1), &[]), ErrorCode::InvalidArgs),
        (Caller::Process(boss), ask("q", &["a", "A"]), ErrorCode::InvalidArgs),
        (Caller::Process(boss), ask("q", &["a", " "]), ErrorCode::InvalidArgs),
        (Caller::Process(boss), ask("q", &["2", "1"]), ErrorCode::InvalidArgs),
        (Caller::Process(boss), ask("q", &[&long]), ErrorCode::InvalidArgs),
        (Caller::Process(boss), ask("q", &many), ErrorCode::InvalidArgs),
    ];
    for (caller, command, code) in cases {
        let ticket = crew.ask_as(caller, command.clone());
        assert_eq!(crew.stage.failure(ticket).code, code, "{command:?}");
    }
    for _ in 0..20 {
        asked(&mut crew, boss, ask("q", &["1", "2", "40"]));
    }
    let ticket = crew.ask_as(Caller::Process(boss), ask("q", &[]));
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::Limit);
    let ticket = wait_for(&mut crew, boss, 99);
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::NotFound);
}

#[test]
fn c7_nothing_hidden_stands_in_a_question() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    asked(&mut crew, boss, ask("\u{1b}[2Jgo\u{202e}?\r\nmore\u{7}", &["y\u{1b}[31m"]));
    let item = &inbox(&mut crew, Caller::Person)[0];
    let shown = format!("{}{}{}", item.title, item.body.replace('\n', ""), item.options[0].label);
    assert!(!shown.chars().any(|c| c.is_control() || c == '\u{202e}'), "{shown:?}");
}

#[test]
fn a_process_is_shown_by_who_may_read_it() {
    let mut crew = Crew::new();
    let boss = crew.agent("boss", None);
    let one = crew.agent("one", Some(boss));
    let select = |run| Command::Select(Select { target: target(run) });
    for (caller, run, is_shown) in [
        (Caller::Person, one, true),
        (Caller::Process(boss), one, true),
        (Caller::Process(one), one, true),
        (Caller::Process(one), boss, false),
        (Caller::Nobody, one, false),
    ] {
        let before = crew.stage.effects.len();
        let ticket = crew.ask_as(caller, select(run));
        assert_eq!(crew.stage.answer(ticket).unwrap().is_ok(), is_shown, "{caller:?}");
        let selected = Event::Selected { id: run.process, by: caller.process() };
        let is_announced =
            |effect: &Effect| matches!(effect, Effect::Announce(news) if news.announcement.what == selected);
        assert_eq!(crew.stage.effects[before..].iter().any(is_announced), is_shown);
    }
}
