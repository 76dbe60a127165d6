//! Ask, grace, insist: who is asked how, who escalates, and what the next daemon goes on with.

use proto::request::{Close, Kill, Shutdown};
use proto::stop::Stop;
use proto::{ErrorCode, Reply, Status};

use super::stage::{Stage, close, command, kill, restart, shutdown, target, terminal};
use crate::input::{Caller, ChildExit, Survivor};
use crate::{Command, Effect, Input, RunFact, RunKey};

/// How a run was asked, each time: the signal and what is left of the grace.
fn asked(stage: &Stage, of: RunKey) -> Vec<(i32, u32)> {
    let kills = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Kill { run, signal, grace_ms } if *run == of => Some((*signal, *grace_ms)),
        _ => None,
    });
    kills.collect()
}

fn close_with(run: RunKey, stop: Stop) -> Command {
    Command::Close(Close { target: target(run), keep_background: false, stop })
}

fn survivor() -> Survivor {
    Survivor { pid: 77, name: "sudo".to_owned(), user: 0 }
}

#[test]
fn m3a_commands_are_asked_with_term_and_terminals_with_hup_and_each_has_its_grace() {
    let mut stage = Stage::new();
    let web = stage.spawn(command("web"));
    let shell = stage.spawn(terminal("shell"));
    let own = Stop { signal: Some(2), grace_ms: Some(30_000) };
    let database = stage.spawn(proto::request::Spawn { stop: own, ..command("database") });
    for run in [web, shell, database] {
        stage.ask(close(run));
    }
    assert_eq!(asked(&stage, web), [(15, 5_000)]);
    assert_eq!(asked(&stage, shell), [(1, 1_000)]);
    assert_eq!(asked(&stage, database), [(2, 30_000)], "as its preset says");
    let other = stage.spawn(proto::request::Spawn { stop: own, ..command("other") });
    stage.ask(close_with(other, Stop { signal: Some(3), grace_ms: Some(600_000) }));
    assert_eq!(asked(&stage, other), [(3, 600_000)], "as the caller says");
}

#[test]
fn m3a_restart_and_shutdown_ask_in_the_same_way() {
    let mut stage = Stage::new();
    let web = stage.spawn(command("web"));
    let shell = stage.spawn(terminal("shell"));
    stage.ask(restart(web));
    assert_eq!(asked(&stage, web), [(15, 5_000)]);
    let stop = Stop { signal: None, grace_ms: Some(9_000) };
    stage.ask(Command::Shutdown(Shutdown { kill: true, stop }));
    assert_eq!(asked(&stage, shell), [(1, 9_000)]);
    assert_eq!(
        asked(&stage, web),
        [(15, 5_000)],
        "a first shutdown does not escalate an end that is under way"
    );
    stage.ask(shutdown(true));
    assert_eq!((asked(&stage, shell)[1], asked(&stage, web)[1]), ((1, 0), (15, 0)), "a second one does");
}

#[test]
fn m3b_a_signal_with_a_grace_asks_and_a_signal_alone_is_only_sent() {
    let mut stage = Stage::new();
    let web = stage.spawn(command("web"));
    let with = |grace_ms| Command::Kill(Kill { target: target(web), signal: Some(2), grace_ms });
    let sent = stage.ask(with(None));
    assert!(matches!(stage.reply(sent), Reply::Done(_)));
    assert!(asked(&stage, web).is_empty());
    stage.ask(with(Some(10_000)));
    assert_eq!(asked(&stage, web), [(2, 10_000)]);
}

#[test]
fn m3b_a_second_call_and_now_go_on_to_insist_and_take_the_family_along() {
    for second in [close as fn(RunKey) -> Command, kill, restart] {
        let mut stage = Stage::new();
        let root = stage.spawn(command("root"));
        let child = stage.spawn_as(Caller::Process(root), command("child"));
        stage.ask(kill(root));
        stage.pass(1_000);
        stage.ask(second(root));
        for run in [root, child] {
            assert_eq!(asked(&stage, run), [(15, 5_000), (15, 0)]);
        }
    }
    let mut stage = Stage::new();
    let web = stage.spawn(command("web"));
    stage.ask(close_with(web, Stop::NOW));
    assert_eq!(asked(&stage, web), [(15, 0)]);
}

