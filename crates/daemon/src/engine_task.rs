//! The task that runs the engine: commands and facts in, effects out, one at a time. It keeps the unanswered
//! tickets, the alarm and the typing jobs; the engine decides.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::input::{JobId, TypingOutcome};
use engine::{
    AddressedEvent, AuditNote, Command, CommandAnswer, Effect, Engine, Input, Keystrokes, Principal, RunFact,
    Ticket,
};
use proto::reply::Done;
use proto::{ErrorCode, Failure, Reply};
use store::Change;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::alarm::Alarm;
use crate::call_queue::{CallReceiver, CallSender, call_queue};
use crate::caller::Who;
use crate::clock;
use crate::effect_runner::{EffectRunner, take_first_starts, without_acknowledged_ends};
use crate::failpoint::{self, Failpoint};
use crate::held_deliveries::HeldDeliveries;
use crate::idle_trim::IdleTrim;
use crate::records::Otherwise;
use crate::warnings::Warnings;

/// The most facts that wait; the workers keep what does not fit.
pub(crate) const FACTS: usize = 4096;
/// How many events a slow subscriber may be behind before it gets a resync.
const EVENTS: usize = 1024;

/// The result of a command.
pub(crate) type Answered = Result<CommandAnswer, Failure>;

/// One command for the engine.
pub(crate) struct Ask {
    pub(crate) ticket: Ticket,
    pub(crate) principal: Principal,
    pub(crate) command: Command,
    pub(crate) reply: oneshot::Sender<Answered>,
}

/// The handle of the engine task. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EngineHandle {
    asks: CallSender<Ask>,
    pub(crate) facts: mpsc::Sender<Input>,
    events: broadcast::Sender<Arc<AddressedEvent>>,
    tickets: Arc<AtomicU64>,
    gone: Departed,
}

/// The tickets of callers that went before they were answered and that the engine does not know of yet. It is
/// a value and not a queue: a caller that goes cannot wait, and a wait whose caller is gone would be kept for
/// ever. Its length is bounded by the commands under way.
type Departed = watch::Sender<Vec<Ticket>>;

