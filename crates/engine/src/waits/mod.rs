//! Unanswered waits: for exits, silence, states and patterns of one or several processes, and for a timer or an answer of
//! the waiter's own. The daemon watches patterns, and matches come back as facts.

pub(crate) mod graph;
mod own;
pub(crate) mod readiness;

pub(crate) use own::answer_key;

use std::collections::BTreeMap;

use proto::reply::{Satisfied, Waited};
use proto::request::{Quantifier, Until};
use proto::{AgentState, ErrorCode, Failure, ProcessId, Reply};

use crate::agent::Agent;
use crate::context::Context;
use crate::effect::{CommandAnswer, Effect};
use crate::inbox::Inbox;
use crate::input::{RunKey, Ticket, WaitId};
use crate::mail::MailQueue;
use crate::process::Process;
use crate::timers::Timers;
use crate::undo::{UndoCell, UndoMap};

/// One unanswered wait.
#[derive(Clone, Debug)]
pub(crate) struct OpenWait {
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
    /// Patterns are searched in the log from this offset; none: in what is printed from now on.
    pub(crate) log_since: Option<u64>,
}

/// Where a watched pattern appeared.
#[derive(Clone, Debug)]
pub(crate) struct PatternMatch {
    pub(crate) text: String,
    pub(crate) offset: u64,
}

/// Every unanswered wait.
#[derive(Debug)]
pub(crate) struct Waits {
    pub(crate) open: UndoMap<WaitId, OpenWait>,
    /// The number of the next wait or watch.
    pub(crate) next: UndoCell<u64>,
    /// Which run was answered about which process in the current decision: a notice would repeat it.
    pub(crate) answered: Vec<(RunKey, ProcessId)>,
}

impl Default for Waits {
    fn default() -> Self {
        Self { open: UndoMap::default(), next: 1.into(), answered: Vec::new() }
    }
}

impl OpenWait {
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

impl Waits {
    /// When a wait is next due: its own deadline, or the end of the silence it waits for.
    pub(crate) fn wait_deadline(&self, wait: &OpenWait, ctx: &Context) -> Option<u64> {
        let Until::Silence(silence) = wait.until else { return wait.deadline };
        let open = wait.targets.iter().filter(|run| wait.is_open_for(run));
        let quiet = open.filter_map(|run| self.silent_at(wait, *run, silence, ctx));
        quiet.chain(wait.deadline).min()
    }

    pub(crate) fn silent_at(&self, wait: &OpenWait, run: RunKey, silence: u64, ctx: &Context) -> Option<u64> {
        let process = ctx.processes.get(&run.process)?;
        Some(process.run.times.last_output.max(wait.since).saturating_add(silence))
    }

    /// Begins to watch the patterns of waits that are older than the run.
    pub(crate) fn watch_started(&self, run: RunKey, ctx: &mut Context) {
        let watches = self.open.iter().filter(|(_, wait)| wait.is_open_for(&run)).filter_map(|(id, wait)| {
            let Until::Pattern(pattern) = &wait.until else { return None };
            Some(Effect::Watch { run, wait: *id, pattern: pattern.clone(), since: Some(0) })
        });
        ctx.out.effects.extend(watches);
    }

    /// A child is over. Whether a pattern came before that is for its watch to say: it may begin after the exit was
    /// announced and still find what was printed.
    pub(crate) fn see_exit(&mut self, run: RunKey, inbox: &Inbox, ctx: &mut Context) {
        let is_answered_later = self.is_readiness_open(run, ctx);
        self.run_over_for_all(
            run,
            |wait| match wait.until {
                Until::Pattern(_) => false,
                Until::Ready(_) => !is_answered_later,
                _ => true,
            },
            inbox,
            ctx,
        );
    }

    /// A run goes for good: what has not come true never will.
    pub(crate) fn see_end(&mut self, run: RunKey, inbox: &Inbox, ctx: &mut Context) {
        self.run_over_for_all(run, |_| true, inbox, ctx);
    }

