//! What becomes known about an agent and what it changes in the agent itself: its launch, evidence, its screen, its state.
//! What follows for mail, inbox and waits is in `reevaluate`.

use proto::agent::{self, Source, TurnEnd};
use proto::{AgentState, Evidence};

use crate::agent::drift;
use crate::agent::interrupt::Interrupting;
use crate::agent::state_from_evidence::{self, Belief};
use crate::agent::{Agent, WaitingSince};
use crate::effect::Effect;
use crate::input::{Launched, ScreenSeen};
use crate::outbox::Outbox;

/// How long a wait for `blocked` waits for the options of the dialog: reports come before the screen is drawn.
const OPTIONS_MS: u64 = 1_500;

/// A state that gave way to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateChange {
    pub(crate) from: AgentState,
    pub(crate) to: AgentState,
}

impl Agent {
    /// Takes what the launch of the run reports.
    pub(crate) fn launched(&mut self, launched: Launched, out: &mut Outbox) {
        if self.record.session.is_none() {
            self.record.session.clone_from(&launched.session);
        }
        let (is_first, patience_ms) = (self.live.launched.is_none(), launched.patience_ms);
        let known = self.live.launched.as_ref().and_then(|launched| launched.new_line.as_ref());
        if known != launched.new_line.as_ref() {
            out.mark_visible(self.run.process);
        }
        self.live.launched = Some(launched);
        if is_first && patience_ms > 0 && self.state() == AgentState::Starting {
            self.live.startup.late_at = Some(out.now.uptime_ms.saturating_add(patience_ms));
        }
        out.mark_durable(self.run.process);
    }

    /// Pins the vendor's session, so that a later run continues exactly this one.
    pub(crate) fn set_session(&mut self, session: String, out: &mut Outbox) {
        if self.record.session.as_deref() != Some(session.as_str()) {
            self.record.session = Some(session);
            out.mark_durable(self.run.process);
        }
    }

    /// Notes how full its context is.
    pub(crate) fn set_context(&mut self, context: agent::Context, out: &mut Outbox) {
        if self.live.screen.context != Some(context) {
            self.live.screen.context = Some(context);
            out.mark_visible(self.run.process);
        }
    }

    /// Takes the opinion of a source. Returns its message when a person should be notified that the vendor refuses turns.
    /// A quota counts when a source begins to report it, not while it repeats it: the words may be on the screen long after
    /// turns are accepted again.
    pub(crate) fn take_evidence(&mut self, evidence: Evidence, out: &mut Outbox) -> Option<String> {
        let now = out.now;
        let known = self.live.evidence.table.get(evidence.source).and_then(|slot| slot.evidence.quota);
        let quota = evidence.quota.filter(|quota| known != Some(*quota));
        let message = evidence.message.clone();
        self.live.evidence.table.put(evidence, now);
        let quota = quota?;
        // A vendor that tries again by itself reports the same at each try: a person is notified once per turn.
        let turn = self.running_turn();
        let is_known = turn.is_some() && self.live.quota.notified_turn == turn;
        self.live.quota.notified_turn = turn;
        self.live.quota.limit = Some(quota);
        let left = quota.reset_at.map(|reset| reset.saturating_sub(now.wall_ms));
        self.live.quota.until = left.map(|left| now.uptime_ms.saturating_add(left));
        out.mark_visible(self.run.process);
        (!is_known).then_some(message)
    }

    /// Forgets the opinion of a source that has none any more.
    pub(crate) fn withdraw_evidence(&mut self, source: Source) {
        self.live.evidence.table.withdraw(source);
    }

