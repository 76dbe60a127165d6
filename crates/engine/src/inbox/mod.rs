//! What needs a person: dialogs, requests for permission, questions, failures; opened, answered, closed.
//!
//! `answering` has the way from a choice to the keys that make it. An answer names its dialog, and the daemon checks that
//! this dialog is still the one on the screen.

mod answering;
mod asked;
pub(crate) mod failures;
mod list;
pub(crate) mod questions;
mod shortfalls;

pub(crate) use answering::{Answering, TYPED_MS};
pub(crate) use asked::Asked;
pub(crate) use list::ListWaiter;

use proto::agent::{BlockedKind, Dialog, DialogOption, Expiry, InboxItem, ItemKind, Source};
use proto::event::Event;
use proto::request::OnTimeout;
use proto::{AgentState, ErrorCode, Evidence, Failure, ProcessId};

use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{HookDecision, RunKey, Ticket};
use crate::outbox::Outbox;
use crate::outbox::Signal;
use crate::process::{Process, Processes};
use crate::record::Record;
use crate::rights::audience::Topic;
use crate::undo::UndoMap;

/// A person is notified about one process at most this often.
const NOTIFY_EVERY_MS: u64 = 10_000;

/// What an item stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemSubject {
    /// Whatever blocks the agent, by its digest.
    Dialog(String),
    /// A hook that waits for an answer.
    Permission { ticket: Ticket, until: u64, on_timeout: OnTimeout },
    /// Something failed; there is nothing to be done but to know it.
    Failure,
    /// The launch lacks something.
    Shortfalls,
    /// This run asks the person something, or wants them to look.
    Question(RunKey),
    /// This run wants to start something that no person has allowed yet.
    Trust { asker: RunKey, digest: String },
}

/// What a person reads of an item: one line, and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemText {
    pub(crate) title: String,
    pub(crate) body: String,
}

/// An item that is to be opened.
#[derive(Clone, Debug)]
pub(crate) struct NewItem {
    pub(crate) kind: ItemKind,
    pub(crate) text: ItemText,
    pub(crate) options: Vec<DialogOption>,
    pub(crate) about: ItemSubject,
}

/// One open item.
#[derive(Clone, Debug)]
pub(crate) struct OpenItem {
    pub(crate) view: InboxItem,
    pub(crate) about: ItemSubject,
}

/// Everything that waits for a person.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// The open items.
    pub(crate) items: UndoMap<u64, OpenItem>,
    /// The items that runs asked for under keys of their own.
    pub(crate) asked: UndoMap<(RunKey, String), u64>,
    /// Callers that get the list when the agents of an earlier daemon are known again.
    pub(crate) list_waiters: Vec<ListWaiter>,
}

impl Inbox {
    /// The questions of a run that are open: each item and its digest.
    pub(crate) fn trust_items(&self, of: RunKey) -> impl Iterator<Item = (u64, &str)> {
        self.items.values().filter_map(move |OpenItem { view, about }| {
            let ItemSubject::Trust { asker, digest } = about else { return None };
            (*asker == of).then_some((view.item, digest.as_str()))
        })
    }

    /// The open question of a run about this digest.
    pub(crate) fn trust_item(&self, asker: RunKey, digest: &str) -> Option<u64> {
        self.trust_items(asker).find(|(_, asked)| *asked == digest).map(|(item, _)| item)
    }
}

impl OpenItem {
    /// The run that asked a person; only people answer it.
    pub(crate) fn asker(&self) -> Option<RunKey> {
        match &self.about {
            ItemSubject::Question(asker) | ItemSubject::Trust { asker, .. } => Some(*asker),
            ItemSubject::Dialog(_)
            | ItemSubject::Permission { .. }
            | ItemSubject::Failure
            | ItemSubject::Shortfalls => None,
        }
    }

    /// What an event about it is about.
    fn topic(&self) -> Topic {
        Topic::Item { of: self.view.id, is_persons: self.asker().is_some() }
    }

    /// Announces that it is open, or what it says now.
    fn announce_opened(&self, out: &mut Outbox) {
        out.announce_about(Event::ItemOpened(Box::new(self.view.clone())), self.topic());
    }
}

