//! Processes that spawn processes: rights, depth, and dying together.

use proto::event::Event;
use proto::request::{Close, Spawn};
use proto::{ErrorCode, ExitReason, ProcessId, Status};

use super::stage::{Stage, close, command, kill, next, order, restart, shutdown, target};
use crate::{Caller, Command, Effect, Input, RunFact, RunKey, Verb};

fn family(stage: &mut Stage) -> [RunKey; 4] {
    let root = stage.spawn(command("root"));
    let child = stage.spawn_as(Caller::Process(root), command("child"));
    let grandchild = stage.spawn_as(Caller::Process(child), command("grandchild"));
    let stranger = stage.spawn(command("stranger"));
    [root, child, grandchild, stranger]
}

#[test]
fn parent_death_takes_its_descendants_at_any_depth() {
    let mut stage = Stage::new();
    let [root, child, grandchild, stranger] = family(&mut stage);
    stage.exit(root, 0);
    stage.die(child);
    stage.die(grandchild);
    assert!(stage.view(child.process).is_none() && stage.view(grandchild.process).is_none());
    assert_eq!(stage.view(stranger.process).map(|view| view.status), Some(Status::Running));
    assert_eq!(stage.view(root.process).map(|view| view.status), Some(Status::Exited));
}

/// What a run was told to do about its end, and with which grace.
fn graces(stage: &Stage, of: RunKey) -> Vec<u32> {
    let kills = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Kill { run, grace_ms, .. } if *run == of => Some(*grace_ms),
        _ => None,
    });
    kills.collect()
}

