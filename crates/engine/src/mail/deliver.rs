//! Moving messages into agents: the right moment, the right way, exactly once.
//!
//! Owns every step of the machine in `delivery`. Refuses typing: it orders guarded typing, and the daemon checks the
//! guard against the screen of that very moment.

use proto::agent::{Composer, Delivery, MailId, Source};
use proto::{AgentState, ProcessId};

use crate::agent::Agent;
use crate::context::Context;
use crate::effect::{ComposerIs, Effect, Guard, Keystrokes};
use crate::input::{ComposerSight, HandOver, JobId, Launched, TypingOutcome};
use crate::mail::MailStage;
use crate::mail::Mailbox;
use crate::mail::delivery::{
    CONFIRM_LATE_MS, CONFIRM_MS, LEASE_MS, LOST_MS, MAX_MISSES, MAX_PRESSES, Phase, PressedEnter, Typed,
    UNCLEAR_MS,
};
use crate::mail::format as mail_format;

/// How a message gets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Channel,
    TypingOutcome,
}

impl Mailbox {
    /// Does whatever is next for the messages of an agent.
    pub(crate) fn deliver(&mut self, id: ProcessId, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        agent.live.progress.retry_at = agent.live.progress.retry_at.filter(|at| *at > now);
        match agent.live.progress.phase.clone() {
            Phase::Resting => self.begin_delivery(id, ctx),
            Phase::HandingOver { until, .. } if until <= now => {
                self.unsure(id, "the agent's own channel did not answer", ctx);
            }
            Phase::Unclear { until, why, .. } if until <= now => {
                self.unsure(id, &why, ctx);
            }
            Phase::Continuing { since, until, .. } => self.check_continued(id, since, until, ctx),
            Phase::Pasting { until, .. } | Phase::Pressing { until, .. } if until <= now => {
                self.unsure(id, "typing was not answered", ctx);
            }
            Phase::Standing { typed } => self.try_to_press(id, typed, ctx),
            Phase::Confirming { typed, since, until, is_last } => {
                self.check_confirmed(id, PressedEnter { typed, since, until, is_last }, ctx);
            }
            Phase::Restored { mail, stage, until } => self.check_restored(id, mail, stage, until, ctx),
            Phase::HandingOver { .. }
            | Phase::Unclear { .. }
            | Phase::Pasting { .. }
            | Phase::Pressing { .. } => {}
        }
    }

    pub(crate) fn begin_delivery(&mut self, id: ProcessId, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(mail) = self.first_to(id) else { return };
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
        match way(agent, mail.id, now) {
            Ok(Way::Channel) => {
                // Work that began before cannot tell that a busy agent took it: only the channel can.
                let is_at_work = agent.state().is_busy() || agent.running_turn().is_some();
                let since = if is_at_work { u64::MAX } else { now };
                self.set_phase(id, Phase::HandingOver { mail: mail.id, since, until: now + LOST_MS }, ctx);
                self.set_delivery(mail.id, Delivery::Delivering, MailStage::Handed, ctx);
                ctx.out.push(Effect::HandOver { run, mail: mail.id, text });
            }
            Ok(Way::TypingOutcome) => {
                let typed = Typed {
                    mail: mail.id,
                    pasted_at: now,
                    presses: 0,
                    had_draft: false,
                    stands: false,
                    is_touched: false,
                    first_press: None,
                    misses: 0,
                };
                let composer = if is_blind(agent) { ComposerIs::Any } else { ComposerIs::Empty };
                let job = ctx.out.next_job();
                self.set_phase(id, Phase::Pasting { typed, job, until: now + LOST_MS }, ctx);
                self.set_delivery(mail.id, Delivery::Delivering, MailStage::Pasted, ctx);
                let guard = Guard { dialog: None, composer, human_quiet_ms: LEASE_MS };
                ctx.out.push(Effect::Type { run, job, what: Keystrokes::Paste(text), guard });
            }
            Err(obstacle) => {
                self.note_lease(id, now, ctx);
                self.set_delivery(mail.id, Delivery::Queued { reason: obstacle }, MailStage::Queued, ctx);
            }
        }
    }

    /// A person's lease ends by itself: that is when delivery is looked at again.
    pub(crate) fn note_lease(&self, id: ProcessId, now: u64, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let lease = agent.live.screen.human_at.map(|at| at.saturating_add(LEASE_MS)).filter(|end| *end > now);
        let retry = agent.live.progress.retry_at.filter(|at| *at > now);
        agent.live.progress.retry_at = lease.into_iter().chain(retry).max();
    }

