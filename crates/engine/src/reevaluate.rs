//! What evidence does to an agent: the state changes, and everything that hangs on it follows.
//!
//! Owns the order: judge, then turns, waits and failures, then the inbox, then the mail. Refuses weighing (`state`) and
//! looking (the daemon does, and says what it saw).

use proto::agent::{Context, Source, TurnEnd};
use proto::{AgentState, Evidence, ProcessId};

use crate::Engine;
use crate::agent::Agent;
use crate::drift;
use crate::effect::Effect;
use crate::input::{Launched, RunKey, ScreenSeen};
use crate::interrupt::Interrupting;
use crate::state::{self, Belief};

/// How long a wait for `blocked` waits for the options of the dialog: reports come before the screen is drawn.
const OPTIONS_MS: u64 = 1_500;

impl Engine {
    /// The agent's part of an entry.
    pub(crate) fn agent(&self, id: ProcessId) -> Option<&Agent> {
        self.processes.get(&id)?.agent.as_deref()
    }

    /// The agent's part of an entry, to be changed.
    pub(crate) fn agent_mut(&mut self, id: ProcessId) -> Option<&mut Agent> {
        self.processes.get_mut(&id)?.agent.as_deref_mut()
    }

    /// What the launch says about the run.
    pub(crate) fn launched(&mut self, run: RunKey, launched: Launched) {
        let now = self.now.uptime_ms;
        let Some(agent) = self.agent_mut(run.process) else { return };
        if agent.record.session.is_none() {
            agent.record.session.clone_from(&launched.session);
        }
        let (is_first, patience_ms) = (agent.live.launched.is_none(), launched.patience_ms);
        agent.live.launched = Some(launched);
        if is_first && patience_ms > 0 && agent.state() == AgentState::Starting {
            agent.live.startup.late_at = Some(now.saturating_add(patience_ms));
        }
        self.mark_durable(run.process);
        self.sync_shortfalls(run.process);
        self.reevaluate(run.process);
    }

    /// The vendor's session became known: it is pinned, so that a later run continues exactly it.
    pub(crate) fn session_known(&mut self, run: RunKey, session: String) {
        let Some(agent) = self.agent_mut(run.process) else { return };
        if agent.record.session.as_deref() != Some(session.as_str()) {
            agent.record.session = Some(session);
            self.mark_durable(run.process);
        }
    }

    /// How full its context is.
    pub(crate) fn context_known(&mut self, run: RunKey, context: Context) {
        let Some(agent) = self.agent_mut(run.process) else { return };
        if agent.live.screen.context != Some(context) {
            agent.live.screen.context = Some(context);
            self.mark_visible(run.process);
        }
    }

    /// A source has an opinion.
    pub(crate) fn heard(&mut self, run: RunKey, evidence: Evidence) {
        self.take_evidence(run.process, evidence);
        self.reevaluate(run.process);
    }

    /// A source has none any more.
    pub(crate) fn withdrawn(&mut self, run: RunKey, source: Source) {
        self.lose_evidence(run.process, source);
        self.reevaluate(run.process);
    }

    fn lose_evidence(&mut self, id: ProcessId, source: Source) {
        if let Some(agent) = self.agent_mut(id) {
            agent.live.evidence.table.withdraw(source);
        }
    }

    /// Notes the moment at which nothing says any more that the agent is blocked; the state may follow later.
    fn note_unblocked(&mut self, id: ProcessId) {
        let now = self.now.uptime_ms;
        let Some(agent) = self.agent_mut(id) else { return };
        let is_blocked = agent.blocking().is_some() || agent.live.dialogs.parked > 0;
        if std::mem::replace(&mut agent.live.progress.is_blocked, is_blocked) && !is_blocked {
            agent.live.progress.dialog_closed_at = Some(now);
            agent.live.dialogs.asked.clear();
        }
    }

    /// The screen was looked at.
    pub(crate) fn looked(&mut self, run: RunKey, look: ScreenSeen) {
        let now = self.now;
        for (source, seen) in
            [(Source::Screen, look.screen), (Source::Dialog, look.dialog), (Source::Title, look.title)]
        {
            match seen {
                Some(evidence) => self.take_evidence(run.process, Evidence { source, ..evidence }),
                None => self.lose_evidence(run.process, source),
            }
        }
        let Some(agent) = self.agent_mut(run.process) else { return };
        agent.live.screen.background = look.background;
        let before = std::mem::replace(&mut agent.live.screen.composer, look.composer);
        agent.live.screen.is_looked_at = true;
        if agent.live.progress.saw_composer(before, look.composer, now.uptime_ms) {
            self.take_over(run.process);
        }
        self.reevaluate(run.process);
    }

