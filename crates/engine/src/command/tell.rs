//! `tell`, `receipt`, `messages` and `cancel_message`: a message to an agent, and the delivery of one or of all.

use std::collections::BTreeMap;

use proto::agent::{Delivery, MailId, Receipt};
use proto::request::{AskReceipt, CancelMessage, Empty, Tell};
use proto::verb;
use proto::{ErrorCode, Failure, Name, ProcessId, Reply, Role};

use super::{Asker, Audited, CommandResult, Decide, Needs, Recorded};
use crate::Engine;
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::Caller;
use crate::mail::{MailQueue, MailRecord, MailStage, NewMessage, ReceiptWaiter, SenderRelation};
use crate::process::Processes;
use crate::rights::Verb;
use crate::rights::grants::Grants;
use crate::rights::registry::not_related;

/// Longest message of a process, in bytes.
const MAX_OF_PROCESS: usize = 16 << 10;
/// Longest message of a person, in bytes.
const MAX_OF_PERSON: usize = 1 << 20;
/// Longest key, in bytes.
const MAX_KEY: usize = 200;
/// Most messages in one list.
const MAX_LISTED: usize = 1_000;
/// Longest time a message or a caller may wait: a week.
const MAX_MS: u64 = 7 * 24 * 3600 * 1000;

impl Decide for verb::Tell {
    type Order = Tell;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::OverAgent(Verb::Message);
    const AUDITED: Audited = Audited::NewMessage;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn detail(_: &Engine, tell: &Tell) -> String {
        format!("{} bytes", tell.text.len())
    }

    fn decide(engine: &mut Engine, asker: Asker, tell: Tell) -> CommandResult {
        let Asker { caller, ticket, .. } = asker;
        let to = asker.target()?;
        check_tell(caller, &tell)?;
        let from = sender(caller);
        let known = tell.key.as_deref().and_then(|key| engine.mail.queue.keyed(from, to, key));
        let id = match known {
            Some(id) => id,
            None => {
                let message =
                    NewMessage { from, to, text: tell.text, key: tell.key, expires_ms: tell.expires_ms };
                let id = engine.mail.queue.post(message, &mut engine.ctx)?;
                engine.route_signals();
                id
            }
        };
        let Some(receipt) = engine.mail.queue.get(id).map(MailRecord::receipt) else {
            return Err(no_mail(id));
        };
        let wait = tell.wait_ms.filter(|wait| *wait > 0 && !receipt.delivery.is_final());
        let Some(wait) = wait else { return Ok(Some(CommandAnswer::Reply(Reply::Receipt(receipt)))) };
        let until = engine.ctx.out.now.uptime_ms.saturating_add(wait);
        engine.mail.queue.waiters.push(ReceiptWaiter { ticket, mail: id, until });
        Ok(None)
    }
}

impl Decide for verb::Receipt {
    type Order = AskReceipt;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::Checked;

    fn decide(engine: &mut Engine, asker: Asker, request: AskReceipt) -> CommandResult {
        engine.mail.queue.receipt(asker.caller, request.mail, &engine.grants, &engine.ctx)
    }
}

impl Decide for verb::Messages {
    type Order = Empty;
    const ROLE: Role = Role::View;
    const NEEDS: Needs = Needs::AtAll(Verb::List);

    fn decide(engine: &mut Engine, asker: Asker, _: Empty) -> CommandResult {
        let (queue, grants, ctx) = (&engine.mail.queue, &engine.grants, &engine.ctx);
        let all: BTreeMap<MailId, &MailRecord> =
            queue.open.iter().chain(queue.closed.iter()).map(|(id, mail)| (*id, mail)).collect();
        let newest = all.into_iter().rev().filter(|(id, _)| queue.may_follow(asker.caller, *id, grants, ctx));
        let mut messages: Vec<Receipt> = newest.take(MAX_LISTED).map(|(_, mail)| mail.receipt()).collect();
        messages.reverse();
        Ok(Some(CommandAnswer::Reply(Reply::Messages(messages))))
    }
}

impl Decide for verb::CancelMessage {
    type Order = CancelMessage;
    const ROLE: Role = Role::Type;
    const NEEDS: Needs = Needs::Checked;
    const AUDITED: Audited = Audited::Success;
    const RECORDED: Recorded = Recorded::Entrusted;

    fn detail(_: &Engine, request: &CancelMessage) -> String {
        format!("message {}", request.mail)
    }

    fn about(engine: &Engine, request: &CancelMessage) -> Option<String> {
        engine.mail.queue.get(request.mail).map(|mail| mail.to.to_string())
    }

