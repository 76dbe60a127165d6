//! Facts about what people trust, without an engine.

use proto::{ErrorCode, Failure};

use super::TrustStore;
use crate::context::Context;
use crate::inbox::Inbox;
use crate::input::{Rule, RunKey, TrustSubject};
use crate::outbox::Signal;
use crate::tests::machine::{add_agent, context};

fn subject(digest: &str) -> TrustSubject {
    TrustSubject { digest: digest.to_owned(), command: "\"run\"".to_owned(), ..TrustSubject::default() }
}

fn item_of(failure: &Failure) -> u64 {
    assert_eq!(failure.code, ErrorCode::NeedsTrust);
    failure.item.expect("the failure names its item")
}

fn ask(trust: &mut TrustStore, asker: RunKey, inbox: &mut Inbox, ctx: &mut Context) -> Result<bool, Failure> {
    trust.ask_approval(asker, &subject("d"), inbox, ctx).map(|approval| approval.once)
}

#[test]
fn an_answer_for_once_is_used_up_by_one_start() {
    let (mut trust, mut inbox, mut ctx) = (TrustStore::default(), Inbox::default(), context());
    let a = add_agent(&mut ctx, "a");
    let item = item_of(&ask(&mut trust, a, &mut inbox, &mut ctx).unwrap_err());
    assert_eq!(
        item_of(&ask(&mut trust, a, &mut inbox, &mut ctx).unwrap_err()),
        item,
        "one item per question"
    );
    trust.answer(item, "allow_once", &mut inbox, &mut ctx);
    assert!(inbox.items.is_empty());
    assert_eq!(ask(&mut trust, a, &mut inbox, &mut ctx), Ok(true));
    assert!(ask(&mut trust, a, &mut inbox, &mut ctx).is_err());
}

#[test]
fn always_answers_every_run_that_asked_for_the_same() {
    let (mut trust, mut inbox, mut ctx) = (TrustStore::default(), Inbox::default(), context());
    let (a, b) = (add_agent(&mut ctx, "a"), add_agent(&mut ctx, "b"));
    let item = item_of(&ask(&mut trust, a, &mut inbox, &mut ctx).unwrap_err());
    ask(&mut trust, b, &mut inbox, &mut ctx).unwrap_err();
    trust.answer(item, "always", &mut inbox, &mut ctx);
    let signals: Vec<Signal> = std::iter::from_fn(|| ctx.out.next_signal()).collect();
    let answered = signals.iter().filter(|signal| matches!(signal, Signal::Answered(_))).count();
    assert_eq!((answered, inbox.items.len()), (2, 0));
    let first = |wanted: fn(&Signal) -> bool| signals.iter().position(wanted);
    let closed = first(|signal| matches!(signal, Signal::ItemClosed(_)));
    assert!(first(|signal| matches!(signal, Signal::Answered(_))) < closed, "a wait is answered, not failed");
    assert_eq!(ask(&mut trust, b, &mut inbox, &mut ctx), Ok(false));
    trust.drop_trust("d", &mut ctx);
    assert!(ask(&mut trust, b, &mut inbox, &mut ctx).is_err());
}

#[test]
fn a_refusal_holds_for_the_run_that_got_it() {
    let (mut trust, mut inbox, mut ctx) = (TrustStore::default(), Inbox::default(), context());
    let (a, b) = (add_agent(&mut ctx, "a"), add_agent(&mut ctx, "b"));
    let item = item_of(&ask(&mut trust, a, &mut inbox, &mut ctx).unwrap_err());
    trust.answer(item, "deny", &mut inbox, &mut ctx);
    assert_eq!(ask(&mut trust, a, &mut inbox, &mut ctx).unwrap_err().code, ErrorCode::Denied);
    item_of(&ask(&mut trust, b, &mut inbox, &mut ctx).unwrap_err());
    trust.see_end(a, &mut inbox, &mut ctx);
    item_of(&ask(&mut trust, a, &mut inbox, &mut ctx).unwrap_err());
}

#[test]
fn a_rule_of_the_project_denies_without_asking() {
    let (mut trust, mut inbox, mut ctx) = (TrustStore::default(), Inbox::default(), context());
    let a = add_agent(&mut ctx, "a");
    let denied = TrustSubject { rule: Rule::Deny, ..subject("d") };
    let failure = trust.ask_approval(a, &denied, &mut inbox, &mut ctx).unwrap_err();
    assert_eq!((failure.code, inbox.items.len()), (ErrorCode::Denied, 0));
}
