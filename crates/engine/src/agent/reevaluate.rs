//! What evidence does to an agent: the state changes, and everything that hangs on it follows.
//!
//! Owns the order: judge, then turns, waits and failures, then the inbox, then the mail. Refuses weighing (`state`) and
//! looking (the daemon does, and says what it saw).

use proto::agent::{self, Source, TurnEnd};
use proto::{AgentState, Evidence, ProcessId};

use crate::Engine;
use crate::agent::Agent;
use crate::agent::drift;
use crate::agent::interrupt::Interrupting;
use crate::agent::state::{self, Belief};
use crate::context::Context;
use crate::effect::Effect;
use crate::input::{Launched, RunKey, ScreenSeen};

/// How long a wait for `blocked` waits for the options of the dialog: reports come before the screen is drawn.
const OPTIONS_MS: u64 = 1_500;

impl Context {
    /// The vendor's session became known: it is pinned, so that a later run continues exactly it.
    pub(crate) fn session_known(&mut self, run: RunKey, session: String) {
        let Some(agent) = self.processes.agent_mut(run.process) else { return };
        if agent.record.session.as_deref() != Some(session.as_str()) {
            agent.record.session = Some(session);
            self.out.mark_durable(run.process);
        }
    }

    /// How full its context is.
    pub(crate) fn context_known(&mut self, run: RunKey, context: agent::Context) {
        let Some(agent) = self.processes.agent_mut(run.process) else { return };
        if agent.live.screen.context != Some(context) {
            agent.live.screen.context = Some(context);
            self.out.mark_visible(run.process);
        }
    }

    pub(crate) fn lose_evidence(&mut self, id: ProcessId, source: Source) {
        if let Some(agent) = self.processes.agent_mut(id) {
            agent.live.evidence.table.withdraw(source);
        }
    }

    /// Notes the moment at which nothing says any more that the agent is blocked; the state may follow later.
    pub(crate) fn note_unblocked(&mut self, id: ProcessId) {
        let now = self.out.now.uptime_ms;
        let Some(agent) = self.processes.agent_mut(id) else { return };
        let is_blocked = agent.blocking().is_some() || agent.live.dialogs.parked > 0;
        if std::mem::replace(&mut agent.live.progress.is_blocked, is_blocked) && !is_blocked {
            agent.live.progress.dialog_closed_at = Some(now);
            agent.live.dialogs.asked.clear();
        }
    }

    pub(crate) fn note_drift(&mut self, id: ProcessId) {
        let now = self.out.now.uptime_ms;
        let Some(process) = self.processes.get_mut(&id) else { return };
        let run = process.key();
        let Some(live) = process.agent.as_deref_mut().map(|agent| &mut agent.live) else { return };
        let sides = live.evidence.judgement.as_ref().map(|judgement| (judgement.winner, judgement.runner_up));
        let pair = sides.and_then(|(winner, other)| drift::pair(&live.evidence.table, winner, other));
        live.evidence.drift_at = pair.and_then(|(winner, other)| live.evidence.drift.due(winner, other));
        if live.evidence.drift_at.is_none_or(|due| due > now) {
            return;
        }
        let Some((winner, other)) =
            pair.map(|(winner, other)| (winner.evidence.clone(), other.evidence.clone()))
        else {
            return;
        };
        live.evidence.drift.taken(winner.source, other.source, now);
        live.evidence.drift_at = None;
        self.out.push(Effect::KeepDrift { run, winner: Box::new(winner), other: Box::new(other) });
    }

    /// How a turn ended that came to rest: interrupted, if any source that spoke since it began says so, or if the keys
    /// of an interrupt reached the terminal. Hooks and servers name the rule `interrupted`, transcripts
    /// `transcript.interrupted`; a program that is interrupted before its first word may write nothing at all.
    pub(crate) fn rest_end(&self, id: ProcessId) -> TurnEnd {
        let is_interrupted = self.processes.agent(id).is_some_and(|agent| {
            agent.live.interrupting.as_ref().is_some_and(Interrupting::is_typed)
                || agent.live.evidence.table.slots().any(|slot| {
                    let rule = slot.evidence.rule.as_str();
                    let names_it = rule == "interrupted" || rule.ends_with(".interrupted");
                    names_it && slot.at.uptime_ms >= agent.live.newest_turn.began
                })
        });
        if is_interrupted { TurnEnd::Interrupted } else { TurnEnd::Done }
    }

    pub(crate) fn winner_words(&self, id: ProcessId) -> String {
        let slot = self
            .processes
            .agent(id)
            .and_then(|agent| agent.live.evidence.table.get(agent.live.evidence.judgement.as_ref()?.winner?));
        slot.map(|slot| slot.evidence.message.clone()).unwrap_or_default()
    }

