//! Who waits for what, and when they are told.
//!
//! Owns waits for exits, silence, states and patterns over one or several processes, and for a timer or an answer of
//! one's own. Refuses looking at output: patterns are watched by the daemon and come back as facts.

mod own;

pub(crate) use own::answer_key;

use std::collections::BTreeMap;

use proto::reply::{Satisfied, Waited};
use proto::request::{Quantifier, Until};
use proto::{AgentState, ErrorCode, Failure, ProcessId, Reply};

use crate::Engine;
use crate::agent::Agent;
use crate::effect::{CommandAnswer, Effect};
use crate::input::{RunKey, Ticket, WaitId};
use crate::process::Process;

/// One unanswered wait.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) ticket: Ticket,
    /// The run that waits; none: a person.
    pub(crate) waiter: Option<RunKey>,
    /// The runs it is about, in the caller's order.
    pub(crate) targets: Vec<RunKey>,
    pub(crate) satisfied: BTreeMap<ProcessId, Satisfied>,
    pub(crate) until: Until,
    pub(crate) quantifier: Quantifier,
    pub(crate) deadline: Option<u64>,
    /// Silence is counted from here at the earliest.
    pub(crate) since: u64,
}

impl Wait {
    fn is_fulfilled(&self) -> bool {
        match self.quantifier {
            Quantifier::Any => !self.satisfied.is_empty(),
            Quantifier::All => self.targets.iter().all(|run| self.satisfied.contains_key(&run.process)),
        }
    }

    pub(crate) fn is_open_for(&self, run: &RunKey) -> bool {
        self.targets.contains(run) && !self.satisfied.contains_key(&run.process)
    }
}

impl Engine {
    /// When a wait is next due: its own deadline, or the end of the silence it waits for.
    pub(crate) fn wait_deadline(&self, wait: &Wait) -> Option<u64> {
        let Until::Silence(silence) = wait.until else { return wait.deadline };
        let open = wait.targets.iter().filter(|run| wait.is_open_for(run));
        let quiet = open.filter_map(|run| self.silent_at(wait, *run, silence));
        quiet.chain(wait.deadline).min()
    }

    fn silent_at(&self, wait: &Wait, run: RunKey, silence: u64) -> Option<u64> {
        let process = self.processes.get(&run.process)?;
        Some(process.run.times.last_output.max(wait.since).saturating_add(silence))
    }

    /// Begins to look for the patterns that somebody waits for since before the run had started.
    pub(crate) fn watch_started(&mut self, run: RunKey) {
        let watches =
            self.waits.iter().filter(|(_, wait)| wait.is_open_for(&run)).filter_map(|(id, wait)| {
                let Until::Pattern(pattern) = &wait.until else { return None };
                Some(Effect::Watch { run, wait: *id, pattern: pattern.clone(), since: Some(0) })
            });
        self.effects.extend(watches);
    }

    /// Registers a wait that was checked; it may be satisfied at once.
    pub(crate) fn begin_wait(&mut self, wait: Wait, since: Option<u64>) {
        let id = WaitId(self.next_wait);
        self.next_wait += 1;
        let over: Vec<RunKey> = wait.targets.iter().copied().filter(|run| !self.is_run_live(*run)).collect();
        for run in &wait.targets {
            // A run that is only starting has no screen to watch yet: `watch_started` does it then.
            let is_launching = self.processes.get(&run.process).is_some_and(Process::is_launching);
            if let (Until::Pattern(pattern), false) = (&wait.until, is_launching) {
                let pattern = pattern.clone();
                self.effects.push(Effect::Watch { run: *run, wait: id, pattern, since });
            }
        }
        let is_pattern = matches!(wait.until, Until::Pattern(_));
        self.waits.insert(id, wait);
        let targets: Vec<RunKey> = self.waits.get(&id).map(|wait| wait.targets.clone()).unwrap_or_default();
        for run in targets {
            self.note_agent(id, run.process);
            self.note_ready(id, run);
        }
        self.note_own(id);
        // A pattern may still be found in what a dead run left behind; the watch itself says when it is not.
        let is_open = |run: &RunKey| self.waits.get(&id).is_some_and(|wait| wait.is_open_for(run));
        let over: Vec<RunKey> = over.into_iter().filter(|run| !is_pattern && is_open(run)).collect();
        for run in over {
            self.run_over_for(id, run);
        }
        self.finish_wait(id);
    }

    pub(crate) fn is_run_live(&self, run: RunKey) -> bool {
        self.processes
            .get(&run.process)
            .is_some_and(|process| process.run.number == run.run && process.is_live())
    }

    /// A child is over. Whether a pattern came before that is for its watch to say: it may begin after the exit was
    /// announced and still find what was printed.
    pub(crate) fn waits_see_exit(&mut self, run: RunKey) {
        let is_told_later = self.is_readiness_open(run);
        self.run_over_for_all(run, |wait| match wait.until {
            Until::Pattern(_) => false,
            Until::Ready(_) => !is_told_later,
            _ => true,
        });
    }

