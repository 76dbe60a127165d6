//! Facts about the process table alone: look-ups, sizes, budgets and the seen mark.

use proto::request::{See, SizePolicy, Target};
use proto::rights::Budget;
use proto::{ErrorCode, Kind, Limit, Size, Status, Stop};

use super::{StopSignal, Viewer};
use crate::Effect;
use crate::input::{Caller, RunKey, ViewerId};
use crate::rights::Relation;
use crate::tests::machine::{add, at, context, effects};

fn viewer(cols: u16, read_only: bool) -> Viewer {
    let size = Size { cols, rows: 24 };
    Viewer { size, read_only, mirrors: false, by: Caller::Person, label: None, pid: None, since: 0 }
}

fn target(text: &str) -> Target {
    Target(text.to_owned())
}

#[test]
fn a_name_finds_the_listed_process_and_an_id_any() {
    let mut ctx = context();
    let (a, b) = (add(&mut ctx, "a", Kind::Command, None), add(&mut ctx, "b", Kind::Terminal, None));
    assert_eq!(ctx.processes.resolve(&target("a"), &Limit::default()).unwrap().id, a.process);
    ctx.processes.get_mut(&b.process).unwrap().run.departs_at = Some(9_000);
    assert_eq!(
        ctx.processes.resolve(&target("b"), &Limit::default()).unwrap().id,
        b.process,
        "it is readable for a while"
    );
    assert!(!ctx.processes.is_taken(&"b".parse().unwrap()));
    assert_eq!(ctx.processes.resolve(&target("c"), &Limit::default()).unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(ctx.processes.default_name(Kind::Command).as_str(), "command-1");
}

#[test]
fn relations_follow_the_tree() {
    let mut ctx = context();
    let top = add(&mut ctx, "top", Kind::Agent, None);
    let left = add(&mut ctx, "left", Kind::Agent, Some(top));
    let right = add(&mut ctx, "right", Kind::Agent, Some(top));
    let leaf = add(&mut ctx, "leaf", Kind::Command, Some(left));
    let relation = |from: RunKey, to: RunKey| {
        ctx.processes.relation(Caller::Process(from), ctx.processes.get(&to.process).unwrap())
    };
    assert_eq!(relation(top, leaf), Relation::Descendant);
    assert_eq!(relation(left, top), Relation::Parent);
    assert_eq!(relation(left, right), Relation::Sibling);
    assert_eq!(relation(right, leaf), Relation::Neighbour);
    assert_eq!(relation(leaf, leaf), Relation::Own);
    assert_eq!(ctx.processes.descendants(top.process).len(), 3);
    assert_eq!(ctx.processes.depth(leaf.process), 3);
}

#[test]
fn the_terminal_has_the_size_of_the_viewer_that_typed_last() {
    let mut ctx = context();
    let a = add(&mut ctx, "a", Kind::Terminal, None);
    let cols = |ctx: &crate::context::Context| ctx.processes.get(&a.process).unwrap().size.cols;
    ctx.processes.viewer_joined(a, ViewerId(1), viewer(100, false), &mut ctx.out);
    ctx.processes.viewer_joined(a, ViewerId(2), viewer(50, false), &mut ctx.out);
    assert_eq!(cols(&ctx), 100, "one that joins others changes nothing");
    ctx.processes.viewer_typed(a, ViewerId(2), &mut ctx.out);
    assert_eq!(cols(&ctx), 50);
    assert!(effects(&mut ctx).iter().any(|effect| matches!(effect, Effect::Resize { .. })));
    ctx.processes.viewer_joined(a, ViewerId(3), viewer(20, true), &mut ctx.out);
    ctx.processes.get_mut(&a.process).unwrap().spec.policy = SizePolicy::Smallest;
    ctx.processes.viewer_left(a, ViewerId(2), &mut ctx.out);
    assert_eq!(cols(&ctx), 100, "one that only watches does not count");
}

#[test]
fn a_spawn_is_paid_by_everything_above_it() {
    let mut ctx = context();
    let top = add(&mut ctx, "top", Kind::Agent, None);
    let child = add(&mut ctx, "child", Kind::Agent, Some(top));
    ctx.processes.get_mut(&top.process).unwrap().spec.budget =
        Some(Budget { spawns: Some(2), live: None, depth: None, wall_ms: None });
    let check = |ctx: &crate::context::Context| {
        ctx.processes.check_budget(child.process, &ctx.config, &ctx.out).map_err(|failure| failure.code)
    };
    ctx.processes.spend_spawn(child.process, &mut ctx.out);
    assert_eq!(check(&ctx), Ok(()));
    ctx.processes.spend_spawn(child.process, &mut ctx.out);
    assert_eq!(check(&ctx), Err(ErrorCode::BudgetExceeded));
    assert_eq!(ctx.processes.get(&top.process).unwrap().usage.spawns, 2);
}

#[test]
fn an_end_is_unseen_until_a_person_has_seen_the_whole_log() {
    let mut ctx = context();
    let a = add(&mut ctx, "a", Kind::Command, None);
    let process = ctx.processes.get_mut(&a.process).unwrap();
    (process.run.status, process.run.log_end) = (Status::Exited, 10);
    let see = See { target: target("a"), turn: None, version: None };
    let is_unseen = |ctx: &crate::context::Context| ctx.processes.get(&a.process).unwrap().unseen().is_some();
    assert!(is_unseen(&ctx));
    ctx.processes.mark_seen(a.process, &see, Some(5), &mut ctx.out);
    assert!(is_unseen(&ctx), "that screen showed less");
    ctx.processes.mark_seen(a.process, &see, Some(10), &mut ctx.out);
    assert!(!is_unseen(&ctx));
}

#[test]
fn a_process_is_asked_to_end_by_its_kind_unless_the_caller_names_a_signal() {
    let mut ctx = context();
    let (command, terminal) =
        (add(&mut ctx, "c", Kind::Command, None), add(&mut ctx, "t", Kind::Terminal, None));
    let ask = |run: RunKey, stop: Stop| ctx.processes.stop_signal(run.process, stop, &ctx.config);
    assert_eq!(ask(command, Stop::default()), StopSignal { signal: 15, grace_ms: 5_000 });
    assert_eq!(ask(terminal, Stop::default()), StopSignal { signal: 1, grace_ms: 1_000 });
    let named = Stop { signal: Some(2), grace_ms: Some(7) };
    assert_eq!(ask(terminal, named), StopSignal { signal: 2, grace_ms: 7 });
}

#[test]
fn output_and_typing_put_the_idle_timeout_off() {
    let mut ctx = context();
    let a = add(&mut ctx, "a", Kind::Command, None);
    ctx.processes.get_mut(&a.process).unwrap().spec.idle_timeout_ms = Some(500);
    at(&mut ctx, 2_000);
    ctx.processes.output(a, 10, &ctx.out);
    assert_eq!(ctx.processes.get(&a.process).unwrap().next_deadline(), Some(2_500));
    ctx.processes.viewer_joined(a, ViewerId(1), viewer(80, false), &mut ctx.out);
    assert_eq!(ctx.processes.get(&a.process).unwrap().next_deadline(), None, "a viewer is attached");
}
