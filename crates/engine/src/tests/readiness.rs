//! Ready in the way a process said it would tell, and brought back when its holder is gone.

use proto::process::Ready;
use proto::request::{Empty, Quantifier, Spawn, Until};
use proto::rights::Budget;
use proto::{ErrorCode, Reply, Status};

use super::agents::scene::{agent, saved};
use super::stage::{Stage, command, kill, next, order, restart};
use crate::input::ChildExit;
use crate::{Caller, Effect, Input, RunFact, RunKey, Ticket, WaitId};

fn with(ready: Ready) -> Spawn {
    Spawn { ready: Some(ready), ..command("server") }
}

fn pattern() -> Ready {
    Ready::Pattern("listening".to_owned())
}

fn wait(stage: &mut Stage, runs: &[RunKey], quantifier: Quantifier) -> Ticket {
    stage.wait_on(runs, Until::Ready(Empty {}), quantifier, None)
}

/// The watch that was ordered for a run's readiness.
fn watch(stage: &Stage, of: RunKey) -> WaitId {
    let ordered = stage.effects.iter().rev().find_map(|effect| match effect {
        Effect::Watch { run, wait, since, .. } if *run == of => Some((*wait, *since)),
        _ => None,
    });
    let (wait, since) = ordered.expect("nothing is watched");
    assert_eq!(since, Some(0), "what it printed before it was known to run counts");
    wait
}

fn matched(stage: &mut Stage, run: RunKey) {
    let wait = watch(stage, run);
    stage.fact(run, RunFact::Matched { wait, text: "listening on 1".to_owned(), offset: 9 });
}

fn ready(stage: &Stage, run: RunKey) -> Option<bool> {
    stage.view(run.process).and_then(|view| view.ready)
}

#[test]
fn a_pattern_tells_and_whoever_waits_hears_the_line() {
    let mut stage = Stage::new();
    let run = stage.spawn(with(pattern()));
    assert_eq!(ready(&stage, run), Some(false));
    let ticket = wait(&mut stage, &[run], Quantifier::All);
    assert!(stage.answer(ticket).is_none());
    matched(&mut stage, run);
    assert_eq!(ready(&stage, run), Some(true));
    let Reply::Waited(waited) = stage.reply(ticket) else { panic!("not waited") };
    assert_eq!(waited.satisfied[0].text.as_deref(), Some("listening on 1"));
    let record = saved(&stage.effects).processes.remove(0);
    assert!(record.run.is_ready, "it is written down");
}

#[test]
fn a_port_tells() {
    let mut stage = Stage::new();
    let run = stage.spawn(with(Ready::Port(8080)));
    let asked = stage
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::AwaitPort { run: of, port: 8080 } if *of == run));
    assert_eq!(asked.count(), 1);
    let ticket = wait(&mut stage, &[run], Quantifier::All);
    stage.fact(run, RunFact::PortOpen);
    assert_eq!(ready(&stage, run), Some(true));
    assert!(matches!(stage.reply(ticket), Reply::Waited(_)));
}

#[test]
fn a_wait_for_what_is_ready_is_answered_at_once() {
    let mut stage = Stage::new();
    let run = stage.spawn(with(Ready::Port(1)));
    stage.fact(run, RunFact::PortOpen);
    let ticket = wait(&mut stage, &[run], Quantifier::All);
    assert!(matches!(stage.reply(ticket), Reply::Waited(_)));
}

#[test]
fn a_port_does_not_speak_for_a_pattern_nor_a_foreign_watch_for_anybody() {
    let mut stage = Stage::new();
    let run = stage.spawn(with(pattern()));
    stage.fact(run, RunFact::PortOpen);
    stage.fact(run, RunFact::Matched { wait: WaitId(999), text: "listening".to_owned(), offset: 1 });
    assert_eq!(ready(&stage, run), Some(false));
}

