//! Runs of an earlier daemon whose holder has not been heard yet, and ends that take too long.

use proto::request::{Kill, Quantifier, Rename, Until};
use proto::{ErrorCode, ExitReason, Kind, Reply, Status};

use super::agents::scene::saved;
use super::stage::{Stage, close, command, kill, name, next, order, restart, target, terminal};
use crate::input::ChildExit;
use crate::{Caller, Command, Effect, Input, ProcessRecord, RunFact, RunKey, Verb};

/// The longest an end may take, in milliseconds.
const BOUND: u64 = 2_500;

fn record(stage: &Stage, run: RunKey) -> ProcessRecord {
    saved(&stage.effects).processes.into_iter().find(|record| record.id == run.process).expect("recorded")
}

fn kill_with(run: RunKey, signal: Option<i32>, grace_ms: Option<u32>) -> Command {
    Command::Kill(Kill { target: target(run), signal, grace_ms })
}

fn sweeps(stage: &Stage) -> usize {
    stage.effects.iter().filter(|effect| matches!(effect, Effect::Sweep { .. })).count()
}

fn kills(stage: &Stage) -> usize {
    stage.effects.iter().filter(|effect| matches!(effect, Effect::Kill { .. })).count()
}

#[test]
fn s1_a_run_that_is_not_heard_is_shown_as_it_was_and_stays_so_in_the_records() {
    for spawn in [command("a"), terminal("a")] {
        let mut stage = Stage::new();
        let run = stage.spawn(spawn);
        let mut later = stage.reborn();
        later.pass(3_600_000);
        let view = later.view(run.process).expect("it is listed");
        assert_eq!((view.status, view.pid), (Status::Running, Some(100)));
        later.ask(Command::Rename(Rename { target: target(run), name: "b".to_owned() }));
        let kept = record(&later, run);
        assert_eq!(
            (kept.run.status, kept.name.clone(), kept.run.has_holder),
            (Status::Running, name("b"), true)
        );
        // The daemon after that one finds it just as well.
        let mut last = later.reborn();
        last.input(Input::Adopted { record: Box::new(kept), pid: 7, exit: None });
        last.pass(3_600_000);
        assert_eq!(last.view(run.process).map(|view| view.pid), Some(Some(7)));
        assert!(
            !last.effects.iter().any(|effect| matches!(effect, Effect::Release { .. } | Effect::Kill { .. }))
        );
    }
}

#[test]
fn m12_a_terminal_that_only_its_holder_remembers_acts_for_nobody() {
    let mut stage = Stage::new();
    let run = stage.spawn(terminal("t"));
    let started = stage.starts().pop().expect("it was started").record;
    let acts = |stage: &Stage| stage.engine.grants.acts_for_person(run.process, &stage.engine.ctx);
    assert!(acts(&stage));
    let adopted = || Input::Adopted { record: Box::new(started.clone()), pid: 100, exit: None };
    let mut known = stage.reborn();
    known.input(adopted());
    assert!(acts(&known), "the database says so");
    let mut unknown = Stage::new();
    unknown.input(adopted());
    assert_eq!(unknown.view(run.process).map(|view| view.status), Some(Status::Running));
    assert!(!acts(&unknown), "an agent may have been given the right to drive it since");
}

#[test]
fn m7c_a_run_whose_start_was_not_saved_keeps_its_name() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let mut later = stage.reborn();
    stage.ask(restart(run));
    stage.die(run);
    let start = stage.starts().pop().expect("it is started again");
    assert_eq!(start.run, next(run));
    later.input(Input::Adopted { record: Box::new(start.record), pid: 7, exit: None });
    assert_eq!(later.view(run.process).map(|view| view.name), Some(name("a")));
}

#[test]
fn m7c_a_name_belongs_to_the_process_that_runs_and_not_to_one_whose_end_was_not_saved() {
    for is_first_alive in [false, true] {
        let mut stage = Stage::new();
        let first = stage.spawn(command("a"));
        let (mut later, kept) = (stage.reborn(), record(&stage, first));
        stage.ask(close(first));
        stage.die(first);
        let second = stage.spawn(command("a"));
        if is_first_alive {
            later.input(Input::Adopted { record: Box::new(kept), pid: 6, exit: None });
        }
        later.input(Input::Adopted { record: Box::new(record(&stage, second)), pid: 7, exit: None });
        let names = [first, second].map(|run| later.view(run.process).expect("it is listed").name);
        let expected = if is_first_alive { ["a", "command-1"] } else { ["command-1", "a"] };
        assert_eq!(names, expected.map(name));
    }
}

#[test]
fn s1_a_terminal_whose_start_nobody_saw_to_its_end_is_not_ended() {
    let mut stage = Stage::new();
    stage.ask(order(Caller::Person, terminal("t")));
    let start = stage.starts().remove(0);
    let mut later = stage.reborn();
    later.pass(10_000);
    later.input(Input::Adopted { record: Box::new(start.record), pid: 7, exit: None });
    later.pass(3_600_000);
    assert_eq!(later.view(start.run.process).map(|view| view.status), Some(Status::Running));
}