impl EngineHandle {
    /// Sends a command to the engine and waits for its answer. When the future is dropped, the engine learns
    /// that the caller is gone.
    pub(crate) async fn ask(&self, principal: Principal, command: Command) -> Answered {
        let ticket = Ticket(self.tickets.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        let is_agreed = principal.caller.is_person() && is_plain_shutdown(&command);
        let guard = Guard { ticket, gone: Some(self.gone.clone()) };
        let who = Who::of(principal.caller);
        let is_sent = self.asks.send(who, Ask { ticket, principal, command, reply }).await;
        let answered = if is_sent { answer.await.ok() } else { None };
        guard.disarm();
        answered.unwrap_or_else(|| unanswered(is_agreed))
    }

    /// Returns a subscription to events from now on.
    pub(crate) fn events(&self) -> broadcast::Receiver<Arc<AddressedEvent>> {
        self.events.subscribe()
    }
}

/// Returns true if this only ends the daemon.
fn is_plain_shutdown(command: &Command) -> bool {
    matches!(command, Command::Shutdown(shutdown) if !shutdown.kill)
}

/// Returns the answer to a command that comes after the engine task has ended. A plain shutdown succeeds: as
/// for the first caller, the connection closes when everything is stored.
fn unanswered(is_agreed: bool) -> Answered {
    if is_agreed {
        return Ok(CommandAnswer::Reply(Reply::Done(Done {})));
    }
    Err(Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down"))
}

/// Reports to the engine when the caller goes away before the answer.
struct Guard {
    ticket: Ticket,
    gone: Option<Departed>,
}

impl Guard {
    fn disarm(mut self) {
        self.gone = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(gone) = self.gone.take() {
            gone.send_modify(|gone| gone.push(self.ticket));
        }
    }
}

/// The engine task itself.
pub(crate) struct EngineTask {
    engine: Engine,
    runner: EffectRunner,
    inputs: Inputs,
    /// Typing jobs of the engine, described without their text; each ends with a fact.
    typing: HashMap<JobId, String>,
    /// Deliveries that wait until their records are stored.
    held: HeldDeliveries,
    alarm: Alarm,
    quiet: IdleTrim,
}

/// The channels of the engine task: made first, because the workers need their ends.
pub(crate) struct Channels {
    pub(crate) handle: EngineHandle,
    inputs: Inputs,
}

/// The inputs of the engine task, and the callers that wait for an answer.
struct Inputs {
    asks: CallReceiver<Ask>,
    facts: mpsc::Receiver<Input>,
    gone: (Departed, watch::Receiver<Vec<Ticket>>),
    tickets: HashMap<Ticket, oneshot::Sender<Answered>>,
}

impl Inputs {
    /// Returns the next inputs, in this order of priority. Nothing is lost when the future is dropped.
    async fn next(&mut self) -> Vec<Input> {
        tokio::select! {
            biased;
            Some(fact) = self.facts.recv() => vec![fact],
            Ok(()) = self.gone.1.changed() => self.departures(),
            Some(ask) = self.asks.next() => self.register(ask),
        }
    }

    /// Registers a command. Its caller may have gone while it waited: the engine may have got that fact
    /// before the command, so it gets it again after it. The command counts all the same, as it would have a
    /// moment earlier.
    fn register(&mut self, ask: Ask) -> Vec<Input> {
        let Ask { ticket, principal, command, reply } = ask;
        let is_gone = reply.is_closed();
        self.tickets.insert(ticket, reply);
        let gone = is_gone.then_some(Input::CallerGone { ticket });
        [Input::Command { principal, ticket, command }].into_iter().chain(gone).collect()
    }

    fn departures(&mut self) -> Vec<Input> {
        let mut gone = Vec::new();
        self.gone.0.send_if_modified(|waiting| {
            gone = std::mem::take(waiting);
            false
        });
        gone.into_iter().map(|ticket| Input::CallerGone { ticket }).collect()
    }
}

impl Channels {
    pub(crate) fn new() -> Self {
        let (asks, asked) = call_queue();
        let (facts, known) = mpsc::channel(FACTS);
        let (events, _) = broadcast::channel(EVENTS);
        let (gone, left) = watch::channel(Vec::new());
        let inputs =
            Inputs { asks: asked, facts: known, gone: (gone.clone(), left), tickets: HashMap::new() };
        let handle = EngineHandle { asks, facts, events, tickets: Arc::new(AtomicU64::new(1)), gone };
        Self { handle, inputs }
    }

    pub(crate) fn events(&self) -> broadcast::Sender<Arc<AddressedEvent>> {
        self.handle.events.clone()
    }
}

impl EngineTask {
    pub(crate) fn new(
        engine: Engine,
        runner: EffectRunner,
        channels: Channels,
        warnings: Warnings,
    ) -> std::io::Result<Self> {
        let Channels { inputs, .. } = channels;
        let (typing, held) = (HashMap::new(), HeldDeliveries::new(warnings));
        Ok(Self { engine, runner, inputs, typing, held, alarm: Alarm::new()?, quiet: IdleTrim::new()? })
    }

    /// Works until the engine stops.
    pub(crate) async fn work(mut self) {
        loop {
            self.alarm.set(self.engine.next_deadline());
            let inputs = tokio::select! {
                biased;
                inputs = self.inputs.next() => inputs,
                () = self.alarm.rings() => vec![Input::DeadlinePassed],
                () = self.runner.records.caught_up(), if !self.held.is_empty() => {
                    let effects = self.held.release();
                    self.carry_out(effects);
                    continue;
                }
                () = self.quiet.comes() => {
                    self.quiet.rest();
                    continue;
                }
            };
            for input in inputs {
                if self.decide(input).await {
                    return;
                }
            }
        }
    }

    /// Passes an input to the engine and carries out the effects; returns true to stop.
    pub(crate) async fn decide(&mut self, input: Input) -> bool {
        if let Input::CallerGone { ticket } = &input {
            self.inputs.tickets.remove(ticket);
        }
        if matches!(&input, Input::Fact { .. }) {
            failpoint::pass(Failpoint::FactReceived);
        }
        let typed = self.typed(&input);
        let now = clock::now();
        self.quiet.worked(now.uptime_ms);
        let mut effects = self.engine.handle(now, input);
        effects.extend(typed.map(Effect::Audit));
        let effects = self.keep(effects).await;
        self.carry_out(effects)
    }

    fn carry_out(&mut self, effects: Vec<Effect>) -> bool {
        for effect in &effects {
            if let Effect::Type { job, what, .. } = effect {
                self.typing.insert(*job, size(what));
            }
        }
        self.runner.carry_out(effects, &mut self.inputs.tickets)
    }

    /// Makes the decision durable and returns the remaining effects. A command whose records are refused is
    /// undone; a decision that cannot be undone continues, and its records are retried. What it delivers waits
    /// for them: a daemon that dies before would deliver it again.
    async fn keep(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let (changes, mut rest) = self.runner.split(effects);
        if changes.is_empty() {
            return rest;
        }
        let is_undoable = self.engine.is_undoable();
        let otherwise = if is_undoable { Otherwise::Forget } else { Otherwise::Retry };
        let removes = changes.iter().any(|change| matches!(change, Change::RemoveProcess { .. }));
        let saving = self.runner.records.begin(changes, otherwise).await;
        if !is_undoable {
            let first_starts = take_first_starts(&mut rest);
            self.carry_out(first_starts);
        }
        let kept = saving.end().await;
        failpoint::pass(Failpoint::Recorded);
        if removes {
            failpoint::pass(Failpoint::Removed);
        }
        match kept {
            Ok(()) => rest,
            Err(unsaved) if is_undoable => self.engine.undo(unsaved.refused()),
            Err(unsaved) => without_acknowledged_ends(self.held.hold(rest), &unsaved),
        }
    }

    /// Returns the audit note for typing that is now known to have reached a terminal.
    fn typed(&mut self, input: &Input) -> Option<AuditNote> {
        let Input::Fact { run, fact: RunFact::TypingDone { job, outcome } } = input else { return None };
        let what = self.typing.remove(job)?;
        let detail = match outcome {
            TypingOutcome::Done => what,
            TypingOutcome::Partial => format!("a part of {what}"),
            TypingOutcome::Dialog
            | TypingOutcome::Stale
            | TypingOutcome::NoEcho
            | TypingOutcome::Draft
            | TypingOutcome::NoComposer
            | TypingOutcome::Shell
            | TypingOutcome::OtherText
            | TypingOutcome::PersonTyping
            | TypingOutcome::Gone => return None,
        };
        let (target, decision) = (Some(run.process.to_string()), "allowed".to_owned());
        Some(AuditNote { caller: None, via: None, verb: "type", target, decision, detail })
    }
}

/// Returns how much is typed, without any of its text.
fn size(what: &Keystrokes) -> String {
    match what {
        Keystrokes::Paste(text) => format!("{} bytes", text.len()),
        Keystrokes::Keys(keys) => format!("{} keys", keys.len()),
    }
}

#[cfg(test)]
mod tests;
