//! What one decision produces: effects and events in order, the changed processes, and the numbers that are given out.

use std::collections::{BTreeSet, VecDeque};

use proto::agent::{InboxItem, MailId};
use proto::event::{Announcement, Event};
use proto::{Failure, Limit, Name, Printable, ProcessId};

use crate::effect::{AddressedEvent, CommandAnswer, Effect};
use crate::input::{JobId, Moment, RunKey, Ticket};
use crate::process::{Process, Processes};
use crate::record::{Counters, Record};
use crate::rights::audience::{Audience, Topic};
use crate::undo::UndoCell;

/// The effects of the current decision, and the moment it is made at.
pub(crate) struct Outbox {
    /// The moment of the current input.
    pub(crate) now: Moment,
    pub(crate) effects: Vec<Effect>,
    /// The announced events of which it is not decided yet who gets them: where they are, and what they are about.
    unaddressed: Vec<(usize, Topic)>,
    /// Processes that the current input changed: each is recorded and announced once, at its end.
    durable: BTreeSet<ProcessId>,
    /// Processes of which something changed that is not worth a record: each is announced once, at its end.
    visible: BTreeSet<ProcessId>,
    pub(crate) numbers: UndoCell<Numbers>,
    /// While a command is decided: where its caller is, and what it may do at most.
    pub(crate) scope: CallerScope,
    /// Reports to the other machines, in order.
    signals: VecDeque<Signal>,
}

/// Where the caller of the present command is, and what its connection may do at most. Between commands it is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallerScope {
    /// In which process the person sits who asks.
    pub(crate) via: Option<Name>,
    /// The device or the token of a remote person.
    pub(crate) label: Option<String>,
    pub(crate) limit: Limit,
}

impl CallerScope {
    /// Where a person is, in words: a label is quoted, so that it cannot be mistaken for the name of a process.
    pub(crate) fn whereabouts(&self) -> Option<String> {
        let labelled = self.label.as_deref().map(quoted);
        labelled.or_else(|| self.via.as_ref().map(Name::to_string))
    }
}

/// The label of a remote person, in words.
pub(crate) fn quoted(label: &str) -> String {
    format!("\"{}\"", Printable(label))
}

/// What one machine reports to the others. The router delivers it before the decision ends.
#[derive(Clone, Debug)]
pub(crate) enum Signal {
    /// Something changed that the state of this agent, its inbox or its mail may follow.
    Reevaluate(ProcessId),
    /// A message to this process was closed and begins no turn.
    MailOver(ProcessId),
    /// A message was closed; nothing changes any more whether it arrived.
    MailClosed(MailId),
    /// A turn of this agent is over, and its text is known or given up.
    TurnOver(ProcessId),
    /// An item was opened.
    ItemOpened(Box<InboxItem>),
    /// An item was closed.
    ItemClosed(Box<InboxItem>),
    /// A person answered what a run asked. It comes before the item is closed.
    Answered(Box<AnsweredQuestion>),
    /// A timer has fired or was cancelled.
    TimerOver {
        /// Which.
        timer: u64,
        /// Whose.
        owner: ProcessId,
    },
}

/// The answer of a person to what a run asked.
#[derive(Clone, Debug)]
pub(crate) struct AnsweredQuestion {
    pub(crate) item: u64,
    pub(crate) asker: RunKey,
    pub(crate) answer: String,
    /// The message that carries the answer when the asker does not wait for it, and its key; none: no message.
    pub(crate) message: Option<(String, String)>,
}

/// The numbers that are given out, and the sequences they come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// Numbers that outlive the daemon.
    pub(crate) counters: Counters,
    next_job: u64,
    /// Grows by one with each announced event.
    revision: u64,
    random: u64,
}

