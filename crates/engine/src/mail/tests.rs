//! Facts about the mail alone: the queue, the state of one delivery, and the steps between them.

use proto::agent::{Composer, Delivery, MailId, Source};
use proto::{AgentState, ErrorCode, Evidence, Reply};

use super::delivery::{DeliveryProgress, LEASE_MS, PastedText, Phase};
use super::{MailQueue, MailStage, Mailbox, NewMessage, ReceiptWaiter};
use crate::context::Context;
use crate::input::{JobId, RunKey, Ticket, TypingOutcome};
use crate::tests::machine::{add_agent, at, context, effects};
use crate::{CommandAnswer, Effect, Keystrokes, Record};

fn message(to: RunKey, text: &str, key: Option<&str>) -> NewMessage {
    let key = key.map(str::to_owned);
    NewMessage { from: None, to: to.process, text: text.to_owned(), key, expires_ms: None }
}

fn refused() -> Delivery {
    Delivery::Refused { reason: "a test refuses it".to_owned() }
}

fn put_records(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::Record(Record::PutMail(_)))).count()
}

#[test]
fn a_key_finds_the_message_that_the_same_sender_sent_to_the_same_agent() {
    let (mut queue, mut ctx) = (MailQueue::default(), context());
    let (a, b) = (add_agent(&mut ctx, "a"), add_agent(&mut ctx, "b"));
    let id = queue.post(message(a, "hello", Some("k")), &mut ctx).unwrap();
    assert_eq!(queue.keyed(None, a.process, "k"), Some(id));
    assert_eq!(queue.keyed(None, b.process, "k"), None);
    assert_eq!(queue.keyed(Some(b.process), a.process, "k"), None);
    queue.set_delivery(id, refused(), MailStage::Queued, &mut ctx);
    assert_eq!(queue.keyed(None, a.process, "k"), Some(id), "also when it is closed");
}

#[test]
fn a_hundred_messages_wait_for_an_agent_and_the_next_is_refused() {
    let (mut queue, mut ctx) = (MailQueue::default(), context());
    let a = add_agent(&mut ctx, "a");
    for _ in 0..100 {
        queue.post(message(a, "hello", None), &mut ctx).unwrap();
    }
    let failure = queue.post(message(a, "hello", None), &mut ctx).unwrap_err();
    assert_eq!(failure.code, ErrorCode::Limit);
    assert_eq!(ctx.processes.agent(a.process).unwrap().mail, 100);
}

#[test]
fn a_notice_replaces_the_one_that_still_waits_under_its_key() {
    let (mut queue, mut ctx) = (MailQueue::default(), context());
    let a = add_agent(&mut ctx, "a");
    queue.send_system(a, "system", "one".to_owned(), "k".to_owned(), &mut ctx);
    queue.send_system(a, "system", "two".to_owned(), "k".to_owned(), &mut ctx);
    assert_eq!(queue.waiting_for(a.process), 1);
    let first = queue.first_to(a.process).unwrap().clone();
    assert_eq!(first.text, "two");
    queue.set_delivery(first.id, Delivery::Delivering, MailStage::Pasted, &mut ctx);
    queue.send_system(a, "system", "three".to_owned(), "k".to_owned(), &mut ctx);
    assert_eq!(queue.waiting_for(a.process), 2, "what is being delivered is not changed");
    queue.send_system_once(a, "system", "four".to_owned(), "k".to_owned(), &mut ctx);
    assert_eq!(queue.waiting_for(a.process), 2, "once means once");
}

#[test]
fn a_final_state_answers_the_callers_that_wait_and_forgets_the_text() {
    let (mut queue, mut ctx) = (MailQueue::default(), context());
    let a = add_agent(&mut ctx, "a");
    let id = queue.post(message(a, "secret", None), &mut ctx).unwrap();
    queue.waiters.push(ReceiptWaiter { ticket: Ticket(7), mail: id, until: 9_000 });
    effects(&mut ctx);
    queue.set_delivery(id, Delivery::Delivering, MailStage::Pasted, &mut ctx);
    assert_eq!(queue.waiters.len(), 1);
    queue.set_delivery(id, Delivery::Submitted { turn: 3 }, MailStage::Pressed, &mut ctx);
    let effects = effects(&mut ctx);
    assert_eq!(put_records(&effects), 2);
    let receipt = effects.iter().find_map(|effect| match effect {
        Effect::Reply { ticket: Ticket(7), result } => Some(result.as_ref().clone().unwrap()),
        _ => None,
    });
    let Some(CommandAnswer::Reply(Reply::Receipt(receipt))) = receipt else { panic!("no receipt") };
    assert_eq!((receipt.mail, receipt.delivery), (id, Delivery::Submitted { turn: 3 }));
    assert!(queue.waiters.is_empty() && queue.open.is_empty());
    assert_eq!(queue.get(id).unwrap().text, "");
}

#[test]
fn a_message_expires_only_while_nothing_of_it_has_left_the_queue() {
    let (mut queue, mut ctx) = (MailQueue::default(), context());
    let a = add_agent(&mut ctx, "a");
    let short = |text: &str| NewMessage { expires_ms: Some(500), ..message(a, text, None) };
    let waits = queue.post(short("one"), &mut ctx).unwrap();
    let leaves = queue.post(short("two"), &mut ctx).unwrap();
    queue.set_delivery(leaves, Delivery::Delivering, MailStage::Pasted, &mut ctx);
    assert_eq!(queue.next_deadline(), Some(1_500));
    at(&mut ctx, 1_500);
    queue.pass_deadlines(&mut ctx);
    assert_eq!(queue.get(waits).unwrap().delivery, Delivery::Expired);
    assert_eq!(queue.get(leaves).unwrap().delivery, Delivery::Delivering);
    assert_eq!(queue.next_deadline(), None);
}

