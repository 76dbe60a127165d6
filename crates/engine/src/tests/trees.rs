//! Processes that spawn processes: rights, depth, and dying together.

use proto::request::Spawn;
use proto::{ErrorCode, Status};

use super::stage::{Stage, close, command, order, shutdown, target};
use crate::{Caller, Command, Effect, Fact, RunKey, Verb};

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

#[test]
fn a_child_being_spawned_while_its_parent_dies_does_not_escape() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    stage.ask_as(Caller::Process(root), order(Caller::Process(root), command("child")));
    let child = stage.starts().last().expect("starting").run;
    stage.exit(root, 0);
    stage.effects.clear();
    stage.fact(child, Fact::Started { pid: 5 });
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
    stage.ask(super::stage::restart(root));
    stage.die(root);
    stage.fact(super::stage::next(root), Fact::Started { pid: 2 });
    let ticket = stage.ask_as(Caller::Process(root), close(root));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Unauthorized);
}