#[test]
fn an_end_before_it_fails_the_wait_for_a_port_at_once_and_for_a_pattern_when_its_watch_is_done() {
    let mut stage = Stage::new();
    let port = stage.spawn(with(Ready::Port(1)));
    let ticket = wait(&mut stage, &[port], Quantifier::All);
    stage.exit(port, 1);
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::NotRunning);
    assert!(failure.message.ends_with("ended before it listened on port 1"), "{failure}");

    let printed = stage.spawn(Spawn { name: None, ..with(pattern()) });
    let ticket = wait(&mut stage, &[printed], Quantifier::All);
    stage.exit(printed, 1);
    assert!(stage.answer(ticket).is_none(), "it may have said so with its last words");
    let watch = watch(&stage, printed);
    stage.fact(printed, RunFact::Unmatched { wait: watch });
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::NotRunning);
    assert!(failure.message.ends_with("sign of readiness, \"listening\""), "{failure}");
}

#[test]
fn last_words_that_say_ready_satisfy_and_leave_nothing_ready() {
    let mut stage = Stage::new();
    let run = stage.spawn(with(pattern()));
    let ticket = wait(&mut stage, &[run], Quantifier::All);
    stage.exit(run, 0);
    matched(&mut stage, run);
    assert!(matches!(stage.reply(ticket), Reply::Waited(_)));
    assert_eq!(ready(&stage, run), Some(false));
}

#[test]
fn what_was_ready_is_not_ready_once_it_is_over_nor_in_its_next_run() {
    let mut stage = Stage::new();
    let run = stage.spawn(with(pattern()));
    matched(&mut stage, run);
    stage.exit(run, 0);
    assert_eq!(ready(&stage, run), Some(false));
    let ticket = wait(&mut stage, &[run], Quantifier::All);
    assert_eq!(stage.failure(ticket).code, ErrorCode::NotRunning);
    stage.ask(restart(run));
    stage.fact(run, RunFact::TreeGone);
    stage.fact(next(run), RunFact::Started { pid: 3 });
    assert_eq!(ready(&stage, run), Some(false));
    matched(&mut stage, next(run));
    assert_eq!(ready(&stage, run), Some(true));
}

#[test]
fn any_of_several_is_the_first_and_an_end_of_one_leaves_the_others() {
    let mut stage = Stage::new();
    let one = stage.spawn(with(Ready::Port(1)));
    let two = stage.spawn(Spawn { name: None, ..with(Ready::Port(2)) });
    let any = wait(&mut stage, &[one, two], Quantifier::Any);
    let all = wait(&mut stage, &[one, two], Quantifier::All);
    stage.exit(one, 1);
    assert!(stage.answer(any).is_none());
    assert_eq!(stage.failure(all).code, ErrorCode::NotRunning);
    stage.fact(two, RunFact::PortOpen);
    assert!(matches!(stage.reply(any), Reply::Waited(_)));
}

#[test]
fn without_a_way_to_tell_nothing_is_waited_for() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("quiet"));
    assert_eq!(ready(&stage, run), None);
    let ticket = wait(&mut stage, &[run], Quantifier::All);
    assert_eq!(stage.failure(ticket).code, ErrorCode::InvalidArgs);
    for bad in [Ready::Pattern(String::new()), Ready::Pattern("x".repeat(1025)), Ready::Port(0)] {
        let ticket = stage.ask(order(Caller::Person, Spawn { name: None, ..with(bad) }));
        assert_eq!(stage.failure(ticket).code, ErrorCode::InvalidArgs);
    }
}

#[test]
fn a_later_daemon_goes_on_looking_and_remembers_what_was_ready() {
    for was_ready in [true, false] {
        let mut stage = Stage::new();
        let run = stage.spawn(with(pattern()));
        if was_ready {
            matched(&mut stage, run);
        }
        let mut later = stage.reborn();
        let record = saved(&stage.effects).processes.remove(0);
        later.input(Input::Adopted { record: Box::new(record), pid: 4, exit: None });
        assert_eq!(ready(&later, run), Some(was_ready));
        if !was_ready {
            matched(&mut later, run);
            assert_eq!(ready(&later, run), Some(true));
        }
    }
}

