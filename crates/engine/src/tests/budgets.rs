//! What a tree may use up: every limit by its name, every ancestor's purse, across restarts of the daemon.

use proto::request::Spawn;
use proto::rights::{Budget, BudgetUse, Identity};
use proto::{ErrorCode, Failure, Reply};

use super::agents::scene::{agent, saved};
use super::stage::{Stage, close, command, next, order, restart};
use crate::{Caller, Command, Config, Engine, Principal, RunFact, RunKey};

fn below(name: &str, budget: Budget) -> Spawn {
    Spawn { budget: Some(budget), ..agent(name) }
}

/// A plain agent spawned by this run; whether it could be.
fn child(stage: &mut Stage, of: RunKey) -> Result<RunKey, Failure> {
    let spawn = Spawn { name: None, ..agent("x") };
    let ticket = stage.ask_as(Caller::Process(of), order(Caller::Process(of), spawn));
    if let Some(Err(failure)) = stage.answer(ticket) {
        return Err(failure);
    }
    let run = stage.starts().last().unwrap().run;
    stage.fact(run, RunFact::Started { pid: 5 });
    Ok(run)
}

fn refusal(stage: &mut Stage, of: RunKey) -> String {
    let failure = child(stage, of).expect_err("it was spawned");
    assert_eq!(failure.code, ErrorCode::BudgetExceeded);
    failure.message
}

fn identity(stage: &mut Stage, of: RunKey) -> Identity {
    let ticket = stage.ask_as(Caller::Process(of), Command::WhoAmI);
    let Reply::Identity(identity) = stage.reply(ticket) else { panic!("no identity") };
    *identity
}

fn usage(stage: &mut Stage, of: RunKey) -> BudgetUse {
    identity(stage, of).budget.expect("it spends from one")
}

#[test]
fn the_spawns_of_a_life_are_limited_and_closing_gives_none_back() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { spawns: Some(2), ..Budget::default() }));
    for _ in 0..2 {
        let run = child(&mut stage, root).unwrap();
        stage.ask(close(run));
        stage.die(run);
    }
    assert_eq!(refusal(&mut stage, root), "budget_exceeded: spawns 2 of 2 used, the budget of root");
}

#[test]
fn those_that_live_at_once_are_limited_and_an_end_makes_room() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { live: Some(2), ..Budget::default() }));
    let first = child(&mut stage, root).unwrap();
    let below = child(&mut stage, first).unwrap();
    assert_eq!(refusal(&mut stage, root), "budget_exceeded: live 2 of 2 used, the budget of root");
    stage.exit(below, 0);
    assert!(child(&mut stage, first).is_ok());
}

#[test]
fn depth_is_limited_below_whoever_has_the_budget() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { depth: Some(2), ..Budget::default() }));
    let first = child(&mut stage, root).unwrap();
    assert_eq!(refusal(&mut stage, first), "budget_exceeded: depth 2 of 2 used, the budget of root");
    assert!(child(&mut stage, root).is_ok());
}

#[test]
fn time_is_limited_and_is_up_for_restarts_too() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { wall_ms: Some(10_000), ..Budget::default() }));
    let first = child(&mut stage, root).unwrap();
    stage.pass(9_999);
    let second = child(&mut stage, first).unwrap();
    stage.pass(1);
    assert_eq!(
        refusal(&mut stage, first),
        "budget_exceeded: wall_ms 10000 of 10000 used, the budget of root"
    );
    for by in [root, first] {
        let ticket = stage.ask_as(Caller::Process(by), restart(first));
        assert_eq!(stage.failure(ticket).code, ErrorCode::BudgetExceeded);
    }
    let ticket = stage.ask_as(Caller::Process(root), restart(root));
    assert_eq!(stage.failure(ticket).code, ErrorCode::BudgetExceeded, "no process begins its own time anew");
    stage.ask(restart(root));
    [root, first, second].into_iter().for_each(|run| stage.die(run));
    stage.fact(next(root), RunFact::Started { pid: 6 });
    assert!(child(&mut stage, next(root)).is_ok(), "a person does");
}

#[test]
fn f10_a_failed_command_is_not_started_again_when_time_is_up() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { wall_ms: Some(500), ..Budget::default() }));
    let spawn = Spawn { auto_restart: true, ..command("server") };
    let server = stage.spawn_as(Caller::Process(root), spawn);
    stage.exit(server, 1);
    let starts = stage.starts().len();
    stage.pass(5_000);
    assert_eq!(stage.view(server.process).map(|view| view.status), Some(proto::Status::Parked));
    assert_eq!(stage.starts().len(), starts);
}

