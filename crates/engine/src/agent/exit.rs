//! What the end of a run or of an entry means for an agent beyond its state.
//!
//! Failures become items for a person; mail, items and callers of an entry that goes get their answer.

use proto::{AgentState, ErrorCode, Exit, Failure, ProcessId};

use crate::Engine;
use crate::agent::{Agent, AgentRecord};
use crate::context::Context;
use crate::inbox::failures::FailureCause;
use crate::inbox::{Inbox, option};
use crate::input::{JobId, RunKey, TypingOutcome};
use crate::process::Then;
use crate::process::stopping::EndRequest;

/// A resumed run that fails this soon, without a prompt or a dialog, was refused by its vendor. Some programs need five
/// seconds to say so, and more on a busy machine. A run that was adopted has no beginning here and never counts.
const REFUSED_MS: u64 = 60_000;

impl AgentRecord {
    /// Returns true if a person is yet to read that a new session began in the place of the one that was wanted, or that
    /// a review did not arrive. Unlike other failures these are not over when the agent works: only the person knows whether
    /// the new session will do, and what to do about the review.
    pub(crate) fn has_failure_to_read(&self) -> bool {
        let is_to_be_read =
            |cause| matches!(cause, FailureCause::ResumeRefused | FailureCause::ReviewReturned);
        self.failure.as_ref().is_some_and(|failure| is_to_be_read(failure.cause))
    }

    /// Forgets a session that could not be continued: the next resume continues the one before it. Returns that one, if
    /// it is another.
    fn forget_refused(&mut self, refused: &str) -> Option<&str> {
        self.session.take_if(|session| session == refused);
        self.past_session.as_deref().filter(|past| *past != refused)
    }
}

impl Agent {
    /// The session that the failed run could not continue.
    fn refused_by_vendor(&self, exit: Exit, now: u64) -> Option<String> {
        let startup = &self.live.startup;
        let has_failed = exit.code.is_some_and(|code| code != 0);
        let is_quick = now.saturating_sub(startup.began) <= REFUSED_MS;
        let has_answered = startup.has_rested || startup.was_blocked;
        self.record.resumed.clone().filter(|_| has_failed && is_quick && !has_answered)
    }
}

impl Engine {
    /// The session that the agent of a task could not continue. Such an agent begins a new one by itself.
    pub(crate) fn session_to_replace(&self, id: ProcessId, exit: Exit) -> Option<String> {
        let process = self.ctx.processes.get(&id)?;
        let is_wanted = process.spec.task.is_some() && !self.ctx.ends_all;
        let agent = process.agent.as_deref().filter(|_| is_wanted && self.ctx.shutdown.is_none())?;
        agent.refused_by_vendor(exit, self.ctx.out.now.uptime_ms)
    }

    /// Begins a new session in the place of one that could not be continued.
    pub(crate) fn replace_session(&mut self, id: ProcessId, session: &str) {
        if let Some(agent) = self.ctx.processes.agent_mut(id) {
            agent.record.forget_refused(session);
        }
        self.end(id, EndRequest::new(None, Then::Restart));
    }

    /// Tells a person that a new session has begun in the place of the one that was wanted.
    pub(crate) fn report_replaced_session(&mut self, id: ProcessId) {
        let agent = self.ctx.processes.agent_mut(id);
        if let Some(session) = agent.and_then(|agent| agent.refused_session.take()) {
            let body = format!("session {session} could not be continued, so a new one has begun");
            self.inbox.fail_agent(id, FailureCause::ResumeRefused, &body, &mut self.ctx);
        }
    }
}

impl Inbox {
    /// Opens a failure for a run that ended badly without being asked.
    pub(crate) fn agent_ended_by_itself(&mut self, id: ProcessId, exit: Exit, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(id).filter(|_| exit.code != Some(0)) else { return };
        let how = match (exit.code, exit.signal) {
            (Some(code), _) => format!("it exited with code {code}"),
            (None, Some(signal)) => format!("signal {signal} ended it"),
            (None, None) => "it was lost".to_owned(),
        };
        let is_early = !agent.live.startup.has_rested;
        let lacking = lacking(agent);
        match agent.refused_by_vendor(exit, now) {
            Some(session) => {
                let past = agent.record.forget_refused(&session);
                let past = past.map(|past| format!(", qd resume continues {past}")).unwrap_or_default();
                let body = format!(
                    "{how}; session {session} could not be continued: qd restart begins a new one{past}{lacking}"
                );
                self.fail_agent(id, FailureCause::ResumeRefused, &body, ctx);
            }
            None if is_early => {
                self.fail_agent(id, FailureCause::EndedEarly, &format!("{how}{lacking}"), ctx);
            }
            None => self.fail_agent(id, FailureCause::EndedBadly, &how, ctx),
        }
        if let Some(agent) = ctx.processes.agent(id) {
            agent.read_last_lines(&mut ctx.out);
        }
    }

