//! What the end of a run or of an entry means for an agent beyond its state.
//!
//! Owns failures that a person should know and what happens to mail, items and callers of an entry that goes.

use proto::{AgentState, ErrorCode, Exit, Failure, ProcessId};

use crate::Engine;
use crate::input::{JobId, RunKey, Typing};

/// A resumed run that ends this soon was refused by its vendor.
const REFUSED_MS: u64 = 3_000;

impl Engine {
    /// What became of guarded typing, whoever ordered it.
    pub(crate) fn typing_done(&mut self, run: RunKey, job: JobId, outcome: Typing) {
        let is_known =
            self.delivery_typed(run.process, job, outcome) || self.interrupt_typed(run.process, job, outcome);
        if !is_known {
            self.answer_typed(run.process, job, outcome);
        }
        self.consider(run.process);
    }

    /// Nobody asked for the end.
    pub(crate) fn agent_ended_by_itself(&mut self, id: ProcessId, exit: Exit) {
        let now = self.now.uptime_ms;
        let Some(agent) = self.agent(id).filter(|_| exit.code != Some(0)) else { return };
        let how = match (exit.code, exit.signal) {
            (Some(code), _) => format!("it exited with code {code}"),
            (None, Some(signal)) => format!("signal {signal} ended it"),
            (None, None) => "it was lost".to_owned(),
        };
        let is_quick = now.saturating_sub(agent.live.began) <= REFUSED_MS && !agent.live.has_rested;
        match agent.record.resumed.clone().filter(|_| is_quick) {
            Some(session) => {
                let body =
                    format!("{how}; session {session} could not be continued: qd restart begins a new one");
                self.fail_agent(id, "resume refused", &body);
            }
            None => self.fail_agent(id, "it ended badly", &how),
        }
    }

    /// A later run could not be started.
    pub(crate) fn start_failure_shown(&mut self, id: ProcessId, failure: &Failure) {
        if self.agent(id).is_some() {
            self.fail_agent(id, "it could not be started", &failure.message);
        }
    }

    /// The entry goes: nothing of it can be delivered, answered or asked for any more.
    pub(crate) fn forget_agent(&mut self, id: ProcessId) {
        if self.agent(id).is_none() {
            return;
        }
        self.close_items_of(id);
        self.clear_failure(id);
        self.forget_timers_of(id);
        self.abandon_answering(id);
        self.abandon_interrupt(id);
        if let Some(agent) = self.agent_mut(id) {
            agent.live.standing.state = AgentState::Exited;
            agent.live.progress = crate::delivery::Progress::default();
            let tickets = std::mem::take(&mut agent.result_tickets);
            for (ticket, turn) in tickets {
                let failure =
                    Failure::new(ErrorCode::NotFound, format!("the agent of turn {turn} was closed"));
                self.reply(ticket, Err(failure));
            }
        }
        self.refuse_mail_to(id, "the agent was closed");
    }
}