impl Outbox {
    /// An empty outbox whose random sequence starts with `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let numbers = Numbers { counters: Counters::default(), next_job: 0, revision: 0, random: seed };
        Self {
            now: Moment::default(),
            effects: Vec::new(),
            unaddressed: Vec::new(),
            durable: BTreeSet::new(),
            visible: BTreeSet::new(),
            numbers: numbers.into(),
            scope: CallerScope::default(),
            signals: VecDeque::new(),
        }
    }

    /// Adds an effect.
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Makes a change durable.
    pub(crate) fn record(&mut self, record: Record) {
        self.effects.push(Effect::Record(record));
    }

    /// Reports something to the other machines.
    pub(crate) fn signal(&mut self, signal: Signal) {
        self.signals.push_back(signal);
    }

    /// Takes the oldest report that was not delivered yet.
    pub(crate) fn next_signal(&mut self) -> Option<Signal> {
        self.signals.pop_front()
    }

    /// Answers a request.
    pub(crate) fn reply(&mut self, ticket: Ticket, result: Result<CommandAnswer, Failure>) {
        self.effects.push(Effect::Reply { ticket, result: Box::new(result) });
    }

    /// Announces an event that says itself what it is about.
    pub(crate) fn announce(&mut self, event: Event) {
        let topic = Topic::of(&event);
        self.announce_about(event, topic);
    }

    /// Announces an event about this topic. Who gets it is decided by [`Outbox::address`].
    pub(crate) fn announce_about(&mut self, event: Event, topic: Topic) {
        self.unaddressed.push((self.effects.len(), topic));
        self.announce_to(event, Audience::default());
    }

    /// Announces an event to subscribers that were decided before.
    pub(crate) fn announce_to(&mut self, event: Event, audience: Audience) {
        self.numbers.revision += 1;
        let announcement = Announcement { revision: self.numbers.revision, what: event };
        self.effects.push(Effect::Announce(AddressedEvent { announcement, audience }));
    }

    /// Takes the topics of the events of which it is not decided yet who gets them.
    pub(crate) fn take_unaddressed(&mut self) -> Vec<(usize, Topic)> {
        std::mem::take(&mut self.unaddressed)
    }

    /// Notes who gets the event at this place.
    pub(crate) fn address(&mut self, index: usize, audience: Audience) {
        if let Some(Effect::Announce(event)) = self.effects.get_mut(index) {
            event.audience = audience;
        }
    }

    /// The number of the last announced event.
    pub(crate) fn revision(&self) -> u64 {
        self.numbers.revision
    }

    /// The processes that are marked as changed.
    pub(crate) fn changed(&self) -> impl Iterator<Item = ProcessId> {
        self.durable.iter().copied()
    }

    /// Marks a process as changed; [`Outbox::flush`] records and announces it once.
    pub(crate) fn mark_durable(&mut self, id: ProcessId) {
        self.durable.insert(id);
    }

    /// Marks a process as changed in a way that is not worth a record.
    pub(crate) fn mark_visible(&mut self, id: ProcessId) {
        self.visible.insert(id);
    }

    /// Forgets the changes of a process that is gone.
    pub(crate) fn unmark(&mut self, id: ProcessId) {
        self.durable.remove(&id);
        self.visible.remove(&id);
    }

    /// Records and announces the processes that changed.
    pub(crate) fn flush(&mut self, processes: &Processes) {
        for id in std::mem::take(&mut self.visible) {
            let is_seen = |process: &&Process| !process.is_departed();
            let view = processes.get(&id).filter(is_seen).map(Process::view);
            if let Some(view) = view.filter(|_| !self.durable.contains(&id)) {
                self.announce(Event::Changed(Box::new(view)));
            }
        }
        for id in std::mem::take(&mut self.durable) {
            let Some(process) = processes.get(&id) else { continue };
            self.record(Record::Put(Box::new(process.record())));
            if !process.is_departed() {
                self.announce(Event::Changed(Box::new(process.view())));
            }
        }
    }

    /// A number for the next message.
    pub(crate) fn next_mail(&mut self) -> MailId {
        let id = MailId(self.numbers.counters.next_mail);
        self.numbers.counters.next_mail += 1;
        self.record(Record::Counters(self.numbers.counters));
        id
    }

    /// A number for the next item of the inbox.
    pub(crate) fn next_item(&mut self) -> u64 {
        let item = self.numbers.counters.next_item;
        self.numbers.counters.next_item += 1;
        self.record(Record::Counters(self.numbers.counters));
        item
    }

    /// A number for the next piece of guarded typing.
    pub(crate) fn next_job(&mut self) -> JobId {
        self.numbers.next_job += 1;
        JobId(self.numbers.next_job)
    }

    /// The next number of a SplitMix64 sequence: unguessable enough for ids, and the same in every replay.
    pub(crate) fn random(&mut self) -> u64 {
        self.numbers.random = self.numbers.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.numbers.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