#[test]
fn t7_the_close_of_a_leader_is_answered_when_the_last_of_its_family_is_gone() {
    let mut stage = Stage::new();
    let [root, child, grandchild, stranger] = family(&mut stage);
    let closed = stage.ask(close(root));
    for run in [root, child, grandchild] {
        assert_eq!(graces(&stage, run), [5_000], "all of them end at once");
    }
    assert!(graces(&stage, stranger).is_empty());
    stage.die(root);
    assert_eq!(stage.view(root.process).map(|view| view.status), Some(Status::Exited));
    stage.die(child);
    assert!(stage.answer(closed).is_none(), "a grandchild lives");
    stage.die(grandchild);
    assert!(stage.answer(closed).is_some_and(|answer| answer.is_ok()));
    let done: Vec<ProcessId> = stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Announce(news) => match news.announcement.what {
                Event::Done { id } => Some(id),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(done, [grandchild.process, child.process, root.process]);
    let left: Vec<ProcessId> = stage.engine.snapshot().iter().map(|view| view.id).collect();
    assert_eq!(left, [stranger.process]);
}

#[test]
fn t7_a_kill_and_a_restart_of_a_leader_wait_for_its_family_too() {
    for (verb, follows) in [(kill as fn(RunKey) -> Command, false), (restart, true)] {
        let mut stage = Stage::new();
        let [root, child, grandchild, _] = family(&mut stage);
        let starts = stage.starts().len();
        let asked = stage.ask(verb(root));
        for run in [grandchild, root] {
            stage.die(run);
            assert!(stage.answer(asked).is_none());
            assert_eq!(stage.starts().len(), starts);
        }
        stage.fact(child, RunFact::Lost { final_offset: 0, survivors: vec![] });
        assert_eq!(stage.starts().len() > starts, follows);
        if follows {
            stage.fact(next(root), RunFact::Started { pid: 9 });
        }
        assert!(stage.answer(asked).is_some_and(|answer| answer.is_ok()));
        assert!(stage.view(child.process).is_none() && stage.view(root.process).is_some());
    }
}

#[test]
fn h6_a_family_that_says_nothing_is_swept_at_the_same_moment() {
    let mut stage = Stage::new();
    let [root, child, grandchild, _] = family(&mut stage);
    let closed = stage.ask(close(root));
    stage.pass(5_000 + 2_249);
    let swept = |stage: &Stage| {
        let sweeps = stage.effects.iter().filter_map(|effect| match effect {
            Effect::Sweep { run } => Some(*run),
            _ => None,
        });
        sweeps.collect::<Vec<RunKey>>()
    };
    assert!(swept(&stage).is_empty());
    stage.pass(1);
    assert_eq!(swept(&stage).len(), 3);
    for run in [root, child, grandchild] {
        assert!(stage.answer(closed).is_none());
        stage.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    }
    assert!(stage.answer(closed).is_some());
    stage.pass(10_000);
    assert_eq!(swept(&stage).len(), 3, "nothing is swept twice");
}

#[test]
fn t7_a_leader_that_is_over_is_closed_with_what_is_left_of_its_family() {
    for keep_background in [false, true] {
        let mut stage = Stage::new();
        let [root, child, grandchild, _] = family(&mut stage);
        stage.exit(root, 0);
        let closed = stage.ask(Command::Close(Close {
            target: target(root),
            keep_background,
            stop: proto::Stop::default(),
        }));
        stage.fact(root, RunFact::TreeGone);
        stage.die(child);
        assert!(stage.answer(closed).is_none(), "keeps background: {keep_background}");
        stage.die(grandchild);
        assert!(stage.answer(closed).is_some_and(|answer| answer.is_ok()));
        assert!(stage.view(root.process).is_none());
        assert_eq!(graces(&stage, root).is_empty(), keep_background);
    }
}

#[test]
fn a_leader_whose_background_is_kept_loses_it_to_whoever_wants_all_of_it_gone() {
    let mut stage = Stage::new();
    let [root, child, grandchild, _] = family(&mut stage);
    stage.exit(root, 0);
    let keep =
        Command::Close(Close { target: target(root), keep_background: true, stop: proto::Stop::default() });
    let kept = [stage.ask(keep.clone()), stage.ask(keep)];
    assert!(graces(&stage, root).is_empty(), "two that keep it do not end it");
    let closed = stage.ask(close(root));
    assert_eq!(graces(&stage, root), [0], "the third caller insists");
    [child, grandchild].into_iter().for_each(|run| stage.die(run));
    assert!(stage.answer(closed).is_none(), "its own tree lives");
    stage.fact(root, RunFact::TreeGone);
    for ticket in [kept[0], kept[1], closed] {
        assert!(stage.answer(ticket).is_some_and(|answer| answer.is_ok()));
    }
}

#[test]
fn t7_a_child_that_cannot_start_is_waited_for_and_not_longer() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    stage.ask_as(Caller::Process(root), order(Caller::Process(root), command("child")));
    let child = stage.starts().last().expect("starting").run;
    let closed = stage.ask(close(root));
    stage.die(root);
    assert!(stage.answer(closed).is_none());
    let failure = proto::Failure::new(ErrorCode::SpawnFailed, "no such program");
    stage.fact(child, RunFact::StartFailed(failure));
    assert!(stage.answer(closed).is_some_and(|answer| answer.is_ok()));
}

#[test]
fn a_family_is_given_the_grace_that_was_asked_for_until_its_leader_is_over() {
    let mut stage = Stage::new();
    let [root, child, ..] = family(&mut stage);
    let Command::Kill(request) = kill(root) else { panic!("no kill") };
    stage.ask(Command::Kill(proto::request::Kill { grace_ms: Some(2_000), ..request }));
    assert_eq!((graces(&stage, root), graces(&stage, child)), (vec![2_000], vec![2_000]));
    stage.exit(root, 0);
    assert_eq!(graces(&stage, child), [2_000], "the end of its leader changes nothing");
    stage.die(child);
    let exit = stage.effects.iter().find_map(|effect| match effect {
        Effect::ReportExit { run, exit, .. } if *run == child => Some(*exit),
        _ => None,
    });
    assert_eq!(exit.map(|exit| exit.reason), Some(ExitReason::Closed));
}

