//! Carries out the engine's effects, in order.
//!
//! Records become durable before an answer is sent, and an end that is not on the disk is not acknowledged. Only the
//! answer to a first start overtakes its second record ([`take_first_starts`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use engine::effect::{Guard, Keystrokes};
use engine::input::{JobId, TypingOutcome};
use engine::{AddressedEvent, CommandAnswer, Effect, Input, Record, RunFact, RunKey, StartRun, Ticket};
use holder::Launcher;
use proto::{Dirs, ProcessId, Reply};
use store::Change;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::adopt::PendingHolders;
use crate::agents::{Agents, SoughtMessage, WantedText};
use crate::engine_task::Answered;
use crate::failpoint::{self, Failpoint};
use crate::records::closed::{self, Closed, ClosedEntries};
use crate::records::{self, Records, Unsaved};
use crate::screens::{Ended, Order, Screens, TypeJob};
use crate::{launch, line_pattern, ports};

/// How long typing for a program waits for another writer to finish.
const TYPING_TIMEOUT: Duration = Duration::from_secs(10);

/// What carrying out effects needs.
pub(crate) struct EffectRunner {
    pub(crate) screens: Screens,
    pub(crate) agents: Agents,
    pub(crate) records: Records,
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) dirs: Arc<Dirs>,
    /// The umask of children: the user's, not the daemon's own.
    pub(crate) umask: u32,
    pub(crate) facts: mpsc::Sender<Input>,
    /// Runs of an earlier daemon whose holder has not answered yet.
    pub(crate) pending: PendingHolders,
    pub(crate) events: broadcast::Sender<Arc<AddressedEvent>>,
    /// Entries that were closed.
    pub(crate) closed: ClosedEntries,
}

impl EffectRunner {
    /// Separates the records among the effects, as changes for the store, from the other effects.
    ///
    /// All records of one decision and its audit rows are one transaction.
    pub(crate) fn split(&self, effects: Vec<Effect>) -> (Vec<Change>, Vec<Effect>) {
        let mut changes: Vec<Change> = Vec::new();
        let mut rest: Vec<Effect> = Vec::with_capacity(effects.len());
        let kept_backgrounds = Closed::kept_backgrounds(&effects);
        for effect in effects {
            match effect {
                Effect::Record(Record::Remove(process)) => {
                    changes.extend(self.removal(process, Closed::new(process, &kept_backgrounds)));
                }
                Effect::Record(record) => changes.extend(records::change(record)),
                Effect::Audit(note) => changes.push(records::audit(note)),
                other => rest.push(other),
            }
        }
        (changes, rest)
    }

    /// Forgets what is kept of an entry; returns the changes that remove it from the store.
    fn removal(&self, process: ProcessId, closed: Closed) -> impl Iterator<Item = Change> {
        self.agents.forget(process);
        self.screens.kept().forget(process);
        let gone = self.closed.add(process, &self.dirs.holders());
        closed::removal(process, closed).into_iter().chain(closed::forget(gone))
    }

    /// Carries out the other effects once the records are stored; returns true if the daemon is to stop.
    pub(crate) fn carry_out(
        &self,
        effects: Vec<Effect>,
        tickets: &mut HashMap<Ticket, oneshot::Sender<Answered>>,
    ) -> bool {
        let mut stops = false;
        for effect in effects {
            stops |= self.do_one(effect, tickets);
            failpoint::pass(Failpoint::EffectDone);
        }
        stops
    }

