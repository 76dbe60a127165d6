//! Delivers what one machine reports to the others: the rules that need two machines.

use proto::agent::{Delivery, MailId};

use crate::Engine;
use crate::outbox::{AnsweredQuestion, Signal};

impl Engine {
    /// Delivers every report of the current decision, also those that deliveries bring about.
    pub(crate) fn route_signals(&mut self) {
        while let Some(signal) = self.ctx.out.next_signal() {
            match signal {
                Signal::Reevaluate(id) => self.reevaluate(id),
                Signal::MailOver(id) => self.waits.see_state(id, &self.inbox, &mut self.ctx),
                Signal::MailClosed(mail) => review_closed(self, mail),
                Signal::TurnOver(id) => self.waits.see_turn(id, &self.inbox, &mut self.ctx),
                Signal::ItemOpened(item) => {
                    self.mail.queue.notice_blocked(&item, &self.waits, &self.timers, &mut self.ctx)
                }
                Signal::Answered(answered) => self.deliver_answer(*answered),
                Signal::ItemClosed(item) => {
                    self.mail.queue.withdraw_blocked(&item, &self.inbox, &mut self.ctx);
                    self.waits.see_item_closed(item.item, &mut self.ctx);
                }
                Signal::TimerOver { timer, owner } => {
                    self.waits.see_timer(
                        timer,
                        &self.inbox,
                        &mut self.mail.queue,
                        &self.timers,
                        &mut self.ctx,
                    );
                    self.timers.prune_timers(owner, &mut self.ctx);
                }
            }
        }
    }

    /// Answers the wait of the asker; without one the answer is a message.
    fn deliver_answer(&mut self, answered: AnsweredQuestion) {
        let AnsweredQuestion { item, asker, answer, message } = answered;
        let is_awaited = self.waits.see_answer(item, &answer, &self.inbox, &mut self.ctx);
        if let Some((text, key)) = message.filter(|_| !is_awaited) {
            self.mail.queue.send_system_once(asker, "system", text, key, &mut self.ctx);
        }
    }
}

/// Makes the comments of a review drafts again whose message did not arrive, and tells a person: they would be lost unseen.
fn review_closed(engine: &mut Engine, mail: MailId) {
    let Some(closed) = engine.mail.queue.get(mail) else { return };
    let (to, Some(review)) = (closed.to, closed.review.clone()) else { return };
    let why = match &closed.delivery {
        Delivery::Refused { reason } => reason.clone(),
        Delivery::Expired => "the agent did not take it in time".to_owned(),
        _ => return engine.inbox.review_arrived(to, &mut engine.ctx),
    };
    let Some((task, count)) = engine.tasks.mark_unsent(review.task, &review.comments) else { return };
    let again =
        if count == 1 { "1 comment is a draft".to_owned() } else { format!("{count} comments are drafts") };
    let body = format!("{why}; {again} again: qd review {task} send sends the review once more");
    if engine.ctx.processes.get(&to).is_some_and(|process| !process.is_departed()) {
        engine.inbox.review_returned(to, &body, &mut engine.ctx);
    }
}
