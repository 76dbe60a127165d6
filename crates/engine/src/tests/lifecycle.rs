//! Spawning, ending, restarting, adopting.

use proto::event::Event;
use proto::request::{Rename, Resize, SizeRequest, Spawn};
use proto::{ErrorCode, ExitReason, Reply, Size, Status};

use super::stage::{Stage, close, command, exit, kill, name, next, restart, shutdown, target, terminal};
use crate::input::ChildExit;
use crate::process::Process;
use crate::{Caller, Command, Config, Effect, Engine, Input, Record, RunFact, RunKey, Saved};

#[test]
fn t1_a_task_gives_directory_workspace_and_identity() {
    let mut stage = Stage::new();
    let spawn = Spawn {
        task: Some("fix".into()),
        workspace: Some("w1".into()),
        size: SizeRequest { cols: Some(100), rows: Some(30) },
        ..terminal("t")
    };
    let run = stage.spawn(spawn);
    let start = &stage.starts()[0];
    assert_eq!((start.cwd.as_str(), start.size), ("/src/fix", Size { cols: 100, rows: 30 }));
    let value = |name: &str| start.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    assert_eq!(value("QD_WORKSPACE_ID").as_deref(), Some("w1"));
    assert_eq!(value("QD_TASK_ID").as_deref(), Some("fix"));
    assert_eq!(value("QD_SESSION_ID").as_deref(), Some("s-42"));
    assert_eq!(value("QD_PROCESS_ID"), Some(run.process.to_string()));
    assert_eq!(value("TERM").as_deref(), Some("xterm-256color"));
    assert_eq!((value("QD_PORT"), value("QD_PORT_1")), (Some("20000".to_owned()), Some("20001".to_owned())));
}

#[test]
fn t2_no_size_is_80_by_24_each_dimension_on_its_own() {
    let mut stage = Stage::new();
    stage.spawn(command("a"));
    stage.spawn(Spawn { size: SizeRequest { cols: Some(0), rows: None }, ..command("b") });
    let sizes: Vec<Size> = stage.starts().iter().map(|start| start.size).collect();
    assert_eq!(sizes, [Size::DEFAULT, Size { cols: 2, rows: 24 }]);
}

#[test]
fn t3_t4_a_wrong_task_spawns_and_registers_nothing() {
    let mut stage = Stage::new();
    let wrong = Spawn { task: Some("fix".into()), workspace: Some("w2".into()), ..command("a") };
    let ticket = stage.ask(Command::Spawn(Box::new(wrong.into())));
    assert_eq!(stage.failure(ticket).code, ErrorCode::WorkspaceMismatch);
    let missing = Spawn { task: Some("nope".into()), ..command("a") };
    let ticket = stage.ask(Command::Spawn(Box::new(missing.into())));
    assert_eq!(stage.failure(ticket).code, ErrorCode::TaskNotFound);
    assert!(stage.starts().is_empty() && stage.engine.snapshot().is_empty());
}

#[test]
fn bad_spawns_are_refused_naming_the_field() {
    let mut stage = Stage::new();
    stage.spawn(command("taken"));
    let env = [("QD_X".to_owned(), "1".to_owned())].into();
    let cases = [
        (Spawn { argv: vec![], ..command("a") }, ErrorCode::InvalidArgs, "argv"),
        (Spawn { argv: vec!["a\0b".into()], ..command("a") }, ErrorCode::InvalidArgs, "argv"),
        (Spawn { cwd: Some("rel".into()), ..command("a") }, ErrorCode::InvalidArgs, "cwd"),
        (Spawn { name: Some("a b".into()), ..command("a") }, ErrorCode::InvalidArgs, "name"),
        (Spawn { name: Some("x".repeat(41)), ..command("a") }, ErrorCode::InvalidArgs, "name"),
        (Spawn { env, ..command("a") }, ErrorCode::InvalidArgs, "env"),
        (Spawn { idle_timeout_ms: Some(0), ..command("a") }, ErrorCode::InvalidArgs, "idle_timeout_ms"),
        (Spawn { auto_restart: true, ..terminal("a") }, ErrorCode::InvalidArgs, "auto_restart"),
        (command("taken"), ErrorCode::Conflict, "taken"),
    ];
    for (spawn, code, field) in cases {
        let ticket = stage.ask(Command::Spawn(Box::new(spawn.into())));
        let failure = stage.failure(ticket);
        assert_eq!(failure.code, code, "{failure}");
        assert!(failure.message.contains(field), "{failure}");
    }
    assert_eq!(stage.starts().len(), 1);
}

