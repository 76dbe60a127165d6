//! What agents may start: asked once, answered by people, remembered by content.

use proto::agent::{InboxItem, ItemKind};
use proto::request::{Distrust, GiveAnswer};
use proto::{ErrorCode, Reply, Status};

use super::agents::scene::agent;
use super::stage::{LIST, Stage, close, command, next, restart, trust_subject};
use crate::{Caller, Command, Effect, Record, Rule, RunFact, RunKey, SpawnOrder, Ticket, TrustSubject};

/// A stage with one agent that leads.
fn lead() -> (Stage, RunKey) {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    (stage, lead)
}

/// What the project's list covers.
fn listed(digest: &str) -> TrustSubject {
    TrustSubject { listed: Some(LIST.to_owned()), ..trust_subject(digest, Rule::Ask) }
}

/// The lead asks for a command of this content.
fn ask(stage: &mut Stage, lead: RunKey, digest: &str) -> Ticket {
    let spawn = proto::request::Spawn { name: None, ..command("x") };
    stage.order_as(lead, spawn, trust_subject(digest, Rule::Ask))
}

fn code(stage: &Stage, ticket: Ticket) -> ErrorCode {
    stage.failure(ticket).code
}

fn items(stage: &mut Stage) -> Vec<InboxItem> {
    let ticket = stage.ask(Command::Inbox);
    let Reply::Inbox(items) = stage.reply(ticket) else { panic!("no inbox") };
    items
}

fn answer_as(stage: &mut Stage, caller: Caller, item: u64, choice: &str) -> Ticket {
    stage.ask_as(
        caller,
        Command::Answer(GiveAnswer { item, choice: choice.to_owned(), ..GiveAnswer::default() }),
    )
}

fn answer(stage: &mut Stage, item: u64, choice: &str) {
    let ticket = answer_as(stage, Caller::Person, item, choice);
    assert!(matches!(stage.reply(ticket), Reply::Done(_)));
}

fn distrust(stage: &mut Stage, digest: &str) -> Ticket {
    stage.ask(Command::Distrust(Distrust { digest: digest.to_owned() }))
}

/// Returns true if the newest answer is that it started.
fn is_started(stage: &mut Stage, ticket: Ticket) -> bool {
    let Some(run) = stage.starts().last().map(|start| start.run) else { return false };
    stage.fact(run, RunFact::Started { pid: 7 });
    matches!(stage.answer(ticket), Some(Ok(_)))
}

#[test]
fn b7_a_free_command_of_an_agent_asks_a_person_first() {
    let (mut stage, lead) = lead();
    let ticket = ask(&mut stage, lead, "d1");
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::NeedsTrust);
    let items = items(&mut stage);
    assert_eq!(failure.item, Some(items[0].item));
    assert_eq!((items[0].kind, items[0].id), (ItemKind::Trust, lead.process));
    assert_eq!(items[0].body, "\"run\"");
    let names: Vec<&str> = items[0].options.iter().map(|option| option.names[1].as_str()).collect();
    assert_eq!(names, ["allow_once", "always", "deny"]);
    assert_eq!(stage.starts().len(), 1, "nothing was started");
}

#[test]
fn b7_every_kind_of_spawn_needs_trust_but_a_plain_agent() {
    let (mut stage, lead) = lead();
    let plain = |stage: &mut Stage, spawn: proto::request::Spawn| {
        let spawn = proto::request::Spawn { name: None, ..spawn };
        stage.ask_as(Caller::Process(lead), Command::Spawn(Box::new(spawn.into())))
    };
    let mut worded = agent("w");
    worded.argv.push("--flag".to_owned());
    let mut varied = agent("v");
    varied.env.insert("LD_PRELOAD".to_owned(), "x".to_owned());
    let mut preset = agent("p");
    preset.preset = Some("dev".to_owned());
    for spawn in [command("c"), super::stage::terminal("t"), worded, varied, preset] {
        let ticket = plain(&mut stage, spawn.clone());
        assert_eq!(code(&stage, ticket), ErrorCode::NeedsTrust, "{spawn:?}");
    }
    let ticket = plain(&mut stage, agent("a"));
    assert!(is_started(&mut stage, ticket));
}