    /// Takes a look at the screen: its three opinions, the composer and the background work.
    pub(crate) fn take_screen(&mut self, look: ScreenSeen, out: &mut Outbox) -> ScreenChange {
        let mut quota = None;
        for (source, seen) in
            [(Source::Screen, look.screen), (Source::Dialog, look.dialog), (Source::Title, look.title)]
        {
            match seen {
                Some(evidence) => {
                    quota = self.take_evidence(Evidence { source, ..evidence }, out).or(quota);
                }
                None => self.withdraw_evidence(source),
            }
        }
        self.live.screen.background = look.background;
        self.live.screen.dialog_context = look.dialog_context;
        let before = std::mem::replace(&mut self.live.screen.composer, look.composer);
        self.live.screen.is_looked_at = true;
        let is_taken_over = self.live.progress.saw_composer(before, look.composer, out.now.uptime_ms);
        ScreenChange { quota, is_taken_over }
    }

    /// Notes the moment at which no source reports any more that the agent is blocked; the state may follow later.
    pub(crate) fn note_unblocked(&mut self, now: u64) {
        let is_blocked = self.blocking().is_some() || self.live.dialogs.permissions > 0;
        if std::mem::replace(&mut self.live.progress.is_blocked, is_blocked) && !is_blocked {
            self.live.progress.dialog_closed_at = Some(now);
            self.live.dialogs.asked.clear();
        }
    }

    /// Judges all evidence anew; returns the change of state, if there is one.
    pub(crate) fn judge(&mut self, out: &mut Outbox) -> Option<StateChange> {
        let now = out.now;
        let before = self.visible();
        let old = self.live.evidence.belief;
        let judgement = state_from_evidence::weigh(
            &self.live.evidence.table,
            old,
            self.live.dialogs.permissions > 0,
            now.uptime_ms,
        );
        self.live.evidence.belief = judgement.belief;
        self.live.evidence.judgement = Some(judgement);
        self.live.evidence.judged_at = now.uptime_ms;
        let change = StateChange { from: old.state, to: self.state() };
        let has_changed = change.from != change.to;
        if has_changed {
            self.note_since(change, out);
        }
        if self.visible() != before {
            out.mark_visible(self.run.process);
        }
        self.note_drift(out);
        has_changed.then_some(change)
    }

    /// Notes since when the new state holds. A daemon that has just adopted the run learns it from the record, if the agent
    /// still waits as it did.
    fn note_since(&mut self, change: StateChange, out: &mut Outbox) {
        let is_learnt = change.from == AgentState::Starting;
        let recorded = self.record.waiting_since.filter(|known| is_learnt && known.state == change.to);
        let since = recorded.map_or(out.now.wall_ms, |known| known.at);
        self.live.evidence.since = since;
        let waits = matches!(
            change.to,
            AgentState::Idle | AgentState::Waiting | AgentState::Blocked | AgentState::Error
        );
        let waiting_since = waits.then_some(WaitingSince { state: change.to, at: since });
        if self.record.waiting_since != waiting_since {
            self.record.waiting_since = waiting_since;
            out.mark_durable(self.run.process);
        }
    }

    /// Orders a sample of two sources that have disagreed for too long.
    fn note_drift(&mut self, out: &mut Outbox) {
        let (now, run, evidence) = (out.now.uptime_ms, self.run, &mut self.live.evidence);
        let sides = evidence.judgement.as_ref().map(|judgement| (judgement.winner, judgement.runner_up));
        let pair = sides.and_then(|(winner, other)| drift::pair(&evidence.table, winner, other));
        evidence.drift_at = pair.and_then(|(winner, other)| evidence.drift.sample_due_at(winner, other));
        if evidence.drift_at.is_none_or(|due| due > now) {
            return;
        }
        let Some((winner, other)) =
            pair.map(|(winner, other)| (winner.evidence.clone(), other.evidence.clone()))
        else {
            return;
        };
        evidence.drift.note_sample(winner.source, other.source, now);
        evidence.drift_at = None;
        out.push(Effect::KeepDrift { run, winner: Box::new(winner), other: Box::new(other) });
    }

    /// Notes that the agent became blocked: a wait for it also waits a moment for the options of its dialog.
    pub(crate) fn note_blocked(&mut self, now: u64) {
        self.live.startup.was_blocked = true;
        self.live.dialogs.options_until = Some(now + OPTIONS_MS);
    }