    fn do_one(&self, effect: Effect, tickets: &mut HashMap<Ticket, oneshot::Sender<Answered>>) -> bool {
        match effect {
            Effect::Start(start) => self.start(*start),
            Effect::Resize { run, size } => self.order(run, Order::Resize(run, size)),
            Effect::Signal { run, signal } => self.order(run, Order::Signal(run, signal)),
            Effect::EndChild { run, signal } => self.order(run, Order::EndChild(run, signal)),
            Effect::Kill { run, signal, grace_ms } => {
                // A run whose holder has not answered yet gets the order later, or is swept when that takes
                // too long.
                if !self.screens.order(run, Order::Kill { run, signal, grace_ms }) && !self.pending.has(run) {
                    self.send_fact(run, RunFact::TreeGone);
                }
            }
            Effect::Sweep { run } => {
                if !self.screens.order(run, Order::Sweep(run)) && !self.pending.end(run) {
                    self.send_fact(run, RunFact::Lost { final_offset: 0, survivors: Vec::new() });
                }
            }
            Effect::Release { run, end_tree, reason } => {
                self.order(run, Order::Release { run, end_tree, reason });
                self.screens.forget(run);
                self.agents.release(run);
            }
            Effect::Retire(former) => {
                let agents = self.agents.clone();
                self.screens.retire(former, move || agents.release(former.run));
            }
            Effect::LetGo { run, viewer } => self.order(run, Order::LetGo(run, viewer)),
            Effect::Watch { run, wait, pattern, since } => self.watch(run, wait, &pattern, since),
            Effect::Unwatch { run, wait } => self.order(run, Order::Unwatch(run, wait)),
            Effect::ReportExit { run, exit, final_offset, restarts, restarts_in_ms } => {
                let end = Ended { exit, final_offset, restarts, restarts_in_ms };
                self.order(run, Order::ReportExit(run, end));
                self.agents.ended(run);
            }
            Effect::Type { run, job, what, guard } => self.type_into(run, job, what, guard),
            Effect::HandOver { run, mail, text } => self.agents.hand_over(run, mail, text),
            Effect::AnswerServer { run, job, dialog, choice } => {
                self.agents.answer_server(run, job, dialog, choice);
            }
            Effect::CollectResult { run, turn, since, until, is_interrupted } => {
                self.agents.collect(run, WantedText { turn, span: since..=until, is_interrupted });
            }
            Effect::FindPrompt { run, mail, text, since } => {
                self.agents.find_prompt(run, SoughtMessage { mail, text, since });
            }
            Effect::ReadLastLines { run } => self.agents.read_last_lines(run),
            Effect::Notify { run, title, body } => self.agents.notify(run, title, body),
            Effect::KeepDrift { run, winner, other } => self.agents.keep_drift(run, winner, other),
            Effect::Announce(event) => {
                // There may be no subscriber.
                let _nobody = self.events.send(Arc::new(event));
            }
            Effect::Reply { ticket, result } => answer(tickets, ticket, *result),
            Effect::AwaitPort { run, port } => self.await_port(run, port),
            Effect::Record(_) | Effect::Audit(_) => {} // Kept before anything else was done.
            Effect::Stop => return true,
        }
        false
    }

    fn order(&self, run: RunKey, order: Order) {
        if !self.screens.order(run, order) {
            tracing::debug!(?run, "an order for a run that is not hosted any more");
        }
    }

    /// Sends a fact from a task of its own, because the engine task must not wait for its own queue.
    fn send_fact(&self, run: RunKey, fact: RunFact) {
        let facts = self.facts.clone();
        drop(tokio::spawn(async move { facts.send(Input::Fact { run, fact }).await }));
    }

    fn start(&self, start: StartRun) {
        let launcher = Arc::clone(&self.launcher);
        let dirs = Arc::clone(&self.dirs);
        let screens = self.screens.clone();
        let agents = self.agents.clone();
        let facts = self.facts.clone();
        let umask = self.umask;
        let run = start.run;
        drop(crate::threads::run(move || {
            if let Some(fact) = launch::start(&launcher, &dirs, umask, &screens, &agents, start) {
                // The receiver is gone only when the daemon is ending.
                drop(facts.blocking_send(Input::Fact { run, fact }));
            }
        }));
    }

