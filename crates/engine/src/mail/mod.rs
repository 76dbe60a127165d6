//! Messages to agents: one durable queue, in order per target, each with a receipt.
//!
//! Owns ids, keys, in whose voice a message speaks and who is told what became of it. Refuses delivering:
//! `delivery` finds the moment.

mod confirm;
mod deliver;
pub(crate) mod delivery;
mod expiry;
pub(crate) mod format;

pub use expiry::Due;
use proto::agent::{Delivery, MailId, Receipt};
use proto::event::Event;
use proto::{Name, ProcessId, Reply, RunNumber};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{RunKey, Ticket};
use crate::outbox::Signal;
use crate::record::Record;
use crate::undo::UndoMap;

/// Finished messages kept for whoever asks for their receipt or sends the same key again.
const KEPT: usize = 2_000;
/// How long what Quarterdeck itself says waits to be delivered: a week, the longest time of a timer.
const SYSTEM_EXPIRES_MS: u64 = 7 * 24 * 3600 * 1000;

/// How far a delivery had come when it was last written down: what a later daemon may still do about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailStage {
    /// Nothing of it has left the queue.
    #[default]
    Queued,
    /// Its text may be in the composer.
    Pasted,
    /// Enter may have been pressed.
    Pressed,
    /// The vendor's own channel may have it.
    Handed,
}

/// Who speaks in a message, which decides its head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// A person: what they wrote is typed as it is. Also the voice of documents that are older than voices; those
    /// that name a sender are a peer's.
    #[default]
    Human,
    /// A process.
    Process(SenderRelation),
    /// Quarterdeck itself.
    System {
        /// What stands in the head: `system`, or `timer:` and a label.
        tag: String,
    },
}

/// What the sender is to the receiver. It is settled when the message is sent: the sender may be gone when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderRelation {
    /// Above it.
    Orchestrator,
    /// Below it.
    SubAgent,
    /// Beside it.
    Peer,
}

/// One message, as it is made durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailRecord {
    /// Its number.
    pub id: MailId,
    /// To whom.
    pub to: ProcessId,
    /// The process that sent it; none: a person.
    #[serde(default)]
    pub from: Option<ProcessId>,
    /// What that process was called then.
    #[serde(default)]
    pub from_name: Option<Name>,
    /// In whose voice it speaks.
    #[serde(default)]
    pub voice: Sender,
    /// The only run it may reach; none: any run of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// What it says; empty once nothing more will come of it.
    #[serde(default)]
    pub text: String,
    /// The sender's own mark against sending it twice.
    #[serde(default)]
    pub key: Option<String>,
    /// When it was sent, wall time.
    #[serde(default)]
    pub at: u64,
    /// When it is given up, wall time.
    #[serde(default)]
    pub expires_at: u64,
    /// When it is given up on the clock that counts; none: it was sent in an earlier boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Due>,
    /// What became of it.
    pub delivery: Delivery,
    /// How far it had come.
    #[serde(default)]
    pub stage: MailStage,
}

impl MailRecord {
    /// What is told of it.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        Receipt { mail: self.id, to: self.to, delivery: self.delivery.clone() }
    }
}

/// All messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mailbox {
    /// Those of which something may still come, in the order they were sent.
    pub(crate) open: UndoMap<MailId, MailRecord>,
    /// The newest of the others.
    pub(crate) closed: UndoMap<MailId, MailRecord>,
    /// Who waits for what becomes of one, and until when.
    pub(crate) tickets: Vec<(Ticket, MailId, u64)>,
}

