//! The steps of one delivery: when and how a message is given to its agent, exactly once.
//!
//! Nothing is typed here: an effect orders guarded typing, and the daemon checks the guard against the screen of that
//! moment.

use proto::agent::{Composer, Delivery, MailId, Source};
use proto::{AgentState, ProcessId};

use crate::context::Context;
use crate::effect::{ComposerIs, Effect, Guard, Keystrokes};
use crate::input::{HandOver, JobId, TypingOutcome};
use crate::mail::MailStage;
use crate::mail::Mailbox;
use crate::mail::deliverable_now::{
    DeliveryRoute, NO_COMPOSER, SHELL_MODE, UNSENT_TEXT, begins_command, deliverable_now, is_blind,
};
use crate::mail::delivery::{
    CONFIRM_LATE_MS, CONFIRM_MS, HAND_OVER_UNKNOWN_MS, LEASE_MS, LOST_MS, MAX_MISSES, PastedText, Phase,
    PressedEnter,
};
use crate::mail::format as mail_format;
use crate::mail::restored::UNKNOWN_AFTER_RESTART;

/// Why a text in the terminal was not entered.
const NEVER_SHOWN: &str =
    "the composer cannot be read since it was typed, so Enter was not pressed; its text is in the terminal";

impl Mailbox {
    /// Takes the next step for the messages of an agent.
    pub(crate) fn deliver(&mut self, id: ProcessId, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        agent.live.progress.retry_at = agent.live.progress.retry_at.filter(|at| *at > now);
        agent.live.progress.give_up_at = None;
        match agent.live.progress.phase.clone() {
            Phase::None => self.begin_delivery(id, ctx),
            Phase::HandingOver { until, .. } if until <= now => {
                self.finish_unknown(id, "the agent's own channel did not answer", ctx);
            }
            Phase::HandOverUnknown { until, why, .. } if until <= now => {
                self.finish_unknown(id, &why, ctx);
            }
            Phase::Continuing { since, until, .. } => self.check_continued(id, since, until, ctx),
            Phase::Pasting { until, .. } | Phase::Pressing { until, .. } if until <= now => {
                self.finish_unknown(id, "typing was not answered", ctx);
            }
            Phase::Pasted { pasted } => self.try_to_press(id, pasted, ctx),
            Phase::Confirming { pasted, since, until, is_last } => {
                self.check_confirmed(id, PressedEnter { pasted, since, until, is_last }, ctx);
            }
            Phase::Restored { mail, stage, until } => self.check_restored(id, mail, stage, until, ctx),
            Phase::HandingOver { .. }
            | Phase::HandOverUnknown { .. }
            | Phase::Pasting { .. }
            | Phase::Pressing { .. } => {}
        }
    }

    pub(crate) fn begin_delivery(&mut self, id: ProcessId, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(mail) = self.queue.first_to(id) else { return };
        let Some(process) = ctx.processes.get(&id) else { return };
        let Some(agent) = process.agent.as_deref() else { return };
        if ctx.shutdown.is_some() || process.run.ending.is_some() {
            return;
        }
        let (mail, run) = (mail.clone(), process.key());
        let text = mail_format::write(&mail, &agent.record.nonce);
        if let Some(prefix) = begins_command(agent, &text, mail.id) {
            let reason = format!(
                "it begins with {prefix}, which makes it a shell command in this agent: nothing was typed"
            );
            return self.finish_mail(mail.id, Delivery::Refused { reason }, ctx);
        }
        match deliverable_now(agent, mail.id, now) {
            Ok(DeliveryRoute::Channel) => {
                // Work that began before cannot tell that a busy agent took it: only the channel can.
                let is_at_work = agent.state().is_busy() || agent.running_turn().is_some();
                let since = if is_at_work { u64::MAX } else { now };
                self.set_phase(id, Phase::HandingOver { mail: mail.id, since, until: now + LOST_MS }, ctx);
                self.queue.set_delivery(mail.id, Delivery::Delivering, MailStage::HandedOver, ctx);
                ctx.out.push(Effect::HandOver { run, mail: mail.id, text });
            }
            Ok(DeliveryRoute::Typing) => {
                let pasted = PastedText {
                    mail: mail.id,
                    pasted_at: now,
                    presses: 0,
                    was_seen: false,
                    is_seen: false,
                    is_touched: false,
                    first_press: None,
                    misses: 0,
                };
                let composer = if is_blind(agent) { ComposerIs::Any } else { ComposerIs::Empty };
                let job = ctx.out.next_job();
                self.set_phase(id, Phase::Pasting { pasted, job, until: now + LOST_MS }, ctx);
                self.queue.set_delivery(mail.id, Delivery::Delivering, MailStage::Pasted, ctx);
                let guard = Guard { dialog: None, composer, person_quiet_ms: LEASE_MS };
                ctx.out.push(Effect::Type { run, job, what: Keystrokes::Paste(text), guard });
            }
            Err(obstacle) => {
                self.note_lease(id, now, ctx);
                self.queue.set_delivery(
                    mail.id,
                    Delivery::Queued { reason: obstacle },
                    MailStage::Queued,
                    ctx,
                );
            }
        }
    }

