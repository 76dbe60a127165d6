//! Delivers what one machine reports to the others: the rules that need two machines.

use crate::Engine;
use crate::outbox::Signal;

impl Engine {
    /// Delivers every report of the current decision, also those that deliveries bring about.
    pub(crate) fn route_signals(&mut self) {
        while let Some(signal) = self.ctx.out.next_signal() {
            match signal {
                Signal::Reevaluate(id) => self.reevaluate(id),
                Signal::MailOver(id) => self.waits.see_state(id, &self.inbox, &mut self.ctx),
                Signal::TurnOver(id) => self.waits.see_turn(id, &self.inbox, &mut self.ctx),
                Signal::ItemOpened(item) => self.notice_blocked(&item),
                Signal::ItemClosed(item) => {
                    self.withdraw_blocked(&item);
                    self.waits.see_item_closed(item.item, &mut self.ctx);
                }
                Signal::TimerOver { timer, owner } => {
                    self.waits.see_timer(timer, &self.inbox, &mut self.mail, &self.timers, &mut self.ctx);
                    self.timers.prune_timers(owner, &mut self.ctx);
                }
            }
        }
    }
}