    /// Another run takes the place of one that is over: what was to come true of that one may come true of this one.
    pub(crate) fn move_to(&mut self, old: RunKey, new: RunKey, ctx: &mut Context) {
        let concerned: Vec<WaitId> =
            self.open.iter().filter(|(_, wait)| wait.is_open_for(&old)).map(|(id, _)| *id).collect();
        for id in concerned {
            let Some(wait) = self.open.get_mut(&id) else { continue };
            wait.targets.iter_mut().filter(|run| **run == old).for_each(|run| *run = new);
            if matches!(wait.until, Until::Pattern(_)) {
                // `watch_started` watches the other one.
                ctx.out.push(Effect::Unwatch { run: old, wait: id });
            }
        }
    }

    /// The run that was to take the place of this one does not come.
    pub(crate) fn see_no_replacement(&mut self, run: RunKey, inbox: &Inbox, ctx: &mut Context) {
        let agent = ctx.processes.agent_mut(run.process);
        if agent.and_then(|agent| agent.refused_session.take()).is_some() {
            self.see_end(run, inbox, ctx);
        }
    }

    pub(crate) fn run_over_for_all(
        &mut self,
        run: RunKey,
        is_concerned: impl Fn(&OpenWait) -> bool,
        inbox: &Inbox,
        ctx: &mut Context,
    ) {
        let concerned: Vec<WaitId> = self
            .open
            .iter()
            .filter(|(_, wait)| wait.is_open_for(&run) && is_concerned(wait))
            .map(|(id, _)| *id)
            .collect();
        for id in concerned {
            self.run_over_for(id, run, ctx);
            self.finish_wait(id, inbox, ctx);
        }
    }