    /// Opens a failure for a run of which nothing is left, as after a restart of the machine.
    pub(crate) fn agent_lost(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some((process, agent)) = ctx.processes.get(&id).and_then(|it| Some((it, it.agent.as_deref()?)))
        else {
            return;
        };
        let name = process.name.clone();
        let has_session = agent.record.session.is_some() || agent.record.past_session.is_some();
        let gone = "its program and its holder are gone, as after a reboot";
        let (next, options) = if has_session {
            let next =
                format!("qd resume {name} continues its session, qd resume --all continues all such agents");
            (next, vec![option(1, "resume", "Resume its session"), option(2, "dismiss", "Dismiss")])
        } else {
            let next = format!("no session of it is known: qd restart {name} begins a new one");
            (next, vec![option(1, "dismiss", "Dismiss")])
        };
        self.open_failure(id, FailureCause::Lost, &format!("{gone}; {next}"), options, ctx);
    }

    /// Opens a failure for an agent that should accept prompts by now.
    pub(crate) fn pass_start_deadline(&mut self, id: ProcessId, now: u64, ctx: &mut Context) {
        let Some(process) = ctx.processes.get_mut(&id) else { return };
        let name = process.name.clone();
        let Some(agent) = process.agent.as_deref_mut() else { return };
        if agent.live.startup.late_at.take_if(|at| *at <= now).is_none()
            || agent.state() != AgentState::Starting
        {
            return;
        }
        agent.live.startup.is_late = true;
        let patience = agent.live.launched.as_ref().map_or(0, |launched| launched.patience_ms) / 1000;
        let body = format!("it has accepted no prompt for {patience} s: qd attach {name} shows its screen");
        self.fail_agent(id, FailureCause::StartsSlowly, &body, ctx);
        if let Some(agent) = ctx.processes.agent(id) {
            agent.read_last_lines(&mut ctx.out);
        }
    }

    /// Closes the failure of a slow start: the agent is no longer starting.
    pub(crate) fn start_seen(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        agent.live.startup.late_at = None;
        if std::mem::take(&mut agent.live.startup.is_late) {
            self.clear_failure(id, ctx);
        }
    }

    /// Opens a failure for a later run that could not be started.
    pub(crate) fn start_failure_shown(&mut self, id: ProcessId, failure: &Failure, ctx: &mut Context) {
        if ctx.processes.agent(id).is_some() {
            self.fail_agent(id, FailureCause::NotStarted, &failure.message, ctx);
        }
    }
}

impl Engine {
    /// Takes the outcome of guarded typing to the delivery, interrupt or answer that ordered it.
    pub(crate) fn typing_done(&mut self, run: RunKey, job: JobId, outcome: TypingOutcome) {
        let is_known = self.mail.typing_done(run.process, job, outcome, &mut self.ctx);
        let agent = self.ctx.processes.agent_mut(run.process).filter(|_| !is_known);
        let is_known =
            is_known || agent.is_some_and(|agent| agent.interrupt_typed(job, outcome, &mut self.ctx.out));
        if !is_known {
            self.inbox.answer_typed(run.process, job, outcome, &mut self.ctx);
        }
        self.reevaluate(run.process);
    }

    /// Ends everything about an agent whose entry goes: items, timers, mail and waiting callers.
    pub(crate) fn forget_agent(&mut self, id: ProcessId) {
        if self.ctx.processes.agent(id).is_none() {
            return;
        }
        self.inbox.close_items_of(id, &mut self.ctx);
        self.inbox.clear_failure(id, &mut self.ctx);
        self.timers.forget_timers_of(id, &mut self.ctx);
        self.inbox.abandon_answering(id, &mut self.ctx);
        if let Some(agent) = self.ctx.processes.agent_mut(id) {
            agent.abandon_interrupt(&mut self.ctx.out);
            agent.live.evidence.belief.state = AgentState::Exited;
            agent.live.progress = crate::mail::delivery::DeliveryProgress::default();
            let tickets = std::mem::take(&mut agent.result_tickets);
            for (ticket, turn) in tickets {
                let failure =
                    Failure::new(ErrorCode::NotFound, format!("the agent of turn {turn} was closed"));
                self.ctx.out.reply(ticket, Err(failure));
            }
        }
        self.mail.queue.refuse_all_to(id, "the agent was closed", &mut self.ctx);
    }
}

/// What the launch lacked, as more lines: a program that never took a prompt may have ended by it.
fn lacking(agent: &Agent) -> String {
    agent.shortfalls().iter().map(|shortfall| format!("\n{shortfall}")).collect()
}
