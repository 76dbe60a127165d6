//! Waiting for exits, silence and patterns.

use proto::request::{Quantifier, Until, Wait};
use proto::{ErrorCode, Reply};

use super::stage::{Stage, command, exit, next, restart, target};
use crate::{Caller, Command, Effect, Input, RunFact, WaitId};

#[test]
fn a_wait_for_an_exit_is_answered_by_the_exit_or_at_once() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let early = stage.wait_on(&[run], exit(), Quantifier::All, None);
    assert!(stage.answer(early).is_none());
    stage.exit(run, 7);
    let late = stage.wait_on(&[run], exit(), Quantifier::All, None);
    for ticket in [early, late] {
        let Reply::Waited(waited) = stage.reply(ticket) else { panic!("not a wait") };
        assert_eq!(waited.satisfied[0].exit.and_then(|exit| exit.code), Some(7));
    }
}

#[test]
fn all_waits_for_the_last_and_any_for_the_first() {
    let mut stage = Stage::new();
    let runs = [stage.spawn(command("a")), stage.spawn(command("b"))];
    let all = stage.wait_on(&runs, exit(), Quantifier::All, None);
    let any = stage.wait_on(&runs, exit(), Quantifier::Any, None);
    stage.exit(runs[1], 0);
    assert!(stage.answer(all).is_none());
    let Reply::Waited(waited) = stage.reply(any) else { panic!("not a wait") };
    assert_eq!(waited.satisfied.iter().map(|s| s.id).collect::<Vec<_>>(), [runs[1].process]);
    stage.exit(runs[0], 0);
    let Reply::Waited(waited) = stage.reply(all) else { panic!("not a wait") };
    assert_eq!(waited.satisfied.iter().map(|s| s.id).collect::<Vec<_>>(), [runs[0].process, runs[1].process]);
}

#[test]
fn a_wait_times_out_at_its_time_and_not_before() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.wait_on(&[run], exit(), Quantifier::All, Some(1_000));
    stage.pass(999);
    assert!(stage.answer(ticket).is_none());
    stage.pass(1);
    assert_eq!(stage.failure(ticket).code, ErrorCode::Timeout);
    assert_eq!(stage.engine.next_deadline(), None);
}

#[test]
fn silence_is_counted_from_the_last_output_and_from_the_wait() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.pass(10_000);
    let ticket = stage.wait_on(&[run], Until::Silence(300), Quantifier::All, None);
    stage.pass(200);
    stage.fact(run, RunFact::Output { end: 1 });
    stage.pass(299);
    assert!(stage.answer(ticket).is_none());
    stage.pass(1);
    assert!(matches!(stage.reply(ticket), Reply::Waited(_)));
}

#[test]
fn a_pattern_is_watched_matched_and_unwatched() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.wait_on(&[run], Until::Pattern("ready".into()), Quantifier::All, None);
    let watched = stage.effects.iter().find_map(|effect| match effect {
        Effect::Watch { run: on, wait, pattern, .. } if *on == run && pattern == "ready" => Some(*wait),
        _ => None,
    });
    let wait = watched.expect("watched");
    stage.fact(run, RunFact::Matched { wait: WaitId(wait.0 + 99), text: "no".into(), offset: 1 });
    assert!(stage.answer(ticket).is_none());
    stage.fact(run, RunFact::Matched { wait, text: "server ready".into(), offset: 77 });
    let Reply::Waited(waited) = stage.reply(ticket) else { panic!("not a wait") };
    assert_eq!((waited.satisfied[0].text.as_deref(), waited.satisfied[0].offset), (Some("server ready"), 77));
    assert!(
        stage
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Unwatch { wait: over, .. } if *over == wait))
    );
}

#[test]
fn a_pattern_that_can_no_longer_come_is_a_failure_not_a_hang() {
    let mut stage = Stage::new();
    let runs = [stage.spawn(command("a")), stage.spawn(command("b"))];
    let pattern = || Until::Pattern("never".into());
    let one = stage.wait_on(&runs[..1], pattern(), Quantifier::All, None);
    let any = stage.wait_on(&runs, pattern(), Quantifier::Any, None);
    let watched = |stage: &Stage| -> Vec<_> {
        let watch = |effect: &Effect| match effect {
            Effect::Watch { run, wait, .. } => Some((*run, *wait)),
            _ => None,
        };
        stage.effects.iter().filter_map(watch).collect()
    };
    let watches = watched(&stage);
    stage.exit(runs[0], 0);
    // The watch has not said its last word: it may have begun behind the exit and still find it in the log.
    assert!(stage.answer(one).is_none());
    for (run, wait) in &watches {
        stage.fact(*run, RunFact::Unmatched { wait: *wait });
        if *run == runs[0] {
            assert!(stage.answer(any).is_none());
        }
    }
    assert_eq!(stage.failure(one).code, ErrorCode::NotRunning);
    assert_eq!(stage.failure(any).code, ErrorCode::NotRunning);
}