impl Processes {
    /// Notifies a person who does not see it: nobody is attached, or the agent's screen does not show it.
    pub(crate) fn notify(&mut self, id: ProcessId, view: &InboxItem, out: &mut Outbox) {
        let now = out.now.uptime_ms;
        let is_on_screen = !matches!(view.kind, ItemKind::Question | ItemKind::Attention | ItemKind::Trust);
        let is_seen = |process: &Process| is_on_screen && !process.run.viewers.attached.is_empty();
        let Some(process) = self.get_mut(&id).filter(|process| !is_seen(process)) else { return };
        let run = process.key();
        let Some(agent) = process.agent.as_deref_mut() else { return };
        if agent.notified_at.is_some_and(|at| now < at.saturating_add(NOTIFY_EVERY_MS)) {
            return;
        }
        agent.notified_at = Some(now);
        let title = format!("{}: {}", view.name, view.title);
        out.push(Effect::Notify { run, title, body: view.body.clone() });
    }
}

impl Inbox {
    /// Opens, renews or closes the item that stands for what blocks an agent.
    pub(crate) fn sync_inbox(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent(id) else { return };
        let has_permission_waiting = agent.live.dialogs.permissions > 0;
        let wanted = agent.blocking_digest().zip(agent.blocking().cloned());
        // A request that waits in the inbox stands for itself and for the vendor's own dialog about it.
        let is_hushed = agent.live.dialogs.answered_until.is_some();
        let wanted = wanted
            .filter(|_| !has_permission_waiting)
            .filter(|(_, evidence)| !is_hushed || evidence.dialog.is_some())
            .map(|(digest, evidence)| (digest, agent.whole_words(evidence)));
        let open = self.dialog_item_of(id);
        match (wanted, open) {
            (None, None) => {}
            (None, Some(item)) => self.close_item(item, ctx),
            (Some((digest, evidence)), None) => self.open_dialog(id, digest, &evidence, ctx),
            (Some((digest, evidence)), Some(item)) => self.renew_dialog(id, item, digest, &evidence, ctx),
        }
        self.finish_answering(id, ctx);
        self.sync_permissions(id, ctx);
    }

    /// Ends a request that waits in the inbox when the vendor's own dialog about it was answered.
    pub(crate) fn sync_permissions(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        if agent.live.dialogs.permissions == 0 {
            agent.live.dialogs.is_permission_shown = false;
            return;
        }
        let is_shown =
            agent.live.evidence.table.get(Source::Dialog).is_some_and(|slot| slot.digest().is_some());
        let was_shown = std::mem::replace(&mut agent.live.dialogs.is_permission_shown, is_shown);
        if !was_shown || is_shown {
            return;
        }
        let of =
            |item: &&OpenItem| item.view.id == id && matches!(item.about, ItemSubject::Permission { .. });
        let numbers: Vec<u64> = self.items.values().filter(of).map(|item| item.view.item).collect();
        for number in numbers {
            self.decide_permission(number, HookDecision::Nothing, ctx);
        }
    }

    pub(crate) fn dialog_item_of(&self, id: ProcessId) -> Option<u64> {
        let is_dialog = |item: &&OpenItem| item.view.id == id && matches!(item.about, ItemSubject::Dialog(_));
        self.items.values().find(is_dialog).map(|item| item.view.item)
    }

    /// What a blocked agent waits for, with what may be answered.
    pub(crate) fn blocking_item(&self, id: ProcessId) -> Option<InboxItem> {
        let blocks = |item: &&OpenItem| {
            item.view.id == id
                && matches!(item.about, ItemSubject::Dialog(_) | ItemSubject::Permission { .. })
        };
        self.items.values().find(blocks).map(|item| item.view.clone())
    }

    pub(crate) fn open_dialog(
        &mut self,
        id: ProcessId,
        digest: String,
        evidence: &Evidence,
        ctx: &mut Context,
    ) {
        let (title, body, options) = item_words(evidence);
        let about = ItemSubject::Dialog(digest);
        let text = ItemText { title, body };
        self.open_item(id, NewItem { kind: ItemKind::Dialog, text, options, about }, ctx);
    }

