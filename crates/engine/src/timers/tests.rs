//! Facts about the timers alone.

use proto::Kind;
use proto::timers::{TimerKind, TimerStatus};

use super::{TimerRecord, Timers, Watched};
use crate::context::Context;
use crate::input::RunKey;
use crate::mail::MailQueue;
use crate::outbox::Signal;
use crate::tests::machine::{add, add_agent, at, context};
use crate::waits::Waits;

fn timer(owner: RunKey, kind: TimerKind, watches: Vec<Watched>, due_ms: u64) -> TimerRecord {
    TimerRecord {
        timer: 1,
        owner: owner.process,
        run: owner.run,
        owner_name: "a".parse().unwrap(),
        kind,
        status: TimerStatus::Armed,
        label: "tea".to_owned(),
        body: "it is time".to_owned(),
        key: None,
        watches,
        due_ms,
        outcome: None,
        report: Vec::new(),
    }
}

fn with(timer: TimerRecord) -> Timers {
    let mut timers = Timers::default();
    timers.open.insert(timer.timer, timer);
    timers
}

fn pass(timers: &mut Timers, queue: &mut MailQueue, ctx: &mut Context) {
    timers.pass_timer_deadlines(queue, &Waits::default(), ctx);
}

#[test]
fn a_delay_fires_once_when_its_time_has_come() {
    let (mut ctx, mut queue) = (context(), MailQueue::default());
    let a = add_agent(&mut ctx, "a");
    let mut timers = with(timer(a, TimerKind::Delay, Vec::new(), 1_500));
    assert_eq!(timers.timer_deadline(&ctx), Some(1_500));
    pass(&mut timers, &mut queue, &mut ctx);
    assert_eq!(queue.waiting_for(a.process), 0);
    at(&mut ctx, 1_500);
    pass(&mut timers, &mut queue, &mut ctx);
    pass(&mut timers, &mut queue, &mut ctx);
    assert_eq!(queue.waiting_for(a.process), 1);
    assert_eq!(queue.first_to(a.process).unwrap().text, "it is time");
    assert_eq!(timers.get(1).unwrap().status, TimerStatus::Fired);
    let signals: Vec<Signal> = std::iter::from_fn(|| ctx.out.next_signal()).collect();
    assert!(signals.iter().any(|signal| matches!(signal, Signal::TimerOver { timer: 1, .. })));
}

#[test]
fn a_paused_timer_keeps_the_rest_of_its_time() {
    let (mut ctx, mut queue) = (context(), MailQueue::default());
    let a = add_agent(&mut ctx, "a");
    let mut timers = with(timer(a, TimerKind::Delay, Vec::new(), 1_500));
    timers.pause_timer(1, &mut ctx);
    assert_eq!(timers.get(1).unwrap().due_ms, 500);
    at(&mut ctx, 9_000);
    pass(&mut timers, &mut queue, &mut ctx);
    assert_eq!(timers.get(1).unwrap().status, TimerStatus::Paused);
    assert_eq!(timers.timer_deadline(&ctx), None);
}

#[test]
fn a_watched_process_that_falls_silent_fires_an_idle_timer() {
    let (mut ctx, mut queue) = (context(), MailQueue::default());
    let a = add_agent(&mut ctx, "a");
    let b = add(&mut ctx, "b", Kind::Command, None);
    ctx.processes.output(b, 10, &ctx.out);
    let watched = Watched::new(ctx.processes.get(&b.process).unwrap(), 1_000);
    let mut timers = with(timer(a, TimerKind::IdleAny, vec![watched], 60_000));
    pass(&mut timers, &mut queue, &mut ctx);
    assert_eq!(timers.timer_deadline(&ctx), Some(4_000), "three seconds after the last output");
    at(&mut ctx, 4_000);
    pass(&mut timers, &mut queue, &mut ctx);
    assert_eq!(timers.get(1).unwrap().outcome.as_deref(), Some("b came to rest"));
    assert_eq!(queue.first_to(a.process).unwrap().text, "it is time\nb: quiet");
}

#[test]
fn a_timer_ends_with_the_run_that_owns_it() {
    let (mut ctx, mut queue) = (context(), MailQueue::default());
    let a = add_agent(&mut ctx, "a");
    let mut timers = with(timer(a, TimerKind::Delay, Vec::new(), 1_500));
    ctx.processes.get_mut(&a.process).unwrap().run.status = proto::Status::Exited;
    pass(&mut timers, &mut queue, &mut ctx);
    assert_eq!(timers.get(1).unwrap().status, TimerStatus::Cancelled);
    assert_eq!(queue.waiting_for(a.process), 0);
}
