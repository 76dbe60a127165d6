//! The proof that an agent took a message: work that begins, a hook that reports the prompt, a turn that goes on.
//! A text that is still in the composer was not taken, whatever else is seen.

use proto::agent::{Composer, Delivery, Source};
use proto::{AgentState, ProcessId};

use crate::agent::Agent;
use crate::context::Context;
use crate::mail::delivery::{CONFIRM_LATE_MS, CONTINUE_MS, MAX_PRESSES, Phase, PressedEnter, REPORT_LATE_MS};
use crate::mail::format as mail_format;
use crate::mail::{MailStage, Mailbox};

impl Mailbox {
    /// Decides what follows when Enter was pressed and no sign of work came in time.
    pub(crate) fn check_confirmed(&mut self, id: ProcessId, pressed: PressedEnter, ctx: &mut Context) {
        let PressedEnter { pasted, since, until, is_last } = pressed;
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent(id) else { return };
        if agent.live.progress.seen_by(until) > now || agent.state() == AgentState::Blocked {
            return;
        }
        let confirms = agent.live.launched.as_ref().is_some_and(|launched| launched.confirms_prompts);
        if works_since(agent, since, now) && agent.live.screen.composer == Composer::Empty {
            // No look showed the text come and go: it was too quick for that.
            return self.finish_submitted(id, ctx);
        }
        match agent.live.screen.composer {
            Composer::Draft if pasted.presses < MAX_PRESSES => {
                self.set_phase(id, Phase::Pasted { pasted }, ctx);
                self.try_to_press(id, pasted, ctx);
            }
            Composer::Draft if is_last => {
                self.finish_refused(id, "Enter did not submit it; its text is still in the composer", ctx);
            }
            Composer::Empty if is_last && !confirms && pasted.was_seen => self.finish_submitted(id, ctx),
            _ if is_last => {
                self.finish_unknown(id, "Enter was pressed, and nothing shows that the agent took it", ctx)
            }
            composer => {
                let may_be_queued = confirms && composer == Composer::Empty;
                let until = now + if may_be_queued { REPORT_LATE_MS } else { CONFIRM_LATE_MS };
                self.set_phase(id, Phase::Confirming { pasted, since, until, is_last: true }, ctx);
            }
        }
    }

    /// Confirms the message in flight if evidence shows the agent at work on it.
    pub(crate) fn confirm_delivery(&mut self, id: ProcessId, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent(id) else { return };
        let Some(since) = agent.live.progress.confirmed_since() else { return };
        // Agents also begin to work by themselves: while the text is in the composer, it was not taken.
        let is_seen = match &agent.live.progress.phase {
            Phase::Pressing { pasted, .. } | Phase::Confirming { pasted, .. } => pasted.is_seen,
            _ => false,
        };
        if works_since(agent, since, now) && !is_seen {
            self.finish_submitted(id, ctx);
        }
    }

    /// Takes a hook that marks a submitted prompt; returns true if it was the message in flight.
    pub(crate) fn prompt_confirms(&mut self, id: ProcessId, ctx: &mut Context) -> bool {
        let since = ctx.processes.agent(id).and_then(|agent| agent.live.progress.confirmed_since());
        let is_ours = since.is_some_and(|since| since != u64::MAX);
        if is_ours {
            self.finish_submitted(id, ctx);
        }
        is_ours
    }

    /// Ends the delivery as submitted: the agent took the message.
    pub(crate) fn finish_submitted(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let phase = std::mem::take(&mut agent.live.progress.phase);
        let (mail, delivery) = match phase {
            Phase::Continuing { mail, turn, .. } => (mail, Delivery::Delivered { turn }),
            Phase::HandingOver { mail, since, .. } | Phase::HandOverUnknown { mail, since, .. } => {
                let turn = agent.claim_turn(mail, since, &mut ctx.out);
                agent.await_turn_from_channel(&ctx.out);
                (mail, Delivery::Submitted { turn })
            }
            Phase::Pressing { pasted, since, .. } | Phase::Confirming { pasted, since, .. } => (
                pasted.mail,
                Delivery::Submitted { turn: agent.claim_turn(pasted.mail, since, &mut ctx.out) },
            ),
            Phase::None | Phase::Pasting { .. } | Phase::Pasted { .. } | Phase::Restored { .. } => {
                return;
            }
        };
        self.finish_mail(mail, delivery, ctx);
    }

    /// Returns the text that an agent goes on with instead of ending its turn, if a message waits.
    pub(crate) fn next_at_turn_end(&mut self, id: ProcessId, ctx: &mut Context) -> Option<String> {
        let now = ctx.out.now.uptime_ms;
        let agent = ctx.processes.agent(id)?;
        let can = agent.live.launched.as_ref().is_some_and(|launched| launched.delivers_at_turn_end);
        let is_free = agent.live.progress.phase == Phase::None && agent.live.quota.limit.is_none();
        if !can || !is_free || ctx.shutdown.is_some() {
            return None;
        }
        let mail = self.queue.first_to(id)?.clone();
        let text = mail_format::write(&mail, &agent.record.nonce);
        let turn = ctx.processes.agent_mut(id)?.begin_turn(Some(mail.id), &mut ctx.out);
        self.set_phase(
            id,
            Phase::Continuing { mail: mail.id, turn, since: now + 1, until: now + CONTINUE_MS },
            ctx,
        );
        self.queue.set_delivery(mail.id, Delivery::Delivering, MailStage::HandedOver, ctx);
        Some(text)
    }

    /// Confirms a text that was given at the end of a turn: the turn that it began has ended.
    pub(crate) fn turn_end_confirms(&mut self, id: ProcessId, ctx: &mut Context) {
        let is_continuing = ctx
            .processes
            .agent(id)
            .is_some_and(|agent| matches!(agent.live.progress.phase, Phase::Continuing { .. }));
        if is_continuing {
            self.finish_submitted(id, ctx);
        }
    }

    /// Decides whether the agent went on with the text: one that rests at once has not, one that works for a while has.
    pub(crate) fn check_continued(&mut self, id: ProcessId, since: u64, until: u64, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent(id) else { return };
        let rests = matches!(agent.state(), AgentState::Idle | AgentState::Waiting | AgentState::Error);
        let has_rested = agent.live.evidence.table.slots().any(|slot| {
            let rests =
                matches!(slot.state(), Some(AgentState::Idle | AgentState::Waiting | AgentState::Error));
            rests && slot.since >= since && slot.evidence.source != Source::Hook
        });
        if rests && has_rested {
            self.finish_unknown(id, "the agent ended its turn right after it was given the message", ctx);
        } else if until <= now {
            self.finish_submitted(id, ctx);
        }
    }
}

/// Returns true if evidence shows work that began after this moment.
fn works_since(agent: &Agent, since: u64, now: u64) -> bool {
    agent.live.evidence.table.slots().any(|slot| {
        // A hook marks a moment; every other source says since when.
        let began = if slot.evidence.source == Source::Hook { slot.at.uptime_ms } else { slot.since };
        let works = matches!(slot.state(), Some(AgentState::Working | AgentState::Thinking));
        works && began >= since && slot.counts(now) && slot.evidence.source != Source::Silence
    })
}
