//! Every message, in order per recipient: keys against sending twice, expiry, and the receipt for each.
//!
//! `Mailbox` moves messages from here into agents; other machines send through here.

use proto::agent::{Delivery, MailId};
use proto::event::Event;
use proto::{ErrorCode, Failure, ProcessId, Reply};

use super::delivery::Phase;
use super::expiry::{EXPIRES_MS, SYSTEM_EXPIRES_MS};
use super::{MailRecord, MailStage, MailedReview, Sender};
use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{RunKey, Ticket};
use crate::outbox::Signal;
use crate::record::Record;
use crate::undo::{UndoCell, UndoMap};

/// Finished messages that are kept, for receipts and for keys that come again.
const KEPT: usize = 2_000;
/// Most messages that may wait for one agent.
const MAX_WAITING: usize = 100;

/// A message that a person or a process sends.
#[derive(Clone, Debug)]
pub(crate) struct NewMessage {
    /// The process that sends it; none: a person.
    pub(crate) from: Option<ProcessId>,
    pub(crate) to: ProcessId,
    pub(crate) text: String,
    pub(crate) key: Option<String>,
    pub(crate) expires_ms: Option<u64>,
}

/// A caller that waits for the final state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiptWaiter {
    pub(crate) ticket: Ticket,
    pub(crate) mail: MailId,
    /// When it gets the receipt as it is then, on the uptime clock.
    pub(crate) until: u64,
}

/// Every message and the callers that wait for receipts.
#[derive(Clone, Debug, Default)]
pub(crate) struct MailQueue {
    /// Those of which something may still come, in the order they were sent.
    pub(crate) open: UndoMap<MailId, MailRecord>,
    /// The newest of the others.
    pub(crate) closed: UndoMap<MailId, MailRecord>,
    /// The callers that wait for a receipt.
    pub(crate) waiters: UndoCell<Vec<ReceiptWaiter>>,
}

impl MailQueue {
    /// The message with this number.
    pub(crate) fn get(&self, id: MailId) -> Option<&MailRecord> {
        self.open.get(&id).or_else(|| self.closed.get(&id))
    }

    /// The oldest message that waits for this target.
    pub(crate) fn first_to(&self, to: ProcessId) -> Option<&MailRecord> {
        self.open.values().find(|mail| mail.to == to)
    }

    /// How many wait for this target.
    pub(crate) fn waiting_for(&self, to: ProcessId) -> usize {
        self.open.values().filter(|mail| mail.to == to).count()
    }

    /// The message that was sent with this key before.
    pub(crate) fn keyed(&self, from: Option<ProcessId>, to: ProcessId, key: &str) -> Option<MailId> {
        let is_same = |mail: &&MailRecord| {
            let is_keyed = !mail.is_system() && mail.key.as_deref() == Some(key);
            is_keyed && mail.from == from && mail.to == to
        };
        let all = self.open.values().chain(self.closed.values());
        all.filter(is_same).map(|mail| mail.id).max()
    }

    /// The newest message of Quarterdeck itself to this run under this key, in whatever state.
    fn newest_system(&self, to: RunKey, key: &str) -> Option<MailId> {
        let all = self.open.values().chain(self.closed.values());
        all.filter(|mail| mail.is_system_to(to, key)).map(|mail| mail.id).max()
    }

    /// The message of Quarterdeck itself to this run under this key of which nothing has left the queue.
    fn queued_system(&self, to: RunKey, key: &str) -> Option<MailId> {
        let waits = |mail: &&MailRecord| mail.stage == MailStage::Queued && mail.is_system_to(to, key);
        self.open.values().find(waits).map(|mail| mail.id)
    }

