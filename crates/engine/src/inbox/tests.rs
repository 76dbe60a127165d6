//! Facts about the inbox alone.

use proto::agent::{ItemKind, Source};
use proto::request::{OnTimeout, PermissionWait};
use proto::{AgentState, Evidence};

use super::failures::FailureCause;
use super::{Inbox, ItemSubject, ItemText, NewItem, option};
use crate::context::Context;
use crate::input::{HookDecision, RunKey, Ticket};
use crate::outbox::Signal;
use crate::tests::machine::{add_agent, at, context, effects};
use crate::{CommandAnswer, Effect};

fn question(run: RunKey) -> NewItem {
    let text = ItemText { title: "which one?".to_owned(), body: String::new() };
    NewItem { kind: ItemKind::Question, text, options: Vec::new(), about: ItemSubject::Question(run) }
}

fn signals(ctx: &mut Context) -> Vec<Signal> {
    std::iter::from_fn(|| ctx.out.next_signal()).collect()
}

fn decision(ctx: &mut Context, wanted: Ticket) -> Option<HookDecision> {
    effects(ctx).into_iter().find_map(|effect| match effect {
        Effect::Reply { ticket, result } if ticket == wanted => match *result {
            Ok(CommandAnswer::Hook(decision)) => Some(decision),
            other => panic!("{other:?}"),
        },
        _ => None,
    })
}

#[test]
fn an_answer_is_reported_before_its_item_is_closed() {
    let (mut inbox, mut ctx) = (Inbox::default(), context());
    let a = add_agent(&mut ctx, "a");
    let item = inbox.open_item(a.process, question(a), &mut ctx);
    assert!(matches!(signals(&mut ctx).as_slice(), [Signal::ItemOpened(_)]));
    inbox.answer_question(item, a, "the left one", &mut ctx);
    let signals = signals(&mut ctx);
    let [Signal::Answered(answered), Signal::ItemClosed(_)] = signals.as_slice() else {
        panic!("{signals:?}")
    };
    assert_eq!((answered.item, answered.answer.as_str()), (item, "the left one"));
    assert!(answered.message.as_ref().is_some_and(|(text, _)| text.ends_with("the left one")));
    assert!(inbox.items.is_empty());
}

#[test]
fn a_new_failure_of_an_agent_replaces_the_old_one() {
    let (mut inbox, mut ctx) = (Inbox::default(), context());
    let a = add_agent(&mut ctx, "a");
    inbox.fail_agent(a.process, FailureCause::TurnFailed, "one", &mut ctx);
    inbox.fail_agent(a.process, FailureCause::TurnFailed, "two", &mut ctx);
    let bodies: Vec<&str> = inbox.items.values().map(|item| item.view.body.as_str()).collect();
    assert_eq!(bodies, ["two"]);
    inbox.close_items_of(a.process, &mut ctx);
    assert_eq!(inbox.items.len(), 1, "a failure stays when the run ends");
    inbox.clear_failure(a.process, &mut ctx);
    assert!(inbox.items.is_empty());
    assert!(ctx.processes.agent(a.process).unwrap().record.failure.is_none());
}

#[test]
fn a_request_for_permission_is_decided_by_time_when_no_person_answers() {
    let (mut inbox, mut ctx) = (Inbox::default(), context());
    let a = add_agent(&mut ctx, "a");
    assert!(!inbox.hold_permission(a.process, Ticket(1), "run".to_owned(), "ls".to_owned(), &mut ctx));
    let wait = PermissionWait { timeout_ms: 500, on_timeout: OnTimeout::Allow };
    ctx.processes.agent_mut(a.process).unwrap().record.permissions = Some(wait);
    assert!(inbox.hold_permission(a.process, Ticket(2), "run".to_owned(), "ls".to_owned(), &mut ctx));
    assert_eq!(inbox.inbox_deadline(), Some(1_500));
    assert_eq!(ctx.processes.agent(a.process).unwrap().live.dialogs.permissions, 1);
    at(&mut ctx, 1_500);
    inbox.pass_inbox_deadlines(&mut ctx);
    assert_eq!(decision(&mut ctx, Ticket(2)), Some(HookDecision::Allow));
    assert_eq!(ctx.processes.agent(a.process).unwrap().live.dialogs.permissions, 0);
}

#[test]
fn what_blocks_an_agent_is_one_item_until_it_is_gone() {
    let (mut inbox, mut ctx) = (Inbox::default(), context());
    let a = add_agent(&mut ctx, "a");
    let blocked = Evidence {
        message: "it asks".to_owned(),
        ..Evidence::new(Source::ProgramStatus, "rule", Some(AgentState::Blocked))
    };
    for _ in 0..2 {
        let agent = ctx.processes.agent_mut(a.process).unwrap();
        agent.take_evidence(blocked.clone(), &mut ctx.out);
        agent.judge(&mut ctx.out);
        inbox.sync_inbox(a.process, &mut ctx);
        assert_eq!(inbox.items.len(), 1);
    }
    let agent = ctx.processes.agent_mut(a.process).unwrap();
    let idle = Evidence::new(Source::ProgramStatus, "rule", Some(AgentState::Idle));
    agent.take_evidence(idle, &mut ctx.out);
    agent.judge(&mut ctx.out);
    inbox.sync_inbox(a.process, &mut ctx);
    assert!(inbox.items.is_empty());
}

#[test]
fn options_have_a_number_and_a_name() {
    assert_eq!(option(2, "deny", "Deny").names, ["2", "deny"]);
}