#[test]
fn a_step_of_the_wall_clock_is_no_time() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { wall_ms: Some(10_000), ..Budget::default() }));
    for wall_ms in [0, 3_600_000_000] {
        let moment = crate::Moment { uptime_ms: stage.now, wall_ms };
        let ticket = crate::Ticket(900 + wall_ms);
        let command = order(Caller::Process(root), Spawn { name: None, ..agent("x") });
        let input =
            crate::Input::Command { principal: Principal::unlimited(Caller::Process(root)), ticket, command };
        let effects = stage.engine.handle(moment, input);
        assert!(effects.iter().any(|effect| matches!(effect, crate::Effect::Start(_))));
    }
}

#[test]
fn without_a_budget_the_defaults_hold_and_name_themselves() {
    let config = Config {
        budget: Budget { spawns: Some(3), live: Some(2), depth: Some(4), wall_ms: None },
        ..Config::default()
    };
    let mut stage = Stage::with(Engine::new(config));
    let root = stage.spawn(agent("root"));
    let first = child(&mut stage, root).unwrap();
    child(&mut stage, root).unwrap();
    assert_eq!(refusal(&mut stage, root), "budget_exceeded: live 2 of 2 used, the budget of root");
    stage.exit(first, 0);
    child(&mut stage, root).unwrap();
    assert_eq!(refusal(&mut stage, root), "budget_exceeded: spawns 3 of 3 used, the budget of root");
    let Budget { spawns, live, depth, wall_ms } = Config::default().budget;
    assert_eq!((spawns, live, depth, wall_ms), (Some(200), Some(32), Some(4), None));
}

#[test]
fn a_limit_that_is_left_out_is_the_default() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { spawns: Some(500), ..Budget::default() }));
    let limits = usage(&mut stage, root).limits;
    assert_eq!((limits.spawns, limits.live, limits.depth), (Some(500), Some(32), Some(4)));
}

/// Three levels, of which the first two have a budget of their own.
fn nested(outer: Budget, inner: Budget) -> (Stage, [RunKey; 3]) {
    let mut stage = Stage::new();
    let root = stage.spawn(agent("root"));
    let middle = child(&mut stage, root).unwrap();
    let leaf = child(&mut stage, middle).unwrap();
    let mut saved = saved(&stage.effects);
    for record in &mut saved.processes {
        record.spawned = 0;
        if record.id == root.process {
            record.spec.budget = Some(outer);
        } else if record.id == middle.process {
            record.spec.budget = Some(inner);
        }
    }
    let later = Stage::with(Engine::restore(Config { seed: 7, ..Config::default() }, saved));
    (later, [root, middle, leaf])
}

#[test]
fn a_spawn_pays_from_every_budget_above_it() {
    let spawns = |spawns| Budget { spawns: Some(spawns), ..Budget::default() };
    let (mut stage, [root, middle, leaf]) = nested(spawns(3), spawns(2));
    child(&mut stage, leaf).unwrap();
    child(&mut stage, middle).unwrap();
    let inner = refusal(&mut stage, leaf);
    assert!(inner.starts_with("budget_exceeded: spawns 2 of 2 used, the budget of agent-"), "{inner}");
    child(&mut stage, root).unwrap();
    assert_eq!(refusal(&mut stage, root), "budget_exceeded: spawns 3 of 3 used, the budget of root");
}

#[test]
fn the_outer_budget_binds_where_the_inner_one_is_larger() {
    let live = |live| Budget { live: Some(live), ..Budget::default() };
    let (mut stage, [_, middle, leaf]) = nested(live(3), live(30));
    child(&mut stage, middle).unwrap();
    assert_eq!(refusal(&mut stage, leaf), "budget_exceeded: live 3 of 3 used, the budget of root");
}

#[test]
fn what_was_spent_survives_the_daemon() {
    let mut stage = Stage::new();
    let budget = Budget { spawns: Some(3), wall_ms: Some(60_000), ..Budget::default() };
    let root = stage.spawn(below("root", budget));
    let first = child(&mut stage, root).unwrap();
    child(&mut stage, first).unwrap();
    stage.pass(5_000);
    let mut later = stage.reborn();
    let usage = usage(&mut later, root);
    assert_eq!((usage.spawns, usage.live, usage.wall_ms), (2, 2, 5_000));
    child(&mut later, root).unwrap();
    assert_eq!(refusal(&mut later, root), "budget_exceeded: spawns 3 of 3 used, the budget of root");
}

