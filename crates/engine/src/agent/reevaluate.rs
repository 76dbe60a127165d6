//! What evidence about an agent changes in the other machines, and the order: judge, then turns, waits and failures, then
//! the inbox, then the mail.

use proto::{AgentState, Evidence, ProcessId};

use crate::Engine;
use crate::agent::facts::StateChange;
use crate::inbox::failures::FailureCause;
use crate::input::{Launched, RunKey, ScreenSeen};

impl Engine {
    /// Takes what the launch of an agent's run reports.
    pub(crate) fn agent_launched(&mut self, run: RunKey, launched: Launched) {
        let Some(agent) = self.ctx.processes.agent_mut(run.process) else { return };
        agent.launched(launched, &mut self.ctx.out);
        self.inbox.sync_shortfalls(run.process, &mut self.ctx);
        self.reevaluate(run.process);
    }

    /// Takes the opinion of a source.
    pub(crate) fn agent_evidence(&mut self, run: RunKey, evidence: Evidence) {
        let Some(agent) = self.ctx.processes.agent_mut(run.process) else { return };
        let quota = agent.take_evidence(evidence, &mut self.ctx.out);
        self.report_quota(run.process, quota);
        self.reevaluate(run.process);
    }

    /// Takes a look at an agent's screen.
    pub(crate) fn agent_screen(&mut self, run: RunKey, look: ScreenSeen) {
        let Some(agent) = self.ctx.processes.agent_mut(run.process) else { return };
        let news = agent.take_screen(look, &mut self.ctx.out);
        self.report_quota(run.process, news.quota);
        if news.is_taken_over {
            self.mail.finish_taken_over(run.process, &mut self.ctx);
        }
        self.reevaluate(run.process);
    }

    /// Notifies the person and the leader of an agent that its vendor refuses turns.
    fn report_quota(&mut self, id: ProcessId, words: Option<String>) {
        let Some(words) = words else { return };
        self.inbox.fail_agent(id, FailureCause::TurnsRefused, &words, &mut self.ctx);
        self.mail.queue.notice_quota(id, &words, &mut self.ctx);
    }

    /// Judges an agent anew and lets everything follow that depends on its state.
    pub(crate) fn reevaluate(&mut self, id: ProcessId) {
        let now = self.ctx.out.now.uptime_ms;
        if self.ctx.processes.get(&id).is_none_or(|process| !process.is_live()) {
            return;
        }
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        agent.note_unblocked(now);
        self.mail.confirm_delivery(id, &mut self.ctx);
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        if let Some(change) = agent.judge(&mut self.ctx.out) {
            self.state_changed(id, change);
        }
        self.inbox.complete_failure(id, &mut self.ctx);
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        agent.finish_interrupt(&mut self.ctx.out);
        agent.clear_returned_prompt(&mut self.ctx.out);
        self.inbox.sync_inbox(id, &mut self.ctx);
        self.mail.deliver(id, &mut self.ctx);
        self.waits.see_state(id, &self.inbox, &mut self.ctx);
    }

    fn state_changed(&mut self, id: ProcessId, change: StateChange) {
        if change.from == AgentState::Starting {
            self.inbox.start_seen(id, &mut self.ctx);
        }
        let (has_message, now) = (self.mail.queue.first_to(id).is_some(), self.ctx.out.now.uptime_ms);
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        match change.to {
            AgentState::Working | AgentState::Thinking => {
                if !change.from.is_busy() && !agent.is_turn_refused() {
                    agent.clear_quota(&mut self.ctx.out);
                    if !agent.record.has_failure_to_read() {
                        self.inbox.clear_failure(id, &mut self.ctx);
                    }
                }
                if let Some(agent) = self.ctx.processes.agent_mut(id) {
                    agent.work_seen(has_message, &mut self.ctx.out);
                }
            }
            AgentState::Idle | AgentState::Waiting => agent.rest(&mut self.ctx.out),
            AgentState::Error => {
                let words = agent.fail_turn(&mut self.ctx.out);
                self.inbox.fail_agent(id, FailureCause::TurnFailed, &words, &mut self.ctx);
            }
            AgentState::Blocked => agent.note_blocked(now),
            AgentState::Starting | AgentState::Exited => {}
        }
    }

    /// Does what is due about an agent.
    pub(crate) fn pass_agent_deadline(&mut self, id: ProcessId, now: u64) {
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        let is_due = |deadline: Option<u64>| deadline.is_some_and(|deadline| deadline <= now);
        let is_unseen = is_due(agent.live.newest_turn.unseen_until);
        if is_due(agent.live.quota.until) {
            agent.clear_quota(&mut self.ctx.out);
            self.inbox.clear_failure(id, &mut self.ctx);
        }
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        if is_unseen {
            agent.give_up_unseen_turn(&mut self.ctx.out);
        }
        self.inbox.pass_start_deadline(id, now, &mut self.ctx);
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        agent.pass_dialog_deadlines(now);
        agent.give_up_collecting(now, &mut self.ctx.out);
        self.inbox.give_up_answering(id, now, &mut self.ctx);
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        agent.pass_interrupt_deadline(now, &mut self.ctx.out);
        self.reevaluate(id);
    }

    /// Ends what an agent's run was doing: the run is over.
    pub(crate) fn agent_over(&mut self, run: RunKey) {
        let Some(agent) = self.ctx.processes.agent_mut(run.process) else { return };
        agent.end_run(&mut self.ctx.out);
        self.inbox.close_items_of(run.process, &mut self.ctx);
        self.mail.run_over(run.process, &mut self.ctx);
        self.mail.queue.refuse_all_to_run(run, &mut self.ctx);
        self.inbox.abandon_answering(run.process, &mut self.ctx);
        if let Some(agent) = self.ctx.processes.agent_mut(run.process) {
            agent.abandon_interrupt(&mut self.ctx.out);
        }
        self.route_signals();
        self.waits.see_state(run.process, &self.inbox, &mut self.ctx);
    }
}
