//! Deliveries that an earlier daemon left in the middle: the text is never pasted again, and the vendor's transcript or
//! server is asked whether it has the message.

use proto::agent::{Composer, Delivery, MailId};
use proto::{AgentState, ProcessId};

use super::delivery::{HAND_OVER_UNKNOWN_MS, MAX_PRESSES, PastedText, Phase};
use super::format as mail_format;
use super::{MailStage, Mailbox};
use crate::context::Context;
use crate::effect::Effect;

pub(super) const UNKNOWN_AFTER_RESTART: &str = "the daemon ended in the middle of its delivery";

impl Mailbox {
    /// Goes on with a delivery that an earlier daemon left in the middle. The text is never pasted again.
    pub(crate) fn check_restored(
        &mut self,
        id: ProcessId,
        mail: MailId,
        stage: MailStage,
        until: Option<u64>,
        ctx: &mut Context,
    ) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent(id) else { return };
        let is_blocked = agent.state() == AgentState::Blocked;
        let pasted = PastedText {
            mail,
            pasted_at: now,
            presses: MAX_PRESSES - 1,
            was_seen: true,
            is_seen: true,
            is_touched: false,
            first_press: None,
            misses: 0,
        };
        match (agent.live.screen.composer, until) {
            (_, None) => {
                self.set_phase(
                    id,
                    Phase::Restored { mail, stage, until: Some(now + HAND_OVER_UNKNOWN_MS) },
                    ctx,
                );
                self.seek_prompt(id, mail, ctx);
            }
            _ if is_blocked => {}
            (Composer::Draft, Some(_))
                if stage != MailStage::HandedOver && agent.live.screen.person_at.is_none() =>
            {
                self.set_phase(id, Phase::Pasted { pasted }, ctx);
                self.try_to_press(id, pasted, ctx);
            }
            (_, Some(until)) if until <= now => self.finish_unknown(id, UNKNOWN_AFTER_RESTART, ctx),
            _ => {}
        }
    }

    /// Takes the text of a submitted prompt from a hook; returns true if it is the message whose delivery an earlier daemon
    /// left in the middle.
    pub(crate) fn find_restored_prompt(
        &mut self,
        id: ProcessId,
        prompt: Option<&str>,
        ctx: &mut Context,
    ) -> bool {
        let Some((agent, prompt)) = ctx.processes.agent(id).zip(prompt) else { return false };
        let Phase::Restored { mail: sought, .. } = agent.live.progress.phase else { return false };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let is_it = |mail| words(&mail_format::write(mail, &agent.record.nonce)) == words(prompt);
        if !self.queue.get(sought).is_some_and(is_it) {
            return false;
        }
        self.prompt_sought(id, sought, true, ctx);
        true
    }

    /// Asks whether the vendor's transcript or server has the message.
    pub(crate) fn seek_prompt(&self, id: ProcessId, mail: MailId, ctx: &mut Context) {
        let Some(process) = ctx.processes.get(&id) else { return };
        let (run, Some(agent)) = (process.key(), process.agent.as_deref()) else { return };
        let Some(mail) = self.queue.get(mail) else { return };
        let text = mail_format::write(mail, &agent.record.nonce);
        ctx.out.push(Effect::FindPrompt { run, mail: mail.id, text, since: mail.at });
    }

    /// Takes the news that the vendor's transcript has a new prompt.
    pub(crate) fn prompt_written(&mut self, id: ProcessId, ctx: &mut Context) {
        let phase = ctx.processes.agent(id).map(|agent| &agent.live.progress.phase);
        match phase {
            Some(&Phase::Restored { mail, .. }) => self.seek_prompt(id, mail, ctx),
            _ => drop(self.prompt_confirms(id, ctx)),
        }
    }

    /// Whether the vendor's transcript or server has a message whose delivery an earlier daemon left in the middle. One
    /// without it proves nothing yet: it may be written late.
    pub(crate) fn prompt_sought(&mut self, id: ProcessId, sought: MailId, found: bool, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let is_restored = matches!(agent.live.progress.phase, Phase::Restored { mail, .. } if mail == sought);
        if !is_restored || !found {
            return;
        }
        let turn = agent.running_turn().unwrap_or_else(|| agent.begin_turn(Some(sought), &mut ctx.out));
        self.set_phase(id, Phase::None, ctx);
        self.finish_mail(sought, Delivery::Submitted { turn }, ctx);
        self.deliver(id, ctx);
    }
}