impl Mailbox {
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
            let is_told = !mail.is_system() && mail.key.as_deref() == Some(key);
            is_told && mail.from == from && mail.to == to
        };
        let all = self.open.values().chain(self.closed.values());
        all.filter(is_same).map(|mail| mail.id).max()
    }

    /// What Quarterdeck itself said to this run under this key, whatever became of it.
    fn said(&self, to: RunKey, key: &str) -> Option<MailId> {
        let all = self.open.values().chain(self.closed.values());
        all.filter(|mail| mail.is_said(to, key)).map(|mail| mail.id).max()
    }

    /// What Quarterdeck itself said to this run under this key and of which nothing has left the queue.
    fn still_said(&self, to: RunKey, key: &str) -> Option<MailId> {
        let waits = |mail: &&MailRecord| mail.stage == MailStage::Queued && mail.is_said(to, key);
        self.open.values().find(waits).map(|mail| mail.id)
    }

    /// When something about a message is due, on the uptime clock.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        self.next_expiry().into_iter().chain(self.tickets.iter().map(|(_, _, until)| *until)).min()
    }
}

impl MailRecord {
    fn is_system(&self) -> bool {
        matches!(self.voice, Sender::System { .. })
    }

    fn is_said(&self, to: RunKey, key: &str) -> bool {
        let is_its = self.to == to.process && self.run == Some(to.run);
        is_its && self.is_system() && self.key.as_deref() == Some(key)
    }
}

impl Mailbox {
    /// Puts a message into the queue and delivers it if the moment is right.
    pub(crate) fn enqueue(&mut self, record: MailRecord, ctx: &mut Context) -> MailId {
        let (id, to) = (record.id, record.to);
        ctx.out.push(Effect::Record(Record::PutMail(Box::new(record.clone()))));
        self.open.insert(id, record);
        self.recount_mail(to, ctx);
        self.wait_for_life(to, ctx);
        ctx.out.signal(Signal::Reevaluate(to));
        id
    }

    /// Says why nothing happens to a message for an agent that does not run.
    pub(crate) fn wait_for_life(&mut self, to: ProcessId, ctx: &mut Context) {
        if ctx.processes.get(&to).is_some_and(|process| !process.is_live())
            && let Some(mail) = self.first_to(to).map(|mail| mail.id)
        {
            let reason = "the agent is not running".to_owned();
            self.set_delivery(mail, Delivery::Queued { reason }, MailStage::Queued, ctx);
        }
    }

    /// Quarterdeck itself says something to the agent of this run, and to no later run of it. What still waits under
    /// the same key is replaced by it.
    pub(crate) fn send_system(
        &mut self,
        to: RunKey,
        tag: &str,
        text: String,
        key: String,
        ctx: &mut Context,
    ) {
        match self.still_said(to, &key).and_then(|said| self.open.get_mut(&said)) {
            Some(mail) if mail.text == text => {}
            Some(mail) => {
                mail.text = text;
                let record = mail.clone();
                ctx.out.push(Effect::Record(Record::PutMail(Box::new(record))));
            }
            None => self.say_more(to, tag, text, key, ctx),
        }
    }

    /// Like [`Mailbox::send_system`], but never a second time under the same key, whatever became of the first.
    pub(crate) fn say_once(&mut self, to: RunKey, tag: &str, text: String, key: String, ctx: &mut Context) {
        if self.said(to, &key).is_none() {
            self.say_more(to, tag, text, key, ctx);
        }
    }

    pub(crate) fn say_more(&mut self, to: RunKey, tag: &str, text: String, key: String, ctx: &mut Context) {
        let id = ctx.out.next_mail();
        let (expires_at, due) = self.expiry(SYSTEM_EXPIRES_MS, ctx);
        self.enqueue(
            MailRecord {
                id,
                to: to.process,
                from: None,
                from_name: None,
                voice: Sender::System { tag: tag.to_owned() },
                run: Some(to.run),
                text,
                key: Some(key),
                at: ctx.out.now.wall_ms,
                expires_at,
                due,
                delivery: Delivery::Queued { reason: "it waits its turn".to_owned() },
                stage: MailStage::Queued,
            },
            ctx,
        );
    }