    /// Ends the turn of an agent that came to rest: interrupted, if a source that spoke since the turn began reports that,
    /// or if the keys of an interrupt reached the terminal. Hooks and servers name the rule `interrupted`, transcripts
    /// `transcript.interrupted`; a program that is interrupted before its first word may write nothing at all.
    pub(crate) fn rest(&mut self, out: &mut Outbox) {
        self.live.startup.has_rested = true;
        let names_interrupt = |rule: &str| rule == "interrupted" || rule.ends_with(".interrupted");
        let began = self.live.newest_turn.began;
        let is_interrupted = self.live.interrupting.as_ref().is_some_and(Interrupting::is_typed)
            || self
                .live
                .evidence
                .table
                .slots()
                .any(|slot| names_interrupt(&slot.evidence.rule) && slot.at.uptime_ms >= began);
        self.end_turn(if is_interrupted { TurnEnd::Interrupted } else { TurnEnd::Done }, out);
    }

    /// Ends a turn that failed; returns the words of the source that reports it.
    pub(crate) fn fail_turn(&mut self, out: &mut Outbox) -> String {
        self.end_turn(TurnEnd::Failed, out);
        self.correct_rested_turn(TurnEnd::Failed, out);
        self.words_of_failure(out.now.uptime_ms)
    }

    /// The vendor's words about a failure: those of the strongest source that has any. A status report says only that a
    /// turn failed; transcript and screen say why, often a moment later.
    pub(crate) fn words_of_failure(&self, now: u64) -> String {
        let slots = self.live.evidence.table.slots();
        let mut failed = slots.filter(|slot| slot.state() == Some(AgentState::Error) && slot.counts(now));
        let with_words = failed.find(|slot| !slot.evidence.message.is_empty());
        with_words.map(|slot| slot.evidence.message.clone()).unwrap_or_default()
    }

    /// Returns true if the vendor still refuses the turn that runs.
    pub(crate) fn is_turn_refused(&self) -> bool {
        self.live.quota.notified_turn.is_some() && self.live.quota.notified_turn == self.running_turn()
    }

    /// The vendor accepts turns again.
    pub(crate) fn clear_quota(&mut self, out: &mut Outbox) {
        self.live.quota.until = None;
        if self.live.quota.limit.take().is_some() {
            out.mark_visible(self.run.process);
        }
    }

    /// Forgets the moments about dialogs that have passed.
    pub(crate) fn pass_dialog_deadlines(&mut self, now: u64) {
        let dialogs = &mut self.live.dialogs;
        dialogs.answered_until = dialogs.answered_until.filter(|until| *until > now);
        dialogs.options_until = dialogs.options_until.filter(|until| *until > now);
    }

    /// Ends what belongs to a run that is over: its state, its turn and every moment that was still to come.
    pub(crate) fn end_run(&mut self, out: &mut Outbox) {
        let evidence = &mut self.live.evidence;
        evidence.belief = Belief { state: AgentState::Exited, pending: None };
        evidence.since = out.now.wall_ms;
        evidence.judgement = None;
        evidence.drift_at = None;
        self.live.quota.limit = None;
        self.live.quota.until = None;
        self.live.dialogs.answered_until = None;
        self.live.dialogs.options_until = None;
        self.live.startup.late_at = None;
        self.end_turn(TurnEnd::Exited, out);
    }

    /// Orders the last lines of the screen, for a failure that a person reads.
    pub(crate) fn read_last_lines(&self, out: &mut Outbox) {
        out.push(Effect::ReadLastLines { run: self.run });
    }
}

/// What a look at the screen means beyond the agent itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScreenChange {
    /// The words of a source that began to report that the vendor refuses turns.
    pub(crate) quota: Option<String>,
    /// A person took the text of the message in flight out of the composer.
    pub(crate) is_taken_over: bool,
}