fn restored() -> Spawn {
    Spawn { restore: true, ..command("server") }
}

#[test]
fn a_command_that_is_to_be_restored_starts_once_when_its_holder_is_gone() {
    let mut stage = Stage::new();
    let run = stage.spawn(restored());
    let mut later = stage.reborn();
    later.now = 10;
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    let starts = later.starts();
    assert_eq!(starts.iter().map(|start| start.run).collect::<Vec<_>>(), [next(run)]);
    later.fact(next(run), RunFact::Started { pid: 8 });
    assert_eq!(later.view(run.process).map(|view| view.status), Some(Status::Running));
    later.fact(next(run), RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert_eq!(later.starts().len(), 1, "a holder that is lost while the daemon lives is a loss");
    assert_eq!(later.view(run.process).map(|view| view.status), Some(Status::Exited));
}

#[test]
fn what_a_person_ended_is_not_restored() {
    for is_over in [true, false] {
        let mut stage = Stage::new();
        let run = stage.spawn(restored());
        stage.ask(kill(run));
        if is_over {
            stage.die(run);
        }
        let mut later = stage.reborn();
        later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
        assert!(later.starts().is_empty());
        assert_eq!(later.view(run.process).map(|view| view.status), Some(Status::Exited));
    }
}

#[test]
fn nothing_else_is_restored() {
    let mut stage = Stage::new();
    let lead = stage.spawn(agent("lead"));
    let plain = stage.spawn(command("plain"));
    let of_agent = stage.spawn_as(Caller::Process(lead), restored());
    let mut later = stage.reborn();
    for run in [lead, plain, of_agent] {
        later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    }
    assert!(later.starts().is_empty());
    let ticket = stage.ask(order(Caller::Person, Spawn { restore: true, ..agent("a") }));
    assert_eq!(stage.failure(ticket).code, ErrorCode::InvalidArgs);
}

#[test]
fn one_that_is_adopted_is_not_started() {
    let mut stage = Stage::new();
    let run = stage.spawn(restored());
    let mut later = stage.reborn();
    let record = saved(&stage.effects).processes.remove(0);
    later.input(Input::Adopted { record: Box::new(record), pid: 4, exit: None });
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert!(later.starts().is_empty());
}

/// A command in its back-off, as the next daemon finds it.
fn backing_off(spawn: Spawn) -> (Stage, RunKey, Stage) {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { auto_restart: true, ..spawn });
    stage.exit(run, 1);
    stage.pass(400);
    let later = stage.reborn();
    (stage, run, later)
}

#[test]
fn f10_a_back_off_outlives_the_daemon() {
    let (stage, run, mut later) = backing_off(command("server"));
    later.pass(5_000);
    assert!(later.starts().is_empty(), "not before it is known what became of its holder");
    later.now = stage.now;
    let record = saved(&stage.effects).processes.remove(0);
    let exit = Some((ChildExit::Code(1), 10));
    later.input(Input::Adopted { record: Box::new(record), pid: 4, exit });
    later.pass(599);
    assert!(later.starts().is_empty(), "it waits out what was left");
    later.pass(1);
    assert_eq!(later.starts().iter().map(|start| start.run).collect::<Vec<_>>(), [next(run)]);
}

#[test]
fn f10_after_a_restart_of_the_machine_only_what_is_restored_goes_on() {
    for restore in [true, false] {
        let (_, run, mut later) = backing_off(Spawn { restore, ..command("server") });
        later.now = 5;
        later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
        later.pass(100);
        assert_eq!(later.starts().len(), usize::from(restore), "restore {restore}");
        later.pass(1_000_000);
        assert_eq!(later.starts().len(), usize::from(restore), "restore {restore}");
    }
}

#[test]
fn a_budget_does_not_keep_a_persons_command_from_coming_back() {
    let mut stage = Stage::new();
    let budget = Some(Budget { wall_ms: Some(1), ..Budget::default() });
    let run = stage.spawn(Spawn { budget, ..restored() });
    let mut later = stage.reborn();
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert_eq!(later.starts().len(), 1);
}