    /// What became of guarded typing that belongs to a delivery; whether it did.
    pub(crate) fn delivery_typed(
        &mut self,
        id: ProcessId,
        job: JobId,
        outcome: TypingOutcome,
        ctx: &mut Context,
    ) -> bool {
        let Some(agent) = ctx.processes.agent(id) else { return false };
        match agent.live.progress.phase.clone() {
            Phase::Pasting { typed, job: own, .. } if own == job => self.pasted(id, typed, outcome, ctx),
            Phase::Pressing { typed, job: own, since, .. } if own == job => {
                self.pressed(id, typed, since, outcome, ctx)
            }
            _ => return false,
        }
        true
    }

    pub(crate) fn pasted(&mut self, id: ProcessId, typed: Typed, outcome: TypingOutcome, ctx: &mut Context) {
        match outcome {
            TypingOutcome::Done if typed.is_touched => self.take_over(id, ctx),
            TypingOutcome::Done => {
                // Where the composer can be seen at all, the text stands in it until a look says otherwise.
                let is_seen = ctx
                    .processes
                    .agent(id)
                    .is_some_and(|agent| agent.live.screen.composer != Composer::Unknown);
                self.set_phase(id, Phase::Standing { typed: Typed { stands: is_seen, ..typed } }, ctx);
                self.deliver(id, ctx);
            }
            TypingOutcome::Partial => {
                self.refuse(id, "only part of it reached the terminal; the rest was not taken in time", ctx);
            }
            TypingOutcome::Dialog => self.requeue(id, typed.mail, "a dialog is open", ctx),
            TypingOutcome::Stale => self.requeue(id, typed.mail, "the screen changed", ctx),
            TypingOutcome::NoEcho => self.requeue(id, typed.mail, "the terminal reads a secret", ctx),
            TypingOutcome::Draft => self.requeue(id, typed.mail, "unsent text is in the composer", ctx),
            TypingOutcome::Shell => self.requeue(id, typed.mail, SHELL_MODE, ctx),
            TypingOutcome::NoComposer | TypingOutcome::OtherText => {
                self.requeue(id, typed.mail, NO_COMPOSER, ctx)
            }
            TypingOutcome::HumanTyping => self.requeue(id, typed.mail, "a person is typing", ctx),
            TypingOutcome::Gone => self.requeue(id, typed.mail, "the agent is not running", ctx),
        }
    }

    /// Presses Enter once nothing is in the way.
    pub(crate) fn try_to_press(&mut self, id: ProcessId, typed: Typed, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(process) = ctx.processes.get(&id) else { return };
        let (run, Some(agent)) = (process.key(), process.agent.as_deref()) else { return };
        let has_dialog = agent.live.evidence.table.get(Source::Dialog).is_some_and(|slot| slot.counts(now));
        let is_gone = typed.had_draft && agent.live.screen.composer == Composer::Empty;
        if agent.state() == AgentState::Blocked || has_dialog {
            return;
        }
        if is_gone && typed.presses == 0 {
            // It is no longer in the composer and Enter was not pressed for it.
            return self.take_over(id, ctx);
        }
        let is_hidden =
            matches!(agent.live.screen.composer, Composer::Unknown | Composer::Shell) && !is_blind(agent);
        if agent.state().is_busy() || is_hidden || !agent.live.progress.may_try(now) {
            return;
        }
        let composer = match self.get(typed.mail) {
            _ if is_blind(agent) => ComposerIs::Any,
            Some(mail) => ComposerIs::Holds(mail_format::write(mail, &agent.record.nonce)),
            None => return,
        };
        let human_quiet_ms = match agent.live.progress.quiet_for(typed.pasted_at, now) {
            Ok(quiet) => quiet,
            Err(later) => {
                if let Some(agent) = ctx.processes.agent_mut(id) {
                    agent.live.progress.retry_at = Some(later);
                }
                return;
            }
        };
        let first_press = typed.first_press.or(Some(now));
        let typed = Typed { presses: typed.presses + 1, first_press, ..typed };
        let job = ctx.out.next_job();
        self.set_phase(id, Phase::Pressing { typed, job, since: now, until: now + LOST_MS }, ctx);
        self.set_delivery(typed.mail, Delivery::Delivering, MailStage::Pressed, ctx);
        let guard = Guard { dialog: None, composer, human_quiet_ms };
        let what = Keystrokes::Keys(vec!["enter".to_owned()]);
        ctx.out.push(Effect::Type { run, job, what, guard });
    }

