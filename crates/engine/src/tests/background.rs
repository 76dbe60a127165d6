//! What an end ends: the whole tree when somebody asked for it, and nothing beyond the child when nobody did.

use proto::request::Close;
use proto::{ExitReason, Reply, Status};

use super::agents::scene::saved;
use super::stage::{Stage, close, command, kill, shutdown, target, terminal};
use crate::input::ChildExit;
use crate::{Command, Effect, Input, RunFact, RunKey};

fn keep(run: RunKey) -> Command {
    Command::Close(Close { target: target(run), keep_background: true, stop: proto::Stop::default() })
}

/// Whether the holder was let go, and if so whether with its tree.
fn released(stage: &Stage, run: RunKey) -> Option<bool> {
    let mut found = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Release { run: of, end_tree, .. } if *of == run => Some(*end_tree),
        _ => None,
    });
    let first = found.next();
    assert!(found.next().is_none(), "let go twice");
    first
}

/// What was done to the run, in order.
fn deeds(stage: &Stage, run: RunKey) -> Vec<&'static str> {
    let deed = |effect: &Effect| match effect {
        Effect::EndChild { run: of, signal: 15 } if *of == run => Some("ask to end"),
        Effect::EndChild { run: of, signal: 9 } if *of == run => Some("kill the child"),
        Effect::Kill { run: of, .. } if *of == run => Some("kill the tree"),
        Effect::Sweep { run: of } if *of == run => Some("sweep"),
        _ => None,
    };
    stage.effects.iter().filter_map(deed).collect()
}

#[test]
fn d2_a_terminal_whose_shell_ends_by_itself_leaves_its_background_alone() {
    let mut stage = Stage::new();
    let run = stage.spawn(terminal("t"));
    stage.exit(run, 0);
    assert_eq!(released(&stage, run), None, "its last words stay readable for a while");
    stage.pass(60_000);
    assert_eq!(released(&stage, run), Some(false));
    assert_eq!(deeds(&stage, run), Vec::<&str>::new());
}

#[test]
fn d2_closing_a_terminal_that_has_ended_by_itself_ends_what_it_left() {
    let mut stage = Stage::new();
    let run = stage.spawn(terminal("t"));
    stage.exit(run, 0);
    let ticket = stage.ask(close(run));
    assert_eq!(deeds(&stage, run), ["kill the tree"]);
    stage.fact(run, RunFact::TreeGone);
    assert!(matches!(stage.reply(ticket), Reply::Ended(_)));
    assert_eq!(released(&stage, run), Some(true));
}

#[test]
fn d2_a_close_that_keeps_the_background_ends_the_child_alone() {
    let mut stage = Stage::new();
    let run = stage.spawn(terminal("t"));
    let ticket = stage.ask(keep(run));
    assert_eq!(stage.view(run.process).map(|view| view.status), Some(Status::Stopping));
    assert!(stage.answer(ticket).is_none(), "the child is still there");
    stage.fact(run, RunFact::Exited { exit: ChildExit::Signal(1), final_offset: 10 });
    let Reply::Ended(ended) = stage.reply(ticket) else { panic!("another reply") };
    assert_eq!(ended.exit.map(|exit| (exit.signal, exit.reason)), Some((Some(1), ExitReason::Closed)));
    assert_eq!((deeds(&stage, run), released(&stage, run)), (vec!["ask to end"], Some(false)));
    assert_eq!(stage.view(run.process), None);
}

#[test]
fn d2_a_background_is_kept_once_the_child_is_over() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.exit(run, 0);
    let ticket = stage.ask(keep(run));
    assert!(matches!(stage.reply(ticket), Reply::Ended(_)));
    assert_eq!((deeds(&stage, run), released(&stage, run)), (Vec::new(), Some(false)));
}

#[test]
fn h6_a_child_that_does_not_go_when_asked_is_killed_and_a_silent_holder_swept() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let ticket = stage.ask(keep(run));
    stage.pass(u64::from(stage.engine.ctx.config.grace_ms));
    assert_eq!(deeds(&stage, run), ["ask to end", "kill the child"]);
    stage.pass(stage.engine.ctx.config.sweep_after_ms);
    assert_eq!(deeds(&stage, run), ["ask to end", "kill the child", "sweep"]);
    stage.fact(run, RunFact::Lost { final_offset: 3, survivors: vec![] });
    assert!(matches!(stage.reply(ticket), Reply::Ended(_)));
}

#[test]
fn h5_whoever_wants_all_of_it_gone_gets_it_even_beside_one_who_keeps_the_background() {
    for stronger in [close, kill] {
        let mut stage = Stage::new();
        let run = stage.spawn(command("a"));
        let (mild, strong) = (stage.ask(keep(run)), stage.ask(stronger(run)));
        assert_eq!(deeds(&stage, run), ["ask to end", "kill the tree"]);
        stage.fact(run, RunFact::Exited { exit: ChildExit::Signal(1), final_offset: 10 });
        assert!(stage.answer(strong).is_none(), "the tree is still there");
        stage.fact(run, RunFact::TreeGone);
        assert!(matches!((stage.reply(mild), stage.reply(strong)), (Reply::Ended(_), Reply::Ended(_))));
        assert_eq!(released(&stage, run), Some(true));
    }
}

#[test]
fn a_close_that_keeps_the_background_of_a_child_not_yet_there_is_a_close() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.ask(super::stage::restart(run));
    stage.die(run);
    let run = super::stage::next(run);
    stage.ask(keep(run));
    stage.fact(run, RunFact::Started { pid: 101 });
    assert_eq!(deeds(&stage, run), ["kill the tree"]);
}

#[test]
fn d2_a_shutdown_that_was_not_told_to_kill_ends_no_background() {
    for kills in [false, true] {
        let mut stage = Stage::new();
        let run = stage.spawn(command("a"));
        stage.exit(run, 0);
        stage.ask(shutdown(kills));
        if kills {
            stage.fact(run, RunFact::TreeGone);
        }
        assert_eq!(released(&stage, run), Some(kills));
    }
}

#[test]
fn h5_a_shutdown_that_kills_ends_what_a_terminal_left_although_a_daemon_died_in_between() {
    for kills in [true, false] {
        let mut stage = Stage::new();
        let run = stage.spawn(terminal("t"));
        stage.exit(run, 0);
        let record = saved(&stage.effects).processes.pop().expect("recorded");
        let mut later = stage.reborn();
        let exit = Some((ChildExit::Code(0), 10));
        later.input(Input::Adopted { record: Box::new(record), pid: 100, exit });
        later.pass(1_000);
        assert_eq!(released(&later, run), None, "its last words stay readable for a while");
        if kills {
            later.ask(shutdown(true));
            assert_eq!(deeds(&later, run), ["kill the tree"]);
            later.fact(run, RunFact::TreeGone);
            assert_eq!(released(&later, run), Some(true));
        } else {
            later.pass(60_000);
            assert_eq!((deeds(&later, run), released(&later, run)), (Vec::new(), Some(false)));
        }
    }
}

#[test]
fn t9_a_shutdown_ends_all_in_one_decision() {
    let mut stage = Stage::new();
    let runs: Vec<RunKey> = (0..20).map(|number| stage.spawn(command(&format!("c{number}")))).collect();
    let before = stage.effects.len();
    stage.ask(shutdown(true));
    let ended = |run: &&RunKey| {
        stage.effects[before..]
            .iter()
            .any(|effect| matches!(effect, Effect::Kill { run: of, .. } if of == *run))
    };
    // Nothing was heard from any of them yet: nobody's end waits for another's.
    assert_eq!(runs.iter().filter(ended).count(), runs.len());
}