fn pasted(mail: MailId) -> PastedText {
    PastedText {
        mail,
        pasted_at: 1_000,
        presses: 0,
        was_seen: true,
        is_seen: true,
        is_touched: false,
        first_press: None,
        misses: 0,
    }
}

#[test]
fn a_person_who_types_takes_a_pasted_text_over_and_an_answer_to_a_dialog_does_not() {
    let phase = Phase::Pasted { pasted: pasted(MailId(1)) };
    let mut free = DeliveryProgress { phase: phase.clone(), ..DeliveryProgress::default() };
    assert!(free.is_taken_over(2_000));
    let mut blocked =
        DeliveryProgress { phase: phase.clone(), is_blocked: true, ..DeliveryProgress::default() };
    assert!(!blocked.is_taken_over(2_000));
    let mut closed = DeliveryProgress { phase, dialog_closed_at: Some(1_900), ..DeliveryProgress::default() };
    assert!(!closed.is_taken_over(2_000), "the last key of the answer");
    assert!(closed.is_taken_over(2_200));
    assert!(!DeliveryProgress::default().is_taken_over(2_000));
}

#[test]
fn enter_needs_quiet_since_the_paste_or_since_the_dialog_closed() {
    let progress = DeliveryProgress::default();
    assert_eq!(progress.quiet_for(1_000, 1_200), Ok(200 + LEASE_MS / 3));
    let closed = DeliveryProgress { dialog_closed_at: Some(2_000), ..DeliveryProgress::default() };
    assert_eq!(closed.quiet_for(1_000, 2_100), Err(2_400));
    assert_eq!(closed.quiet_for(1_000, 2_500), Ok(500));
}

/// An agent that rests with an empty composer.
fn resting(ctx: &mut Context) -> RunKey {
    let a = add_agent(ctx, "a");
    let now = ctx.out.now;
    let agent = ctx.processes.agent_mut(a.process).unwrap();
    agent.live.screen.composer = Composer::Empty;
    agent.live.screen.is_looked_at = true;
    agent.live.evidence.table.put(Evidence::new(Source::ProgramStatus, "r", Some(AgentState::Idle)), now);
    judge(ctx, a);
    a
}

fn judge(ctx: &mut Context, run: RunKey) {
    let now = ctx.out.now.uptime_ms;
    let evidence = &mut ctx.processes.agent_mut(run.process).unwrap().live.evidence;
    let judgement = crate::agent::state_from_evidence::weigh(&evidence.table, evidence.belief, false, now);
    evidence.belief = judgement.belief;
    evidence.judgement = Some(judgement);
}

fn ordered(ctx: &mut Context) -> (JobId, Keystrokes) {
    let effects = effects(ctx);
    let typing = effects.into_iter().find_map(|effect| match effect {
        Effect::Type { job, what, .. } => Some((job, what)),
        _ => None,
    });
    typing.expect("typing was ordered")
}

#[test]
fn a_message_goes_from_the_queue_through_paste_and_enter_to_a_turn() {
    let (mut mail, mut ctx) = (Mailbox::default(), context());
    let a = resting(&mut ctx);
    let id = mail.queue.post(message(a, "do it", None), &mut ctx).unwrap();
    mail.deliver(a.process, &mut ctx);
    let (job, what) = ordered(&mut ctx);
    assert_eq!(what, Keystrokes::Paste("do it".to_owned()));
    assert_eq!(mail.queue.get(id).unwrap().stage, MailStage::Pasted);
    assert!(!mail.typing_done(a.process, JobId(job.0 + 1), TypingOutcome::Done, &mut ctx), "another's");
    ctx.processes.agent_mut(a.process).unwrap().live.screen.composer = Composer::Draft;
    assert!(mail.typing_done(a.process, job, TypingOutcome::Done, &mut ctx));
    let (job, what) = ordered(&mut ctx);
    assert_eq!(what, Keystrokes::Keys(vec!["enter".to_owned()]));
    assert_eq!(mail.queue.get(id).unwrap().stage, MailStage::Pressed);
    assert!(mail.typing_done(a.process, job, TypingOutcome::Done, &mut ctx));
    assert!(mail.prompt_confirms(a.process, &mut ctx), "a hook reports the prompt");
    assert_eq!(mail.queue.get(id).unwrap().delivery, Delivery::Submitted { turn: 1 });
}

#[test]
fn a_dialog_sends_a_message_back_to_the_queue_before_its_paste() {
    let (mut mail, mut ctx) = (Mailbox::default(), context());
    let a = resting(&mut ctx);
    let id = mail.queue.post(message(a, "do it", None), &mut ctx).unwrap();
    mail.deliver(a.process, &mut ctx);
    let (job, _) = ordered(&mut ctx);
    mail.typing_done(a.process, job, TypingOutcome::Dialog, &mut ctx);
    let record = mail.queue.get(id).unwrap();
    assert_eq!(record.delivery, Delivery::Queued { reason: "a dialog is open".to_owned() });
    assert_eq!(record.stage, MailStage::Queued);
    assert_eq!(ctx.processes.agent(a.process).unwrap().live.progress.phase, Phase::None);
}
