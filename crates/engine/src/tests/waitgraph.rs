//! Circles of waiting: none closes, and nothing that is no circle is refused.

use std::collections::BTreeSet;

use proto::request::{Empty, Grant, TimerChange, Until, Wait};
use proto::rights::Right;
use proto::{AgentState, ErrorCode, Failure, Reply};

use super::random_tree::{Crew, Dice, any};
use super::stage::target;
use crate::{Caller, Command, RunKey, Ticket};

/// Agents that may all read each other.
fn crew_of(size: usize) -> (Crew, Vec<RunKey>) {
    let mut crew = Crew::new();
    let runs: Vec<RunKey> = (0..size).map(|n| crew.agent(&format!("a{n}"), None)).collect();
    for to in &runs {
        for over in runs.iter().filter(|over| *over != to) {
            let grant = Grant { to: target(*to), right: Right::Read, over: target(*over) };
            let ticket = crew.ask(Command::Grant(grant));
            assert!(matches!(crew.stage.reply(ticket), Reply::Granted(_)));
        }
    }
    runs.iter().for_each(|run| crew.report(*run, AgentState::Working));
    (crew, runs)
}

fn wait(targets: &[RunKey], until: Until) -> Command {
    let targets = targets.iter().map(|run| target(*run)).collect();
    Command::Wait(Wait::until(targets, until))
}

fn idle() -> Until {
    Until::State(vec![AgentState::Idle])
}

/// Waits for these in one of two ways; the failure, or the ticket of an open wait.
fn depend(crew: &mut Crew, by_timer: bool, from: RunKey, on: &[RunKey]) -> Result<Option<Ticket>, Failure> {
    if by_timer {
        return crew.set(from, any(on, 600_000), "b").map(|_| None);
    }
    let ticket = crew.ask_as(Caller::Process(from), wait(on, idle()));
    match crew.stage.answer(ticket) {
        None => Ok(Some(ticket)),
        Some(Err(failure)) => Err(failure),
        Some(Ok(answer)) => panic!("{answer:?}"),
    }
}

#[test]
fn a_circle_of_any_length_over_waits_and_timers_is_refused_and_named() {
    for length in 2..=6 {
        for timers in 0..(1u32 << length) {
            let (mut crew, runs) = crew_of(length);
            for (n, from) in runs.iter().enumerate() {
                let on = runs[(n + 1) % length];
                let result = depend(&mut crew, timers & (1 << n) != 0, *from, &[on]);
                if n + 1 < length {
                    assert!(result.is_ok(), "{length}: {result:?}");
                    continue;
                }
                let failure = result.expect_err("the circle closed");
                assert_eq!(failure.code, ErrorCode::Conflict);
                let mut names: Vec<String> = vec![format!("a{n}")];
                names.extend((0..length).map(|m| format!("a{m}")));
                assert!(failure.message.ends_with(&names.join(" waits for ")), "{failure}");
            }
        }
    }
}

#[test]
fn waiting_for_oneself_is_refused_where_it_could_never_end() {
    let (mut crew, runs) = crew_of(1);
    let own = runs[0];
    for until in [idle(), Until::Turn(1), Until::Exit(Empty {})] {
        let ticket = crew.ask_as(Caller::Process(own), wait(&[own], until));
        assert_eq!(
            crew.stage.failure(ticket).message,
            "these processes would wait for each other for ever: a0 waits for a0"
        );
    }
    for until in [Until::Silence(5_000), Until::Pattern("x".into())] {
        let ticket = crew.ask_as(Caller::Process(own), wait(&[own], until));
        assert!(crew.stage.answer(ticket).is_none());
    }
    assert_eq!(crew.set(own, any(&[own], 5_000), "b").unwrap_err().code, ErrorCode::Conflict);
}

#[test]
fn what_has_ended_closes_no_circle() {
    let (mut crew, runs) = crew_of(2);
    let ticket = depend(&mut crew, false, runs[0], &[runs[1]]).unwrap().unwrap();
    assert!(depend(&mut crew, false, runs[1], &[runs[0]]).is_err());
    crew.input(crate::Input::CallerGone { ticket });
    let timer = crew.set(runs[1], any(&[runs[0]], 600_000), "b").unwrap().timer;
    assert!(depend(&mut crew, false, runs[0], &[runs[1]]).is_err());
    crew.change(timer, TimerChange::Pause).unwrap();
    depend(&mut crew, false, runs[0], &[runs[1]]).unwrap();
    let failure = crew.change(timer, TimerChange::Resume).unwrap_err();
    assert_eq!(failure.code, ErrorCode::Conflict, "a circle may not close by going on");
    crew.change(timer, TimerChange::Cancel).unwrap();
}

#[test]
fn people_wait_for_whom_they_like() {
    let (mut crew, runs) = crew_of(2);
    depend(&mut crew, false, runs[0], &[runs[1]]).unwrap();
    let ticket = crew.ask(wait(&runs, idle()));
    assert!(crew.stage.answer(ticket).is_none());
}

/// Returns true if `to` can be reached from `from`, the slow way.
fn reaches(edges: &BTreeSet<(usize, usize)>, from: usize, to: usize) -> bool {
    let mut reached = BTreeSet::from([from]);
    loop {
        let next: BTreeSet<usize> =
            edges.iter().filter(|(a, _)| reached.contains(a)).map(|(_, b)| *b).collect();
        let before = reached.len();
        reached.extend(next);
        if reached.len() == before {
            return reached.contains(&to);
        }
    }
}

#[test]
fn in_random_graphs_exactly_the_circles_are_refused() {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let (mut crew, runs) = crew_of(7);
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        for _ in 0..25 {
            let roll = |dice: &mut Dice| usize::try_from(dice.roll(7)).unwrap();
            let from = roll(&mut dice);
            let on: BTreeSet<usize> = (0..=dice.roll(2)).map(|_| roll(&mut dice)).collect();
            let closes = on.iter().any(|to| reaches(&edges, *to, from));
            let targets: Vec<RunKey> = on.iter().map(|n| runs[*n]).collect();
            let by_timer = dice.roll(2) == 0;
            let result = depend(&mut crew, by_timer, runs[from], &targets);
            assert_eq!(result.is_err(), closes, "seed {seed}: {from} on {on:?} with {edges:?}: {result:?}");
            if closes {
                refused += 1;
            } else {
                taken += 1;
                edges.extend(on.iter().map(|to| (from, *to)));
            }
        }
    }
    assert!(refused > 200 && taken > 200, "{refused} {taken}");
}

#[test]
fn who_waits_for_the_dead_is_told_that_it_is_dead() {
    let (mut crew, runs) = crew_of(2);
    let ticket = depend(&mut crew, false, runs[0], &[runs[1]]).unwrap().unwrap();
    crew.exit(runs[1], 1);
    assert_eq!(crew.stage.failure(ticket).code, ErrorCode::NotRunning);
}