    /// A run goes for good: what has not come true never will.
    pub(crate) fn waits_see_end(&mut self, run: RunKey) {
        self.run_over_for_all(run, |_| true);
    }

    pub(crate) fn run_over_for_all(&mut self, run: RunKey, is_concerned: impl Fn(&Wait) -> bool) {
        let concerned: Vec<WaitId> = self
            .waits
            .iter()
            .filter(|(_, wait)| wait.is_open_for(&run) && is_concerned(wait))
            .map(|(id, _)| *id)
            .collect();
        for id in concerned {
            self.run_over_for(id, run);
            self.finish_wait(id);
        }
    }

    fn run_over_for(&mut self, id: WaitId, run: RunKey) {
        let Some(process) = self.processes.get(&run.process) else { return };
        let satisfied = satisfied(process, None);
        let Some(wait) = self.waits.get_mut(&id) else { return };
        match (&wait.until, wait.quantifier) {
            (Until::Exit(_) | Until::Silence(_), _) => {
                wait.satisfied.insert(run.process, satisfied);
            }
            (Until::State(states), _) if states.contains(&AgentState::Exited) => {
                wait.satisfied.insert(run.process, satisfied);
            }
            // It is over with the run, and what was said at its end is being found.
            (Until::Turn(turn), _) if is_collected(process, *turn) => {}
            (Until::Pattern(_) | Until::State(_) | Until::Turn(_) | Until::Ready(_), Quantifier::Any)
                if wait.targets.len() > 1 =>
            {
                wait.targets.retain(|target| *target != run);
            }
            (
                Until::Pattern(_)
                | Until::State(_)
                | Until::Turn(_)
                | Until::Ready(_)
                | Until::Timer(_)
                | Until::Item(_),
                _,
            ) => {
                let name = satisfied.name;
                let message = format!("{name} ended before what was waited for");
                self.fail_wait(
                    id,
                    Failure::new(ErrorCode::NotRunning, message).hint("qd read shows its last screen"),
                );
            }
        }
    }

    /// A watched pattern appeared.
    pub(crate) fn matched(&mut self, id: WaitId, run: RunKey, text: String, offset: u64) {
        let Some(process) = self.processes.get(&run.process) else { return };
        let mut found = satisfied(process, Some(text));
        found.offset = offset;
        let Some(wait) = self.waits.get_mut(&id).filter(|wait| wait.is_open_for(&run)) else { return };
        wait.satisfied.insert(run.process, found);
        self.finish_wait(id);
    }

    /// A watched pattern can no longer appear.
    pub(crate) fn unmatched(&mut self, id: WaitId, run: RunKey) {
        if self.waits.get(&id).is_some_and(|wait| wait.is_open_for(&run)) {
            self.run_over_for(id, run);
            self.finish_wait(id);
        }
    }

    /// A watched pattern is not looked for any more: it costs too much for what the run prints.
    pub(crate) fn outrun(&mut self, id: WaitId, run: RunKey) {
        let Some(process) = self.processes.get(&run.process) else { return };
        let message = format!("{} prints faster than this pattern can be looked for", process.name);
        if self.waits.get(&id).is_some_and(|wait| wait.is_open_for(&run)) {
            let hint = "a simpler pattern is found faster: repeat less, name fewer choices";
            self.fail_wait(id, Failure::new(ErrorCode::Limit, message).hint(hint));
        }
    }

    /// An agent's state changed.
    pub(crate) fn waits_see_state(&mut self, id: ProcessId) {
        self.waits_see_agent(id, |until| matches!(until, Until::State(_)));
    }

    /// A turn of an agent is over.
    pub(crate) fn waits_see_turn(&mut self, id: ProcessId) {
        self.waits_see_agent(id, |until| matches!(until, Until::Turn(_)));
    }

    fn waits_see_agent(&mut self, process: ProcessId, is_concerned: impl Fn(&Until) -> bool) {
        let concerned: Vec<WaitId> =
            self.waits.iter().filter(|(_, wait)| is_concerned(&wait.until)).map(|(id, _)| *id).collect();
        for id in concerned {
            self.note_agent(id, process);
            self.finish_wait(id);
        }
    }

    /// Marks a wait as satisfied by what an agent does or has done.
    fn note_agent(&mut self, id: WaitId, process: ProcessId) {
        let Some(process) = self.processes.get(&process) else { return };
        let Some(agent) = process.agent.as_deref() else { return };
        let (run, found) = (process.key(), satisfied(process, None));
        let shows_options = self.shows_options(process.id, agent);
        let Some(wait) = self.waits.get_mut(&id).filter(|wait| wait.is_open_for(&run)) else { return };
        let is_so = match &wait.until {
            Until::State(states) => states.contains(&agent.state()) && is_settled(agent) && shows_options,
            Until::Turn(turn) => agent.is_turn_told(*turn),
            Until::Pattern(_)
            | Until::Exit(_)
            | Until::Silence(_)
            | Until::Ready(_)
            | Until::Timer(_)
            | Until::Item(_) => false,
        };
        if is_so {
            wait.satisfied.insert(run.process, found);
        }
    }