    pub(crate) fn clear_quota(&mut self, id: ProcessId) {
        let Some(agent) = self.processes.agent_mut(id) else { return };
        agent.live.quota.until = None;
        if agent.live.quota.limit.take().is_some() {
            self.out.mark_visible(id);
        }
    }
}

impl Engine {
    /// What the launch says about the run.
    pub(crate) fn launched(&mut self, run: RunKey, launched: Launched) {
        let now = self.ctx.out.now.uptime_ms;
        let Some(agent) = self.ctx.processes.agent_mut(run.process) else { return };
        if agent.record.session.is_none() {
            agent.record.session.clone_from(&launched.session);
        }
        let (is_first, patience_ms) = (agent.live.launched.is_none(), launched.patience_ms);
        agent.live.launched = Some(launched);
        if is_first && patience_ms > 0 && agent.state() == AgentState::Starting {
            agent.live.startup.late_at = Some(now.saturating_add(patience_ms));
        }
        self.ctx.out.mark_durable(run.process);
        self.inbox.sync_shortfalls(run.process, &mut self.ctx);
        self.reevaluate(run.process);
    }

    /// A source has an opinion.
    pub(crate) fn heard(&mut self, run: RunKey, evidence: Evidence) {
        self.take_evidence(run.process, evidence);
        self.reevaluate(run.process);
    }

    /// A source has none any more.
    pub(crate) fn withdrawn(&mut self, run: RunKey, source: Source) {
        self.ctx.lose_evidence(run.process, source);
        self.reevaluate(run.process);
    }

    /// The screen was looked at.
    pub(crate) fn looked(&mut self, run: RunKey, look: ScreenSeen) {
        let now = self.ctx.out.now;
        for (source, seen) in
            [(Source::Screen, look.screen), (Source::Dialog, look.dialog), (Source::Title, look.title)]
        {
            match seen {
                Some(evidence) => self.take_evidence(run.process, Evidence { source, ..evidence }),
                None => self.ctx.lose_evidence(run.process, source),
            }
        }
        let Some(agent) = self.ctx.processes.agent_mut(run.process) else { return };
        agent.live.screen.background = look.background;
        let before = std::mem::replace(&mut agent.live.screen.composer, look.composer);
        agent.live.screen.is_looked_at = true;
        if agent.live.progress.saw_composer(before, look.composer, now.uptime_ms) {
            self.mail.take_over(run.process, &mut self.ctx);
        }
        self.reevaluate(run.process);
    }

    /// Puts evidence on the table. Quota is noted when a source begins to speak of it, not while it repeats itself:
    /// the words may stand on the screen long after turns are taken again.
    fn take_evidence(&mut self, id: ProcessId, evidence: Evidence) {
        let now = self.ctx.out.now;
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        let known = agent.live.evidence.table.get(evidence.source).and_then(|slot| slot.evidence.quota);
        let quota = evidence.quota.filter(|quota| known != Some(*quota));
        let words = evidence.message.clone();
        agent.live.evidence.table.put(evidence, now);
        if let Some(quota) = quota {
            // A vendor that tries again by itself says the same at each try: a person is told once per turn.
            let turn = agent.running_turn();
            let is_told = turn.is_some() && agent.live.quota.notified_turn == turn;
            agent.live.quota.notified_turn = turn;
            agent.live.quota.limit = Some(quota);
            let left = quota.reset_at.map(|reset| reset.saturating_sub(now.wall_ms));
            agent.live.quota.until = left.map(|left| now.uptime_ms.saturating_add(left));
            if !is_told {
                self.inbox.fail_agent(id, "the vendor refuses turns for now", &words, &mut self.ctx);
                self.notice_quota(id, &words);
            }
            self.ctx.out.mark_visible(id);
        }
    }

    /// Judges an agent anew and lets everything follow that hangs on it.
    pub(crate) fn reevaluate(&mut self, id: ProcessId) {
        if self.ctx.processes.get(&id).is_none_or(|process| process.agent.is_none() || !process.is_live()) {
            return;
        }
        self.ctx.note_unblocked(id);
        self.mail.confirm_delivery(id, &mut self.ctx);
        self.judge(id);
        self.ctx.finish_interrupt(id);
        self.inbox.sync_inbox(id, &mut self.ctx);
        self.mail.deliver(id, &mut self.ctx);
        self.waits.see_state(id, &self.inbox, &mut self.ctx);
    }