    /// The same block, read better: a report came first and the dialog was seen after it. Another dialog is another item.
    pub(crate) fn renew_dialog(
        &mut self,
        id: ProcessId,
        number: u64,
        digest: String,
        evidence: &Evidence,
        ctx: &mut Context,
    ) {
        let Some(item) = self.items.get_mut(&number) else { return };
        let (title, body, options) = item_words(evidence);
        let is_same = item.about == ItemSubject::Dialog(digest.clone());
        let reads_same = item.view.title == title && item.view.body == body && item.view.options == options;
        if is_same && (reads_same || evidence.dialog.is_none()) {
            return;
        }
        if (is_same || item.view.options.is_empty()) && evidence.dialog.is_some() {
            item.about = ItemSubject::Dialog(digest);
            (item.view.title, item.view.body, item.view.options) = (title, body, options);
            return item.announce_opened(&mut ctx.out);
        }
        // A report that goes on after its dialog was painted over is still about that dialog.
        if evidence.dialog.is_some() {
            self.close_item(number, ctx);
            self.open_dialog(id, digest, evidence, ctx);
        }
    }

    /// Puts a request for permission into the inbox; returns false if the agent has no desk for them.
    pub(crate) fn hold_permission(
        &mut self,
        id: ProcessId,
        ticket: Ticket,
        title: String,
        body: String,
        ctx: &mut Context,
    ) -> bool {
        let now = ctx.out.now;
        let Some(agent) = ctx.processes.agent_mut(id) else { return false };
        let Some(desk) = agent.record.permissions else { return false };
        agent.live.dialogs.permissions += 1;
        let (until, on_timeout) = (now.uptime_ms.saturating_add(desk.timeout_ms), desk.on_timeout);
        let options = vec![option(1, "allow", "Allow"), option(2, "deny", "Deny")];
        let about = ItemSubject::Permission { ticket, until, on_timeout };
        let text = ItemText { title, body };
        let number = self.open_item(id, NewItem { kind: ItemKind::Permission, text, options, about }, ctx);
        let answer = match on_timeout {
            OnTimeout::Deny => "deny",
            OnTimeout::Allow => "allow",
            OnTimeout::Ask => "ask on the agent's own screen",
        };
        let at = now.wall_ms.saturating_add(desk.timeout_ms);
        if let Some(item) = self.items.get_mut(&number) {
            item.view.expires = Some(Expiry { at, answer: answer.to_owned() });
        }
        ctx.out.signal(Signal::Reevaluate(id));
        true
    }

