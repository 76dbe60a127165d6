//! What needs a person: dialogs, requests for permission, questions, failures; opened, answered, closed.
//!
//! Owns the items; `answering` the way from a choice to the keys that make it. Refuses answering what is no longer
//! there: an answer names its dialog, and the daemon checks that it is still the one on the screen.

mod answering;
mod asked;
mod shortfalls;

pub(crate) use answering::{Answering, TYPED_MS};
pub(crate) use asked::Asked;

use proto::agent::{BlockedKind, Dialog, DialogOption, Expiry, InboxItem, ItemKind, Source};
use proto::event::Event;
use proto::request::OnTimeout;
use proto::{AgentState, ErrorCode, Evidence, Failure, ProcessId};

use crate::Engine;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{HookDecision, RunKey, Ticket};
use crate::record::Record;

/// A person is notified about one process at most this often.
const NOTIFY_EVERY_MS: u64 = 10_000;

/// What an item stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
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
    /// This run wants to start something that nobody allowed yet.
    Trust { asker: RunKey, digest: String },
}

/// What a person reads of an item: one line, and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemText {
    pub(crate) title: String,
    pub(crate) body: String,
}

/// One open item.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) view: InboxItem,
    pub(crate) about: About,
}

impl Item {
    /// The run that asked a person; only people answer it.
    pub(crate) fn asker(&self) -> Option<RunKey> {
        match &self.about {
            About::Question(asker) | About::Trust { asker, .. } => Some(*asker),
            About::Dialog(_) | About::Permission { .. } | About::Failure | About::Shortfalls => None,
        }
    }
}

impl Engine {
    /// Opens, renews or closes the item that stands for what blocks an agent.
    pub(crate) fn sync_inbox(&mut self, id: ProcessId) {
        let Some(agent) = self.agent(id) else { return };
        let is_parked = agent.live.dialogs.parked > 0;
        let wanted = agent.blocking_digest().zip(agent.blocking().cloned());
        // A request that waits in the inbox stands for itself and for the vendor's own dialog about it.
        let is_hushed = agent.live.dialogs.answered_until.is_some();
        let wanted = wanted
            .filter(|_| !is_parked)
            .filter(|(_, evidence)| !is_hushed || evidence.dialog.is_some())
            .map(|(digest, evidence)| (digest, agent.whole_words(evidence)));
        let open = self.dialog_item_of(id);
        match (wanted, open) {
            (None, None) => {}
            (None, Some(item)) => self.close_item(item),
            (Some((digest, evidence)), None) => self.open_dialog(id, digest, &evidence),
            (Some((digest, evidence)), Some(item)) => self.renew_dialog(id, item, digest, &evidence),
        }
        self.finish_answering(id);
        self.follow_parked(id);
    }

    /// A request that waits in the inbox ends when somebody answers the vendor's own dialog about it.
    fn follow_parked(&mut self, id: ProcessId) {
        let Some(agent) = self.agent_mut(id) else { return };
        if agent.live.dialogs.parked == 0 {
            agent.live.dialogs.is_parked_shown = false;
            return;
        }
        let is_shown =
            agent.live.evidence.table.get(Source::Dialog).is_some_and(|slot| slot.digest().is_some());
        let was_shown = std::mem::replace(&mut agent.live.dialogs.is_parked_shown, is_shown);
        if !was_shown || is_shown {
            return;
        }
        let of = |item: &&Item| item.view.id == id && matches!(item.about, About::Permission { .. });
        let numbers: Vec<u64> = self.items.values().filter(of).map(|item| item.view.item).collect();
        for number in numbers {
            self.unpark(number, HookDecision::Nothing);
        }
    }

    fn dialog_item_of(&self, id: ProcessId) -> Option<u64> {
        let is_dialog = |item: &&Item| item.view.id == id && matches!(item.about, About::Dialog(_));
        self.items.values().find(is_dialog).map(|item| item.view.item)
    }

    /// What a blocked agent waits for, with what may be answered.
    pub(crate) fn blocking_item(&self, id: ProcessId) -> Option<InboxItem> {
        let blocks = |item: &&Item| {
            item.view.id == id && matches!(item.about, About::Dialog(_) | About::Permission { .. })
        };
        self.items.values().find(blocks).map(|item| item.view.clone())
    }

    fn open_dialog(&mut self, id: ProcessId, digest: String, evidence: &Evidence) {
        let (title, body, options) = words(evidence);
        let about = About::Dialog(digest);
        self.open_item(id, ItemKind::Dialog, ItemText { title, body }, options, about);
    }