    /// Whether a blocked agent's options are read, or have had their time: who waits for `blocked` is told both at once.
    fn shows_options(&self, id: ProcessId, agent: &Agent) -> bool {
        let is_read = || self.blocking_item(id).is_some_and(|item| !item.options.is_empty());
        agent.state() != AgentState::Blocked || agent.live.dialogs.options_until.is_none() || is_read()
    }

    /// Answers and forgets a wait that is fulfilled.
    pub(crate) fn finish_wait(&mut self, id: WaitId) {
        if !self.waits.get(&id).is_some_and(Wait::is_fulfilled) {
            return;
        }
        let Some(mut wait) = self.end_wait(id) else { return };
        let order: Vec<ProcessId> = wait.targets.iter().map(|run| run.process).collect();
        if let Some(waiter) = wait.waiter {
            self.mail.told.extend(wait.satisfied.keys().map(|process| (waiter, *process)));
        }
        let mut satisfied: Vec<Satisfied> =
            order.iter().filter_map(|process| wait.satisfied.remove(process)).collect();
        for found in satisfied.iter_mut().filter(|found| found.state == Some(AgentState::Blocked)) {
            found.dialog = self.blocking_item(found.id).map(Box::new);
        }
        self.reply(wait.ticket, Ok(CommandAnswer::Reply(Reply::Waited(Waited { satisfied }))));
    }

    fn fail_wait(&mut self, id: WaitId, failure: Failure) {
        if let Some(wait) = self.end_wait(id) {
            self.reply(wait.ticket, Err(failure));
        }
    }

    /// Forgets a wait and stops watching for it.
    fn end_wait(&mut self, id: WaitId) -> Option<Wait> {
        let wait = self.waits.remove(&id)?;
        if matches!(wait.until, Until::Pattern(_)) {
            self.effects.extend(wait.targets.iter().map(|run| Effect::Unwatch { run: *run, wait: id }));
        }
        Some(wait)
    }

    /// Nobody reads the answer any more.
    pub(crate) fn forget_waits_of(&mut self, ticket: Ticket) {
        let abandoned: Vec<WaitId> =
            self.waits.iter().filter(|(_, wait)| wait.ticket == ticket).map(|(id, _)| *id).collect();
        for id in abandoned {
            drop(self.end_wait(id));
        }
    }

    /// Silence that has lasted long enough, and waits that lasted too long.
    pub(crate) fn pass_wait_deadlines(&mut self) {
        let now = self.now.uptime_ms;
        let due: Vec<WaitId> = self
            .waits
            .iter()
            .filter(|(_, wait)| self.wait_deadline(wait).is_some_and(|deadline| deadline <= now))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.note_silence(id, now);
            self.finish_wait(id);
            if self.waits.get(&id).and_then(|wait| wait.deadline).is_some_and(|deadline| deadline <= now) {
                let failure = Failure::new(ErrorCode::Timeout, "the wait timed out");
                self.fail_wait(id, failure.hint("raise --timeout, or look with qd read"));
            }
        }
    }

    fn note_silence(&mut self, id: WaitId, now: u64) {
        let Some(wait) = self.waits.get(&id) else { return };
        let Until::Silence(silence) = wait.until else { return };
        let is_silent = |run: &&RunKey| self.silent_at(wait, **run, silence).is_some_and(|at| at <= now);
        let silent: Vec<Satisfied> = wait
            .targets
            .iter()
            .filter(|run| wait.is_open_for(run))
            .filter(is_silent)
            .filter_map(|run| self.processes.get(&run.process))
            .map(|process| satisfied(process, None))
            .collect();
        if let Some(wait) = self.waits.get_mut(&id) {
            wait.satisfied.extend(silent.into_iter().map(|found| (found.id, found)));
        }
    }
}

pub(crate) fn satisfied(process: &Process, text: Option<String>) -> Satisfied {
    Satisfied {
        id: process.id,
        name: process.name.clone(),
        text,
        exit: process.run.exit,
        state: process.agent.as_deref().map(Agent::state),
        dialog: None,
        offset: process.run.log_end,
    }
}

/// Whether a turn is over but for its text.
fn is_collected(process: &Process, turn: u64) -> bool {
    process.agent.as_deref().is_some_and(|agent| agent.collecting.contains_key(&turn))
}

/// Whether an agent that seems to rest does: a prompt that is on its way, or was just taken, shows in the state later.
fn is_settled(agent: &Agent) -> bool {
    !matches!(agent.state(), AgentState::Idle | AgentState::Waiting) || crate::timers::agent_rests(agent)
}