#[test]
fn m3b_a_child_that_is_being_ended_keeps_its_grace_when_its_parent_is_ended_too() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    let child = stage.spawn_as(Caller::Process(root), command("child"));
    stage.ask(close_with(child, Stop { signal: None, grace_ms: Some(60_000) }));
    stage.ask(close(root));
    assert_eq!(asked(&stage, child), [(15, 60_000)]);
}

#[test]
fn m3c_the_next_daemon_goes_on_with_the_rest_of_the_grace_and_with_what_was_to_follow() {
    let mut stage = Stage::new();
    let web = stage.spawn(command("web"));
    stage.ask(close_with(web, Stop { signal: Some(2), grace_ms: Some(60_000) }));
    stage.pass(20_000);
    let record = Box::new(stage.engine.ctx.processes[&web.process].record());
    let mut later = stage.reborn();
    later.now = stage.now + 1_000;
    assert_eq!(later.view(web.process).map(|view| view.status), Some(Status::Stopping));
    later.input(Input::Adopted { record, pid: 100, exit: None });
    assert_eq!(asked(&later, web), [(2, 39_000)]);
    // Whoever asked the daemon that died asks again: that is no second call.
    let again = later.ask(close(web));
    assert_eq!(asked(&later, web).len(), 1);
    later.die(web);
    assert!(later.answer(again).is_some_and(|answer| answer.is_ok()));
    assert!(later.view(web.process).is_none(), "it was to be closed");
}

#[test]
fn m3c_an_end_that_was_over_before_the_next_daemon_came_is_finished_by_it() {
    let mut stage = Stage::new();
    let web = stage.spawn(command("web"));
    stage.ask(close(web));
    let record = Box::new(stage.engine.ctx.processes[&web.process].record());
    let mut later = stage.reborn();
    later.now = stage.now + 60_000;
    later.input(Input::Adopted { record, pid: 100, exit: Some((ChildExit::Code(0), 5)) });
    assert_eq!(asked(&later, web), [(15, 0)], "nothing of the grace is left");
    later.die(web);
    assert!(later.view(web.process).is_none());
}

#[test]
fn m3c_a_daemon_that_ends_leaves_an_end_that_nobody_waits_for_to_the_holder() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    let child = stage.spawn_as(Caller::Process(root), command("child"));
    stage.exit(root, 0);
    assert_eq!(asked(&stage, child), [(15, 5_000)]);
    let ended = stage.ask(shutdown(false));
    assert!(stage.answer(ended).is_some_and(|answer| answer.is_ok()));
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Stop)));
}

#[test]
fn m7a_what_survives_an_end_is_named_and_the_entry_stays() {
    for verb in [close as fn(RunKey) -> Command, kill, restart] {
        let mut stage = Stage::new();
        let web = stage.spawn(command("web"));
        let ticket = stage.ask(verb(web));
        stage.exit(web, 0);
        stage.fact(web, RunFact::TreeSurvived(vec![survivor()]));
        let failure = stage.failure(ticket);
        assert_eq!(failure.code, ErrorCode::Survived);
        assert!(
            failure.message.contains("web") && failure.message.contains("sudo (pid 77, user 0)"),
            "{failure}"
        );
        assert_eq!(stage.view(web.process).map(|view| view.status), Some(Status::Exited));
        // When it has gone, the same call succeeds.
        let again = stage.ask(close(web));
        stage.fact(web, RunFact::TreeGone);
        assert!(stage.answer(again).is_some_and(|answer| answer.is_ok()));
        assert!(stage.view(web.process).is_none());
    }
}

#[test]
fn m7a_what_survives_the_sweep_after_a_silent_holder_is_named_and_the_entry_stays() {
    for has_exited in [false, true] {
        let mut stage = Stage::new();
        let web = stage.spawn(command("web"));
        let ticket = stage.ask(close(web));
        if has_exited {
            stage.exit(web, 0);
        } else {
            stage.fact(web, RunFact::TreeGone);
        }
        stage.fact(web, RunFact::Lost { final_offset: 0, survivors: vec![survivor()] });
        let failure = stage.failure(ticket);
        assert_eq!(failure.code, ErrorCode::Survived);
        assert!(failure.message.contains("sudo (pid 77, user 0)"), "{failure}");
        assert_eq!(stage.view(web.process).map(|view| view.status), Some(Status::Exited));
        // No holder is left to ask: another call removes the entry.
        let again = stage.ask(close(web));
        assert!(stage.answer(again).is_some_and(|answer| answer.is_ok()));
        assert!(stage.view(web.process).is_none());
    }
}

