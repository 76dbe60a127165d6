//! When a message is given up: the default times, and the clock that counts.
//!
//! Expiry uses the boot clock: people and time servers move the wall clock by hours. The wall clock counts only for
//! messages of an earlier boot.

use proto::ProcessId;
use proto::agent::{Delivery, MailId};
use serde::{Deserialize, Serialize};

use super::queue::forget_delivery;
use super::{MailQueue, MailRecord, MailStage};
use crate::context::Context;
use crate::effect::Effect;
use crate::record::Record;

/// How long a message waits unless its sender says otherwise: a day.
pub(super) const EXPIRES_MS: u64 = 24 * 3600 * 1000;
/// How long a message of Quarterdeck itself waits: a week, the longest time of a timer.
pub(super) const SYSTEM_EXPIRES_MS: u64 = 7 * 24 * 3600 * 1000;

/// A moment on the uptime clock, which begins anew with each boot of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// Milliseconds since that boot.
    pub at_ms: u64,
    /// Which boot.
    pub boot: String,
}

impl MailQueue {
    /// When a message is next given up, on the uptime clock; at once, when that is yet to be found out.
    pub(super) fn next_expiry(&self) -> Option<u64> {
        let waiting = self.open.values().filter(|mail| mail.may_expire());
        waiting.map(|mail| mail.due.as_ref().map_or(0, |due| due.at_ms)).min()
    }
}

impl MailRecord {
    /// A message that is being typed is not given up in the middle.
    fn may_expire(&self) -> bool {
        self.stage == MailStage::Queued
    }
}

impl MailQueue {
    /// When something that is sent now and may wait this long is given up: on the wall clock, and on the one that counts.
    pub(crate) fn expiry(&self, lifetime_ms: u64, ctx: &Context) -> (u64, Option<Due>) {
        let due = self.due_in(lifetime_ms, ctx);
        (ctx.out.now.wall_ms.saturating_add(lifetime_ms), Some(due))
    }

    pub(crate) fn due_in(&self, ms: u64, ctx: &Context) -> Due {
        Due { at_ms: ctx.out.now.uptime_ms.saturating_add(ms), boot: ctx.config.boot.clone() }
    }

    /// Gives up what has waited too long.
    pub(crate) fn expire(&mut self, ctx: &mut Context) {
        self.set_missing_dues(ctx);
        let now = ctx.out.now.uptime_ms;
        let is_over =
            |mail: &&MailRecord| mail.may_expire() && mail.due.as_ref().is_none_or(|due| due.at_ms <= now);
        let over: Vec<(MailId, ProcessId)> =
            self.open.values().filter(is_over).map(|mail| (mail.id, mail.to)).collect();
        for (id, to) in over {
            forget_delivery(to, id, ctx);
            self.set_delivery(id, Delivery::Expired, MailStage::Queued, ctx);
        }
    }

    /// Messages of an earlier boot have what the wall clock leaves them, and never more than they had at first.
    pub(crate) fn set_missing_dues(&mut self, ctx: &mut Context) {
        let unknown = self.open.values().filter(|mail| mail.due.is_none());
        let unknown: Vec<MailId> = unknown.map(|mail| mail.id).collect();
        for id in unknown {
            let wall_ms = ctx.out.now.wall_ms;
            let Some(mail) = self.open.get(&id) else { continue };
            let lifetime = mail.expires_at.saturating_sub(mail.at);
            let due = self.due_in(mail.expires_at.saturating_sub(wall_ms).min(lifetime), ctx);
            let Some(mail) = self.open.get_mut(&id) else { continue };
            mail.due = Some(due);
            let record = mail.clone();
            ctx.out.push(Effect::Record(Record::PutMail(Box::new(record))));
        }
    }
}