#[test]
fn b7_a_spawn_without_a_trust_subject_is_asked_about_by_its_whole_content() {
    let (mut stage, lead) = lead();
    let bare = |stage: &mut Stage, argv: &[&str], value: &str| {
        let mut spawn = command("x");
        spawn.name = None;
        spawn.argv = argv.iter().map(|word| (*word).to_owned()).collect();
        spawn.env.insert("A".to_owned(), value.to_owned());
        let ticket = stage.ask_as(Caller::Process(lead), Command::Spawn(Box::new(spawn.into())));
        stage.answer(ticket).and_then(Result::err)
    };
    let first = bare(&mut stage, &["run", "a b"], "1").and_then(|failure| failure.item).unwrap();
    answer(&mut stage, first, "always");
    assert!(bare(&mut stage, &["run", "a b"], "1").is_none());
    for (argv, value) in [(&["run", "a", "b"][..], "1"), (&["run", "a b"], "2"), (&["run", "a b", ""], "1")] {
        assert_eq!(bare(&mut stage, argv, value).map(|failure| failure.code), Some(ErrorCode::NeedsTrust));
    }
    let long = "x".repeat(20_000);
    assert_eq!(bare(&mut stage, &["run", &long], "1").map(|failure| failure.code), Some(ErrorCode::Denied));
}

#[test]
fn the_same_question_is_asked_once() {
    let (mut stage, lead) = lead();
    let (first, second) = (ask(&mut stage, lead, "d1"), ask(&mut stage, lead, "d1"));
    assert_eq!(stage.failure(first).item, stage.failure(second).item);
    assert_eq!(items(&mut stage).len(), 1);
}

#[test]
fn allowed_once_is_one_start() {
    let (mut stage, lead) = lead();
    let asked = ask(&mut stage, lead, "d1");
    let item = stage.failure(asked).item.unwrap();
    answer(&mut stage, item, "allow_once");
    let again = ask(&mut stage, lead, "d1");
    assert!(is_started(&mut stage, again));
    let third = ask(&mut stage, lead, "d1");
    assert_eq!(code(&stage, third), ErrorCode::NeedsTrust);
    assert_ne!(stage.failure(third).item, Some(item));
}

#[test]
fn a_leave_for_once_is_not_used_up_by_what_could_not_be_started_anyway() {
    let (mut stage, lead) = lead();
    let asked = ask(&mut stage, lead, "d1");
    let item = stage.failure(asked).item.unwrap();
    answer(&mut stage, item, "1");
    let taken = stage.order_as(lead, command("lead"), trust_subject("d1", Rule::Ask));
    assert_eq!(code(&stage, taken), ErrorCode::Conflict);
    let again = ask(&mut stage, lead, "d1");
    assert!(is_started(&mut stage, again));
}

#[test]
fn a_leave_for_once_is_the_askers_alone() {
    let (mut stage, lead) = lead();
    let other = stage.spawn(agent("other"));
    let asked = ask(&mut stage, lead, "d1");
    let item = stage.failure(asked).item.unwrap();
    answer(&mut stage, item, "allow_once");
    let theirs = ask(&mut stage, other, "d1");
    assert_eq!(code(&stage, theirs), ErrorCode::NeedsTrust);
}

#[test]
fn always_is_for_this_content_and_for_every_run_that_asked() {
    let (mut stage, lead) = lead();
    let other = stage.spawn(agent("other"));
    let (mine, theirs) = (ask(&mut stage, lead, "d1"), ask(&mut stage, other, "d1"));
    assert_ne!(stage.failure(mine).item, stage.failure(theirs).item);
    let item = stage.failure(mine).item.unwrap();
    answer(&mut stage, item, "always");
    assert!(items(&mut stage).is_empty());
    for asker in [lead, other, lead] {
        let ticket = ask(&mut stage, asker, "d1");
        assert!(is_started(&mut stage, ticket));
    }
    let changed = ask(&mut stage, lead, "d2");
    assert_eq!(code(&stage, changed), ErrorCode::NeedsTrust);
}

#[test]
fn a_refusal_holds_for_the_run_and_asks_nobody_again() {
    let (mut stage, lead) = lead();
    let asked = ask(&mut stage, lead, "d1");
    let item = stage.failure(asked).item.unwrap();
    answer(&mut stage, item, "deny");
    for _ in 0..3 {
        let ticket = ask(&mut stage, lead, "d1");
        assert_eq!(code(&stage, ticket), ErrorCode::Denied);
    }
    assert!(items(&mut stage).is_empty());
    stage.ask(restart(lead));
    stage.die(lead);
    stage.fact(next(lead), RunFact::Started { pid: 2 });
    let ticket = ask(&mut stage, next(lead), "d1");
    assert_eq!(code(&stage, ticket), ErrorCode::NeedsTrust);
}