#[test]
fn m7a_what_survives_a_holder_that_nobody_ended_keeps_its_entry() {
    let mut stage = Stage::new();
    let shell = stage.spawn(terminal("shell"));
    stage.fact(shell, RunFact::Lost { final_offset: 0, survivors: vec![survivor()] });
    assert_eq!(stage.view(shell.process).map(|view| view.status), Some(Status::Exited));
    let ticket = stage.ask(shutdown(true));
    let failure = stage.failure(ticket);
    assert!(failure.message.contains("shell was not ended"), "{failure}");
}

#[test]
fn m7a_a_child_that_cannot_be_ended_itself_runs_on_and_is_shown_running() {
    let mut stage = Stage::new();
    let web = stage.spawn(command("web"));
    let ticket = stage.ask(close(web));
    stage.fact(web, RunFact::TreeSurvived(vec![survivor()]));
    assert_eq!(stage.failure(ticket).code, ErrorCode::Survived);
    assert_eq!(stage.view(web.process).map(|view| view.status), Some(Status::Running));
}

#[test]
fn m7a_the_end_of_a_leader_names_what_survived_below_it_and_is_not_tried_for_ever() {
    let mut stage = Stage::new();
    let root = stage.spawn(command("root"));
    let child = stage.spawn_as(Caller::Process(root), command("child"));
    let ticket = stage.ask(close(root));
    stage.exit(child, 0);
    stage.fact(child, RunFact::TreeSurvived(vec![survivor()]));
    assert!(stage.answer(ticket).is_none(), "its own tree is still there");
    stage.die(root);
    assert_eq!(stage.failure(ticket).code, ErrorCode::Survived);
    assert_eq!(asked(&stage, child).len(), 1);
    assert!(stage.view(root.process).is_some() && stage.view(child.process).is_some());
    let again = stage.ask(close(root));
    assert_eq!(asked(&stage, child).len(), 2, "another call tries again");
    stage.fact(child, RunFact::TreeGone);
    stage.fact(root, RunFact::TreeGone);
    assert!(stage.answer(again).is_some_and(|answer| answer.is_ok()));
}

#[test]
fn m7a_a_shutdown_names_what_survived_and_ends_the_daemon_all_the_same() {
    let mut stage = Stage::new();
    let (web, other) = (stage.spawn(command("web")), stage.spawn(command("other")));
    let ticket = stage.ask(shutdown(true));
    stage.die(other);
    stage.exit(web, 0);
    stage.fact(web, RunFact::TreeSurvived(vec![survivor()]));
    let failure = stage.failure(ticket);
    assert_eq!(failure.code, ErrorCode::Survived);
    assert!(failure.message.contains("web was not ended"), "{failure}");
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Stop)));
}

#[test]
fn m3d_what_a_crashed_command_left_in_the_background_is_asked_and_has_its_grace() {
    let mut stage = Stage::new();
    let own = Stop { signal: Some(2), grace_ms: Some(30_000) };
    let plain = proto::request::Spawn { auto_restart: true, ..command("web") };
    let preset = proto::request::Spawn { auto_restart: true, stop: own, ..command("database") };
    for (spawn, expected) in [(plain, (15, 5_000)), (preset, (2, 30_000))] {
        let run = stage.spawn(spawn);
        stage.exit(run, 1);
        assert!(asked(&stage, run).is_empty(), "until it is started again its background is its own");
        let before = stage.effects.len();
        stage.pass(1_000);
        assert_eq!(asked(&stage, run), [expected]);
        let since = &stage.effects[before..];
        let place = |is_it: &dyn Fn(&Effect) -> bool| since.iter().position(is_it).unwrap();
        let questions = place(&|effect| matches!(effect, Effect::Kill { .. }));
        let start = place(&|effect| matches!(effect, Effect::Start(_)));
        assert!(questions < start, "it is asked before the next run begins");
    }
}