    /// The same block, read better: a report came first and the dialog was seen after it. Another dialog is another item.
    fn renew_dialog(&mut self, id: ProcessId, number: u64, digest: String, evidence: &Evidence) {
        let Some(item) = self.items.get_mut(&number) else { return };
        let (title, body, options) = words(evidence);
        let is_same = item.about == About::Dialog(digest.clone());
        let reads_same = item.view.title == title && item.view.body == body && item.view.options == options;
        if is_same && (reads_same || evidence.dialog.is_none()) {
            return;
        }
        if (is_same || item.view.options.is_empty()) && evidence.dialog.is_some() {
            item.about = About::Dialog(digest);
            (item.view.title, item.view.body, item.view.options) = (title, body, options);
            let view = item.view.clone();
            return self.announce(Event::ItemOpened(Box::new(view)));
        }
        // A report that goes on after its dialog was painted over is still about that dialog.
        if evidence.dialog.is_some() {
            self.close_item(number);
            self.open_dialog(id, digest, evidence);
        }
    }

    /// A request for permission waits for an answer.
    pub(crate) fn park(&mut self, id: ProcessId, ticket: Ticket, title: String, body: String) -> bool {
        let now = self.now;
        let Some(agent) = self.agent_mut(id) else { return false };
        let Some(desk) = agent.record.permissions else { return false };
        agent.live.dialogs.parked += 1;
        let (until, on_timeout) = (now.uptime_ms.saturating_add(desk.timeout_ms), desk.on_timeout);
        let options = vec![option(1, "allow", "Allow"), option(2, "deny", "Deny")];
        let about = About::Permission { ticket, until, on_timeout };
        let number = self.open_item(id, ItemKind::Permission, ItemText { title, body }, options, about);
        let answer = match on_timeout {
            OnTimeout::Deny => "deny",
            OnTimeout::Allow => "allow",
            OnTimeout::Ask => "ask on the agent's own screen",
        };
        let at = now.wall_ms.saturating_add(desk.timeout_ms);
        if let Some(item) = self.items.get_mut(&number) {
            item.view.expires = Some(Expiry { at, answer: answer.to_owned() });
        }
        self.reevaluate(id);
        true
    }

    /// A request for permission is decided, by somebody or by time.
    pub(crate) fn unpark(&mut self, number: u64, decision: HookDecision) {
        let Some(item) = self.items.get(&number) else { return };
        let (id, About::Permission { ticket, .. }) = (item.view.id, &item.about) else { return };
        let ticket = *ticket;
        self.close_item(number);
        let is_decided = matches!(decision, HookDecision::Allow | HookDecision::Deny(_));
        self.reply(ticket, Ok(CommandAnswer::Hook(decision)));
        let now = self.now;
        if let Some(agent) = self.agent_mut(id) {
            agent.live.dialogs.parked = agent.live.dialogs.parked.saturating_sub(1);
            // A subagent's request left no word of its own about the agent.
            let hook = agent.live.evidence.table.get(Source::Hook).and_then(|slot| slot.state());
            if is_decided && hook == Some(AgentState::Blocked) {
                let goes_on = Evidence::new(Source::Hook, "answered", Some(AgentState::Working));
                agent.live.evidence.table.put(goes_on, now);
            }
        }
        self.reevaluate(id);
    }

    /// The hook that waited is gone; nobody reads the answer.
    pub(crate) fn forget_parked(&mut self, gone: Ticket) {
        let of = |item: &Item| matches!(item.about, About::Permission { ticket, .. } if ticket == gone);
        let numbers: Vec<u64> =
            self.items.values().filter(|item| of(item)).map(|item| item.view.item).collect();
        for number in numbers {
            self.unpark(number, HookDecision::Nothing);
        }
    }

    /// Requests that nobody answered in time.
    pub(crate) fn pass_inbox_deadlines(&mut self) {
        let now = self.now.uptime_ms;
        let due = |item: &Item| match item.about {
            About::Permission { until, on_timeout, .. } if until <= now => Some((item.view.item, on_timeout)),
            About::Permission { .. }
            | About::Dialog(_)
            | About::Failure
            | About::Shortfalls
            | About::Question(_)
            | About::Trust { .. } => None,
        };
        let over: Vec<(u64, OnTimeout)> = self.items.values().filter_map(due).collect();
        for (number, on_timeout) in over {
            let decision = match on_timeout {
                OnTimeout::Deny => HookDecision::Deny("nobody answered in time".to_owned()),
                OnTimeout::Allow => HookDecision::Allow,
                OnTimeout::Ask => HookDecision::Nothing,
            };
            self.unpark(number, decision);
        }
    }

