//! The engine's shell: asks and facts in, effects out, one at a time.
//!
//! Owns the engine, the unanswered tickets, the alarm and what is being typed for the engine. Refuses deciding: it only
//! carries.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::input::{JobId, Typing};
use engine::{Answer, AuditNote, Caller, Command, Effect, Engine, Fact, Input, Keystrokes, Ticket};
use proto::Failure;
use proto::event::Announcement;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::alarm::Alarm;
use crate::clock;
use crate::effects::Hands;

/// Asks that may wait; the connections that sent them wait with them.
const ASKS: usize = 256;
/// Facts that may wait; the workers keep what does not fit.
pub(crate) const FACTS: usize = 4096;
/// Events a slow subscriber may be behind before it is told to resync.
const EVENTS: usize = 1024;

/// What a command comes back with.
pub(crate) type Answered = Result<Answer, Failure>;

/// One question to the engine.
pub(crate) struct Ask {
    pub(crate) ticket: Ticket,
    pub(crate) caller: Caller,
    pub(crate) command: Command,
    pub(crate) reply: oneshot::Sender<Answered>,
}

/// The way to the desk. Cheap to clone.
#[derive(Clone)]
pub(crate) struct DeskHandle {
    asks: mpsc::Sender<Ask>,
    pub(crate) facts: mpsc::Sender<Input>,
    events: broadcast::Sender<Arc<Announcement>>,
    tickets: Arc<AtomicU64>,
}

impl DeskHandle {
    /// Asks the engine and waits for its answer. Dropped while waiting, the engine is told that nobody listens.
    pub(crate) async fn ask(&self, caller: Caller, command: Command) -> Answered {
        let ticket = Ticket(self.tickets.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        let ending = || Failure::new(proto::ErrorCode::ShuttingDown, "Quarterdeck is shutting down");
        let guard = Guard { ticket, facts: Some(self.facts.clone()) };
        self.asks.send(Ask { ticket, caller, command, reply }).await.map_err(|_| ending())?;
        let answered = answer.await.map_err(|_| ending());
        guard.disarm();
        answered?
    }

    /// Events from here on.
    pub(crate) fn events(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.events.subscribe()
    }
}

/// Tells the engine when whoever asked goes away before the answer.
struct Guard {
    ticket: Ticket,
    facts: Option<mpsc::Sender<Input>>,
}

impl Guard {
    fn disarm(mut self) {
        self.facts = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(facts) = self.facts.take() {
            // Full-queue policy: dropped. The answer then goes to nobody, which is harmless; only a wait stays
            // registered until it is satisfied.
            let _full = facts.try_send(Input::CallerGone { ticket: self.ticket });
        }
    }
}

/// The desk itself.
pub(crate) struct Desk {
    engine: Engine,
    hands: Hands,
    asks: mpsc::Receiver<Ask>,
    facts: mpsc::Receiver<Input>,
    tickets: HashMap<Ticket, oneshot::Sender<Answered>>,
    /// What is being typed for the engine, in words that tell nothing of it; each ends with a fact.
    typing: HashMap<JobId, String>,
    alarm: Alarm,
}

/// The channels a desk is built around: made first, because the workers need their end.
pub(crate) struct Channels {
    pub(crate) handle: DeskHandle,
    asks: mpsc::Receiver<Ask>,
    facts: mpsc::Receiver<Input>,
}

impl Channels {
    pub(crate) fn new() -> Self {
        let (asks, asked) = mpsc::channel(ASKS);
        let (facts, known) = mpsc::channel(FACTS);
        let (events, _) = broadcast::channel(EVENTS);
        let handle = DeskHandle { asks, facts, events, tickets: Arc::new(AtomicU64::new(1)) };
        Self { handle, asks: asked, facts: known }
    }

    pub(crate) fn events(&self) -> broadcast::Sender<Arc<Announcement>> {
        self.handle.events.clone()
    }
}

impl Desk {
    pub(crate) fn new(engine: Engine, hands: Hands, channels: Channels) -> std::io::Result<Self> {
        let Channels { asks, facts, .. } = channels;
        let (tickets, typing) = (HashMap::new(), HashMap::new());
        Ok(Self { engine, hands, asks, facts, tickets, typing, alarm: Alarm::new()? })
    }

    /// Works until the engine says stop.
    pub(crate) async fn work(mut self) {
        loop {
            self.alarm.set(self.engine.next_deadline());
            let input = tokio::select! {
                biased;
                Some(fact) = self.facts.recv() => fact,
                Some(ask) = self.asks.recv() => {
                    self.tickets.insert(ask.ticket, ask.reply);
                    Input::Command { caller: ask.caller, ticket: ask.ticket, command: ask.command }
                }
                () = self.alarm.rings() => Input::DeadlinePassed,
            };
            if self.decide(input).await {
                return;
            }
        }
    }

    /// Lets the engine decide and carries it out; whether to stop.
    pub(crate) async fn decide(&mut self, input: Input) -> bool {
        if let Input::CallerGone { ticket } = &input {
            self.tickets.remove(ticket);
        }
        let typed = self.typed(&input);
        let mut effects = self.engine.handle(clock::now(), input);
        effects.extend(typed.map(Effect::Audit));
        for effect in &effects {
            if let Effect::Type { job, what, .. } = effect {
                self.typing.insert(*job, size(what));
            }
        }
        self.hands.carry_out(effects, &mut self.tickets).await
    }

    /// What was typed for the engine, now that it is known to have reached a terminal.
    fn typed(&mut self, input: &Input) -> Option<AuditNote> {
        let Input::Fact { run, fact: Fact::TypingDone { job, outcome } } = input else { return None };
        let what = self.typing.remove(job)?;
        let detail = match outcome {
            Typing::Done => what,
            Typing::Partial => format!("a part of {what}"),
            Typing::Dialog
            | Typing::Stale
            | Typing::NoEcho
            | Typing::Draft
            | Typing::HumanTyping
            | Typing::Gone => return None,
        };
        let (target, decision) = (Some(run.process.to_string()), "allowed".to_owned());
        Some(AuditNote { caller: None, verb: "type", target, decision, detail })
    }
}

/// How much is typed, without a word of it.
fn size(what: &Keystrokes) -> String {
    match what {
        Keystrokes::Paste(text) => format!("{} bytes", text.len()),
        Keystrokes::Keys(keys) => format!("{} keys", keys.len()),
    }
}
