//! Whose size the terminal has.

use proto::request::{Attach, Detach, Grant, Revoke, SizePolicy, Spawn};
use proto::rights::Right;
use proto::{ErrorCode, Owner, Reply, Size};

use super::stage::{Stage, command, kill, next, restart, target};
use crate::{Caller, Command, Effect, RunFact, RunKey, ViewerId};

const SMALL: Size = Size { cols: 60, rows: 20 };
const LARGE: Size = Size { cols: 200, rows: 50 };

fn join(stage: &mut Stage, run: RunKey, viewer: u64, size: Size, read_only: bool) {
    let (viewer, by, pid) = (ViewerId(viewer), Caller::Person, Some(9));
    stage.fact(run, RunFact::ViewerJoined { viewer, size, read_only, mirrors: false, by, label: None, pid });
}

fn types(stage: &mut Stage, run: RunKey, viewer: u64) {
    stage.fact(run, RunFact::Typed { by: Owner::User, viewer: Some(ViewerId(viewer)) });
}

fn resizes(stage: &Stage) -> Vec<Size> {
    let sizes = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Resize { size, .. } => Some(*size),
        _ => None,
    });
    sizes.collect()
}

fn policy(stage: &mut Stage, run: RunKey, policy: SizePolicy) {
    let attach = Attach { target: target(run), policy: Some(policy), ..Attach::default() };
    stage.ask(Command::Attach(attach));
}

#[test]
fn m15_a_sole_viewer_gets_its_size_others_only_by_typing() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 1, LARGE, false);
    assert_eq!(resizes(&stage), [LARGE]);
    join(&mut stage, run, 2, SMALL, false);
    assert_eq!(resizes(&stage), [LARGE], "a second viewer changes nothing by attaching");
    assert_eq!(stage.view(run.process).map(|view| view.terminal.viewers), Some(2));
    types(&mut stage, run, 1);
    types(&mut stage, run, 2);
    types(&mut stage, run, 2);
    assert_eq!(resizes(&stage), [LARGE, SMALL]);
}

#[test]
fn m15_a_viewer_beside_one_that_only_watches_is_not_sole() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 1, LARGE, true);
    join(&mut stage, run, 2, SMALL, false);
    assert!(resizes(&stage).is_empty());
}

#[test]
fn m15_viewers_are_listed_and_let_go_by_process_or_by_their_own_name() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 7, LARGE, false);
    join(&mut stage, run, 8, SMALL, true);
    let asked = stage.ask(Command::Viewers);
    let Reply::Viewers(views) = stage.reply(asked) else { panic!("no viewers") };
    let listed: Vec<_> = views.iter().map(|view| (view.viewer, view.read_only, view.owns_size)).collect();
    assert_eq!(listed, [(7, false, true), (8, true, false)]);
    assert_eq!((views[0].by.as_str(), views[0].pid, views[0].size), ("person", Some(9), LARGE));

    let mut let_go = |name: &str| {
        stage.effects.clear();
        let asked = stage.ask(Command::Detach(Detach { target: name.into() }));
        let gone = |effect: &Effect| match effect {
            Effect::LetGo { viewer, .. } => Some(viewer.0),
            _ => None,
        };
        (stage.effects.iter().filter_map(gone).collect::<Vec<_>>(), asked)
    };
    assert_eq!(let_go("v8").0, [8]);
    assert_eq!(let_go("a").0, [7, 8]);
    let (gone, asked) = let_go("v9");
    assert!(gone.is_empty());
    let failure = stage.failure(asked);
    assert_eq!(failure.code, ErrorCode::NotFound);
    assert!(failure.hint.is_some_and(|hint| hint.contains("qd viewers")));
}

#[test]
fn the_size_owners_own_resize_is_followed_the_others_not() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 1, LARGE, false);
    join(&mut stage, run, 2, SMALL, false);
    types(&mut stage, run, 1);
    let other = Size { cols: 99, rows: 33 };
    stage.fact(run, RunFact::ViewerResized { viewer: ViewerId(2), size: other, owns: false });
    stage.fact(run, RunFact::ViewerResized { viewer: ViewerId(1), size: other, owns: false });
    assert_eq!(resizes(&stage), [LARGE, other]);
    stage.fact(run, RunFact::ViewerLeft { viewer: ViewerId(1) });
    assert_eq!(resizes(&stage).len(), 2);
}

#[test]
fn a_read_only_viewer_never_owns_the_size() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 1, LARGE, true);
    types(&mut stage, run, 1);
    stage.fact(run, RunFact::ViewerResized { viewer: ViewerId(1), size: SMALL, owns: true });
    assert!(resizes(&stage).is_empty());
}

#[test]
fn fixed_stays_and_smallest_follows_the_smallest() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    policy(&mut stage, run, SizePolicy::Fixed);
    join(&mut stage, run, 1, LARGE, false);
    types(&mut stage, run, 1);
    assert!(resizes(&stage).is_empty());
    policy(&mut stage, run, SizePolicy::Smallest);
    join(&mut stage, run, 2, Size { cols: 300, rows: 10 }, false);
    assert_eq!(resizes(&stage), [Size { cols: 200, rows: 10 }]);
}

