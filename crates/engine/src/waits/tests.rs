//! Facts about the waits alone.

use std::collections::BTreeMap;

use proto::request::{Empty, Quantifier, Until};
use proto::{ErrorCode, Exit, ExitReason, Failure, Kind, Reply, Status};

use super::{OpenWait, Waits};
use crate::context::Context;
use crate::inbox::Inbox;
use crate::input::{RunKey, Ticket};
use crate::mail::MailQueue;
use crate::tests::machine::{add, add_agent, at, context, effects};
use crate::timers::Timers;
use crate::{CommandAnswer, Effect};

fn wait(ticket: u64, targets: &[RunKey], until: Until, quantifier: Quantifier) -> OpenWait {
    OpenWait {
        ticket: Ticket(ticket),
        waiter: None,
        targets: targets.to_vec(),
        satisfied: BTreeMap::new(),
        until,
        quantifier,
        deadline: None,
        since: 1_000,
        log_since: None,
    }
}

fn begin(waits: &mut Waits, wait: OpenWait, ctx: &mut Context) {
    let (inbox, mut queue, timers) = (Inbox::default(), MailQueue::default(), Timers::default());
    waits.begin(wait, &inbox, &mut queue, &timers, ctx);
}

fn end(run: RunKey, ctx: &mut Context) {
    let process = ctx.processes.get_mut(&run.process).unwrap();
    process.run.status = Status::Exited;
    process.run.exit = Some(Exit { code: Some(0), signal: None, reason: ExitReason::Exited });
}

/// The answers so far: each ticket with the number of processes that satisfied it.
fn answers(ctx: &mut Context) -> Vec<(u64, Result<usize, ErrorCode>)> {
    let answer = |result: Result<CommandAnswer, Failure>| match result {
        Ok(CommandAnswer::Reply(Reply::Waited(waited))) => Ok(waited.satisfied.len()),
        Ok(other) => panic!("{other:?}"),
        Err(failure) => Err(failure.code),
    };
    let replies = effects(ctx).into_iter().filter_map(|effect| match effect {
        Effect::Reply { ticket, result } => Some((ticket.0, answer(*result))),
        _ => None,
    });
    replies.collect()
}

#[test]
fn any_is_answered_by_the_first_exit_and_all_by_the_last() {
    let (mut waits, mut ctx, inbox) = (Waits::default(), context(), Inbox::default());
    let (a, b) = (add(&mut ctx, "a", Kind::Command, None), add(&mut ctx, "b", Kind::Command, None));
    begin(&mut waits, wait(1, &[a, b], Until::Exit(Empty {}), Quantifier::Any), &mut ctx);
    begin(&mut waits, wait(2, &[a, b], Until::Exit(Empty {}), Quantifier::All), &mut ctx);
    assert_eq!(answers(&mut ctx), []);
    end(a, &mut ctx);
    waits.see_exit(a, &inbox, &mut ctx);
    assert_eq!(answers(&mut ctx), [(1, Ok(1))]);
    end(b, &mut ctx);
    waits.see_exit(b, &inbox, &mut ctx);
    assert_eq!(answers(&mut ctx), [(2, Ok(2))]);
    assert!(waits.open.is_empty());
}

#[test]
fn a_run_that_is_over_already_answers_at_once() {
    let (mut waits, mut ctx) = (Waits::default(), context());
    let a = add(&mut ctx, "a", Kind::Command, None);
    end(a, &mut ctx);
    begin(&mut waits, wait(1, &[a], Until::Exit(Empty {}), Quantifier::Any), &mut ctx);
    assert_eq!(answers(&mut ctx), [(1, Ok(1))]);
}

#[test]
fn silence_counts_from_the_last_output_and_a_deadline_is_a_timeout() {
    let (mut waits, mut ctx, inbox) = (Waits::default(), context(), Inbox::default());
    let a = add(&mut ctx, "a", Kind::Command, None);
    begin(&mut waits, wait(1, &[a], Until::Silence(500), Quantifier::Any), &mut ctx);
    let limited = OpenWait { deadline: Some(1_600), ..wait(2, &[a], Until::Exit(Empty {}), Quantifier::Any) };
    begin(&mut waits, limited, &mut ctx);
    at(&mut ctx, 1_400);
    ctx.processes.output(a, 10, &ctx.out);
    at(&mut ctx, 1_600);
    waits.pass_wait_deadlines(&inbox, &mut ctx);
    assert_eq!(answers(&mut ctx), [(2, Err(ErrorCode::Timeout))]);
    at(&mut ctx, 1_900);
    waits.pass_wait_deadlines(&inbox, &mut ctx);
    assert_eq!(answers(&mut ctx), [(1, Ok(1))]);
}

#[test]
fn a_pattern_is_watched_until_its_wait_is_forgotten() {
    let (mut waits, mut ctx) = (Waits::default(), context());
    let a = add(&mut ctx, "a", Kind::Command, None);
    begin(&mut waits, wait(1, &[a], Until::Pattern("x".to_owned()), Quantifier::Any), &mut ctx);
    assert!(effects(&mut ctx).iter().any(|effect| matches!(effect, Effect::Watch { .. })));
    waits.forget_waits_of(Ticket(1), &mut ctx);
    let effects = effects(&mut ctx);
    assert!(matches!(effects.as_slice(), [Effect::Unwatch { .. }]), "{effects:?}");
}

#[test]
fn a_wait_that_would_close_a_circle_is_refused_by_name() {
    let (mut waits, mut ctx, timers) = (Waits::default(), context(), Timers::default());
    let (a, b) = (add_agent(&mut ctx, "a"), add_agent(&mut ctx, "b"));
    let of_a = OpenWait { waiter: Some(a), ..wait(1, &[b], Until::Silence(60_000), Quantifier::Any) };
    begin(&mut waits, of_a, &mut ctx);
    let failure = waits.check_circle(b.process, &[a.process], &timers, &ctx).unwrap_err();
    assert_eq!(failure.code, ErrorCode::Conflict);
    assert!(failure.message.contains("b waits for a waits for b"), "{}", failure.message);
    assert!(waits.check_circle(a.process, &[b.process], &timers, &ctx).is_ok(), "the same edge again");
}