    /// Types for a program once no other writer uses the run. The wait is in a task of its own.
    fn type_into(&self, run: RunKey, job: JobId, what: Keystrokes, guard: Guard) {
        let Some(handle) = self.screens.find(run) else {
            return self.send_fact(run, RunFact::TypingDone { job, outcome: TypingOutcome::Gone });
        };
        let (screens, facts, typing) =
            (self.screens.clone(), self.facts.clone(), Arc::clone(&handle.typing_permit));
        drop(tokio::spawn(async move {
            let outcome = match tokio::time::timeout(TYPING_TIMEOUT, typing.acquire_owned()).await {
                Ok(Ok(permit)) => {
                    let order = Order::Type(run, Box::new(TypeJob { job, what, guard, permit }));
                    if screens.order(run, order) {
                        return;
                    }
                    TypingOutcome::Gone
                }
                Ok(Err(_)) => TypingOutcome::Gone,
                Err(_) => TypingOutcome::PersonTyping,
            };
            // The receiver is gone only when the daemon is ending.
            drop(facts.send(Input::Fact { run, fact: RunFact::TypingDone { job, outcome } }).await);
        }));
    }

    /// Watches until a run's tree listens on a port; does nothing for a run that is gone.
    fn await_port(&self, run: RunKey, port: u16) {
        if let Some(handle) = self.screens.find(run) {
            drop(tokio::spawn(ports::watch(handle, port, self.facts.clone())));
        } else {
            tracing::debug!(?run, "a port of a run that is not hosted any more");
        }
    }

    fn watch(&self, run: RunKey, wait: engine::WaitId, text: &str, since: Option<u64>) {
        let is_watched = line_pattern::LinePattern::compile(text)
            .is_ok_and(|pattern| self.screens.order(run, Order::Watch { run, wait, pattern, since }));
        if !is_watched {
            self.send_fact(run, RunFact::Unmatched { wait });
        }
    }
}

/// Replaces the acknowledgement of every end and of every restart by an error that it is not saved: the next
/// daemon may not know of it. Other answers stay.
pub(crate) fn without_acknowledged_ends(effects: Vec<Effect>, unsaved: &Unsaved) -> Vec<Effect> {
    let stops = effects.iter().any(|effect| matches!(effect, Effect::Stop));
    let instead = |effect| match effect {
        Effect::Reply { ticket, result } if matches!(&*result, Ok(answer) if is_end(answer, stops)) => {
            Effect::Reply { ticket, result: Box::new(Err(unsaved.ended())) }
        }
        Effect::Reply { ticket, result } if matches!(&*result, Ok(answer) if is_restart(answer)) => {
            Effect::Reply { ticket, result: Box::new(Err(unsaved.restarted())) }
        }
        other => other,
    };
    effects.into_iter().map(instead).collect()
}

/// Takes the answers out that need not wait for the records of their decision: those to first starts.
///
/// The record of such a run is on the disk since before its holder was started, and says everything but that the run
/// has begun. A daemon that dies before the second record finds the holder by that first one and by its socket, and
/// adopts the run as it would have done without the answer. The caller gets the same answer from a store that refuses
/// the second record, too.
pub(crate) fn take_first_starts(effects: &mut Vec<Effect>) -> Vec<Effect> {
    let is_first = |effect: &mut Effect| match effect {
        Effect::Reply { result, .. } => matches!(&**result, Ok(answer) if is_first_start(answer)),
        _ => false,
    };
    effects.extract_if(.., is_first).collect()
}

/// Returns true if an answer says that the first run of a process has begun.
fn is_first_start(answer: &CommandAnswer) -> bool {
    matches!(answer, CommandAnswer::Reply(Reply::Spawned(spawned)) if spawned.run.0 == 1 && spawned.pid.is_some())
}

/// Returns true if an answer acknowledges an end: of one process, or of all of them with the daemon.
fn is_end(answer: &CommandAnswer, stops: bool) -> bool {
    match answer {
        CommandAnswer::Reply(Reply::Ended(_)) => true,
        CommandAnswer::Reply(Reply::Done(_)) => stops,
        _ => false,
    }
}