#[test]
fn the_projects_rules_come_before_and_instead_of_a_question() {
    let (mut stage, lead) = lead();
    let ticket = stage.order_as(lead, command("no"), trust_subject("d1", Rule::Deny));
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::Denied);
    assert!(failure.message.contains("the project's rules"), "{failure}");
    let trusted = stage.ask(Command::Trust(Box::new(trust_subject("d1", Rule::Ask))));
    assert!(matches!(stage.reply(trusted), Reply::Trust(_)));
    let ticket = stage.order_as(lead, command("no"), trust_subject("d1", Rule::Deny));
    assert_eq!(code(&stage, ticket), ErrorCode::Denied, "a rule beats what is trusted");
    let ticket = stage.order_as(lead, command("yes"), listed("d9"));
    assert!(is_started(&mut stage, ticket));
    assert!(items(&mut stage).is_empty());
}

#[test]
fn many_questions_wait_and_the_twenty_first_is_not_asked() {
    let (mut stage, lead) = lead();
    for n in 0..20 {
        let ticket = ask(&mut stage, lead, &format!("d{n}"));
        assert_eq!(code(&stage, ticket), ErrorCode::NeedsTrust);
    }
    let ticket = ask(&mut stage, lead, "d20");
    assert_eq!(code(&stage, ticket), ErrorCode::Busy);
    let waiting: Vec<u64> = items(&mut stage).iter().map(|item| item.item).collect();
    assert_eq!(waiting.len(), 20);
    for item in waiting.iter().rev() {
        answer(&mut stage, *item, "deny");
    }
    let ticket = ask(&mut stage, lead, "d20");
    assert_eq!(code(&stage, ticket), ErrorCode::NeedsTrust);
}

#[test]
fn b7_only_people_answer_trust_and_are_trusted_with_it() {
    let (mut stage, root) = lead();
    let child = stage.spawn_as(Caller::Process(root), agent("child"));
    let asked = ask(&mut stage, child, "d1");
    let item = stage.failure(asked).item.unwrap();
    for caller in [root, child] {
        for choice in ["allow_once", "always", "deny"] {
            let ticket = answer_as(&mut stage, Caller::Process(caller), item, choice);
            assert_eq!(code(&stage, ticket), ErrorCode::Denied, "{choice}");
        }
        let commands = [
            Command::Trust(Box::new(trust_subject("d1", Rule::Ask))),
            Command::Distrust(Distrust { digest: "d".to_owned() }),
            Command::Trusted,
        ];
        for command in commands {
            let ticket = stage.ask_as(Caller::Process(caller), command);
            assert_eq!(code(&stage, ticket), ErrorCode::Denied);
        }
        let ticket = stage.ask_as(Caller::Process(caller), Command::Inbox);
        let Reply::Inbox(seen) = stage.reply(ticket) else { panic!("no inbox") };
        assert!(seen.is_empty(), "{seen:?}");
    }
    let ticket = ask(&mut stage, child, "d1");
    assert_eq!(code(&stage, ticket), ErrorCode::NeedsTrust);
}

#[test]
fn people_need_no_trust() {
    let mut stage = Stage::new();
    for rule in [Rule::Ask, Rule::Deny] {
        let spawn = proto::request::Spawn { name: None, ..command("x") };
        let order = SpawnOrder { trust_subject: Some(trust_subject("d1", rule)), ..spawn.into() };
        let ticket = stage.ask(Command::Spawn(Box::new(order)));
        assert!(is_started(&mut stage, ticket), "{rule:?}");
    }
}

#[test]
fn what_a_run_asked_for_is_void_when_it_ends() {
    for is_agent in [true, false] {
        let mut stage = Stage::new();
        let asker = stage.spawn(if is_agent { agent("a") } else { command("a") });
        let asked = ask(&mut stage, asker, "d1");
        let item = stage.failure(asked).item.unwrap();
        stage.exit(asker, 0);
        assert!(items(&mut stage).is_empty());
        let ticket = answer_as(&mut stage, Caller::Person, item, "always");
        assert_eq!(code(&stage, ticket), ErrorCode::Conflict);
        let ticket = stage.ask(Command::Trusted);
        assert!(
            matches!(stage.reply(ticket), Reply::Trusted(all) if all.len() == 1 && all[0].digest == LIST)
        );
    }
}