#[test]
fn t7_close_is_exit_then_removal_then_done_then_the_answer() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.effects.clear();
    let ticket = stage.ask(close(run));
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Stopping));
    stage.die(run);
    let order: Vec<&str> = stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::ReportExit { exit, .. } if exit.reason == ExitReason::Closed => Some("exit reported"),
            Effect::Announce(a) => match &a.announcement.what {
                Event::Exited { .. } => Some("exited"),
                Event::Removed { .. } => Some("removed"),
                Event::Done { .. } => Some("done"),
                _ => None,
            },
            Effect::Release { .. } => Some("released"),
            Effect::Reply { .. } => Some("answered"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["exit reported", "exited", "released", "removed", "answered", "done"]);
    assert!(
        matches!(stage.reply(ticket), Reply::Ended(ended) if ended.exit.is_some_and(|e| e.signal == Some(1)))
    );
    let again = stage.ask(close(run));
    assert_eq!(stage.failure(again).code, ErrorCode::NotFound);
}

#[test]
fn t8_an_idle_process_ends_and_activity_postpones_it() {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { idle_timeout_ms: Some(500), ..command("a") });
    stage.pass(400);
    stage.fact(run, RunFact::Output { end: 5 });
    stage.pass(400);
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Running));
    stage.pass(200);
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Stopping));
    stage.die(run);
    let exit = stage.view(run.process).and_then(|view| view.exit).expect("an exit");
    assert_eq!(exit.reason, ExitReason::IdleTimeout);
}

#[test]
fn t8_many_idle_processes_end_at_the_same_moment() {
    let mut stage = Stage::new();
    let runs: Vec<RunKey> = (0..20)
        .map(|n| stage.spawn(Spawn { idle_timeout_ms: Some(500), ..command(&format!("c{n}")) }))
        .collect();
    stage.pass(500);
    let kills = stage.effects.iter().filter(|effect| matches!(effect, Effect::Kill { .. })).count();
    assert_eq!(kills, runs.len());
}

#[test]
fn t9_shutdown_ends_all_refuses_opens_and_answers_every_caller_at_the_end() {
    let mut stage = Stage::new();
    let runs = [stage.spawn(command("a")), stage.spawn(terminal("b"))];
    let opening = stage.ask(Command::Spawn(Box::new(command("late").into())));
    let late = stage.starts().last().expect("started").run;
    let callers = [stage.ask(shutdown(true)), stage.ask(shutdown(true))];
    let refused = stage.ask(Command::Spawn(Box::new(command("no").into())));
    assert_eq!(stage.failure(refused).code, ErrorCode::ShuttingDown);
    for run in runs {
        stage.die(run);
        assert!(callers.iter().all(|caller| stage.answer(*caller).is_none()));
    }
    // The open that lost the race is started, killed and reaped before anybody returns.
    stage.fact(late, RunFact::Started { pid: 7 });
    assert!(stage.answer(opening).is_some());
    assert!(callers.iter().all(|caller| stage.answer(*caller).is_none()));
    stage.die(late);
    assert!(callers.iter().all(|caller| stage.answer(*caller).is_some()));
    assert!(matches!(stage.effects.last(), Some(Effect::Stop)));
}

#[test]
fn a_plain_shutdown_leaves_every_run_alone() {
    let mut stage = Stage::new();
    stage.spawn(command("a"));
    let caller = stage.ask(shutdown(false));
    assert!(stage.answer(caller).is_some());
    assert!(
        !stage.effects.iter().any(|effect| matches!(effect, Effect::Kill { .. } | Effect::Release { .. }))
    );
}

#[test]
fn t11_a_first_run_that_cannot_start_leaves_nothing_a_later_one_its_entry() {
    let mut stage = Stage::new();
    let failure =
        proto::Failure::new(ErrorCode::SpawnFailed, "no such program").cause(proto::error::Cause::NotFound);
    let ticket = stage.ask(Command::Spawn(Box::new(command("a").into())));
    let run = stage.starts()[0].run;
    stage.fact(run, RunFact::StartFailed(failure.clone()));
    assert_eq!(stage.failure(ticket).cause, Some(proto::error::Cause::NotFound));
    assert!(stage.view(run.process).is_none());
    let run = stage.spawn(command("b"));
    let ticket = stage.ask(restart(run));
    stage.die(run);
    stage.fact(next(run), RunFact::StartFailed(failure));
    assert_eq!(stage.failure(ticket).code, ErrorCode::SpawnFailed);
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Failed));
}