    /// Puts evidence on the table. Quota is noted when a source begins to speak of it, not while it repeats itself:
    /// the words may stand on the screen long after turns are taken again.
    fn take_evidence(&mut self, id: ProcessId, evidence: Evidence) {
        let now = self.now;
        let Some(agent) = self.agent_mut(id) else { return };
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
                self.fail_agent(id, "the vendor refuses turns for now", &words);
                self.notice_quota(id, &words);
            }
            self.mark_visible(id);
        }
    }

    /// Judges an agent anew and lets everything follow that hangs on it.
    pub(crate) fn reevaluate(&mut self, id: ProcessId) {
        if self.processes.get(&id).is_none_or(|process| process.agent.is_none() || !process.is_live()) {
            return;
        }
        self.note_unblocked(id);
        self.confirm_delivery(id);
        self.judge(id);
        self.finish_interrupt(id);
        self.sync_inbox(id);
        self.deliver(id);
        self.waits_see_state(id);
    }

    fn judge(&mut self, id: ProcessId) {
        let now = self.now;
        let Some(agent) = self.agent_mut(id) else { return };
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
        self.note_drift(id);
        if old.state != state {
            self.state_changed(id, old, state);
        }
        if has_changed {
            self.mark_visible(id);
        }
    }

    fn note_drift(&mut self, id: ProcessId) {
        let now = self.now.uptime_ms;
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
        self.effects.push(Effect::KeepDrift { run, winner: Box::new(winner), other: Box::new(other) });
    }

    fn state_changed(&mut self, id: ProcessId, old: Belief, new: AgentState) {
        if old.state == AgentState::Starting {
            self.start_seen(id);
        }
        match new {
            AgentState::Working | AgentState::Thinking => {
                let still = |agent: &Agent| {
                    agent.live.quota.notified_turn.is_some()
                        && agent.live.quota.notified_turn == agent.running_turn()
                };
                if !old.state.is_busy() && !self.agent(id).is_some_and(still) {
                    self.clear_quota(id);
                    self.clear_failure(id);
                }
                self.turn_is_under_way(id);
            }
            AgentState::Idle | AgentState::Waiting => {
                if let Some(agent) = self.agent_mut(id) {
                    agent.live.startup.has_rested = true;
                }
                let end = self.rest_end(id);
                self.end_turn(id, end);
            }
            AgentState::Error => {
                self.end_turn(id, TurnEnd::Failed);
                self.correct_rested_turn(id, TurnEnd::Failed);
                let words = self.winner_words(id);
                self.fail_agent(id, "its turn failed", &words);
            }
            AgentState::Blocked => {
                let until = self.now.uptime_ms + OPTIONS_MS;
                if let Some(agent) = self.agent_mut(id) {
                    agent.live.dialogs.options_until = Some(until);
                }
            }
            AgentState::Starting | AgentState::Exited => {}
        }
    }

    /// How a turn ended that came to rest: interrupted, if any source that spoke since it began says so, or if the keys
    /// of an interrupt reached the terminal. Hooks and servers name the rule `interrupted`, transcripts
    /// `transcript.interrupted`; a program that is interrupted before its first word may write nothing at all.
    fn rest_end(&self, id: ProcessId) -> TurnEnd {
        let is_interrupted = self.agent(id).is_some_and(|agent| {
            agent.live.interrupting.as_ref().is_some_and(Interrupting::is_typed)
                || agent.live.evidence.table.slots().any(|slot| {
                    let rule = slot.evidence.rule.as_str();
                    let names_it = rule == "interrupted" || rule.ends_with(".interrupted");
                    names_it && slot.at.uptime_ms >= agent.live.newest_turn.began
                })
        });
        if is_interrupted { TurnEnd::Interrupted } else { TurnEnd::Done }
    }

    fn winner_words(&self, id: ProcessId) -> String {
        let slot = self
            .agent(id)
            .and_then(|agent| agent.live.evidence.table.get(agent.live.evidence.judgement.as_ref()?.winner?));
        slot.map(|slot| slot.evidence.message.clone()).unwrap_or_default()
    }

    fn clear_quota(&mut self, id: ProcessId) {
        let Some(agent) = self.agent_mut(id) else { return };
        agent.live.quota.until = None;
        if agent.live.quota.limit.take().is_some() {
            self.mark_visible(id);
        }
    }

    /// Does what is due about an agent.
    pub(crate) fn pass_agent_deadline(&mut self, id: ProcessId, now: u64) {
        let Some(agent) = self.agent(id) else { return };
        let is_due = |deadline: Option<u64>| deadline.is_some_and(|deadline| deadline <= now);
        let (quota, unseen) = (is_due(agent.live.quota.until), is_due(agent.live.newest_turn.unseen_until));
        if quota {
            self.clear_quota(id);
            self.clear_failure(id);
        }
        if unseen {
            self.give_up_unseen_turn(id);
        }
        self.pass_start_deadline(id, now);
        if let Some(agent) = self.agent_mut(id) {
            agent.live.dialogs.answered_until =
                agent.live.dialogs.answered_until.filter(|until| *until > now);
            agent.live.dialogs.options_until = agent.live.dialogs.options_until.filter(|until| *until > now);
        }
        self.give_up_collecting(id, now);
        self.give_up_answering(id, now);
        self.pass_interrupt_deadline(id, now);
        self.reevaluate(id);
    }

    /// The run is over: what it was doing ends with it.
    pub(crate) fn agent_over(&mut self, run: RunKey) {
        let now = self.now;
        let Some(agent) = self.agent_mut(run.process) else { return };
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
        self.end_turn(run.process, TurnEnd::Exited);
        self.close_items_of(run.process);
        self.delivery_over(run.process);
        self.refuse_mail_to_run(run);
        self.abandon_answering(run.process);
        self.abandon_interrupt(run.process);
        self.waits_see_state(run.process);
    }
}