    /// Takes back what was said under this key, if nothing of it has left the queue; its text.
    pub(crate) fn retract(
        &mut self,
        to: RunKey,
        key: &str,
        reason: &str,
        ctx: &mut Context,
    ) -> Option<String> {
        let id = self.still_said(to, key)?;
        let text = self.open.get(&id).map(|mail| mail.text.clone());
        self.set_delivery(id, Delivery::Refused { reason: reason.to_owned() }, MailStage::Queued, ctx);
        text
    }

    /// A run is over: what was meant for it alone reaches no later one.
    pub(crate) fn refuse_mail_to_run(&mut self, run: RunKey, ctx: &mut Context) {
        let is_its = |mail: &&MailRecord| mail.to == run.process && mail.run.is_some_and(|of| of <= run.run);
        let ids: Vec<MailId> = self.open.values().filter(is_its).map(|mail| mail.id).collect();
        for id in ids {
            self.forget_progress_of(run.process, id, ctx);
            let reason = "the run it was meant for is over".to_owned();
            self.set_delivery(id, Delivery::Refused { reason }, MailStage::Queued, ctx);
        }
    }

    /// Writes down what became of a message and tells whoever waits for it.
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
            self.prune_mail(ctx);
            self.recount_mail(to, ctx);
            self.answer_mail(id, ctx);
            if !begins_turn {
                // An agent whose instructions will never come rests after all.
                ctx.out.signal(Signal::MailOver(to));
            }
        }
    }

    /// Tells everybody who waits for this message what became of it.
    pub(crate) fn answer_mail(&mut self, id: MailId, ctx: &mut Context) {
        let Some(receipt) = self.get(id).map(MailRecord::receipt) else { return };
        let tickets = std::mem::take(&mut self.tickets);
        let (asked, rest): (Vec<_>, Vec<_>) = tickets.into_iter().partition(|(_, mail, _)| *mail == id);
        self.tickets = rest;
        for (ticket, _, _) in asked {
            ctx.out.reply(ticket, Ok(CommandAnswer::Reply(Reply::Receipt(receipt.clone()))));
        }
    }

    pub(crate) fn prune_mail(&mut self, ctx: &mut Context) {
        while self.closed.len() > KEPT {
            let Some((id, _)) = self.closed.pop_first() else { return };
            ctx.out.push(Effect::Record(Record::RemoveMail(id)));
        }
    }

    /// How many messages wait is part of what is shown of an agent.
    pub(crate) fn recount_mail(&self, to: ProcessId, ctx: &mut Context) {
        let waiting = u32::try_from(self.waiting_for(to)).unwrap_or(u32::MAX);
        if let Some(agent) = ctx.processes.agent_mut(to)
            && agent.mail != waiting
        {
            agent.mail = waiting;
            ctx.out.mark_visible(to);
        }
    }

    /// Messages that waited too long, and callers that waited long enough.
    pub(crate) fn pass_mail_deadlines(&mut self, ctx: &mut Context) {
        let now = ctx.out.now;
        self.expire_mail(ctx);
        let is_due = |until: &u64| *until <= now.uptime_ms;
        let tickets = std::mem::take(&mut self.tickets);
        let (due, rest): (Vec<_>, Vec<_>) = tickets.into_iter().partition(|(_, _, until)| is_due(until));
        self.tickets = rest;
        for (ticket, id, _) in due {
            if let Some(receipt) = self.get(id).map(MailRecord::receipt) {
                ctx.out.reply(ticket, Ok(CommandAnswer::Reply(Reply::Receipt(receipt))));
            }
        }
    }

    /// Nothing is delivered to an entry that is gone.
    pub(crate) fn refuse_mail_to(&mut self, to: ProcessId, reason: &str, ctx: &mut Context) {
        let ids: Vec<MailId> = self.open.values().filter(|mail| mail.to == to).map(|mail| mail.id).collect();
        for id in ids {
            self.set_delivery(id, Delivery::Refused { reason: reason.to_owned() }, MailStage::Queued, ctx);
        }
    }
}