#[test]
fn a_terminal_leaves_the_list_when_its_child_exits_and_stays_readable_a_while() {
    let mut stage = Stage::new();
    let run = stage.spawn(terminal("shell"));
    stage.exit(run, 3);
    assert!(stage.view(run.process).is_none());
    let late = stage.wait_on(&[run], exit(), proto::request::Quantifier::All, None);
    let Reply::Waited(waited) = stage.reply(late) else { panic!("not a wait") };
    assert_eq!(waited.satisfied[0].exit.and_then(|exit| exit.code), Some(3));
    // Its name is free at once.
    stage.spawn(terminal("shell"));
    stage.pass(10_000);
    let gone = stage.ask(close(run));
    assert_eq!(stage.failure(gone).code, ErrorCode::NotFound);
    assert!(
        stage
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Release { run: released, .. } if *released == run))
    );
}

#[test]
fn a_command_stays_and_can_be_started_again() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.exit(run, 1);
    let view = stage.view(run.process).expect("it stays");
    assert_eq!(
        (view.status, view.exit.map(|e| e.reason), view.pid),
        (Status::Exited, Some(ExitReason::Exited), None)
    );
    let ticket = stage.ask(restart(run));
    stage.fact(run, RunFact::TreeGone);
    stage.fact(next(run), RunFact::Started { pid: 200 });
    assert!(
        matches!(stage.reply(ticket), Reply::Spawned(spawned) if spawned.run.0 == 2 && spawned.pid == Some(200))
    );
    // A fact about the old run changes nothing.
    stage.exit(run, 9);
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Running));
}

#[test]
fn f10_a_crash_loop_is_started_five_times_then_parked() {
    let mut stage = Stage::new();
    let mut run = stage.spawn(Spawn { auto_restart: true, ..command("a") });
    for _ in 0..10 {
        stage.exit(run, 1);
        stage.pass(9_000);
        if stage.starts().last().is_some_and(|start| start.run == next(run)) {
            run = next(run);
            stage.fact(run, RunFact::Started { pid: 1 });
        }
    }
    assert_eq!(stage.starts().len(), 5);
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Parked));
}

#[test]
fn f10_a_kill_stops_what_waits_to_be_started_again() {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { auto_restart: true, ..command("a") });
    stage.exit(run, 1);
    let ticket = stage.ask(kill(run));
    stage.fact(run, RunFact::TreeGone);
    let Reply::Ended(ended) = stage.reply(ticket) else { panic!("not ended") };
    assert_eq!(ended.exit.and_then(|exit| exit.code), Some(1));
    stage.pass(120_000);
    assert_eq!(stage.starts().len(), 1);
    let mut later = stage.reborn();
    later.fact(run, RunFact::Lost { final_offset: 0, survivors: vec![] });
    later.pass(120_000);
    assert_eq!(later.starts().len(), 0, "the next daemon knows it too");
    // There is nothing to stop any more, and a signal needs somebody to get it.
    let ticket = stage.ask(kill(run));
    assert_eq!(stage.failure(ticket).code, ErrorCode::NotRunning);
}

#[test]
fn f10_a_crash_loop_has_its_five_starts_however_many_daemons_see_it() {
    let mut stage = Stage::new();
    let mut run = stage.spawn(Spawn { auto_restart: true, ..command("a") });
    let mut starts = 1;
    for _ in 0..10 {
        // One daemon sees it fail, the next one starts it again.
        stage.exit(run, 1);
        let record = records(&stage.effects).remove(0);
        stage = stage.reborn();
        let exit = Some((ChildExit::Code(1), 10));
        stage.input(Input::Adopted { record: Box::new(record), pid: 1, exit });
        stage.pass(9_000);
        if let Some(start) = stage.starts().first() {
            (run, starts) = (start.run, starts + 1);
            stage.fact(run, RunFact::Started { pid: 1 });
        }
    }
    assert_eq!(starts, 5);
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Parked));
}

#[test]
fn f10_a_failure_that_no_daemon_saw_waits_as_long_as_it_would_have() {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { auto_restart: true, ..command("a") });
    stage.exit(run, 1);
    stage.pass(1_000);
    stage.fact(next(run), RunFact::Started { pid: 1 });
    let mut later = stage.reborn();
    let record = Box::new(records(&stage.effects).remove(0));
    later.input(Input::Adopted { record, pid: 1, exit: None });
    later.exit(next(run), 1);
    later.pass(1_999);
    assert!(later.starts().is_empty(), "its second failure waits two seconds");
    later.pass(1);
    assert_eq!(later.starts().len(), 1);
}