    pub(crate) fn pressed(
        &mut self,
        id: ProcessId,
        typed: Typed,
        since: u64,
        outcome: TypingOutcome,
        ctx: &mut Context,
    ) {
        let now = ctx.out.now.uptime_ms;
        let presses = typed.presses.saturating_sub(1);
        let first_press = typed.first_press.filter(|_| presses > 0);
        let unpressed = Typed { presses, first_press, ..typed };
        match outcome {
            TypingOutcome::Done => {
                self.set_phase(
                    id,
                    Phase::Confirming { typed, since, until: now + CONFIRM_MS, is_last: false },
                    ctx,
                );
            }
            TypingOutcome::OtherText => self.missed(id, Typed { misses: typed.misses + 1, ..unpressed }, ctx),
            TypingOutcome::Dialog
            | TypingOutcome::Stale
            | TypingOutcome::NoEcho
            | TypingOutcome::Draft
            | TypingOutcome::NoComposer
            | TypingOutcome::Shell => self.stand(id, unpressed, ctx),
            TypingOutcome::HumanTyping => self.take_over(id, ctx),
            TypingOutcome::Partial => {
                self.refuse(id, "Enter did not reach the terminal; its text is in the composer", ctx)
            }
            TypingOutcome::Gone => self.requeue(id, typed.mail, "the agent is not running", ctx),
        }
    }

