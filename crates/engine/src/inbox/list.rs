//! The list of open items. After a restart of the daemon it waits until the agents of the earlier daemon are known again:
//! their dialogs are on their screens and in no record, so an early list would say that nothing needs a person.

use proto::Reply;
use proto::agent::InboxItem;
use proto::long_text;

use super::{Inbox, OpenItem};
use crate::context::Context;
use crate::effect::CommandAnswer;
use crate::input::{Caller, Ticket};
use crate::outbox::CallerScope;
use crate::process::Process;
use crate::rights::Verb;
use crate::rights::grants::Grants;

/// Most bytes of the texts of one list: the answer is one line of the wire, in which characters may be escaped.
const MAX_BODIES: usize = 1 << 20;

/// A caller that waits for the list.
#[derive(Clone, Debug)]
pub(crate) struct ListWaiter {
    pub(crate) ticket: Ticket,
    caller: Caller,
    scope: CallerScope,
}

impl Inbox {
    /// Returns the list for a caller, or none if the caller gets it later.
    pub(crate) fn list_or_wait(
        &mut self,
        caller: Caller,
        ticket: Ticket,
        grants: &Grants,
        ctx: &Context,
    ) -> Option<CommandAnswer> {
        if !is_known(caller, grants, ctx) {
            self.list_waiters.push(ListWaiter { ticket, caller, scope: ctx.out.scope.clone() });
            return None;
        }
        Some(self.list(caller, grants, ctx))
    }

    /// Answers the callers whose list is complete now.
    pub(crate) fn answer_list_waiters(&mut self, grants: &Grants, ctx: &mut Context) {
        for waiter in std::mem::take(&mut self.list_waiters) {
            ctx.out.scope = waiter.scope.clone();
            if is_known(waiter.caller, grants, ctx) {
                let list = self.list(waiter.caller, grants, ctx);
                ctx.out.reply(waiter.ticket, Ok(list));
            } else {
                self.list_waiters.push(waiter);
            }
            ctx.out.scope = CallerScope::default();
        }
    }

    /// When the callers get the list at the latest.
    pub(crate) fn list_deadline(&self, ctx: &Context) -> Option<u64> {
        let is_awaited = !self.list_waiters.is_empty();
        let until = |process: &Process| reconnecting_until(process, ctx).filter(|_| is_awaited);
        ctx.processes.values().filter_map(until).max()
    }

    fn list(&self, caller: Caller, grants: &Grants, ctx: &Context) -> CommandAnswer {
        let is_seen = |item: &&OpenItem| self.may_see(caller, item, grants, ctx);
        let mut items: Vec<InboxItem> =
            self.items.values().filter(is_seen).map(|item| item.view.clone()).collect();
        fit(&mut items);
        CommandAnswer::Reply(Reply::Inbox(items))
    }
}

/// Cuts the texts of a list that would be too long for one answer. Each that is cut says so.
fn fit(items: &mut [InboxItem]) {
    let length: usize = items.iter().map(|item| item.body.len()).sum();
    if length <= MAX_BODIES {
        return;
    }
    let most = MAX_BODIES / items.len().max(1);
    items.iter_mut().for_each(|item| item.body = long_text::within(&item.body, most));
}

/// Returns true if the dialogs of all agents that the caller may read are known.
fn is_known(caller: Caller, grants: &Grants, ctx: &Context) -> bool {
    let is_awaited = |process: &Process| {
        reconnecting_until(process, ctx).is_some() && grants.may_do(caller, Verb::Read, process, ctx)
    };
    !ctx.processes.values().any(is_awaited)
}

fn reconnecting_until(process: &Process, ctx: &Context) -> Option<u64> {
    let agent = process.agent.as_deref().filter(|_| process.is_live())?;
    agent.live.reconnecting_until(agent.record.was_blocked(), ctx.out.now.uptime_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::agent::ItemKind;

    #[test]
    fn m20a_a_list_that_is_too_long_is_cut_and_each_item_says_so() {
        let name = "a".parse().unwrap();
        let item = InboxItem {
            item: 1,
            id: proto::ProcessId::from_entropy(1),
            name,
            kind: ItemKind::Permission,
            title: String::new(),
            body: "x".repeat(long_text::MAX_ITEM_BODY),
            options: Vec::new(),
            at: 0,
            expires: None,
        };
        let mut few = vec![item.clone(); 16];
        fit(&mut few);
        assert!(few.iter().all(|few| few.body == item.body), "all of it");
        let mut many = vec![item; 100];
        fit(&mut many);
        assert!(many.iter().all(|item| item.body.ends_with("not shown: attach to read them)")));
        assert!(many.iter().map(|item| item.body.len()).sum::<usize>() < 2 * MAX_BODIES);
    }
}
