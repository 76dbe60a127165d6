//! Starts that a dying daemon did not carry out: nobody takes them for done, and nothing is started twice.

use proto::request::Spawn;
use proto::{ErrorCode, Reply, Status};

use super::agents::scene::{agent, saved};
use super::stage::{Stage, command, next, order, restart, terminal};
use crate::input::ChildExit;
use crate::{Caller, Effect, Input, RunFact, RunKey, Ticket};

fn keyed(spawn: Spawn) -> Spawn {
    Spawn { key: Some("k".to_owned()), ..spawn }
}

fn ask(stage: &mut Stage, spawn: &Spawn) -> Ticket {
    stage.ask(order(Caller::Person, spawn.clone()))
}

/// What the daemon did of these effects before it died, in the order it does them: all records at once, then the rest.
fn done_of(effects: Vec<Effect>, count: usize) -> Vec<Effect> {
    let (mut done, rest): (Vec<_>, Vec<_>) =
        effects.into_iter().partition(|effect| matches!(effect, Effect::Record(_)));
    match count.checked_sub(1) {
        None => Vec::new(),
        Some(count) => {
            done.extend(rest.into_iter().take(count));
            done
        }
    }
}

/// The next daemon, which finds these holders and misses the others that it looks for.
fn reborn(stage: &Stage, held: &[RunKey]) -> Stage {
    let mut later = stage.reborn();
    for record in saved(&stage.effects).processes.into_iter().filter(|record| record.run.has_holder) {
        let run = RunKey::new(record.id, record.run.number);
        if held.contains(&run) {
            later.input(Input::Adopted { record: Box::new(record), pid: 100, exit: None });
        } else {
            later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
        }
    }
    later
}

/// Starts what this daemon orders; every run that is held then.
fn start_all(stage: &mut Stage, mut held: Vec<RunKey>) -> Vec<RunKey> {
    for start in stage.starts() {
        held.push(start.run);
        stage.fact(start.run, RunFact::Started { pid: 100 });
    }
    held
}

#[test]
fn s1_a_keyed_spawn_is_carried_out_once_wherever_the_daemon_dies() {
    for spawn in [command("a"), terminal("a"), agent("a")].map(keyed) {
        for is_held in [false, true] {
            for count in 0.. {
                let mut stage = Stage::new();
                ask(&mut stage, &spawn);
                let all = std::mem::take(&mut stage.effects);
                let is_last = count > all.len();
                stage.effects = done_of(all, count);
                // The holder is started beside everything else: it may come to be, or not.
                let starts = stage.starts().into_iter().filter(|_| is_held);
                let held: Vec<RunKey> = starts.map(|start| start.run).collect();
                let mut later = reborn(&stage, &held);
                let again = ask(&mut later, &spawn);
                let held = start_all(&mut later, held);
                let Reply::Spawned(spawned) = later.reply(again) else { panic!("not spawned") };
                assert_eq!((spawned.status, spawned.pid), (Status::Running, Some(100)), "{count} {spawn:?}");
                assert_eq!(held.len(), 1, "{count} {spawn:?}");
                if is_last {
                    break;
                }
            }
        }
    }
}

#[test]
fn s1_a_spawn_that_was_not_carried_out_leaves_nothing_behind() {
    for spawn in [command("a"), terminal("a"), agent("a")] {
        let mut stage = Stage::new();
        ask(&mut stage, &spawn);
        let mut later = reborn(&stage, &[]);
        assert_eq!(later.engine.snapshot(), []);
        // Its name is free again.
        later.spawn(spawn);
    }
}

#[test]
fn s1_whoever_asks_again_before_it_is_known_is_told_and_the_next_one_gets_it() {
    let mut stage = Stage::new();
    let spawn = keyed(command("a"));
    ask(&mut stage, &spawn);
    let run = stage.starts()[0].run;
    let mut later = stage.reborn();
    let again = ask(&mut later, &spawn);
    assert!(later.answer(again).is_none(), "whether it lives is not known yet");
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    let failure = later.failure(again);
    assert_eq!(failure.code, ErrorCode::SpawnFailed);
    assert!(failure.message.contains("not started"), "{failure}");
    let third = ask(&mut later, &spawn);
    start_all(&mut later, Vec::new());
    assert!(matches!(later.reply(third), Reply::Spawned(spawned) if spawned.status == Status::Running));
}

#[test]
fn m3c_a_restart_that_was_not_carried_out_follows_under_the_next_daemon() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.ask(restart(run));
    stage.die(run);
    let mut later = reborn(&stage, &[]);
    assert_eq!(start_all(&mut later, Vec::new()), [next(next(run))]);
    let view = later.view(run.process).expect("the entry stays");
    assert_eq!((view.status, view.failure), (Status::Running, None));
}

#[test]
fn f10_a_command_that_starts_again_by_itself_does_so_under_the_next_daemon() {
    let mut stage = Stage::new();
    let spawn = keyed(Spawn { auto_restart: true, ..command("a") });
    let run = stage.spawn(spawn.clone());
    stage.exit(run, 1);
    stage.pass(1_000);
    let second = stage.starts()[1].run;
    let mut later = stage.reborn();
    let again = ask(&mut later, &spawn);
    later.fact(second, RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert_eq!(later.starts().len(), 1);
    assert!(later.answer(again).is_none(), "it has been ordered");
    start_all(&mut later, Vec::new());
    assert!(matches!(later.reply(again), Reply::Spawned(spawned) if spawned.status == Status::Running));
}

#[test]
fn s1_what_is_brought_back_is_started_for_whoever_asks_again_too() {
    let mut stage = Stage::new();
    let spawn = keyed(Spawn { restore: true, ..command("a") });
    ask(&mut stage, &spawn);
    let run = stage.starts()[0].run;
    let mut later = stage.reborn();
    let again = ask(&mut later, &spawn);
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    start_all(&mut later, Vec::new());
    assert!(matches!(later.reply(again), Reply::Spawned(spawned) if spawned.status == Status::Running));
    assert_eq!(later.starts().len(), 1);
}

#[test]
fn s1_a_terminal_that_was_being_started_keeps_its_name_and_its_key_until_it_is_found() {
    let mut stage = Stage::new();
    let spawn = keyed(terminal("t"));
    ask(&mut stage, &spawn);
    let start = stage.starts().remove(0);
    let mut later = stage.reborn();
    let again = ask(&mut later, &spawn);
    assert_eq!(later.starts().len(), 0, "it may be there");
    let exit = Some((ChildExit::Code(0), 10));
    later.input(Input::Adopted { record: Box::new(start.record), pid: 7, exit });
    let Reply::Spawned(spawned) = later.reply(again) else { panic!("not spawned") };
    assert_eq!((spawned.id, spawned.pid), (start.run.process, Some(7)));
}