    fn judge(&mut self, id: ProcessId) {
        let now = self.ctx.out.now;
        let Some(agent) = self.ctx.processes.agent_mut(id) else { return };
        let before = agent.face();
        let old = agent.live.evidence.belief;
        let judgement =
            state::weigh(&agent.live.evidence.table, old, agent.live.dialogs.parked > 0, now.uptime_ms);
        agent.live.evidence.belief = judgement.belief;
        agent.live.evidence.judgement = Some(judgement);
        agent.live.evidence.judged_at = now.uptime_ms;
        if old.state != agent.state() {
            agent.live.evidence.since = now.wall_ms;
        }
        let (state, has_changed) = (agent.state(), agent.face() != before);
        self.ctx.note_drift(id);
        if old.state != state {
            self.state_changed(id, old, state);
        }
        if has_changed {
            self.ctx.out.mark_visible(id);
        }
    }

    fn state_changed(&mut self, id: ProcessId, old: Belief, new: AgentState) {
        if old.state == AgentState::Starting {
            self.inbox.start_seen(id, &mut self.ctx);
        }
        match new {
            AgentState::Working | AgentState::Thinking => {
                let still = |agent: &Agent| {
                    agent.live.quota.notified_turn.is_some()
                        && agent.live.quota.notified_turn == agent.running_turn()
                };
                if !old.state.is_busy() && !self.ctx.processes.agent(id).is_some_and(still) {
                    self.ctx.clear_quota(id);
                    self.inbox.clear_failure(id, &mut self.ctx);
                }
                self.turn_is_under_way(id);
            }
            AgentState::Idle | AgentState::Waiting => {
                if let Some(agent) = self.ctx.processes.agent_mut(id) {
                    agent.live.startup.has_rested = true;
                }
                let end = self.ctx.rest_end(id);
                self.ctx.end_turn(id, end);
            }
            AgentState::Error => {
                self.ctx.end_turn(id, TurnEnd::Failed);
                self.ctx.correct_rested_turn(id, TurnEnd::Failed);
                let words = self.ctx.winner_words(id);
                self.inbox.fail_agent(id, "its turn failed", &words, &mut self.ctx);
            }
            AgentState::Blocked => {
                let until = self.ctx.out.now.uptime_ms + OPTIONS_MS;
                if let Some(agent) = self.ctx.processes.agent_mut(id) {
                    agent.live.dialogs.options_until = Some(until);
                }
            }
            AgentState::Starting | AgentState::Exited => {}
        }
    }

    /// Does what is due about an agent.
    pub(crate) fn pass_agent_deadline(&mut self, id: ProcessId, now: u64) {
        let Some(agent) = self.ctx.processes.agent(id) else { return };
        let is_due = |deadline: Option<u64>| deadline.is_some_and(|deadline| deadline <= now);
        let (quota, unseen) = (is_due(agent.live.quota.until), is_due(agent.live.newest_turn.unseen_until));
        if quota {
            self.ctx.clear_quota(id);
            self.inbox.clear_failure(id, &mut self.ctx);
        }
        if unseen {
            self.ctx.give_up_unseen_turn(id);
        }
        self.inbox.pass_start_deadline(id, now, &mut self.ctx);
        if let Some(agent) = self.ctx.processes.agent_mut(id) {
            agent.live.dialogs.answered_until =
                agent.live.dialogs.answered_until.filter(|until| *until > now);
            agent.live.dialogs.options_until = agent.live.dialogs.options_until.filter(|until| *until > now);
        }
        self.ctx.give_up_collecting(id, now);
        self.inbox.give_up_answering(id, now, &mut self.ctx);
        self.ctx.pass_interrupt_deadline(id, now);
        self.reevaluate(id);
    }

    /// The run is over: what it was doing ends with it.
    pub(crate) fn agent_over(&mut self, run: RunKey) {
        let now = self.ctx.out.now;
        let Some(agent) = self.ctx.processes.agent_mut(run.process) else { return };
        agent.live.evidence.belief = Belief { state: AgentState::Exited, pending: None };
        agent.live.evidence.since = now.wall_ms;
        agent.live.evidence.judgement = None;
        agent.live.quota.limit = None;
        agent.live.quota.until = None;
        agent.live.evidence.drift_at = None;
        agent.live.newest_turn.unseen_until = None;
        agent.live.dialogs.answered_until = None;
        agent.live.dialogs.options_until = None;
        agent.live.startup.late_at = None;
        self.ctx.end_turn(run.process, TurnEnd::Exited);
        self.inbox.close_items_of(run.process, &mut self.ctx);
        self.mail.delivery_over(run.process, &mut self.ctx);
        self.mail.refuse_mail_to_run(run, &mut self.ctx);
        self.inbox.abandon_answering(run.process, &mut self.ctx);
        self.ctx.abandon_interrupt(run.process);
        self.route_signals();
        self.waits.see_state(run.process, &self.inbox, &mut self.ctx);
    }
}