#[test]
fn e7_a_pattern_that_costs_too_much_ends_its_wait_and_says_why() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.wait_on(&[run], Until::Pattern("(a|b){900}".into()), Quantifier::All, None);
    let wait = WaitId(*stage.engine.waits.next - 1);
    stage.fact(run, RunFact::Outrun { wait });
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::Limit);
    assert!(failure.message.contains("faster than this pattern can be looked for"), "{}", failure.message);
}

#[test]
fn a_pattern_found_behind_the_exit_is_found() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.wait_on(&[run], Until::Pattern("ready".into()), Quantifier::All, None);
    stage.exit(run, 0);
    stage.fact(
        run,
        RunFact::Matched { wait: WaitId(*stage.engine.waits.next - 1), text: "ready".into(), offset: 7 },
    );
    assert!(matches!(stage.reply(ticket), Reply::Waited(_)));
}

#[test]
fn a_pattern_is_not_waited_for_in_a_run_that_went() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.wait_on(&[run], Until::Pattern("never".into()), Quantifier::All, None);
    stage.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    assert_eq!(stage.failure(ticket).code, ErrorCode::NotRunning);
}

#[test]
fn whoever_goes_away_is_not_waited_for() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.wait_on(&[run], Until::Pattern("x".into()), Quantifier::All, Some(500));
    stage.input(Input::CallerGone { ticket });
    stage.pass(1_000);
    assert!(stage.answer(ticket).is_none());
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Unwatch { .. })));
}

#[test]
fn f8_bad_waits_are_refused_in_words() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let wait = |targets, until, timeout_ms| Wait { timeout_ms, ..Wait::until(targets, until) };
    let cases = [
        (wait(vec![], exit(), None), ErrorCode::InvalidArgs),
        (wait(vec![target(run)], exit(), Some(u64::MAX)), ErrorCode::InvalidArgs),
        (wait(vec![target(run)], Until::Silence(u64::MAX), None), ErrorCode::InvalidArgs),
        (wait(vec![target(run)], Until::Pattern("a".repeat(5000)), None), ErrorCode::InvalidArgs),
        (wait(vec![target(run)], Until::State(vec![proto::AgentState::Idle]), None), ErrorCode::InvalidArgs),
        (wait(vec!["ghost".into()], exit(), None), ErrorCode::NotFound),
    ];
    for (wait, code) in cases {
        let ticket = stage.ask(Command::Wait(wait));
        assert_eq!(stage.failure(ticket).code, code);
    }
}

#[test]
fn e7_a_process_has_thirty_two_waits_at_once_and_its_neighbour_as_many() {
    let mut stage = Stage::new();
    let waiters = [stage.spawn(command("one")), stage.spawn(command("two"))];
    let wait = |run| {
        let targets = vec![target(run)];
        let (until, quantifier) = (Until::Pattern("never".into()), Quantifier::All);
        Command::Wait(Wait { quantifier, ..Wait::until(targets, until) })
    };
    let mut tickets = Vec::new();
    for run in waiters {
        tickets.extend((0..32).map(|_| stage.ask_as(Caller::Process(run), wait(run))));
        assert!(tickets.iter().all(|ticket| stage.answer(*ticket).is_none()));
        let refused = stage.ask_as(Caller::Process(run), wait(run));
        let failure = stage.failure(refused);
        assert_eq!((failure.code, failure.message.contains("32")), (ErrorCode::Limit, true), "{failure:?}");
    }
    // One that is answered, or whose caller went, makes room for one.
    stage.input(Input::CallerGone { ticket: tickets[0] });
    let next = stage.ask_as(Caller::Process(waiters[0]), wait(waiters[0]));
    let refused = stage.ask_as(Caller::Process(waiters[0]), wait(waiters[0]));
    assert!(stage.answer(next).is_none());
    assert_eq!(stage.failure(refused).code, ErrorCode::Limit);
}

#[test]
fn e7_a_person_has_as_many_waits_as_there_may_be() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    for number in 0..1024 {
        let ticket = stage.wait_on(&[run], exit(), Quantifier::All, None);
        assert!(stage.answer(ticket).is_none(), "wait {number}");
    }
    let refused = stage.wait_on(&[run], exit(), Quantifier::All, None);
    assert_eq!(stage.failure(refused).code, ErrorCode::Limit);
}

#[test]
fn m14_a_pattern_of_a_run_that_is_only_starting_is_looked_for_once_it_has_started() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.exit(run, 0);
    stage.ask(restart(run));
    stage.fact(run, RunFact::TreeGone);
    let second = next(run);
    let watches = |stage: &Stage| {
        let runs = stage.effects.iter().filter_map(|effect| match effect {
            Effect::Watch { run, .. } => Some(*run),
            _ => None,
        });
        runs.collect::<Vec<_>>()
    };
    let ticket = stage.wait_on(&[second], Until::Pattern("x".to_owned()), Quantifier::All, None);
    assert!(watches(&stage).is_empty(), "nobody could watch it yet");
    stage.fact(second, RunFact::Started { pid: 2 });
    assert_eq!(watches(&stage), [second]);
    assert!(stage.answer(ticket).is_none());
}
