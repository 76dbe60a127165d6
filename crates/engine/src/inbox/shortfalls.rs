//! The item that shows a person what an agent's launch lacks.
//!
//! Opened with the launch, closed with the run or by the person; what the person has dismissed once is not shown again
//! for that agent.

use proto::ProcessId;
use proto::agent::ItemKind;

use super::{ItemSubject, ItemText, NewItem, OpenItem, option};
use crate::context::Context;
use crate::inbox::Inbox;

impl Inbox {
    /// Opens, renews or closes the item, after a launch has said what it lacks.
    pub(crate) fn sync_shortfalls(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent(id) else { return };
        let wanted = Some(agent.shortfalls().join("\n"))
            .filter(|_| !agent.shortfalls().is_empty() && agent.record.dismissed != agent.shortfalls());
        let is_its = |item: &&OpenItem| item.view.id == id && item.about == ItemSubject::Shortfalls;
        let open = self.items.values().find(is_its).map(|item| item.view.item);
        match (wanted, open) {
            (None, None) => {}
            (None, Some(item)) => self.close_item(item, ctx),
            (Some(body), None) => {
                let words = ItemText { title: "its launch lacks something".to_owned(), body };
                let options = vec![option(1, "dismiss", "Dismiss")];
                let (kind, about) = (ItemKind::Failure, ItemSubject::Shortfalls);
                self.open_item(id, NewItem { kind, text: words, options, about }, ctx);
            }
            (Some(body), Some(item)) => {
                let Some(item) = self.items.get_mut(&item).filter(|item| item.view.body != body) else {
                    return;
                };
                item.view.body = body;
                item.announce_opened(&mut ctx.out);
            }
        }
    }

    /// A person has read it.
    pub(crate) fn dismiss_shortfalls(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        agent.record.dismissed = agent.shortfalls().to_vec();
        ctx.out.mark_durable(id);
        self.sync_shortfalls(id, ctx);
    }
}