    /// When something about a message is due, on the uptime clock.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.next_expiry().into_iter().chain(self.waiters.iter().map(|waiter| waiter.until)).min()
    }

    /// Sends a message of a person or a process.
    pub(crate) fn post(&mut self, message: NewMessage, ctx: &mut Context) -> Result<MailId, Failure> {
        let NewMessage { from, to, text, key, expires_ms } = message;
        if self.waiting_for(to) >= MAX_WAITING {
            let message = format!("{MAX_WAITING} messages wait for it already, which is the limit");
            return Err(Failure::new(ErrorCode::Limit, message));
        }
        let id = ctx.out.next_mail();
        let (expires_at, due) = self.expiry(expires_ms.unwrap_or(EXPIRES_MS), ctx);
        let record = MailRecord {
            id,
            to,
            from,
            from_name: from.and_then(|from| ctx.processes.name_of(from)),
            sender: from
                .map_or(Sender::Person, |from| Sender::Process(ctx.processes.sender_relation(from, to))),
            run: None,
            text,
            key,
            at: ctx.out.now.wall_ms,
            expires_at,
            due,
            delivery: Delivery::Queued { reason: "it waits its turn".to_owned() },
            stage: MailStage::Queued,
            review: None,
        };
        Ok(self.enqueue(record, ctx))
    }

    /// Notes of which comments a message consists that was just sent.
    pub(crate) fn note_review(&mut self, id: MailId, review: MailedReview, ctx: &mut Context) {
        let Some(mail) = self.open.get_mut(&id) else { return };
        mail.review = Some(review);
        ctx.out.push(Effect::Record(Record::PutMail(Box::new(mail.clone()))));
    }

    /// Puts a message into the queue and delivers it if the moment is right.
    pub(crate) fn enqueue(&mut self, record: MailRecord, ctx: &mut Context) -> MailId {
        let (id, to) = (record.id, record.to);
        ctx.out.push(Effect::Record(Record::PutMail(Box::new(record.clone()))));
        self.open.insert(id, record);
        self.recount(to, ctx);
        self.note_not_running(to, ctx);
        ctx.out.signal(Signal::Reevaluate(to));
        id
    }

    /// Gives the receipt of the first message the reason that its agent does not run.
    pub(crate) fn note_not_running(&mut self, to: ProcessId, ctx: &mut Context) {
        if ctx.processes.get(&to).is_some_and(|process| !process.is_live())
            && let Some(mail) = self.first_to(to).map(|mail| mail.id)
        {
            let reason = "the agent is not running".to_owned();
            self.set_delivery(mail, Delivery::Queued { reason }, MailStage::Queued, ctx);
        }
    }

    /// Sends a message of Quarterdeck itself to the agent of this run, and to no later run of it. It replaces the one
    /// that still waits under the same key.
    pub(crate) fn send_system(
        &mut self,
        to: RunKey,
        tag: &str,
        text: String,
        key: String,
        ctx: &mut Context,
    ) {
        match self.queued_system(to, &key).and_then(|queued| self.open.get_mut(&queued)) {
            Some(mail) if mail.text == text => {}
            Some(mail) => {
                mail.text = text;
                let record = mail.clone();
                ctx.out.push(Effect::Record(Record::PutMail(Box::new(record))));
            }
            None => self.enqueue_system(to, tag, text, key, ctx),
        }
    }

    /// Like [`MailQueue::send_system`], but never a second time under the same key, whatever became of the first.
    pub(crate) fn send_system_once(
        &mut self,
        to: RunKey,
        tag: &str,
        text: String,
        key: String,
        ctx: &mut Context,
    ) {
        if self.newest_system(to, &key).is_none() {
            self.enqueue_system(to, tag, text, key, ctx);
        }
    }

    pub(crate) fn enqueue_system(
        &mut self,
        to: RunKey,
        tag: &str,
        text: String,
        key: String,
        ctx: &mut Context,
    ) {
        let id = ctx.out.next_mail();
        let (expires_at, due) = self.expiry(SYSTEM_EXPIRES_MS, ctx);
        self.enqueue(
            MailRecord {
                id,
                to: to.process,
                from: None,
                from_name: None,
                sender: Sender::System { tag: tag.to_owned() },
                run: Some(to.run),
                text,
                key: Some(key),
                at: ctx.out.now.wall_ms,
                expires_at,
                due,
                delivery: Delivery::Queued { reason: "it waits its turn".to_owned() },
                stage: MailStage::Queued,
                review: None,
            },
            ctx,
        );
    }

    /// Takes back the message of Quarterdeck under this key if nothing of it has left the queue; returns its text.
    pub(crate) fn retract(
        &mut self,
        to: RunKey,
        key: &str,
        reason: &str,
        ctx: &mut Context,
    ) -> Option<String> {
        let id = self.queued_system(to, key)?;
        let text = self.open.get(&id).map(|mail| mail.text.clone());
        self.set_delivery(id, Delivery::Refused { reason: reason.to_owned() }, MailStage::Queued, ctx);
        text
    }

    /// Refuses the messages that were for this run alone: it is over.
    pub(crate) fn refuse_all_to_run(&mut self, run: RunKey, ctx: &mut Context) {
        let is_its = |mail: &&MailRecord| mail.to == run.process && mail.run.is_some_and(|of| of <= run.run);
        let ids: Vec<MailId> = self.open.values().filter(is_its).map(|mail| mail.id).collect();
        for id in ids {
            forget_delivery(run.process, id, ctx);
            let reason = "the run it was meant for is over".to_owned();
            self.set_delivery(id, Delivery::Refused { reason }, MailStage::Queued, ctx);
        }
    }

    /// Gives a message a new state: records it, announces its receipt and answers the callers that wait for it.
    pub(crate) fn set_delivery(
        &mut self,
        id: MailId,
        delivery: Delivery,
        stage: MailStage,
        ctx: &mut Context,
    ) {
        let Some(mail) = self.open.get_mut(&id) else { return };
        let is_news = std::mem::discriminant(&mail.delivery) != std::mem::discriminant(&delivery);
        let is_durable_news = is_news || mail.stage != stage;
        mail.delivery = delivery;
        mail.stage = stage;
        if !is_durable_news {
            return;
        }
        let (is_final, to) = (mail.delivery.is_final(), mail.to);
        let begins_turn = matches!(mail.delivery, Delivery::Submitted { .. } | Delivery::Delivered { .. });
        if is_final {
            mail.text = String::new();
        }
        let record = mail.clone();
        let receipt = record.receipt();
        ctx.out.push(Effect::Record(Record::PutMail(Box::new(record.clone()))));
        if is_news {
            ctx.out.announce(Event::Mail(receipt));
        }
        if is_final {
            self.open.remove(&id);
            self.closed.insert(id, record);
            self.prune(ctx);
            self.recount(to, ctx);
            self.answer_waiters(id, ctx);
            ctx.out.signal(Signal::MailClosed(id));
            if !begins_turn {
                // An agent whose instructions will never come rests after all.
                ctx.out.signal(Signal::MailOver(to));
            }
        }
    }

    /// Answers the callers that wait for this message with its receipt.
    pub(crate) fn answer_waiters(&mut self, id: MailId, ctx: &mut Context) {
        let Some(receipt) = self.get(id).map(MailRecord::receipt) else { return };
        let waiters = std::mem::take(&mut *self.waiters);
        let (asked, rest): (Vec<_>, Vec<_>) = waiters.into_iter().partition(|waiter| waiter.mail == id);
        *self.waiters = rest;
        for waiter in asked {
            ctx.out.reply(waiter.ticket, Ok(CommandAnswer::Reply(Reply::Receipt(receipt.clone()))));
        }
    }

    pub(crate) fn prune(&mut self, ctx: &mut Context) {
        while self.closed.len() > KEPT {
            let Some((id, _)) = self.closed.pop_first() else { return };
            ctx.out.push(Effect::Record(Record::RemoveMail(id)));
        }
    }

    /// Counts the waiting messages of an agent anew; the number is part of its view.
    pub(crate) fn recount(&self, to: ProcessId, ctx: &mut Context) {
        let waiting = u32::try_from(self.waiting_for(to)).unwrap_or(u32::MAX);
        if let Some(agent) = ctx.processes.agent_mut(to)
            && agent.mail != waiting
        {
            agent.mail = waiting;
            ctx.out.mark_visible(to);
        }
    }

    /// Lets messages expire and answers the callers whose time is up.
    pub(crate) fn pass_deadlines(&mut self, ctx: &mut Context) {
        let now = ctx.out.now;
        self.expire(ctx);
        let waiters = std::mem::take(&mut *self.waiters);
        let (due, rest): (Vec<_>, Vec<_>) =
            waiters.into_iter().partition(|waiter| waiter.until <= now.uptime_ms);
        *self.waiters = rest;
        for waiter in due {
            if let Some(receipt) = self.get(waiter.mail).map(MailRecord::receipt) {
                ctx.out.reply(waiter.ticket, Ok(CommandAnswer::Reply(Reply::Receipt(receipt))));
            }
        }
    }

    /// Refuses every message to an agent that is gone.
    pub(crate) fn refuse_all_to(&mut self, to: ProcessId, reason: &str, ctx: &mut Context) {
        let ids: Vec<MailId> = self.open.values().filter(|mail| mail.to == to).map(|mail| mail.id).collect();
        for id in ids {
            self.set_delivery(id, Delivery::Refused { reason: reason.to_owned() }, MailStage::Queued, ctx);
        }
    }

    /// Takes a message that an earlier daemon recorded.
    pub(crate) fn restore(&mut self, mut mail: MailRecord, ctx: &mut Context) {
        mail.due = mail.due.filter(|due| due.boot == ctx.config.boot);
        ctx.out.numbers.counters.next_mail =
            ctx.out.numbers.counters.next_mail.max(mail.id.0.saturating_add(1));
        if mail.delivery.is_final() {
            self.closed.insert(mail.id, mail);
            return;
        }
        let (id, to, stage) = (mail.id, mail.to, mail.stage);
        self.open.insert(id, mail);
        if let Some(agent) = ctx.processes.agent_mut(to) {
            agent.mail = agent.mail.saturating_add(1);
            if stage != MailStage::Queued {
                agent.live.progress.phase = Phase::Restored { mail: id, stage, until: None };
            }
        }
    }
}

impl MailRecord {
    pub(super) fn is_system(&self) -> bool {
        matches!(self.sender, Sender::System { .. })
    }

    fn is_system_to(&self, to: RunKey, key: &str) -> bool {
        let is_its = self.to == to.process && self.run == Some(to.run);
        is_its && self.is_system() && self.key.as_deref() == Some(key)
    }
}

/// Ends the delivery of a message that leaves the queue by itself.
pub(super) fn forget_delivery(to: ProcessId, mail: MailId, ctx: &mut Context) {
    if let Some(agent) = ctx.processes.agent_mut(to) {
        agent.live.progress.forget(mail);
    }
}