    /// When a request is next due.
    pub(crate) fn inbox_deadline(&self) -> Option<u64> {
        let until = |item: &Item| match item.about {
            About::Permission { until, .. } => Some(until),
            About::Dialog(_)
            | About::Failure
            | About::Shortfalls
            | About::Question(_)
            | About::Trust { .. } => None,
        };
        self.items.values().filter_map(until).min()
    }

    /// Something failed that a person should know; it replaces an older failure of the same agent.
    pub(crate) fn fail_agent(&mut self, id: ProcessId, title: &str, body: &str) {
        self.open_failure(id, title, body, vec![option(1, "dismiss", "Dismiss")]);
    }

    /// The same with answers of its own.
    pub(crate) fn open_failure(
        &mut self,
        id: ProcessId,
        title: &str,
        body: &str,
        options: Vec<DialogOption>,
    ) {
        self.clear_failure(id);
        let words = ItemText { title: title.to_owned(), body: body.to_owned() };
        let number = self.open_item(id, ItemKind::Failure, words, options, About::Failure);
        let view = self.items.get(&number).map(|item| item.view.clone());
        if let Some(agent) = self.agent_mut(id) {
            agent.record.failure = view;
            self.mark_durable(id);
        }
    }

    /// Adds what the program itself said to the failure that a person reads.
    pub(crate) fn add_to_failure(&mut self, id: ProcessId, lines: &str) {
        let Some(agent) = self.agent_mut(id) else { return };
        let Some(failure) = agent.record.failure.as_mut().filter(|_| !lines.trim().is_empty()) else {
            return;
        };
        failure.body = format!("{}\nits last words:\n{}", failure.body, lines.trim_end());
        let view = failure.clone();
        if let Some(item) = self.items.get_mut(&view.item) {
            item.view = view.clone();
        }
        self.mark_durable(id);
        self.announce(Event::ItemOpened(Box::new(view)));
    }

    /// The failure no longer matters.
    pub(crate) fn clear_failure(&mut self, id: ProcessId) {
        let Some(failure) = self.agent_mut(id).and_then(|agent| agent.record.failure.take()) else { return };
        self.close_item(failure.item);
        self.mark_durable(id);
    }

    /// Opens an item; its number.
    pub(crate) fn open_item(
        &mut self,
        id: ProcessId,
        kind: ItemKind,
        text: ItemText,
        options: Vec<DialogOption>,
        about: About,
    ) -> u64 {
        let number = self.next_item();
        let Some(name) = self.processes.get(&id).map(|process| process.name.clone()) else { return number };
        let at = self.now.wall_ms;
        let ItemText { title, body } = text;
        let view = InboxItem { item: number, id, name, kind, title, body, options, at, expires: None };
        self.items.insert(number, Item { view: view.clone(), about });
        self.notify(id, &view);
        self.notice_blocked(&view);
        self.announce(Event::ItemOpened(Box::new(view)));
        number
    }

    /// Tells a person who is not looking.
    fn notify(&mut self, id: ProcessId, view: &InboxItem) {
        let now = self.now.uptime_ms;
        let Some(process) =
            self.processes.get_mut(&id).filter(|process| process.run.viewers.attached.is_empty())
        else {
            return;
        };
        let run = process.key();
        let Some(agent) = process.agent.as_deref_mut() else { return };
        if agent.notified_at.is_some_and(|at| now < at.saturating_add(NOTIFY_EVERY_MS)) {
            return;
        }
        agent.notified_at = Some(now);
        let title = format!("{}: {}", view.name, view.title);
        self.effects.push(Effect::Notify { run, title, body: view.body.clone() });
    }

    pub(crate) fn close_item(&mut self, number: u64) {
        let Some(item) = self.items.remove(&number) else { return };
        if matches!(item.about, About::Question(_)) {
            self.effects.push(Effect::Record(Record::RemoveQuestion(number)));
        }
        self.withdraw_blocked(&item.view);
        self.announce(Event::ItemClosed { item: number });
        self.waits_see_item_closed(number);
    }

    /// Nothing of a run that is over can be answered; failures stay.
    pub(crate) fn close_items_of(&mut self, id: ProcessId) {
        let of = |item: &&Item| item.view.id == id && item.about != About::Failure;
        let numbers: Vec<u64> = self.items.values().filter(of).map(|item| item.view.item).collect();
        for number in numbers {
            match self.items.get(&number).map(|item| &item.about) {
                Some(About::Permission { .. }) => self.unpark(number, HookDecision::Nothing),
                _ => self.close_item(number),
            }
        }
    }
}

/// What a person reads about a block.
fn words(evidence: &Evidence) -> (String, String, Vec<DialogOption>) {
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
    Failure::new(ErrorCode::Conflict, "that dialog is no longer open").hint("qd inbox shows what is")
}
