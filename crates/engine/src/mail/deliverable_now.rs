//! Decides whether a message may be delivered to an agent at this moment, and how: through the vendor's own channel, or
//! pasted into the composer. Otherwise it names the obstacle.

use proto::AgentState;
use proto::agent::{Composer, MailId, Source};

use super::delivery::LEASE_MS;
use crate::agent::Agent;
use crate::input::{ComposerVisibility, Launched};

/// How a message reaches its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryRoute {
    Channel,
    Typing,
}

/// An interrupted program may put the prompt back into its composer, so the next step is named.
pub(super) const UNSENT_TEXT: &str = "unsent text is in the composer: send or clear it there (qd attach)";
pub(super) const SHELL_MODE: &str = "its composer is in shell mode, where a message would run as a command";
pub(super) const NO_COMPOSER: &str =
    "its composer is not on the screen: a menu, a search, an editor or another view is open";
pub(super) const NOT_DESCRIBED: &str =
    "its manifest does not describe its composer, so nothing is typed (see docs/agents.md)";

/// Returns how a message can be delivered now; the error names the obstacle.
pub(super) fn deliverable_now(agent: &Agent, mail: MailId, now: u64) -> Result<DeliveryRoute, String> {
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
        return Ok(DeliveryRoute::Channel);
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
        (Composer::Empty, _) | (Composer::Unknown, ComposerVisibility::Blind) => {}
        (Composer::Draft, _) => return Err(UNSENT_TEXT.to_owned()),
        (Composer::Shell, _) => return Err(SHELL_MODE.to_owned()),
        (Composer::Unknown, ComposerVisibility::Undescribed) => return Err(NOT_DESCRIBED.to_owned()),
        (Composer::Unknown, ComposerVisibility::Seen) => return Err(NO_COMPOSER.to_owned()),
    }
    if agent.live.screen.person_at.is_some_and(|at| now < at.saturating_add(LEASE_MS)) {
        return Err("a person is typing".to_owned());
    }
    if !agent.live.progress.may_try(now) {
        return Err("it was refused a moment ago".to_owned());
    }
    Ok(DeliveryRoute::Typing)
}

/// Returns true if messages are typed into a composer that cannot be seen.
pub(super) fn is_blind(agent: &Agent) -> bool {
    agent.live.launched.as_ref().is_some_and(|launched| launched.composer == ComposerVisibility::Blind)
}

/// The prefix that would make a shell command of a message that has to be typed.
pub(super) fn begins_command<'a>(agent: &'a Agent, text: &str, mail: MailId) -> Option<&'a str> {
    let launched = agent.live.launched.as_ref().filter(|launched| !has_channel(agent, launched, mail))?;
    launched.shell_prefix.as_deref().filter(|prefix| text.trim_start().starts_with(*prefix))
}

fn has_channel(agent: &Agent, launched: &Launched, mail: MailId) -> bool {
    launched.has_channel && agent.live.progress.without_channel != Some(mail)
}
