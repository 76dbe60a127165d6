//! What shows that a message was taken: work that begins, a hook that tells of the prompt, a turn that goes on.
//!
//! Owns the proof. Refuses belief: a text that still stands in the composer was not taken, whatever else is seen.

use proto::agent::{Composer, Delivery, Source};
use proto::{AgentState, ProcessId};

use crate::agent::Agent;
use crate::context::Context;
use crate::mail::delivery::{CONFIRM_LATE_MS, CONTINUE_MS, MAX_PRESSES, Phase, PressedEnter};
use crate::mail::format as mail_format;
use crate::mail::{MailStage, Mailbox};

impl Mailbox {
    /// Looks whether Enter has worked, and what to do when it has not.
    pub(crate) fn check_confirmed(&mut self, id: ProcessId, pressed: PressedEnter, ctx: &mut Context) {
        let PressedEnter { typed, since, until, is_last } = pressed;
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent(id) else { return };
        if agent.live.progress.seen_by(until) > now || agent.state() == AgentState::Blocked {
            return;
        }
        let confirms = agent.live.launched.as_ref().is_some_and(|launched| launched.confirms_prompts);
        if works_since(agent, since, now) && agent.live.screen.composer == Composer::Empty {
            // No look showed the text come and go: it was too quick for that.
            return self.submitted(id, ctx);
        }
        match agent.live.screen.composer {
            Composer::Draft if typed.presses < MAX_PRESSES => {
                self.set_phase(id, Phase::Standing { typed }, ctx);
                self.try_to_press(id, typed, ctx);
            }
            Composer::Draft if is_last => {
                self.refuse(id, "Enter did not submit it; its text is still in the composer", ctx);
            }
            Composer::Empty if is_last && !confirms && typed.had_draft => self.submitted(id, ctx),
            _ if is_last => {
                self.unsure(id, "Enter was pressed, and nothing shows that the agent took it", ctx)
            }
            _ => {
                let until = now + CONFIRM_LATE_MS;
                self.set_phase(id, Phase::Confirming { typed, since, until, is_last: true }, ctx);
            }
        }
    }

    /// Takes evidence that the message in flight was taken.
    pub(crate) fn confirm_delivery(&mut self, id: ProcessId, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent(id) else { return };
        let Some(since) = agent.live.progress.confirmed_since() else { return };
        // Agents also begin to work by themselves: as long as the text stands in the composer, it was not taken.
        let stands = match &agent.live.progress.phase {
            Phase::Pressing { typed, .. } | Phase::Confirming { typed, .. } => typed.stands,
            _ => false,
        };
        if works_since(agent, since, now) && !stands {
            self.submitted(id, ctx);
        }
    }

    /// A hook marked a submitted prompt; whether it was the message in flight.
    pub(crate) fn prompt_confirms(&mut self, id: ProcessId, ctx: &mut Context) -> bool {
        let since = ctx.processes.agent(id).and_then(|agent| agent.live.progress.confirmed_since());
        let is_ours = since.is_some_and(|since| since != u64::MAX);
        if is_ours {
            self.submitted(id, ctx);
        }
        is_ours
    }

    /// The agent took the message in flight.
    pub(crate) fn submitted(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let phase = std::mem::take(&mut agent.live.progress.phase);
        let (mail, delivery) = match phase {
            Phase::Continuing { mail, turn, .. } => (mail, Delivery::Delivered { turn }),
            Phase::HandingOver { mail, since, .. } | Phase::Unclear { mail, since, .. } => {
                let turn = ctx.claim_turn(id, mail, since);
                ctx.await_turn_from_channel(id);
                (mail, Delivery::Submitted { turn })
            }
            Phase::Pressing { typed, since, .. } | Phase::Confirming { typed, since, .. } => {
                (typed.mail, Delivery::Submitted { turn: ctx.claim_turn(id, typed.mail, since) })
            }
            Phase::Resting | Phase::Pasting { .. } | Phase::Standing { .. } | Phase::Restored { .. } => {
                return;
            }
        };
        self.finish_mail(mail, delivery, ctx);
    }

    /// The text that an agent goes on with instead of ending its turn, if one waits.
    pub(crate) fn next_at_turn_end(&mut self, id: ProcessId, ctx: &mut Context) -> Option<String> {
        let now = ctx.out.now.uptime_ms;
        let agent = ctx.processes.agent(id)?;
        let can = agent.live.launched.as_ref().is_some_and(|launched| launched.hands_over_at_turn_end);
        let is_free = agent.live.progress.phase == Phase::Resting && agent.live.quota.limit.is_none();
        if !can || !is_free || ctx.shutdown.is_some() {
            return None;
        }
        let mail = self.first_to(id)?.clone();
        let text = mail_format::write(&mail, &agent.record.nonce);
        let turn = ctx.begin_turn(id, Some(mail.id));
        self.set_phase(
            id,
            Phase::Continuing { mail: mail.id, turn, since: now + 1, until: now + CONTINUE_MS },
            ctx,
        );
        self.set_delivery(mail.id, Delivery::Delivering, MailStage::Handed, ctx);
        Some(text)
    }

    /// A turn that ends again was continued.
    pub(crate) fn turn_end_confirms(&mut self, id: ProcessId, ctx: &mut Context) {
        let is_continuing = ctx
            .processes
            .agent(id)
            .is_some_and(|agent| matches!(agent.live.progress.phase, Phase::Continuing { .. }));
        if is_continuing {
            self.submitted(id, ctx);
        }
    }

    /// An agent that rests at once has not gone on; one that has not rested after a while has.
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
            self.unsure(id, "the agent ended its turn although it was given the message", ctx);
        } else if until <= now {
            self.submitted(id, ctx);
        }
    }
}

/// Whether something shows the agent at work that began after this moment.
fn works_since(agent: &Agent, since: u64, now: u64) -> bool {
    agent.live.evidence.table.slots().any(|slot| {
        // A hook marks a moment; every other source says since when.
        let began = if slot.evidence.source == Source::Hook { slot.at.uptime_ms } else { slot.since };
        let works = matches!(slot.state(), Some(AgentState::Working | AgentState::Thinking));
        works && began >= since && slot.counts(now) && slot.evidence.source != Source::Silence
    })
}