    fn decide(engine: &mut Engine, asker: Asker, request: CancelMessage) -> CommandResult {
        let id = request.mail;
        let Asker { caller, .. } = asker;
        let mail = engine.mail.queue.get(id).filter(|mail| engine.ctx.covers(mail.to));
        let mail = mail.ok_or_else(|| no_mail(id))?;
        if caller != Caller::Person && (sender(caller).is_none() || sender(caller) != mail.from) {
            return Err(not_related(caller, "the message is not yours"));
        }
        let is_queued = matches!(mail.delivery, Delivery::Queued { .. }) && mail.stage == MailStage::Queued;
        if !is_queued {
            let message = format!("message {id} is no longer in the queue: {}", mail.delivery);
            return Err(Failure::new(ErrorCode::Conflict, message)
                .hint("qd interrupt NAME ends the turn that it began"));
        }
        let to = mail.to;
        let reason = "it was taken back before it was delivered".to_owned();
        engine.mail.queue.set_delivery(id, Delivery::Refused { reason }, MailStage::Queued, &mut engine.ctx);
        engine.reevaluate(to);
        let Some(receipt) = engine.mail.queue.get(id).map(MailRecord::receipt) else {
            return Err(no_mail(id));
        };
        Ok(Some(CommandAnswer::Reply(Reply::Receipt(receipt))))
    }
}

impl Processes {
    pub(crate) fn name_of(&self, id: ProcessId) -> Option<Name> {
        self.get(&id).map(|process| process.name.clone())
    }

    /// What a sender is to a receiver.
    pub(crate) fn sender_relation(&self, from: ProcessId, to: ProcessId) -> SenderRelation {
        if self.descendants(from).contains(&to) {
            SenderRelation::Orchestrator
        } else if self.descendants(to).contains(&from) {
            SenderRelation::SubAgent
        } else {
            SenderRelation::Peer
        }
    }
}

impl MailQueue {
    /// Returns true if a caller may get the receipt of a message: its sender, and a caller that may drive its recipient.
    pub(crate) fn may_follow(&self, caller: Caller, id: MailId, grants: &Grants, ctx: &Context) -> bool {
        let Some(mail) = self.get(id) else { return false };
        let is_own = caller == Caller::Person || (sender(caller).is_some() && sender(caller) == mail.from);
        let target = ctx.processes.get(&mail.to);
        ctx.covers(mail.to) && is_own
            || target.is_some_and(|target| grants.may_do(caller, Verb::Drive, target, ctx))
    }

    pub(crate) fn receipt(
        &self,
        caller: Caller,
        id: MailId,
        grants: &Grants,
        ctx: &Context,
    ) -> CommandResult {
        let mail = self.get(id).filter(|mail| ctx.covers(mail.to)).ok_or_else(|| no_mail(id))?;
        let receipt = mail.receipt();
        if !self.may_follow(caller, id, grants, ctx) {
            return Err(not_related(caller, "the message is not yours"));
        }
        Ok(Some(CommandAnswer::Reply(Reply::Receipt(receipt))))
    }
}

fn check_tell(caller: Caller, tell: &Tell) -> Result<(), Failure> {
    check_text("text", caller, &tell.text)?;
    if tell.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        return Err(Failure::invalid("key", format!("between 1 and {MAX_KEY} bytes")));
    }
    for (field, request) in [("wait_ms", tell.wait_ms), ("expires_ms", tell.expires_ms)] {
        if request.is_some_and(|request| request > MAX_MS) {
            return Err(Failure::invalid(field, "at most a week"));
        }
    }
    Ok(())
}

/// Checks whether a text may be a message of this caller.
pub(super) fn check_text(field: &str, caller: Caller, text: &str) -> Result<(), Failure> {
    let most = if caller == Caller::Person { MAX_OF_PERSON } else { MAX_OF_PROCESS };
    if text.trim().is_empty() {
        return Err(Failure::invalid(field, "there is nothing in it"));
    }
    if text.len() > most {
        return Err(Failure::invalid(field, format!("it has {} bytes, {most} at most", text.len())));
    }
    Ok(())
}

/// The process that sends; none: a person.
fn sender(caller: Caller) -> Option<ProcessId> {
    match caller {
        Caller::Process(run) => Some(run.process),
        Caller::Person | Caller::Via(_) | Caller::Nobody => None,
    }
}

fn no_mail(id: MailId) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("no message {id}")).hint("`qd messages` lists the newest ones")
}