    /// Sets the next try to the end of the lease of a person who typed.
    pub(crate) fn note_lease(&self, id: ProcessId, now: u64, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let lease =
            agent.live.screen.person_at.map(|at| at.saturating_add(LEASE_MS)).filter(|end| *end > now);
        let retry = agent.live.progress.retry_at.filter(|at| *at > now);
        agent.live.progress.retry_at = lease.into_iter().chain(retry).max();
    }

    /// Takes the outcome of guarded typing; returns false if the job belongs to no delivery.
    pub(crate) fn typing_done(
        &mut self,
        id: ProcessId,
        job: JobId,
        outcome: TypingOutcome,
        ctx: &mut Context,
    ) -> bool {
        let Some(agent) = ctx.processes.agent(id) else { return false };
        match agent.live.progress.phase.clone() {
            Phase::Pasting { pasted, job: own, .. } if own == job => {
                self.paste_done(id, pasted, outcome, ctx)
            }
            Phase::Pressing { pasted, job: own, since, .. } if own == job => {
                self.enter_done(id, pasted, since, outcome, ctx)
            }
            _ => return false,
        }
        true
    }

    pub(crate) fn paste_done(
        &mut self,
        id: ProcessId,
        pasted: PastedText,
        outcome: TypingOutcome,
        ctx: &mut Context,
    ) {
        match outcome {
            TypingOutcome::Done if pasted.is_touched => self.finish_taken_over(id, ctx),
            TypingOutcome::Done => {
                // Where the composer can be seen at all, the text is in it until a look shows otherwise.
                let is_seen = ctx
                    .processes
                    .agent(id)
                    .is_some_and(|agent| agent.live.screen.composer != Composer::Unknown);
                self.set_phase(id, Phase::Pasted { pasted: PastedText { is_seen, ..pasted } }, ctx);
                self.deliver(id, ctx);
            }
            TypingOutcome::Partial => {
                self.finish_refused(
                    id,
                    "only part of it reached the terminal; the rest was not taken in time",
                    ctx,
                );
            }
            TypingOutcome::Dialog => self.requeue(id, pasted.mail, "a dialog is open", ctx),
            TypingOutcome::Stale => self.requeue(id, pasted.mail, "the screen changed", ctx),
            TypingOutcome::NoEcho => self.requeue(id, pasted.mail, "the terminal reads a secret", ctx),
            TypingOutcome::Draft => self.requeue(id, pasted.mail, UNSENT_TEXT, ctx),
            TypingOutcome::Shell => self.requeue(id, pasted.mail, SHELL_MODE, ctx),
            TypingOutcome::NoComposer | TypingOutcome::OtherText => {
                self.requeue(id, pasted.mail, NO_COMPOSER, ctx)
            }
            TypingOutcome::PersonTyping => self.requeue(id, pasted.mail, "a person is typing", ctx),
            TypingOutcome::Gone => self.requeue(id, pasted.mail, "the agent is not running", ctx),
        }
    }