    pub(crate) fn run_over_for(&mut self, id: WaitId, run: RunKey, ctx: &mut Context) {
        let Some(process) = ctx.processes.get(&run.process) else { return };
        let satisfied = satisfied(process, None);
        let Some(wait) = self.open.get_mut(&id) else { return };
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
                let what = readiness::awaited_words(&wait.until, process.spec.ready.as_ref());
                let message = format!("{} ended before {what}", satisfied.name);
                self.fail_wait(
                    id,
                    Failure::new(ErrorCode::NotRunning, message).hint("qd read shows its last screen"),
                    ctx,
                );
            }
        }
    }

    /// A watched pattern appeared.
    pub(crate) fn matched(
        &mut self,
        id: WaitId,
        run: RunKey,
        at: PatternMatch,
        inbox: &Inbox,
        ctx: &mut Context,
    ) {
        let Some(process) = ctx.processes.get(&run.process) else { return };
        let mut found = satisfied(process, Some(at.text));
        found.offset = at.offset;
        let Some(wait) = self.open.get_mut(&id).filter(|wait| wait.is_open_for(&run)) else { return };
        wait.satisfied.insert(run.process, found);
        self.finish_wait(id, inbox, ctx);
    }

    /// A watched pattern can no longer appear.
    pub(crate) fn unmatched(&mut self, id: WaitId, run: RunKey, inbox: &Inbox, ctx: &mut Context) {
        let is_replaced = ctx.processes.get(&run.process).is_some_and(Process::is_being_replaced);
        if !is_replaced && self.open.get(&id).is_some_and(|wait| wait.is_open_for(&run)) {
            self.run_over_for(id, run, ctx);
            self.finish_wait(id, inbox, ctx);
        }
    }

    /// A watched pattern is not looked for any more: it costs too much for what the run prints.
    pub(crate) fn outrun(&mut self, id: WaitId, run: RunKey, ctx: &mut Context) {
        let Some(process) = ctx.processes.get(&run.process) else { return };
        let message = format!("{} prints faster than this pattern can be looked for", process.name);
        if self.open.get(&id).is_some_and(|wait| wait.is_open_for(&run)) {
            let hint = "use a simpler pattern: fewer repetitions, fewer alternatives";
            self.fail_wait(id, Failure::new(ErrorCode::Limit, message).hint(hint), ctx);
        }
    }

    /// An agent's state changed.
    pub(crate) fn see_state(&mut self, id: ProcessId, inbox: &Inbox, ctx: &mut Context) {
        self.see_agent(id, |until| matches!(until, Until::State(_)), inbox, ctx);
    }

    /// A turn of an agent is over.
    pub(crate) fn see_turn(&mut self, id: ProcessId, inbox: &Inbox, ctx: &mut Context) {
        self.see_agent(id, |until| matches!(until, Until::Turn(_)), inbox, ctx);
    }

    pub(crate) fn see_agent(
        &mut self,
        process: ProcessId,
        is_concerned: impl Fn(&Until) -> bool,
        inbox: &Inbox,
        ctx: &mut Context,
    ) {
        let concerned: Vec<WaitId> =
            self.open.iter().filter(|(_, wait)| is_concerned(&wait.until)).map(|(id, _)| *id).collect();
        for id in concerned {
            self.note_agent(id, process, inbox, ctx);
            self.finish_wait(id, inbox, ctx);
        }
    }

    /// Marks a wait as satisfied by what an agent does or has done.
    pub(crate) fn note_agent(&mut self, id: WaitId, process: ProcessId, inbox: &Inbox, ctx: &Context) {
        let Some(process) = ctx.processes.get(&process) else { return };
        let Some(agent) = process.agent.as_deref().filter(|_| !process.is_being_replaced()) else { return };
        let (run, found) = (process.key(), satisfied(process, None));
        let shows_options = self.shows_options(process.id, agent, inbox);
        let Some(wait) = self.open.get_mut(&id).filter(|wait| wait.is_open_for(&run)) else { return };
        let is_so = match &wait.until {
            Until::State(states) => {
                states.contains(&agent.state()) && rests_for_certain(agent) && shows_options
            }
            Until::Turn(turn) => agent.is_turn_closed(*turn),
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

    /// Returns true if the options of a blocked agent are read, or had their time: a wait for `blocked` gets both at once.
    pub(crate) fn shows_options(&self, id: ProcessId, agent: &Agent, inbox: &Inbox) -> bool {
        let is_read = || inbox.blocking_item(id).is_some_and(|item| !item.options.is_empty());
        agent.state() != AgentState::Blocked || agent.live.dialogs.options_until.is_none() || is_read()
    }

    /// Answers and forgets a wait that is fulfilled.
    pub(crate) fn finish_wait(&mut self, id: WaitId, inbox: &Inbox, ctx: &mut Context) {
        if !self.open.get(&id).is_some_and(OpenWait::is_fulfilled) {
            return;
        }
        let Some(mut wait) = self.end_wait(id, ctx) else { return };
        let order: Vec<ProcessId> = wait.targets.iter().map(|run| run.process).collect();
        if let Some(waiter) = wait.waiter {
            self.answered.extend(wait.satisfied.keys().map(|process| (waiter, *process)));
        }
        let mut satisfied: Vec<Satisfied> =
            order.iter().filter_map(|process| wait.satisfied.remove(process)).collect();
        for found in satisfied.iter_mut().filter(|found| found.state == Some(AgentState::Blocked)) {
            found.dialog = inbox.blocking_item(found.id).map(Box::new);
        }
        ctx.out.reply(wait.ticket, Ok(CommandAnswer::Reply(Reply::Waited(Waited { satisfied }))));
    }

    pub(crate) fn fail_wait(&mut self, id: WaitId, failure: Failure, ctx: &mut Context) {
        if let Some(wait) = self.end_wait(id, ctx) {
            ctx.out.reply(wait.ticket, Err(failure));
        }
    }

    /// Forgets a wait and stops watching for it.
    pub(crate) fn end_wait(&mut self, id: WaitId, ctx: &mut Context) -> Option<OpenWait> {
        let wait = self.open.remove(&id)?;
        if matches!(wait.until, Until::Pattern(_)) {
            ctx.out.effects.extend(wait.targets.iter().map(|run| Effect::Unwatch { run: *run, wait: id }));
        }
        Some(wait)
    }

    /// Forgets the waits of a caller that is gone.
    pub(crate) fn forget_waits_of(&mut self, ticket: Ticket, ctx: &mut Context) {
        let abandoned: Vec<WaitId> =
            self.open.iter().filter(|(_, wait)| wait.ticket == ticket).map(|(id, _)| *id).collect();
        for id in abandoned {
            drop(self.end_wait(id, ctx));
        }
    }

    /// Silence that has lasted long enough, and waits that lasted too long.
    pub(crate) fn pass_wait_deadlines(&mut self, inbox: &Inbox, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let due: Vec<WaitId> = self
            .open
            .iter()
            .filter(|(_, wait)| self.wait_deadline(wait, ctx).is_some_and(|deadline| deadline <= now))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.note_silence(id, now, ctx);
            self.finish_wait(id, inbox, ctx);
            if self.open.get(&id).and_then(|wait| wait.deadline).is_some_and(|deadline| deadline <= now) {
                let failure = Failure::new(ErrorCode::Timeout, "the wait timed out");
                self.fail_wait(id, failure.hint("raise --timeout, or look with qd read"), ctx);
            }
        }
    }

    /// Registers a wait that was checked; it may be satisfied at once.
    pub(crate) fn begin(
        &mut self,
        wait: OpenWait,
        inbox: &Inbox,
        queue: &mut MailQueue,
        timers: &Timers,
        ctx: &mut Context,
    ) {
        let id = WaitId(*self.next);
        *self.next += 1;
        let is_over = |run: &RunKey| {
            let is_replaced = ctx.processes.get(&run.process).is_some_and(Process::is_being_replaced);
            !is_replaced && !ctx.processes.is_run_live(*run)
        };
        let over: Vec<RunKey> = wait.targets.iter().copied().filter(is_over).collect();
        for run in &wait.targets {
            // A run that is only starting has no screen to watch yet: `watch_started` does it then.
            let is_launching = ctx.processes.get(&run.process).is_some_and(Process::is_launching);
            if let (Until::Pattern(pattern), false) = (&wait.until, is_launching) {
                let pattern = pattern.clone();
                ctx.out.push(Effect::Watch { run: *run, wait: id, pattern, since: wait.log_since });
            }
        }
        let is_pattern = matches!(wait.until, Until::Pattern(_));
        self.open.insert(id, wait);
        let targets: Vec<RunKey> = self.open.get(&id).map(|wait| wait.targets.clone()).unwrap_or_default();
        for run in targets {
            self.note_agent(id, run.process, inbox, ctx);
            self.note_ready(id, run, ctx);
        }
        self.note_own(id, inbox, queue, timers, ctx);
        // A pattern may still be found in what a dead run left behind; the watch itself says when it is not.
        let is_open = |run: &RunKey| self.open.get(&id).is_some_and(|wait| wait.is_open_for(run));
        let over: Vec<RunKey> = over.into_iter().filter(|run| !is_pattern && is_open(run)).collect();
        for run in over {
            self.run_over_for(id, run, ctx);
        }
        self.finish_wait(id, inbox, ctx);
    }

    pub(crate) fn note_silence(&mut self, id: WaitId, now: u64, ctx: &Context) {
        let Some(wait) = self.open.get(&id) else { return };
        let Until::Silence(silence) = wait.until else { return };
        let is_silent = |run: &&RunKey| self.silent_at(wait, **run, silence, ctx).is_some_and(|at| at <= now);
        let silent: Vec<Satisfied> = wait
            .targets
            .iter()
            .filter(|run| wait.is_open_for(run))
            .filter(is_silent)
            .filter_map(|run| ctx.processes.get(&run.process))
            .map(|process| satisfied(process, None))
            .collect();
        if let Some(wait) = self.open.get_mut(&id) {
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

/// Returns true if a turn is over but for its text.
fn is_collected(process: &Process, turn: u64) -> bool {
    process.agent.as_deref().is_some_and(|agent| agent.collecting.contains_key(&turn))
}

/// Returns true if an agent that seems to rest does: a prompt that is on its way, or was just taken, shows in the state later.
fn rests_for_certain(agent: &Agent) -> bool {
    !matches!(agent.state(), AgentState::Idle | AgentState::Waiting) || crate::timers::agent_rests(agent)
}

#[cfg(test)]
mod tests;