#[test]
fn a_child_that_a_killed_daemon_did_not_take_along_is_ended_when_it_is_found() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    let child = stage.spawn_as(Caller::Process(root), command("child"));
    let record = Box::new(stage.engine.ctx.processes[&child.process].record());
    // The end of the parent was written down; the order to end its child was not carried out.
    stage.exit(root, 0);
    let mut later = stage.reborn();
    later.input(Input::Adopted { record, pid: 100, exit: None });
    assert_eq!(graces(&later, child), [5_000]);
    later.die(child);
    assert!(later.view(child.process).is_none() && later.view(root.process).is_some());
}

#[test]
fn a_child_being_spawned_while_its_parent_dies_does_not_escape() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    stage.ask_as(Caller::Process(root), order(Caller::Process(root), command("child")));
    let child = stage.starts().last().expect("starting").run;
    stage.exit(root, 0);
    stage.effects.clear();
    stage.fact(child, RunFact::Started { pid: 5 });
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Kill { run, .. } if *run == child)));
    stage.die(child);
    assert!(stage.view(child.process).is_none());
}

#[test]
fn a_dead_process_spawns_nothing() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    stage.exit(root, 0);
    let ticket = stage.ask_as(Caller::Process(root), order(Caller::Process(root), command("late")));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Unauthorized);
}

#[test]
fn nesting_has_a_limit_that_is_named() {
    let mut stage = Stage::new();
    let mut run = stage.spawn(command("p0"));
    for depth in 1..4 {
        run = stage.spawn_as(Caller::Process(run), command(&format!("p{depth}")));
    }
    let ticket = stage.ask_as(Caller::Process(run), order(Caller::Process(run), command("p4")));
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::BudgetExceeded);
    assert_eq!(failure.message, "budget_exceeded: depth 4 of 4 used, the budget of p0");
}

#[test]
fn the_number_of_processes_has_a_limit_that_is_named() {
    let mut stage = Stage::new();
    for n in 0..50 {
        stage.spawn(command(&format!("c{n}")));
    }
    let ticket = stage.ask(Command::Spawn(Box::new(Spawn { name: None, ..command("x") }.into())));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Limit);
}

#[test]
fn b6_a_process_drives_itself_and_its_descendants_only() {
    let mut stage = Stage::new();
    let [root, child, grandchild, stranger] = family(&mut stage);
    let may = |stage: &mut Stage, caller: RunKey, on: RunKey| {
        let locate = Command::Locate { target: target(on), verb: Verb::Drive };
        let ticket = stage.ask_as(Caller::Process(caller), locate);
        stage.answer(ticket).is_some_and(|answer| answer.is_ok())
    };
    for (caller, on, expected) in [
        (root, grandchild, true),
        (child, child, true),
        (child, root, false),
        (grandchild, stranger, false),
        (stranger, root, false),
    ] {
        assert_eq!(may(&mut stage, caller, on), expected, "{caller:?} on {on:?}");
    }
    let ticket = stage.ask_as(Caller::Process(root), shutdown(true));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Denied);
}

#[test]
fn an_older_run_has_no_power() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    stage.ask(restart(root));
    stage.die(root);
    stage.fact(next(root), RunFact::Started { pid: 2 });
    let ticket = stage.ask_as(Caller::Process(root), close(root));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Unauthorized);
}

#[test]
fn n8_a_target_on_another_host_is_refused_as_not_supported_yet() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    for text in [format!("{}@desk", run.process), "a@desk".to_owned(), "a@".to_owned()] {
        let ticket = stage.ask(Command::Locate { target: proto::Target(text), verb: crate::Verb::Read });
        let failure = stage.failure(ticket);
        assert_eq!(failure.code, proto::ErrorCode::InvalidArgs);
        assert!(failure.message.contains("other hosts are not supported yet"), "{failure}");
    }
}