#[test]
fn an_agent_is_told_what_was_answered_and_a_shell_is_not_typed_into() {
    let (mut stage, lead) = lead();
    let shell = stage.spawn(super::stage::terminal("shell"));
    for asker in [lead, shell] {
        let asked = ask(&mut stage, asker, "d1");
        let item = stage.failure(asked).item.unwrap();
        answer(&mut stage, item, "deny");
    }
    let messages: Vec<_> = super::agents::scene::saved(&stage.effects).mail;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].to, lead.process);
    assert!(messages[0].text.contains("refused"), "{}", messages[0].text);
}

#[test]
fn a_later_daemon_knows_what_is_trusted_and_asks_the_rest_again() {
    let (mut stage, lead) = lead();
    for (digest, choice) in
        [("d1", Some("always")), ("d2", Some("allow_once")), ("d3", Some("deny")), ("d4", None)]
    {
        let asked = ask(&mut stage, lead, digest);
        let item = stage.failure(asked).item.unwrap();
        if let Some(choice) = choice {
            answer(&mut stage, item, choice);
        }
    }
    let mut later = stage.reborn();
    assert!(items(&mut later).is_empty());
    let ticket = ask(&mut later, lead, "d1");
    assert!(is_started(&mut later, ticket));
    for digest in ["d2", "d3", "d4"] {
        let ticket = ask(&mut later, lead, digest);
        assert_eq!(code(&later, ticket), ErrorCode::NeedsTrust, "{digest}");
    }
    let numbers: Vec<u64> = items(&mut later).iter().map(|item| item.item).collect();
    assert!(numbers.iter().all(|item| *item > 4), "no number is given out twice: {numbers:?}");
}

#[test]
fn distrust_takes_back_exactly_what_is_named() {
    let mut stage = Stage::new();
    for digest in ["aa11", "aa22", "bb"] {
        stage.ask(Command::Trust(Box::new(trust_subject(digest, Rule::Ask))));
    }
    for (named, expected) in
        [("", ErrorCode::InvalidArgs), ("aa", ErrorCode::Conflict), ("zz", ErrorCode::NotFound)]
    {
        let ticket = distrust(&mut stage, named);
        assert_eq!(code(&stage, ticket), expected, "{named}");
    }
    let ticket = distrust(&mut stage, "aa1");
    assert!(matches!(stage.reply(ticket), Reply::Done(_)));
    let removed = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Record(Record::RemoveTrust(digest)) => Some(digest.clone()),
        _ => None,
    });
    assert_eq!(removed.collect::<Vec<_>>(), ["aa11"]);
    let ticket = stage.ask(Command::Trusted);
    let Reply::Trusted(left) = stage.reply(ticket) else { panic!("no list") };
    assert_eq!(left.iter().map(|trust| trust.digest.as_str()).collect::<Vec<_>>(), [LIST, "aa22", "bb"]);
}

/// A command below the lead that was started because its content is trusted.
fn trusted_child(stage: &mut Stage, lead: RunKey, auto_restart: bool) -> RunKey {
    stage.ask(Command::Trust(Box::new(trust_subject("aa", Rule::Ask))));
    let spawn = proto::request::Spawn { auto_restart, ..command("server") };
    stage.order_as(lead, spawn, trust_subject("aa", Rule::Ask));
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, RunFact::Started { pid: 9 });
    run
}

#[test]
fn f10_a_restart_by_an_agent_needs_the_trust_of_the_start() {
    let (mut stage, lead) = lead();
    let child = trusted_child(&mut stage, lead, false);
    let ticket = stage.ask_as(Caller::Process(lead), restart(child));
    stage.die(child);
    assert!(is_started(&mut stage, ticket), "it is trusted still");
    distrust(&mut stage, "aa");
    let child = next(child);
    let ticket = stage.ask_as(Caller::Process(lead), restart(child));
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::NeedsTrust);
    assert_eq!(
        stage.view(child.process).map(|view| view.status),
        Some(Status::Running),
        "it was not touched"
    );
    answer(&mut stage, failure.item.unwrap(), "allow_once");
    let ticket = stage.ask_as(Caller::Process(lead), restart(child));
    stage.die(child);
    assert!(is_started(&mut stage, ticket));
    let ticket = stage.ask_as(Caller::Process(lead), restart(next(child)));
    stage.die(next(child));
    assert!(is_started(&mut stage, ticket), "what was allowed for this process may start again");
}