/// Returns true if an answer acknowledges another run of a process than its first.
fn is_restart(answer: &CommandAnswer) -> bool {
    matches!(answer, CommandAnswer::Reply(Reply::Spawned(spawned)) if spawned.run.0 > 1)
}

fn answer(
    tickets: &mut HashMap<Ticket, oneshot::Sender<Answered>>,
    ticket: Ticket,
    result: Result<CommandAnswer, proto::Failure>,
) {
    if let Some(reply) = tickets.remove(&ticket) {
        // The caller may have gone.
        let _gone = reply.send(result);
    }
}

#[cfg(test)]
mod tests {
    use proto::reply::{Done, Ended};
    use proto::{ErrorCode, ProcessId};
    use store::StoreError;

    use super::*;

    fn reply(ticket: u64, reply: Reply) -> Effect {
        Effect::Reply { ticket: Ticket(ticket), result: Box::new(Ok(CommandAnswer::Reply(reply))) }
    }

    /// Returns the tickets that are answered, with the error code of those that fail.
    fn answers(effects: &[Effect]) -> Vec<(u64, Option<ErrorCode>)> {
        let answers = effects.iter().filter_map(|effect| match effect {
            Effect::Reply { ticket, result } => {
                Some((ticket.0, result.as_ref().as_ref().err().map(|failure| failure.code)))
            }
            _ => None,
        });
        answers.collect()
    }

    #[test]
    fn m7c_an_end_that_is_not_saved_is_not_acknowledged_and_what_only_tells_is() {
        let id: ProcessId = "p_aaaaaaaa".parse().unwrap();
        let full = Unsaved::new(&StoreError::NoSpace { path: "state.db".into() });
        let ended = || reply(1, Reply::Ended(Ended { id, exit: None }));
        let done = || reply(2, Reply::Done(Done {}));
        let effects = without_acknowledged_ends(vec![ended(), done()], &full);
        assert_eq!(answers(&effects), [(1, Some(ErrorCode::NoSpace)), (2, None)]);
        let locked = Unsaved::new(&StoreError::Locked { path: "state.db".into() });
        let effects = without_acknowledged_ends(vec![ended(), done(), Effect::Stop], &locked);
        assert_eq!(answers(&effects), [(1, Some(ErrorCode::Busy)), (2, Some(ErrorCode::Busy))]);
        assert!(matches!(effects.last(), Some(Effect::Stop)), "the daemon ends all the same");
    }

    fn spawned(ticket: u64, run: u32, pid: Option<i32>) -> Effect {
        let spawned = serde_json::json!({
            "id": "p_aaaaaaaa", "name": "x", "kind": "command", "status": "running", "pid": pid, "run": run
        });
        reply(ticket, Reply::Spawned(serde_json::from_value(spawned).unwrap()))
    }

    #[test]
    fn m7e_only_the_answer_to_a_first_start_may_overtake_its_record() {
        let id: ProcessId = "p_aaaaaaaa".parse().unwrap();
        let refused = Effect::Reply {
            ticket: Ticket(5),
            result: Box::new(Err(proto::Failure::new(ErrorCode::SpawnFailed, "no"))),
        };
        let ended = reply(4, Reply::Ended(Ended { id, exit: None }));
        let mut effects =
            vec![spawned(1, 1, Some(7)), spawned(2, 2, Some(7)), spawned(3, 1, None), ended, refused];
        assert_eq!(answers(&take_first_starts(&mut effects)), [(1, None)]);
        assert_eq!(answers(&effects), [(2, None), (3, None), (4, None), (5, Some(ErrorCode::SpawnFailed))]);
    }

    #[test]
    fn m7e_a_restart_that_is_not_saved_is_not_acknowledged_and_a_first_start_is() {
        let full = Unsaved::new(&StoreError::NoSpace { path: "state.db".into() });
        let started = vec![spawned(1, 1, Some(7)), spawned(2, 2, Some(7))];
        let effects = without_acknowledged_ends(started, &full);
        assert_eq!(answers(&effects), [(1, None), (2, Some(ErrorCode::NoSpace))]);
    }
}