    /// Enter was refused for now: the text stands in the composer.
    pub(crate) fn stand(&mut self, id: ProcessId, typed: Typed, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.progress.refused(now);
        }
        self.set_phase(id, Phase::Standing { typed }, ctx);
        self.set_delivery(typed.mail, Delivery::Delivering, MailStage::Pasted, ctx);
    }

    /// The composer does not hold the text that Enter is meant for. After an earlier Enter that may be its doing;
    /// otherwise a later look may show the text.
    pub(crate) fn missed(&mut self, id: ProcessId, typed: Typed, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        match typed.first_press {
            Some(_) if typed.misses >= MAX_MISSES => {
                self.unsure(id, "after Enter the composer holds another text", ctx);
            }
            Some(since) => {
                let until = now + CONFIRM_LATE_MS;
                self.set_phase(id, Phase::Confirming { typed, since, until, is_last: true }, ctx);
            }
            None if typed.misses < MAX_MISSES => self.stand(id, typed, ctx),
            None => self.refuse(
                id,
                "the composer does not show it as it was typed, so Enter was not pressed",
                ctx,
            ),
        }
    }

    /// What the vendor's own channel said.
    pub(crate) fn handed_over(&mut self, id: ProcessId, mail: MailId, outcome: HandOver, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Phase::HandingOver { mail: own, since, .. } = agent.live.progress.phase else { return };
        if own != mail {
            return;
        }
        match outcome {
            HandOver::Submitted => self.submitted(id, ctx),
            HandOver::Delivered => {
                agent.live.progress.phase = Phase::Resting;
                let running = agent.running_turn();
                let turn = running.unwrap_or_else(|| ctx.begin_turn(id, Some(mail)));
                self.finish_mail(mail, Delivery::Delivered { turn }, ctx);
            }
            HandOver::Unavailable(_) => {
                agent.live.progress.without_channel = Some(mail);
                agent.live.progress.phase = Phase::Resting;
                self.set_delivery(mail, Delivery::Queued { reason: String::new() }, MailStage::Queued, ctx);
            }
            HandOver::Unknown(why) => {
                self.set_phase(id, Phase::Unclear { mail, since, until: now + UNCLEAR_MS, why }, ctx);
            }
        }
        self.deliver(id, ctx);
    }

    /// A person took the text over, or took it away: whether it was sent is theirs to know.
    pub(crate) fn take_over(&mut self, id: ProcessId, ctx: &mut Context) {
        self.unsure(id, "a person took it over in the composer", ctx);
    }

    /// A delivery that an earlier daemon left in the middle: never pasted again.
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
        let typed = Typed {
            mail,
            pasted_at: now,
            presses: MAX_PRESSES - 1,
            had_draft: true,
            stands: true,
            is_touched: false,
            first_press: None,
            misses: 0,
        };
        match (agent.live.screen.composer, until) {
            (_, None) => {
                self.set_phase(id, Phase::Restored { mail, stage, until: Some(now + UNCLEAR_MS) }, ctx);
                self.seek_prompt(id, mail, ctx);
            }
            _ if is_blocked => {}
            (Composer::Draft, Some(_))
                if stage != MailStage::Handed && agent.live.screen.human_at.is_none() =>
            {
                self.set_phase(id, Phase::Standing { typed }, ctx);
                self.try_to_press(id, typed, ctx);
            }
            (_, Some(until)) if until <= now => self.unsure(id, UNKNOWN_AFTER_RESTART, ctx),
            _ => {}
        }
    }

    /// A hook tells the text of a submitted prompt; returns whether it is the message whose delivery an earlier daemon
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
        if !self.get(sought).is_some_and(is_it) {
            return false;
        }
        self.prompt_sought(id, sought, true, ctx);
        true
    }

    /// Asks whether the vendor's transcript or server has the message.
    pub(crate) fn seek_prompt(&self, id: ProcessId, mail: MailId, ctx: &mut Context) {
        let Some(process) = ctx.processes.get(&id) else { return };
        let (run, Some(agent)) = (process.key(), process.agent.as_deref()) else { return };
        let Some(mail) = self.get(mail) else { return };
        let text = mail_format::write(mail, &agent.record.nonce);
        ctx.out.push(Effect::FindPrompt { run, mail: mail.id, text, since: mail.at });
    }

    /// The vendor's transcript has a new prompt: the message in flight, perhaps one that an earlier daemon began with.
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
        let Some(agent) = ctx.processes.agent(id) else { return };
        let is_restored = matches!(agent.live.progress.phase, Phase::Restored { mail, .. } if mail == sought);
        if !is_restored || !found {
            return;
        }
        let turn = agent.running_turn().unwrap_or_else(|| ctx.begin_turn(id, Some(sought)));
        self.set_phase(id, Phase::Resting, ctx);
        self.finish_mail(sought, Delivery::Submitted { turn }, ctx);
        self.deliver(id, ctx);
    }

    /// The run is over: what was not submitted for certain waits for the next one, what may have been does not.
    pub(crate) fn delivery_over(&mut self, id: ProcessId, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        match agent.live.progress.phase.clone() {
            Phase::Resting => {}
            Phase::Pasting { typed, .. } | Phase::Standing { typed } => {
                self.requeue(id, typed.mail, "the agent is not running", ctx);
            }
            Phase::HandingOver { .. }
            | Phase::Unclear { .. }
            | Phase::Continuing { .. }
            | Phase::Pressing { .. }
            | Phase::Confirming { .. } => {
                self.unsure(id, "the agent ended before it showed that it took it", ctx);
            }
            Phase::Restored { .. } => self.unsure(id, UNKNOWN_AFTER_RESTART, ctx),
        }
        if let Some(mail) = self.first_to(id).map(|mail| mail.id) {
            self.set_delivery(
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

    /// A message is gone from the queue by itself.
    pub(crate) fn forget_progress_of(&self, id: ProcessId, mail: MailId, ctx: &mut Context) {
        if let Some(agent) = ctx.processes.agent_mut(id)
            && agent.live.progress.mail() == Some(mail)
        {
            agent.live.progress.phase = Phase::Resting;
        }
    }

    pub(crate) fn requeue(&mut self, id: ProcessId, mail: MailId, reason: &str, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.progress.phase = Phase::Resting;
            agent.live.progress.refused(now);
        }
        self.set_delivery(mail, Delivery::Queued { reason: reason.to_owned() }, MailStage::Queued, ctx);
    }

    /// The message in flight is given up.
    pub(crate) fn refuse(&mut self, id: ProcessId, reason: &str, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Some(mail) = agent.live.progress.mail() else { return };
        agent.live.progress.phase = Phase::Resting;
        self.finish_mail(mail, Delivery::Refused { reason: reason.to_owned() }, ctx);
        self.deliver(id, ctx);
    }

    /// What became of the message in flight cannot be known.
    pub(crate) fn unsure(&mut self, id: ProcessId, reason: &str, ctx: &mut Context) {
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Some(mail) = agent.live.progress.mail() else { return };
        agent.live.progress.phase = Phase::Resting;
        self.finish_mail(mail, Delivery::Unknown { reason: reason.to_owned() }, ctx);
        self.deliver(id, ctx);
    }

    pub(crate) fn finish_mail(&mut self, mail: MailId, delivery: Delivery, ctx: &mut Context) {
        let stage = self.get(mail).map_or(MailStage::Queued, |mail| mail.stage);
        self.set_delivery(mail, delivery, stage, ctx);
    }

    pub(crate) fn set_phase(&self, id: ProcessId, phase: Phase, ctx: &mut Context) {
        if let Some(agent) = ctx.processes.agent_mut(id) {
            agent.live.progress.phase = phase;
        }
    }
}

const SHELL_MODE: &str = "its composer is in shell mode, where a message would run as a command";
const NO_COMPOSER: &str =
    "its composer is not on the screen: a menu, a search, an editor or another view is open";
const NOT_DESCRIBED: &str =
    "its manifest does not describe its composer, so nothing is typed (see docs/agents.md)";
const UNKNOWN_AFTER_RESTART: &str = "the daemon ended in the middle of its delivery";

/// How the agent can be given a message now, or what is in the way.
fn way(agent: &Agent, mail: MailId, now: u64) -> Result<Way, String> {
    let Some(launched) = &agent.live.launched else { return Err("the agent is starting".to_owned()) };
    let judgement = agent.live.evidence.judgement.as_ref();
    let state = agent.state();
    let has_channel = has_channel(agent, launched, mail);
    if let Some(quota) = agent.live.quota.limit {
        return Err(quota.reset_at.map_or_else(
            || "the vendor refuses turns for now".to_owned(),
            |_| "the vendor refuses turns until its quota is reset".to_owned(),
        ));
    }
    match state {
        AgentState::Starting => return Err("the agent is starting".to_owned()),
        AgentState::Blocked => return Err("a dialog is open".to_owned()),
        AgentState::Exited => return Err("the agent is not running".to_owned()),
        AgentState::Working
        | AgentState::Thinking
        | AgentState::Waiting
        | AgentState::Idle
        | AgentState::Error => {}
    }
    if agent.live.evidence.table.get(Source::Dialog).is_some_and(|slot| slot.counts(now)) {
        return Err("a dialog is open".to_owned());
    }
    // A turn that was confirmed may not show in the state yet: the next message would take its work for its own.
    let is_at_work = state.is_busy() || agent.running_turn().is_some();
    if has_channel && (!is_at_work || launched.channel_reaches_busy) {
        return Ok(Way::Channel);
    }
    if is_at_work {
        return Err("the agent is working".to_owned());
    }
    if !agent.live.screen.is_looked_at {
        return Err("its screen has not been seen yet".to_owned());
    }
    if judgement.is_none_or(|judgement| judgement.held) {
        let rule = agent.live.evidence.table.get(Source::Screen).filter(|slot| slot.state().is_none());
        let rule = rule.map(|slot| format!(" ({})", slot.evidence.rule)).unwrap_or_default();
        return Err(format!("another view is open that cannot be judged{rule}"));
    }
    match (agent.live.screen.composer, launched.composer) {
        (Composer::Empty, _) | (Composer::Unknown, ComposerSight::Blind) => {}
        (Composer::Draft, _) => return Err("unsent text is in the composer".to_owned()),
        (Composer::Shell, _) => return Err(SHELL_MODE.to_owned()),
        (Composer::Unknown, ComposerSight::Undescribed) => return Err(NOT_DESCRIBED.to_owned()),
        (Composer::Unknown, ComposerSight::Seen) => return Err(NO_COMPOSER.to_owned()),
    }
    if agent.live.screen.human_at.is_some_and(|at| now < at.saturating_add(LEASE_MS)) {
        return Err("a person is typing".to_owned());
    }
    if !agent.live.progress.may_try(now) {
        return Err("it was refused a moment ago".to_owned());
    }
    Ok(Way::TypingOutcome)
}

/// Whether messages are typed although nobody can see the composer.
fn is_blind(agent: &Agent) -> bool {
    agent.live.launched.as_ref().is_some_and(|launched| launched.composer == ComposerSight::Blind)
}

/// The prefix that would make a shell command of a message that has to be typed.
fn begins_command<'a>(agent: &'a Agent, text: &str, mail: MailId) -> Option<&'a str> {
    let launched = agent.live.launched.as_ref().filter(|launched| !has_channel(agent, launched, mail))?;
    launched.shell_prefix.as_deref().filter(|prefix| text.trim_start().starts_with(*prefix))
}

fn has_channel(agent: &Agent, launched: &Launched, mail: MailId) -> bool {
    launched.has_channel && agent.live.progress.without_channel != Some(mail)
}