    /// Orders Enter if nothing is in the way.
    pub(crate) fn try_to_press(&mut self, id: ProcessId, pasted: PastedText, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(process) = ctx.processes.get(&id) else { return };
        let (run, Some(agent)) = (process.key(), process.agent.as_deref()) else { return };
        let has_dialog = agent.live.evidence.table.get(Source::Dialog).is_some_and(|slot| slot.counts(now));
        let is_gone = pasted.was_seen && agent.live.screen.composer == Composer::Empty;
        if agent.state() == AgentState::Blocked || has_dialog {
            return;
        }
        if is_gone && pasted.presses == 0 {
            // It is no longer in the composer and Enter was not pressed for it.
            return self.finish_taken_over(id, ctx);
        }
        let is_hidden =
            matches!(agent.live.screen.composer, Composer::Unknown | Composer::Shell) && !is_blind(agent);
        let is_busy = agent.state().is_busy();
        if is_hidden && !is_busy {
            let progress = ctx.processes.agent_mut(id).map(|agent| &mut agent.live.progress);
            if progress.is_some_and(|progress| progress.is_given_up(pasted, now)) {
                self.finish_refused(id, NEVER_SHOWN, ctx);
            }
            return;
        }
        if is_busy || !agent.live.progress.may_try(now) {
            return;
        }
        let composer = match self.queue.get(pasted.mail) {
            _ if is_blind(agent) => ComposerIs::Any,
            Some(mail) => ComposerIs::Holds(mail_format::write(mail, &agent.record.nonce)),
            None => return,
        };
        let person_quiet_ms = match agent.live.progress.quiet_for(pasted.pasted_at, now) {
            Ok(quiet) => quiet,
            Err(later) => {
                if let Some(agent) = ctx.processes.agent_mut(id) {
                    agent.live.progress.retry_at = Some(later);
                }
                return;
            }
        };
        if let (ComposerIs::Holds(text), Some(agent)) = (&composer, ctx.processes.agent_mut(id)) {
            agent.live.progress.last_typed = Some(text.clone());
        }
        let first_press = pasted.first_press.or(Some(now));
        let pasted = PastedText { presses: pasted.presses + 1, first_press, ..pasted };
        let job = ctx.out.next_job();
        self.set_phase(id, Phase::Pressing { pasted, job, since: now, until: now + LOST_MS }, ctx);
        self.queue.set_delivery(pasted.mail, Delivery::Delivering, MailStage::Pressed, ctx);
        let guard = Guard { dialog: None, composer, person_quiet_ms };
        let what = Keystrokes::Keys(vec!["enter".to_owned()]);
        ctx.out.push(Effect::Type { run, job, what, guard });
    }

    pub(crate) fn enter_done(
        &mut self,
        id: ProcessId,
        pasted: PastedText,
        since: u64,
        outcome: TypingOutcome,
        ctx: &mut Context,
    ) {
        let now = ctx.out.now.uptime_ms;
        let presses = pasted.presses.saturating_sub(1);
        let first_press = pasted.first_press.filter(|_| presses > 0);
        let unpressed = PastedText { presses, first_press, ..pasted };
        match outcome {
            TypingOutcome::Done => {
                self.set_phase(
                    id,
                    Phase::Confirming { pasted, since, until: now + CONFIRM_MS, is_last: false },
                    ctx,
                );
            }
            TypingOutcome::OtherText => {
                self.text_missing(id, PastedText { misses: pasted.misses + 1, ..unpressed }, ctx)
            }
            TypingOutcome::Dialog
            | TypingOutcome::Stale
            | TypingOutcome::NoEcho
            | TypingOutcome::Draft
            | TypingOutcome::NoComposer
            | TypingOutcome::Shell => self.keep_pasted(id, unpressed, ctx),
            TypingOutcome::PersonTyping => self.finish_taken_over(id, ctx),
            TypingOutcome::Partial => {
                self.finish_refused(id, "Enter did not reach the terminal; its text is in the composer", ctx)
            }
            TypingOutcome::Gone => self.requeue(id, pasted.mail, "the agent is not running", ctx),
        }
    }