#[test]
fn s1_nothing_is_done_with_a_terminal_that_cannot_be_reached_and_nobody_is_told_it_was() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let mut later = stage.reborn();
    let look = Command::Locate { target: target(run), verb: Verb::Read };
    for request in [look.clone(), kill_with(run, Some(1), None)] {
        let ticket = later.ask(request);
        let failure = later.failure(ticket);
        assert_eq!(failure.code, ErrorCode::Busy);
        assert!(failure.message.contains("does not answer"), "{failure}");
    }
    let words = Until::Pattern("x".to_owned());
    let ticket = later.wait_on(&[run], words, Quantifier::Any, None);
    assert_eq!(later.failure(ticket).code, ErrorCode::Busy);
    later.input(Input::Adopted { record: Box::new(record(&stage, run)), pid: 7, exit: None });
    let ticket = later.ask(look);
    assert!(later.answer(ticket).is_some_and(|answer| answer.is_ok()));
}

#[test]
fn h6_an_end_asked_for_in_the_silence_is_carried_out_when_the_holder_answers() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let mut later = stage.reborn();
    let ticket = later.ask(close(run));
    later.pass(1_000);
    assert_eq!(later.view(run.process).map(|view| view.status), Some(Status::Stopping));
    assert_eq!(kills(&later), 0, "nobody is there to be told");
    later.input(Input::Adopted { record: Box::new(record(&stage, run)), pid: 7, exit: None });
    assert_eq!(kills(&later), 1);
    later.die(run);
    assert!(matches!(later.reply(ticket), Reply::Ended(_)));
    assert!(later.view(run.process).is_none());
}

#[test]
fn h6_an_end_asked_for_in_the_silence_is_swept_within_the_bound() {
    for request in [close, kill, restart] {
        let mut stage = Stage::new();
        let run = stage.spawn(command("a"));
        let mut later = stage.reborn();
        let ticket = later.ask(request(run));
        later.pass(5_000 + BOUND - 1);
        assert_eq!(sweeps(&later), 1);
        later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
        later.fact(next(run), RunFact::Started { pid: 8 });
        assert!(later.answer(ticket).is_some_and(|answer| answer.is_ok()));
    }
}

#[test]
fn h6_whatever_the_grace_a_silent_holder_is_swept_within_the_bound() {
    for grace_ms in [0, 500, 2_000, 600_000] {
        let mut stage = Stage::new();
        let run = stage.spawn(command("a"));
        stage.ask(kill_with(run, None, Some(grace_ms)));
        // Not before the holder itself has had its time: the grace and the rounds of KILL.
        stage.pass(u64::from(grace_ms) + 2_000);
        assert_eq!(sweeps(&stage), 0, "{grace_ms}");
        stage.pass(BOUND - 2_000 - 1);
        assert_eq!(sweeps(&stage), 1, "{grace_ms}");
    }
}

#[test]
fn t15_a_run_that_is_still_being_launched_is_not_given_up_before_it_is_there() {
    let mut stage = Stage::new();
    let spawning = stage.ask(order(Caller::Person, command("a")));
    let run = stage.starts().remove(0).run;
    let closing = stage.ask(close(run));
    stage.pass(20_000);
    assert_eq!(sweeps(&stage), 0, "there is nothing to be swept yet");
    assert!(stage.answer(closing).is_none());
    stage.fact(run, RunFact::Started { pid: 5 });
    assert_eq!(kills(&stage), 1);
    stage.pass(5_000 + BOUND - 1);
    assert_eq!(sweeps(&stage), 1, "its end has begun with its start");
    stage.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert!(stage.answer(closing).is_some() && stage.answer(spawning).is_some());
}

#[test]
fn a_terminal_that_was_over_waits_for_its_holder_before_it_goes() {
    let mut stage = Stage::new();
    let run = stage.spawn(terminal("t"));
    stage.exit(run, 3);
    let mut later = stage.reborn();
    later.pass(60_000);
    assert!(!later.effects.iter().any(|effect| matches!(effect, Effect::Release { .. })));
    let exit = Some((ChildExit::Code(3), 10));
    later.input(Input::Adopted { record: Box::new(record(&stage, run)), pid: 7, exit });
    assert!(later.view(run.process).is_none());
    later.pass(60_000);
    assert!(later.effects.iter().any(|effect| matches!(effect, Effect::Release { .. })));
}

#[test]
fn s2_a_run_that_was_waited_for_in_vain_is_lost() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let mut later = stage.reborn();
    later.pass(60_000);
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    let view = later.view(run.process).expect("it stays");
    assert_eq!((view.kind, view.status), (Kind::Command, Status::Exited));
    assert_eq!(view.exit.map(|exit| exit.reason), Some(ExitReason::Lost));
}

#[test]
fn e8_a_signal_or_a_grace_that_cannot_be_had_is_refused_and_named() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    for signal in [-1, 0, 32, 33, 65] {
        let ticket = stage.ask(kill_with(run, Some(signal), None));
        let failure = stage.failure(ticket);
        assert_eq!(failure.code, ErrorCode::InvalidArgs);
        assert!(failure.message.contains("signal"), "{failure}");
    }
    for signal in [1, 31, 34, 64] {
        let ticket = stage.ask(kill_with(run, Some(signal), None));
        assert!(matches!(stage.reply(ticket), Reply::Done(_)), "{signal}");
    }
    let ticket = stage.ask(kill_with(run, None, Some(600_001)));
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::InvalidArgs);
    assert!(
        failure.message.contains("grace_ms") && failure.message.contains("at most 600 seconds"),
        "{failure}"
    );
    assert_eq!(kills(&stage), 0);
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Running));
}