#[test]
fn f10_a_person_restarts_what_is_no_longer_trusted() {
    let (mut stage, lead) = lead();
    let child = trusted_child(&mut stage, lead, false);
    distrust(&mut stage, "aa");
    let ticket = stage.ask(restart(child));
    stage.die(child);
    assert!(is_started(&mut stage, ticket));
}

#[test]
fn f10_an_automatic_restart_parks_what_is_no_longer_trusted() {
    let (mut stage, lead) = lead();
    let child = trusted_child(&mut stage, lead, true);
    stage.exit(child, 1);
    stage.pass(1_500);
    stage.fact(next(child), RunFact::Started { pid: 10 });
    assert_eq!(stage.view(child.process).map(|view| view.status), Some(Status::Running), "it was trusted");
    distrust(&mut stage, "aa");
    let starts = stage.starts().len();
    stage.exit(next(child), 1);
    stage.pass(60_000);
    let view = stage.view(child.process).unwrap();
    assert_eq!((view.status, stage.starts().len()), (Status::Parked, starts));
    assert!(view.failure.is_some_and(|why| why.contains("trust")));
    let note = stage.audited().into_iter().rfind(|note| note.verb == "restart").unwrap();
    assert_eq!((note.caller, note.decision.as_str()), (None, "denied"));
}

#[test]
fn a_leave_goes_with_the_process_it_was_given_to() {
    let (mut stage, lead) = lead();
    let asked = ask(&mut stage, lead, "d1");
    let item = stage.failure(asked).item.unwrap();
    answer(&mut stage, item, "allow_once");
    stage.ask(close(lead));
    stage.die(lead);
    let again = stage.spawn(agent("lead"));
    let ticket = ask(&mut stage, again, "d1");
    assert_eq!(code(&stage, ticket), ErrorCode::NeedsTrust);
}

#[test]
fn a_title_says_how_the_command_begins_and_the_body_all_of_it() {
    let (mut stage, lead) = lead();
    let long = format!("sleep {}\nkind: command\nin: /srv", "x".repeat(500));
    for (digest, command_text) in [("d1", "sleep 5\nkind: command\nin: /srv"), ("d2", &long)] {
        let free = TrustSubject { command: command_text.to_owned(), ..trust_subject(digest, Rule::Ask) };
        stage.order_as(lead, command("x"), free);
    }
    let odd = TrustSubject { command: "\u{1b}[2J ls\nin: /".to_owned(), ..trust_subject("d3", Rule::Ask) };
    stage.order_as(lead, command("x"), odd);
    let preset = TrustSubject { preset: Some("dev".to_owned()), ..trust_subject("d4", Rule::Ask) };
    stage.order_as(lead, command("x"), preset);
    let items = items(&mut stage);
    assert_eq!((items[0].title.as_str(), items[3].title.as_str()), ("start sleep 5", "start dev"));
    assert_eq!(items[0].body, "sleep 5\nkind: command\nin: /srv");
    let (short, odd) = (&items[1].title, &items[2].title);
    assert!(short.ends_with('…') && short.chars().count() == "start ".len() + 61, "{short}");
    assert!(!odd.contains(['\n', '\u{1b}']), "{odd}");
}

#[test]
fn f10_what_a_list_allowed_is_asked_about_when_the_list_is_trusted_no_longer() {
    let (mut stage, lead) = lead();
    stage.order_as(lead, proto::request::Spawn { auto_restart: true, ..command("a") }, listed("d1"));
    let child = stage.starts().last().unwrap().run;
    stage.fact(child, RunFact::Started { pid: 9 });
    let ticket = stage.ask_as(Caller::Process(lead), restart(child));
    stage.die(child);
    assert!(is_started(&mut stage, ticket), "the list is trusted still");
    let child = next(child);
    distrust(&mut stage, LIST);
    let refused = stage.ask_as(Caller::Process(lead), restart(child));
    let failure = stage.failure(refused);
    assert_eq!(failure.code, ErrorCode::NeedsTrust);
    answer(&mut stage, failure.item.unwrap(), "always");
    assert!(!stage.engine.trust.trusted.contains_key(LIST), "the answer was about the command, not the list");
    assert!(stage.engine.trust.trusted.contains_key("d1"));
    let ticket = stage.ask_as(Caller::Process(lead), restart(child));
    stage.die(child);
    assert!(is_started(&mut stage, ticket));
    distrust(&mut stage, "d1");
    stage.exit(next(child), 1);
    stage.pass(60_000);
    assert_eq!(stage.view(child.process).map(|view| view.status), Some(Status::Parked));
}
