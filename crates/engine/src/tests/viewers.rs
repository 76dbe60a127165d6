//! Whose size the terminal has.

use proto::request::{Attach, SizePolicy};
use proto::{Owner, Size};

use super::stage::{Stage, command, target};
use crate::{Command, Effect, Fact, RunKey, ViewerId};

const SMALL: Size = Size { cols: 60, rows: 20 };
const LARGE: Size = Size { cols: 200, rows: 50 };

fn join(stage: &mut Stage, run: RunKey, viewer: u64, size: Size, read_only: bool) {
    stage.fact(run, Fact::ViewerJoined { viewer: ViewerId(viewer), size, counts_for_size: !read_only });
}

fn types(stage: &mut Stage, run: RunKey, viewer: u64) {
    stage.fact(run, Fact::Typed { by: Owner::User, viewer: Some(ViewerId(viewer)) });
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
fn attaching_alone_never_resizes_typing_does() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 1, LARGE, false);
    join(&mut stage, run, 2, SMALL, false);
    assert!(resizes(&stage).is_empty());
    assert_eq!(stage.view(run.process).map(|view| view.viewers), Some(2));
    types(&mut stage, run, 1);
    types(&mut stage, run, 1);
    types(&mut stage, run, 2);
    assert_eq!(resizes(&stage), [LARGE, SMALL]);
}

#[test]
fn the_size_owners_own_resize_is_followed_the_others_not() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 1, LARGE, false);
    join(&mut stage, run, 2, SMALL, false);
    types(&mut stage, run, 1);
    let other = Size { cols: 99, rows: 33 };
    stage.fact(run, Fact::ViewerResized { viewer: ViewerId(2), size: other, owns: false });
    stage.fact(run, Fact::ViewerResized { viewer: ViewerId(1), size: other, owns: false });
    assert_eq!(resizes(&stage), [LARGE, other]);
    stage.fact(run, Fact::ViewerLeft { viewer: ViewerId(1) });
    assert_eq!(resizes(&stage).len(), 2);
}

#[test]
fn a_read_only_viewer_never_owns_the_size() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    join(&mut stage, run, 1, LARGE, true);
    types(&mut stage, run, 1);
    stage.fact(run, Fact::ViewerResized { viewer: ViewerId(1), size: SMALL, owns: true });
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
    stage.fact(run, Fact::ViewerResized { viewer: ViewerId(1), size: Size { cols: 9, rows: 9 }, owns: true });
    assert_eq!(resizes(&stage), [LARGE]);
}

#[test]
fn ownership_follows_the_writer() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    stage.fact(run, Fact::Typed { by: Owner::Orchestrator, viewer: None });
    assert_eq!(stage.view(run.process).map(|view| view.owner), Some(Owner::Orchestrator));
    types(&mut stage, run, 1);
    assert_eq!(stage.view(run.process).map(|view| view.owner), Some(Owner::User));
}

#[test]
fn n1_a_mirror_never_owns_the_size_and_options_that_contradict_each_other_are_refused() {
    let mut stage = Stage::new();
    let run = stage.spawn(command("a"));
    let (viewer, size) = (ViewerId(7), LARGE);
    stage.fact(run, Fact::ViewerJoined { viewer, size, counts_for_size: false });
    stage.fact(run, Fact::ViewerResized { viewer, size: SMALL, owns: true });
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