#[test]
fn a_command_that_succeeds_is_not_started_again() {
    let mut stage = Stage::new();
    let run = stage.spawn(Spawn { auto_restart: true, ..command("a") });
    stage.exit(run, 0);
    stage.pass(100_000);
    assert_eq!(stage.starts().len(), 1);
}

#[test]
fn a_kill_is_answered_when_nothing_of_the_tree_lives() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.ask(kill(run));
    stage.fact(run, RunFact::Exited { exit: ChildExit::Signal(15), final_offset: 1 });
    assert!(stage.answer(ticket).is_none());
    stage.fact(run, RunFact::TreeGone);
    assert!(matches!(stage.reply(ticket), Reply::Ended(_)));
    assert_eq!(stage.view(run.process).and_then(|v| v.exit).map(|e| e.reason), Some(ExitReason::Signalled));
    let again = stage.ask(kill(run));
    assert_eq!(stage.failure(again).code, ErrorCode::NotRunning);
}

#[test]
fn a_tree_gone_before_its_exit_was_logged_is_not_forgotten() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.ask(close(run));
    stage.fact(run, RunFact::TreeGone);
    assert!(stage.answer(ticket).is_none());
    stage.fact(run, RunFact::Exited { exit: ChildExit::Signal(9), final_offset: 1 });
    assert!(stage.answer(ticket).is_some());
}

#[test]
fn h6_a_holder_that_never_answers_is_swept_from_outside() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.ask(close(run));
    stage.pass(60_000);
    let sweeps = stage.effects.iter().filter(|effect| matches!(effect, Effect::Sweep { .. })).count();
    assert_eq!(sweeps, 1);
    stage.fact(run, RunFact::Lost { final_offset: 3, survivors: vec![] });
    assert!(stage.answer(ticket).is_some());
    assert!(stage.view(run.process).is_none());
}

#[test]
fn s2_a_lost_holder_ends_exactly_its_run() {
    let mut stage = Stage::new();
    let runs = [stage.spawn(command("a")), stage.spawn(command("b"))];
    stage.fact(runs[0], RunFact::Lost { final_offset: 3, survivors: vec![] });
    let view = stage.view(runs[0].process).expect("it stays");
    assert_eq!((view.status, view.exit.map(|exit| exit.reason)), (Status::Exited, Some(ExitReason::Lost)));
    assert_eq!(stage.view(runs[1].process).map(|view| view.status), Some(Status::Running));
    let ticket = stage.ask(restart(runs[0]));
    stage.fact(next(runs[0]), RunFact::Started { pid: 5 });
    assert!(matches!(stage.reply(ticket), Reply::Spawned(_)));
}

#[test]
fn renaming_keeps_names_unique_and_within_the_grammar() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.spawn(command("b"));
    let rename = |to: &str| Command::Rename(Rename { target: target(run), name: to.to_owned() });
    for (to, code) in [("b", ErrorCode::Conflict), ("x y", ErrorCode::InvalidArgs)] {
        let ticket = stage.ask(rename(to));
        assert_eq!(stage.failure(ticket).code, code);
    }
    for to in ["a", "c"] {
        let ticket = stage.ask(rename(to));
        assert!(matches!(stage.reply(ticket), Reply::Done(_)));
    }
    assert_eq!(stage.view(run.process).map(|view| view.name), Some(name("c")));
}

#[test]
fn t6_an_equal_size_is_no_effect() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let resize = |cols| {
        Command::Resize(Resize { target: target(run), size: SizeRequest { cols: Some(cols), rows: None } })
    };
    for cols in [80, 100, 100, 1_000_000] {
        stage.ask(resize(cols));
    }
    let sizes: Vec<Size> = stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Resize { size, .. } => Some(*size),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [Size { cols: 100, rows: 24 }, Size { cols: 1000, rows: 24 }]);
}

/// What a daemon would find in its database after these effects.
fn records(effects: &[Effect]) -> Vec<crate::ProcessRecord> {
    let mut entries = std::collections::BTreeMap::new();
    for effect in effects {
        match effect {
            Effect::Record(Record::Put(record)) => drop(entries.insert(record.id, (**record).clone())),
            Effect::Record(Record::Remove(id)) => drop(entries.remove(id)),
            _ => {}
        }
    }
    entries.into_values().collect()
}