#[test]
fn a_restart_of_the_machine_gives_at_most_its_own_time_back() {
    let mut stage = Stage::new();
    stage.now = 5_000_000;
    let root = stage.spawn(below("root", Budget { wall_ms: Some(60_000), ..Budget::default() }));
    let mut later = stage.reborn();
    later.now = 50_000;
    assert_eq!(usage(&mut later, root).wall_ms, 50_000);
    later.now = 60_000;
    assert!(refusal(&mut later, root).contains("wall_ms"));
}

#[test]
fn only_people_set_a_budget() {
    let mut stage = Stage::new();
    let root = stage.spawn(agent("root"));
    let rich = below("rich", Budget { spawns: Some(9_999), ..Budget::default() });
    let ticket = stage.ask_as(Caller::Process(root), order(Caller::Process(root), rich));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Denied);
}

#[test]
fn what_is_not_spawned_costs_nothing() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { spawns: Some(1), ..Budget::default() }));
    let taken = stage.ask_as(Caller::Process(root), order(Caller::Process(root), agent("root")));
    assert_eq!(stage.failure(taken).code, ErrorCode::Conflict);
    let untrusted = stage.ask_as(Caller::Process(root), Command::Spawn(Box::new(command("c").into())));
    assert_eq!(stage.failure(untrusted).code, ErrorCode::NeedsTrust);
    assert_eq!(usage(&mut stage, root).spawns, 0);
    assert!(child(&mut stage, root).is_ok());
}

#[test]
fn over_budget_no_person_is_asked() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { spawns: Some(0), ..Budget::default() }));
    let ticket = stage.ask_as(Caller::Process(root), Command::Spawn(Box::new(command("c").into())));
    assert_eq!(stage.failure(ticket).code, ErrorCode::BudgetExceeded);
    let ticket = stage.ask(Command::Inbox);
    assert!(matches!(stage.reply(ticket), Reply::Inbox(items) if items.is_empty()));
}

#[test]
fn closing_the_head_of_a_tree_at_full_depth_closes_all_of_it() {
    let mut stage = Stage::new();
    let root = stage.spawn(agent("root"));
    let mut line = vec![root];
    for depth in 1..4 {
        let run = child(&mut stage, line[depth - 1]).unwrap();
        line.push(run);
    }
    let side = child(&mut stage, line[1]).unwrap();
    assert!(refusal(&mut stage, line[3]).contains("depth 4 of 4"));
    let ticket = stage.ask(close(root));
    for run in line.iter().chain([&side]) {
        let is_killed = |effect: &crate::Effect| matches!(effect, crate::Effect::Kill { run: killed, .. } if killed == run);
        assert!(stage.effects.iter().any(is_killed), "{run:?} was not asked to end");
        stage.die(*run);
    }
    assert!(stage.engine.snapshot().is_empty());
    assert!(matches!(stage.reply(ticket), Reply::Ended(_)));
}

#[test]
fn who_am_i_tells_the_run_its_nonce_its_budget_and_its_grants() {
    let mut stage = Stage::new();
    let root = stage.spawn(below("root", Budget { spawns: Some(4), ..Budget::default() }));
    let run = child(&mut stage, root).unwrap();
    let shell = stage.spawn(command("shell"));
    let own = identity(&mut stage, run);
    assert_eq!(own.caller, run.process.to_string());
    assert_eq!(own.process.as_ref().map(|process| process.id), Some(run.process));
    assert!(own.nonce.as_ref().is_some_and(|nonce| nonce.len() >= 8));
    assert_ne!(own.nonce, identity(&mut stage, root).nonce);
    assert_eq!(identity(&mut stage, shell).nonce, None);
    let budget = own.budget.unwrap();
    assert_eq!((budget.limits.spawns, budget.spawns, budget.depth), (Some(4), 1, 2));
    let request = proto::request::Grant {
        to: super::stage::target(run),
        right: proto::rights::Right::Read,
        over: super::stage::target(shell),
    };
    stage.ask(Command::Grant(request));
    assert_eq!(identity(&mut stage, run).grants.len(), 1);
    assert!(identity(&mut stage, shell).grants.is_empty());
    let ticket = stage.ask(Command::WhoAmI);
    let Reply::Identity(human) = stage.reply(ticket) else { panic!("no identity") };
    assert_eq!((human.caller.as_str(), human.nonce, human.budget), ("human", None, None));
}
