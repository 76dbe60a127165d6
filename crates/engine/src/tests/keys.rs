//! Spawn keys: the same key again is the same process, and nothing starts twice.

use proto::request::Spawn;
use proto::{ErrorCode, Failure, ProcessId, Reply};

use super::agents::scene::agent;
use super::stage::{Stage, close, command, order, terminal};
use crate::{Caller, Command, Input, RunFact, Ticket};

fn keyed(spawn: Spawn, key: &str) -> Spawn {
    Spawn { name: None, key: Some(key.to_owned()), ..spawn }
}

fn ask(stage: &mut Stage, caller: Caller, key: &str) -> Ticket {
    stage.ask_as(caller, order(caller, keyed(agent("x"), key)))
}

fn spawned(stage: &Stage, ticket: Ticket) -> ProcessId {
    let Reply::Spawned(spawned) = stage.reply(ticket) else { panic!("not spawned") };
    spawned.id
}

fn start(stage: &mut Stage) {
    let run = stage.starts().last().expect("something was started").run;
    stage.fact(run, RunFact::Started { pid: 5 });
}

#[test]
fn the_same_key_twice_is_one_process() {
    let mut stage = Stage::new();
    let first = ask(&mut stage, Caller::Person, "k");
    start(&mut stage);
    let second = ask(&mut stage, Caller::Person, "k");
    assert_eq!(spawned(&stage, first), spawned(&stage, second));
    assert_eq!(stage.starts().len(), 1);
    let other = ask(&mut stage, Caller::Person, "l");
    start(&mut stage);
    assert_ne!(spawned(&stage, first), spawned(&stage, other));
}

#[test]
fn while_it_starts_both_wait_for_the_same_start() {
    let mut stage = Stage::new();
    let (first, second) = (ask(&mut stage, Caller::Person, "k"), ask(&mut stage, Caller::Person, "k"));
    assert!(stage.answer(first).is_none() && stage.answer(second).is_none());
    start(&mut stage);
    assert_eq!(spawned(&stage, first), spawned(&stage, second));
    assert_eq!(stage.starts().len(), 1);
}

#[test]
fn a_start_that_fails_tells_both_and_frees_the_key() {
    let mut stage = Stage::new();
    let (first, second) = (ask(&mut stage, Caller::Person, "k"), ask(&mut stage, Caller::Person, "k"));
    let run = stage.starts()[0].run;
    stage.fact(run, RunFact::StartFailed(Failure::new(ErrorCode::SpawnFailed, "no such program")));
    for ticket in [first, second] {
        assert_eq!(stage.failure(ticket).code, ErrorCode::SpawnFailed);
    }
    let third = ask(&mut stage, Caller::Person, "k");
    start(&mut stage);
    assert!(stage.answer(third).is_some_and(|answer| answer.is_ok()));
}

#[test]
fn after_its_exit_the_entry_still_has_the_key() {
    let mut stage = Stage::new();
    let first = ask(&mut stage, Caller::Person, "k");
    start(&mut stage);
    let run = stage.starts()[0].run;
    stage.exit(run, 0);
    let second = ask(&mut stage, Caller::Person, "k");
    assert_eq!(spawned(&stage, first), spawned(&stage, second));
    assert_eq!(stage.starts().len(), 1);
}

#[test]
fn closing_frees_the_key_and_meanwhile_it_is_busy() {
    let mut stage = Stage::new();
    let first = ask(&mut stage, Caller::Person, "k");
    start(&mut stage);
    let run = stage.starts()[0].run;
    stage.ask(close(run));
    let during = ask(&mut stage, Caller::Person, "k");
    assert_eq!(stage.failure(during).code, ErrorCode::Busy);
    stage.die(run);
    let after = ask(&mut stage, Caller::Person, "k");
    start(&mut stage);
    assert_ne!(spawned(&stage, first), spawned(&stage, after));
}

#[test]
fn a_terminal_that_is_over_has_no_entry_and_no_key() {
    let mut stage = Stage::new();
    let spawn = |stage: &mut Stage| stage.ask(order(Caller::Person, keyed(terminal("t"), "k")));
    let first = spawn(&mut stage);
    start(&mut stage);
    let run = stage.starts()[0].run;
    stage.exit(run, 0);
    let second = spawn(&mut stage);
    start(&mut stage);
    assert_ne!(spawned(&stage, first), spawned(&stage, second));
}

#[test]
fn each_parent_has_its_own_keys() {
    let mut stage = Stage::new();
    let (one, two) = (stage.spawn(agent("one")), stage.spawn(agent("two")));
    let mut seen = Vec::new();
    for caller in [Caller::Person, Caller::Process(one), Caller::Process(two)] {
        let ticket = ask(&mut stage, caller, "k");
        start(&mut stage);
        seen.push(spawned(&stage, ticket));
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[test]
fn a_later_daemon_knows_the_key_and_waits_for_the_adoption() {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    let first = ask(&mut stage, Caller::Process(lead), "k");
    start(&mut stage);
    let made = spawned(&stage, first);
    let mut later = stage.reborn();
    let again = ask(&mut later, Caller::Process(lead), "k");
    assert!(later.answer(again).is_none(), "whether it lives is not known yet");
    let record = super::agents::scene::saved(&stage.effects);
    let record = record.processes.into_iter().find(|record| record.id == made).unwrap();
    later.input(Input::Adopted { record: Box::new(record), pid: 5, exit: None });
    assert_eq!(spawned(&later, again), made);
    assert!(later.starts().is_empty());
}

#[test]
fn a_later_daemon_that_finds_it_lost_says_so() {
    let mut stage = Stage::new();
    let first = ask(&mut stage, Caller::Person, "k");
    start(&mut stage);
    let (made, run) = (spawned(&stage, first), stage.starts()[0].run);
    let mut later = stage.reborn();
    let again = ask(&mut later, Caller::Person, "k");
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    let Reply::Spawned(found) = later.reply(again) else { panic!("not spawned") };
    assert_eq!((found.id, found.status), (made, proto::Status::Exited));
}

#[test]
fn a_key_spends_nothing_twice_and_asks_nobody() {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    let first = ask(&mut stage, Caller::Process(lead), "k");
    start(&mut stage);
    let made = spawned(&stage, first);
    for _ in 0..3 {
        let spawn = keyed(command("c"), "k");
        let ticket = stage.ask_as(Caller::Process(lead), Command::Spawn(Box::new(spawn.into())));
        assert_eq!(spawned(&stage, ticket), made);
    }
    let ticket = stage.ask_as(Caller::Process(lead), Command::WhoAmI);
    let Reply::Identity(identity) = stage.reply(ticket) else { panic!("no identity") };
    assert_eq!(identity.budget.map(|budget| budget.spawns), Some(1));
}

#[test]
fn a_prompt_that_came_with_a_key_is_given_once() {
    let mut stage = Stage::new();
    let mut spawn = keyed(agent("x"), "k");
    spawn.agent.prompt = Some("begin".to_owned());
    for _ in 0..2 {
        stage.ask(order(Caller::Person, spawn.clone()));
    }
    assert_eq!(super::agents::scene::saved(&stage.effects).mail.len(), 1);
}

#[test]
fn keys_have_a_length() {
    let mut stage = Stage::new();
    for key in [String::new(), "x".repeat(201)] {
        let ticket = ask(&mut stage, Caller::Person, &key);
        assert_eq!(stage.failure(ticket).code, ErrorCode::InvalidArgs);
    }
}