#[test]
fn s1_a_restored_engine_adopts_the_same_runs_and_loses_the_rest() {
    let mut stage = Stage::new();
    let alive = stage.spawn(command("alive"));
    let lost = stage.spawn(command("lost"));
    let over = stage.spawn(command("over"));
    stage.exit(over, 4);
    let records = records(&stage.effects);
    let kept = records.iter().find(|record| record.id == alive.process).expect("recorded").clone();
    let mut restored =
        Stage::with(Engine::restore(Config::default(), Saved { processes: records, ..Saved::default() }));
    let expected = restored.engine.expected_runs().into_iter();
    let mut expected: Vec<RunKey> =
        expected.map(|record| RunKey::new(record.id, record.run.number)).collect();
    expected.sort();
    let mut all = [alive, lost, over];
    all.sort();
    assert_eq!(expected, all);
    restored.input(Input::Adopted { record: Box::new(kept), pid: 100, exit: None });
    restored.fact(lost, RunFact::Lost { final_offset: 0, survivors: vec![] });
    let status = |run: RunKey| restored.view(run.process).map(|view| (view.status, view.pid));
    assert_eq!(status(alive), Some((Status::Running, Some(100))));
    assert_eq!(status(lost), Some((Status::Exited, None)));
    assert_eq!(restored.view(over.process).and_then(|view| view.exit).and_then(|exit| exit.code), Some(4));
}

#[test]
fn an_unexpected_holder_becomes_an_entry_again_under_a_free_name() {
    let mut first = Stage::new();
    let run = first.spawn(command("a"));
    let record = Box::new(first.starts()[0].record.clone());
    let mut second = Stage::with(Engine::new(Config { seed: 2, ..Config::default() }));
    second.spawn(command("a"));
    second.input(Input::Adopted { record, pid: 9, exit: None });
    let view = second.view(run.process).expect("taken in");
    assert_eq!((view.status, view.name), (Status::Running, name("command-1")));
    assert!(!second.effects.iter().any(|effect| matches!(effect, Effect::Kill { .. })));
}

#[test]
fn a_holder_of_an_older_run_is_let_go() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let old = Box::new(stage.starts()[0].record.clone());
    stage.ask(restart(run));
    stage.die(run);
    stage.fact(next(run), RunFact::Started { pid: 2 });
    stage.effects.clear();
    stage.input(Input::Adopted { record: old, pid: 1, exit: None });
    assert!(matches!(&stage.effects[..], [Effect::Retire(former)] if former.run == run));
}

#[test]
fn a_record_survives_serialisation() {
    let mut stage = Stage::new();
    stage.spawn(Spawn { auto_restart: true, idle_timeout_ms: Some(5), ..command("a") });
    for record in records(&stage.effects) {
        let text = serde_json::to_string(&record).expect("it serialises");
        assert_eq!(serde_json::from_str::<crate::ProcessRecord>(&text).expect("it reads"), record);
        assert_eq!(Process::from_record(record.clone()).record().spec.argv, record.spec.argv);
    }
}

#[test]
fn m11_a_persons_environment_goes_to_the_holder_and_to_the_disk_only_for_what_is_restored() {
    let secret = || Some([("SECRET".to_owned(), "s3cr3t".to_owned())].into());
    for (spawn, is_written) in [
        (Spawn { base_env: secret(), ..terminal("t") }, false),
        (Spawn { base_env: secret(), ..command("c") }, false),
        (Spawn { base_env: secret(), restore: true, ..command("r") }, true),
    ] {
        let mut stage = Stage::new();
        let name = spawn.name.clone();
        stage.spawn(spawn);
        let start = &stage.starts()[0];
        assert!(start.env.iter().any(|(name, _)| name == "SECRET"), "{name:?}");
        assert_eq!(start.record.spec.environment.env["SECRET"], "s3cr3t", "{name:?}: what the holder keeps");
        let written = records(&stage.effects);
        assert!(!written.is_empty());
        let has_secret = |record: &crate::ProcessRecord| record.spec.environment.env.contains_key("SECRET");
        assert!(written.iter().all(|record| has_secret(record) == is_written), "{name:?}");
    }
}

#[test]
fn nobody_gets_nothing() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    for command in
        [Command::List, close(run), kill(run), shutdown(true), Command::Spawn(Box::new(command("b").into()))]
    {
        let ticket = stage.ask_as(Caller::Nobody, command);
        assert_eq!(stage.failure(ticket).code, ErrorCode::Unauthorized);
    }
}