    /// Decides a request for permission.
    pub(crate) fn decide_permission(&mut self, number: u64, decision: HookDecision, ctx: &mut Context) {
        let Some(item) = self.items.get(&number) else { return };
        let (id, ItemSubject::Permission { ticket, .. }) = (item.view.id, &item.about) else { return };
        let ticket = *ticket;
        self.close_item(number, ctx);
        let is_decided = matches!(decision, HookDecision::Allow | HookDecision::Deny(_));
        ctx.out.reply(ticket, Ok(CommandAnswer::Hook(decision)));
        let now = ctx.out.now;
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.dialogs.permissions = agent.live.dialogs.permissions.saturating_sub(1);
            // A subagent's request left no word of its own about the agent.
            let hook = agent.live.evidence.table.get(Source::Hook).and_then(|slot| slot.state());
            if is_decided && hook == Some(AgentState::Blocked) {
                let goes_on = Evidence::new(Source::Hook, "answered", Some(AgentState::Working));
                agent.live.evidence.table.put(goes_on, now);
            }
        }
        ctx.out.signal(Signal::Reevaluate(id));
    }

    /// Forgets a request whose hook is gone.
    pub(crate) fn forget_permission(&mut self, gone: Ticket, ctx: &mut Context) {
        let of =
            |item: &OpenItem| matches!(item.about, ItemSubject::Permission { ticket, .. } if ticket == gone);
        let numbers: Vec<u64> =
            self.items.values().filter(|item| of(item)).map(|item| item.view.item).collect();
        for number in numbers {
            self.decide_permission(number, HookDecision::Nothing, ctx);
        }
    }

    /// Decides the requests that were not answered in time.
    pub(crate) fn pass_inbox_deadlines(&mut self, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let due = |item: &OpenItem| match item.about {
            ItemSubject::Permission { until, on_timeout, .. } if until <= now => {
                Some((item.view.item, on_timeout))
            }
            ItemSubject::Permission { .. }
            | ItemSubject::Dialog(_)
            | ItemSubject::Failure
            | ItemSubject::Shortfalls
            | ItemSubject::Question(_)
            | ItemSubject::Trust { .. } => None,
        };
        let over: Vec<(u64, OnTimeout)> = self.items.values().filter_map(due).collect();
        for (number, on_timeout) in over {
            let decision = match on_timeout {
                OnTimeout::Deny => HookDecision::Deny("no person answered in time".to_owned()),
                OnTimeout::Allow => HookDecision::Allow,
                OnTimeout::Ask => HookDecision::Nothing,
            };
            self.decide_permission(number, decision, ctx);
        }
    }

    /// When a request is next due.
    pub(crate) fn inbox_deadline(&self) -> Option<u64> {
        let until = |item: &OpenItem| match item.about {
            ItemSubject::Permission { until, .. } => Some(until),
            ItemSubject::Dialog(_)
            | ItemSubject::Failure
            | ItemSubject::Shortfalls
            | ItemSubject::Question(_)
            | ItemSubject::Trust { .. } => None,
        };
        self.items.values().filter_map(until).min()
    }

    /// Opens an item and returns its number.
    pub(crate) fn open_item(&mut self, id: ProcessId, item: NewItem, ctx: &mut Context) -> u64 {
        let number = ctx.out.next_item();
        let Some(name) = ctx.processes.get(&id).map(|process| process.name.clone()) else {
            return number;
        };
        let at = ctx.out.now.wall_ms;
        let NewItem { kind, text: ItemText { title, body }, options, about } = item;
        let view = InboxItem { item: number, id, name, kind, title, body, options, at, expires: None };
        let item = OpenItem { view: view.clone(), about };
        ctx.processes.notify(id, &view, &mut ctx.out);
        ctx.out.signal(Signal::ItemOpened(Box::new(view)));
        item.announce_opened(&mut ctx.out);
        self.items.insert(number, item);
        number
    }

    pub(crate) fn close_item(&mut self, number: u64, ctx: &mut Context) {
        let Some(item) = self.items.remove(&number) else { return };
        if matches!(item.about, ItemSubject::Question(_)) {
            ctx.out.push(Effect::Record(Record::RemoveQuestion(number)));
        }
        ctx.out.announce_about(Event::ItemClosed { item: number }, item.topic());
        ctx.out.signal(Signal::ItemClosed(Box::new(item.view)));
    }

    /// Closes the items of a run that is over; failures stay.
    pub(crate) fn close_items_of(&mut self, id: ProcessId, ctx: &mut Context) {
        let of = |item: &&OpenItem| item.view.id == id && item.about != ItemSubject::Failure;
        let numbers: Vec<u64> = self.items.values().filter(of).map(|item| item.view.item).collect();
        for number in numbers {
            match self.items.get(&number).map(|item| &item.about) {
                Some(ItemSubject::Permission { .. }) => {
                    self.decide_permission(number, HookDecision::Nothing, ctx)
                }
                _ => self.close_item(number, ctx),
            }
        }
    }
}

/// What a person reads about a block.
fn item_words(evidence: &Evidence) -> (String, String, Vec<DialogOption>) {
    if let Some(Dialog { title, body, options, .. }) = &evidence.dialog {
        let title = if title.is_empty() { fallback(evidence) } else { title.clone() };
        return (title, body.clone(), options.clone());
    }
    (fallback(evidence), String::new(), Vec::new())
}

fn fallback(evidence: &Evidence) -> String {
    if !evidence.message.is_empty() {
        return evidence.message.clone();
    }
    debug_assert_eq!(evidence.state, Some(AgentState::Blocked));
    let words = match evidence.kind {
        Some(BlockedKind::Permission) => "it asks for permission",
        Some(BlockedKind::Question) => "it asks a question",
        Some(BlockedKind::Auth) => "it needs a login",
        Some(BlockedKind::Onboarding) => "it asks something before its first prompt",
        None => "it waits for an answer",
    };
    words.to_owned()
}

pub(crate) fn option(number: u32, name: &str, label: &str) -> DialogOption {
    DialogOption {
        names: vec![number.to_string(), name.to_owned()],
        label: label.to_owned(),
        keys: Vec::new(),
    }
}

/// The dialog that was to be answered is gone.
pub(crate) fn no_longer_open() -> Failure {
    Failure::new(ErrorCode::Conflict, "that dialog is no longer open").hint("qd inbox lists the open items")
}

#[cfg(test)]
mod tests;