#[test]
fn a4_a_read_only_viewer_does_not_count_in_the_smallest_size() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    policy(&mut stage, run, SizePolicy::Smallest);
    join(&mut stage, run, 1, SMALL, true);
    assert!(resizes(&stage).is_empty());
    join(&mut stage, run, 2, LARGE, false);
    stage.fact(
        run,
        RunFact::ViewerResized { viewer: ViewerId(1), size: Size { cols: 9, rows: 9 }, owns: true },
    );
    assert_eq!(resizes(&stage), [LARGE]);
}

#[test]
fn ownership_follows_the_writer() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.fact(run, RunFact::Typed { by: Owner::Orchestrator, viewer: None });
    assert_eq!(stage.view(run.process).map(|view| view.terminal.owner), Some(Owner::Orchestrator));
    types(&mut stage, run, 1);
    assert_eq!(stage.view(run.process).map(|view| view.terminal.owner), Some(Owner::User));
}

#[test]
fn n1_a_mirror_never_owns_the_size_and_options_that_contradict_each_other_are_refused() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let (viewer, size) = (ViewerId(7), LARGE);
    let by = Caller::Person;
    stage.fact(
        run,
        RunFact::ViewerJoined { viewer, size, read_only: false, mirrors: true, by, label: None, pid: None },
    );
    stage.fact(run, RunFact::ViewerResized { viewer, size: SMALL, owns: true });
    types(&mut stage, run, 7);
    policy(&mut stage, run, SizePolicy::Smallest);
    assert!(resizes(&stage).is_empty());
    let plain = Attach { target: target(run), ..Attach::default() };
    for (field, attach) in [
        ("pace_ms", Attach { exact: true, pace_ms: Some(100), ..plain.clone() }),
        ("from", Attach { from: Some(0), pace_ms: Some(100), ..plain.clone() }),
        ("policy", Attach { mirror: true, policy: Some(SizePolicy::Fixed), ..plain.clone() }),
    ] {
        let ticket = stage.ask(Command::Attach(attach));
        let failure = stage.failure(ticket);
        assert!(failure.message.starts_with(field), "{failure}");
    }
    let ticket = stage.ask(Command::Attach(Attach { exact: true, mirror: true, from: Some(0), ..plain }));
    assert!(stage.answer(ticket).is_some_and(|answer| answer.is_ok()));
}

#[test]
fn m13_viewers_wait_for_the_next_run_of_what_restarts_itself_until_it_is_given_up() {
    let reports = |stage: &Stage| {
        let exits = stage.effects.iter().filter_map(|effect| match effect {
            Effect::ReportExit { restarts, restarts_in_ms, .. } => Some((*restarts, *restarts_in_ms)),
            _ => None,
        });
        exits.collect::<Vec<_>>()
    };
    let crashing = || {
        let mut stage = Stage::new();
        let run = stage.spawn(Spawn { auto_restart: true, ..command("a") });
        stage.effects.clear();
        (stage, run)
    };
    let (mut stage, run) = crashing();
    stage.exit(run, 1);
    assert_eq!(reports(&stage), [(true, Some(1_000))]);
    stage.ask(kill(run));
    assert_eq!(reports(&stage), [(true, Some(1_000)), (false, None)], "nobody starts it again");

    let (mut stage, run) = crashing();
    stage.exit(run, 0);
    assert_eq!(reports(&stage), [(false, None)], "a success is an end");

    let (mut stage, mut run) = crashing();
    for _ in 0..5 {
        stage.effects.clear();
        stage.exit(run, 1);
        stage.pass(9_000);
        run = next(run);
        stage.fact(run, RunFact::Started { pid: 1 });
    }
    assert_eq!(reports(&stage), [(false, None)], "the fifth failure within a minute is the last");
}

#[test]
fn m13_a_run_is_kept_before_its_holder_goes() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.exit(run, 3);
    stage.ask(restart(run));
    stage.fact(run, RunFact::TreeGone);
    stage.effects.clear();
    stage.fact(next(run), RunFact::Started { pid: 2 });
    let retired = stage.effects.iter().find_map(|effect| match effect {
        Effect::Retire(former) => Some(*former),
        _ => None,
    });
    let former = retired.expect("the run before is kept");
    assert_eq!((former.run, former.exit.and_then(|exit| exit.code)), (run, Some(3)));
    assert!(!stage.effects.iter().any(|effect| matches!(effect, Effect::Release { .. })));
}

#[test]
fn b6_a_viewer_of_a_process_from_which_the_right_was_taken_is_let_go() {
    let mut stage = Stage::new();
    let (run, spy) = (stage.spawn(command("a")), stage.spawn(command("spy")));
    let asked = stage.ask(Command::Grant(Grant { to: "spy".into(), right: Right::Read, over: "a".into() }));
    let Reply::Granted(view) = stage.reply(asked) else { panic!("no grant") };
    join(&mut stage, run, 7, LARGE, false);
    let (viewer, by) = (ViewerId(8), Caller::Process(spy));
    let joined = RunFact::ViewerJoined {
        viewer,
        size: SMALL,
        read_only: true,
        mirrors: false,
        by,
        label: None,
        pid: None,
    };
    stage.fact(run, joined);
    stage.effects.clear();
    stage.ask(Command::Revoke(Revoke { grant: view.grant.grant }));
    let let_go = |effect: &Effect| match effect {
        Effect::LetGo { viewer, .. } => Some(viewer.0),
        _ => None,
    };
    assert_eq!(stage.effects.iter().filter_map(let_go).collect::<Vec<_>>(), [8]);
}