    /// Keeps the text in the composer: Enter was refused for now.
    pub(crate) fn keep_pasted(&mut self, id: ProcessId, pasted: PastedText, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.progress.refused(now);
        }
        self.set_phase(id, Phase::Pasted { pasted }, ctx);
        self.queue.set_delivery(pasted.mail, Delivery::Delivering, MailStage::Pasted, ctx);
    }

    /// The composer does not hold the text that Enter is meant for. After an earlier Enter that may be its doing;
    /// otherwise a later look may show the text.
    pub(crate) fn text_missing(&mut self, id: ProcessId, pasted: PastedText, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        match pasted.first_press {
            Some(_) if pasted.misses >= MAX_MISSES => {
                self.finish_unknown(id, "after Enter the composer holds another text", ctx);
            }
            Some(since) => {
                let until = now + CONFIRM_LATE_MS;
                self.set_phase(id, Phase::Confirming { pasted, since, until, is_last: true }, ctx);
            }
            None if pasted.misses < MAX_MISSES => self.keep_pasted(id, pasted, ctx),
            None => self.finish_refused(
                id,
                "the composer does not show it as it was typed, so Enter was not pressed",
                ctx,
            ),
        }
    }

    /// Takes the outcome of a hand-over to the vendor's own channel.
    pub(crate) fn handed_over(&mut self, id: ProcessId, mail: MailId, outcome: HandOver, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Phase::HandingOver { mail: own, since, .. } = agent.live.progress.phase else { return };
        if own != mail {
            return;
        }
        match outcome {
            HandOver::Submitted => self.finish_submitted(id, ctx),
            HandOver::Delivered => {
                agent.live.progress.phase = Phase::None;
                let running = agent.running_turn();
                let turn = running.unwrap_or_else(|| agent.begin_turn(Some(mail), &mut ctx.out));
                self.finish_mail(mail, Delivery::Delivered { turn }, ctx);
            }
            HandOver::Unavailable(_) => {
                agent.live.progress.without_channel = Some(mail);
                agent.live.progress.phase = Phase::None;
                self.queue.set_delivery(
                    mail,
                    Delivery::Queued { reason: String::new() },
                    MailStage::Queued,
                    ctx,
                );
            }
            HandOver::Unknown(why) => {
                self.set_phase(
                    id,
                    Phase::HandOverUnknown { mail, since, until: now + HAND_OVER_UNKNOWN_MS, why },
                    ctx,
                );
            }
        }
        self.deliver(id, ctx);
    }

    /// Ends the delivery as unknown: a person changed or removed the text in the composer and may have sent it.
    pub(crate) fn finish_taken_over(&mut self, id: ProcessId, ctx: &mut Context) {
        self.finish_unknown(id, "a person changed it in the composer", ctx);
    }

    /// Ends the delivery of a run that is over. A message that was certainly not submitted waits for the next run; one that
    /// may have been ends as unknown.
    pub(crate) fn run_over(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        match agent.live.progress.phase.clone() {
            Phase::None => {}
            Phase::Pasting { pasted, .. } | Phase::Pasted { pasted } => {
                self.requeue(id, pasted.mail, "the agent is not running", ctx);
            }
            Phase::HandingOver { .. }
            | Phase::HandOverUnknown { .. }
            | Phase::Continuing { .. }
            | Phase::Pressing { .. }
            | Phase::Confirming { .. } => {
                self.finish_unknown(
                    id,
                    "the agent ended before it showed that it had accepted the message",
                    ctx,
                );
            }
            Phase::Restored { .. } => self.finish_unknown(id, UNKNOWN_AFTER_RESTART, ctx),
        }
        if let Some(mail) = self.queue.first_to(id).map(|mail| mail.id) {
            self.queue.set_delivery(
                mail,
                Delivery::Queued { reason: "the agent is not running".to_owned() },
                MailStage::Queued,
                ctx,
            );
        }
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.progress.retry_at = None;
        }
    }

    pub(crate) fn requeue(&mut self, id: ProcessId, mail: MailId, reason: &str, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.progress.phase = Phase::None;
            agent.live.progress.refused(now);
        }
        self.queue.set_delivery(mail, Delivery::Queued { reason: reason.to_owned() }, MailStage::Queued, ctx);
    }

    /// Ends the delivery as refused.
    pub(crate) fn finish_refused(&mut self, id: ProcessId, reason: &str, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Some(mail) = agent.live.progress.mail() else { return };
        agent.live.progress.phase = Phase::None;
        self.finish_mail(mail, Delivery::Refused { reason: reason.to_owned() }, ctx);
        self.deliver(id, ctx);
    }

    /// Ends the delivery as unknown: nothing shows whether the agent got the text.
    pub(crate) fn finish_unknown(&mut self, id: ProcessId, reason: &str, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Some(mail) = agent.live.progress.mail() else { return };
        agent.live.progress.phase = Phase::None;
        self.finish_mail(mail, Delivery::Unknown { reason: reason.to_owned() }, ctx);
        self.deliver(id, ctx);
    }

    pub(crate) fn finish_mail(&mut self, mail: MailId, delivery: Delivery, ctx: &mut Context) {
        let stage = self.queue.get(mail).map_or(MailStage::Queued, |mail| mail.stage);
        self.queue.set_delivery(mail, delivery, stage, ctx);
    }

    pub(crate) fn set_phase(&self, id: ProcessId, phase: Phase, ctx: &mut Context) {
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.progress.phase = phase;
        }
    }
}
