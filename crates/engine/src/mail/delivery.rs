//! One message on its way into an agent: where it is, and what would be next.
//!
//! Owns the machine of `docs/design/0007-delivery.md`, as data. Refuses acting: `deliver` moves it.

use proto::AgentState;
use proto::agent::{Composer, MailId};

use crate::input::JobId;
use crate::mail::MailStage;

/// A person who typed this recently is not typed over.
pub(crate) const LEASE_MS: u64 = 3_000;
/// How long the agent may take to show that it took a prompt.
pub(crate) const CONFIRM_MS: u64 = 1_500;
/// How much longer it may take when the composer is empty again.
pub(crate) const CONFIRM_LATE_MS: u64 = 3_000;
/// How long an unclear hand-over may take to show itself, and a restored one to be seen.
pub(crate) const UNCLEAR_MS: u64 = 5_000;
/// How long a text given at the end of a turn may take to be refused.
pub(crate) const CONTINUE_MS: u64 = 2_000;
/// How long typing and handing over may take before nobody believes in an answer any more.
pub(crate) const LOST_MS: u64 = 120_000;
/// How soon refused typing is tried again when what was in its way is gone.
const AGAIN_MS: u64 = 250;
/// What a person types this soon after a dialog closed was meant for the dialog.
const ANSWER_ECHO_MS: u64 = 200;
/// How long Enter waits after a dialog closed.
const AFTER_DIALOG_MS: u64 = 400;
/// Enter is pressed at most this often for one message.
pub(crate) const MAX_PRESSES: u8 = 2;
/// A text that the composer does not show is given up after so many looks.
pub(crate) const MAX_MISSES: u8 = 3;

/// A message whose text is, or is being put, into the composer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    pub(crate) mail: MailId,
    /// When the paste was ordered.
    pub(crate) pasted_at: u64,
    /// How often Enter was pressed.
    pub(crate) presses: u8,
    /// The composer was seen to hold it.
    pub(crate) had_draft: bool,
    /// The composer held it when it was last seen; a dialog may hide it.
    pub(crate) stands: bool,
    /// A person typed since the paste was ordered.
    pub(crate) is_touched: bool,
    /// When Enter was first ordered; none: it was not, or an earlier daemon did.
    pub(crate) first_press: Option<u64>,
    /// How often the composer did not show the text when Enter was to be pressed.
    pub(crate) misses: u8,
}

/// Enter was pressed for a message, and it is not known yet whether that worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PressedEnter {
    pub(crate) typed: Typed,
    /// When it was pressed.
    pub(crate) since: u64,
    /// When something must have shown that it worked.
    pub(crate) until: u64,
    /// No further Enter follows.
    pub(crate) is_last: bool,
}

/// Where the message in flight is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// None is.
    #[default]
    Resting,
    /// The vendor's own channel is being asked.
    HandingOver { mail: MailId, since: u64, until: u64 },
    /// The channel may or may not have taken it.
    Unclear { mail: MailId, since: u64, until: u64, why: String },
    /// A hook gave it to the agent at the end of a turn.
    Continuing { mail: MailId, turn: u64, since: u64, until: u64 },
    /// Its text is being put into the composer.
    Pasting { typed: Typed, job: JobId, until: u64 },
    /// Its text is in the composer and something is in the way of Enter.
    Standing { typed: Typed },
    /// Enter is being pressed.
    Pressing { typed: Typed, job: JobId, since: u64, until: u64 },
    /// Enter was pressed.
    Confirming { typed: Typed, since: u64, until: u64, is_last: bool },
    /// An earlier daemon had got this far.
    Restored { mail: MailId, stage: MailStage, until: Option<u64> },
}

/// The delivery of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) phase: Phase,
    /// Typing was refused: not again before this moment.
    pub(crate) retry_at: Option<u64>,
    refused_at: u64,
    /// The message its vendor's channel could not take.
    pub(crate) without_channel: Option<MailId>,
    /// Something says that the agent is blocked; what a person types answers it.
    pub(crate) is_blocked: bool,
    /// When a dialog was last seen to close.
    pub(crate) dialog_closed_at: Option<u64>,
}

impl Progress {
    /// The message in flight.
    pub(crate) fn mail(&self) -> Option<MailId> {
        match &self.phase {
            Phase::Resting => None,
            Phase::HandingOver { mail, .. }
            | Phase::Unclear { mail, .. }
            | Phase::Continuing { mail, .. }
            | Phase::Restored { mail, .. } => Some(*mail),
            Phase::Pasting { typed, .. }
            | Phase::Standing { typed }
            | Phase::Pressing { typed, .. }
            | Phase::Confirming { typed, .. } => Some(typed.mail),
        }
    }

    /// When something about it is due.
    pub(crate) fn next_deadline(&self, state: AgentState) -> Option<u64> {
        match &self.phase {
            Phase::Resting | Phase::Standing { .. } => self.retry_at,
            // Whatever it waits for cannot show itself behind a dialog.
            Phase::Confirming { .. } | Phase::Restored { .. } if state == AgentState::Blocked => None,
            Phase::HandingOver { until, .. }
            | Phase::Unclear { until, .. }
            | Phase::Continuing { until, .. }
            | Phase::Pasting { until, .. }
            | Phase::Pressing { until, .. } => Some(*until),
            Phase::Confirming { until, .. } => Some(self.seen_by(*until)),
            Phase::Restored { until, .. } => *until,
        }
    }

    /// When what follows Enter must have shown itself: a dialog that closed only now hid it until now.
    pub(crate) fn seen_by(&self, until: u64) -> u64 {
        until.max(self.dialog_closed_at.map_or(0, |closed| closed.saturating_add(CONFIRM_MS)))
    }

    /// From when on work that begins is this message's doing.
    pub(crate) fn confirmed_since(&self) -> Option<u64> {
        match &self.phase {
            Phase::HandingOver { since, .. }
            | Phase::Unclear { since, .. }
            | Phase::Continuing { since, .. }
            | Phase::Pressing { since, .. }
            | Phase::Confirming { since, .. } => Some(*since),
            Phase::Resting | Phase::Pasting { .. } | Phase::Standing { .. } | Phase::Restored { .. } => None,
        }
    }

    /// The composer was looked at; whether somebody else took the text out of it. Enter works at once or not at all:
    /// a text that stood there long after it was pressed did not leave because of it.
    pub(crate) fn saw_composer(&mut self, before: Composer, composer: Composer, now: u64) -> bool {
        if let Phase::Pasting { typed, .. }
        | Phase::Standing { typed }
        | Phase::Pressing { typed, .. }
        | Phase::Confirming { typed, .. } = &mut self.phase
        {
            typed.had_draft |= composer == Composer::Draft;
            typed.stands = match composer {
                Composer::Draft => true,
                Composer::Empty => false,
                Composer::Unknown | Composer::Shell => typed.stands,
            };
        }
        if composer != Composer::Draft && self.retry_at.is_some() {
            let soon = self.refused_at.saturating_add(AGAIN_MS).max(now);
            self.retry_at = self.retry_at.map(|at| at.min(soon));
        }
        let vanished = before == Composer::Draft && composer == Composer::Empty;
        matches!(self.phase, Phase::Confirming { since, .. } if vanished && now > since.saturating_add(CONFIRM_MS))
    }

    /// Typing was refused: what was in the way decides when it is tried again.
    pub(crate) fn refused(&mut self, now: u64) {
        self.refused_at = now;
        self.retry_at = Some(now.saturating_add(LEASE_MS));
    }

    /// Whether typing may be tried now.
    pub(crate) fn may_try(&self, now: u64) -> bool {
        self.retry_at.is_none_or(|at| at <= now)
    }

    /// For how long nobody may have typed when Enter is pressed: nothing since the paste. What a person typed while a
    /// dialog was open answered the dialog, so then it is nothing since that closed; and Enter waits a moment, because
    /// a span of no length would not cover the time until the key is really pressed.
    pub(crate) fn quiet_for(&self, pasted_at: u64, now: u64) -> Result<u64, u64> {
        match self.dialog_closed_at.filter(|closed| *closed >= pasted_at) {
            Some(closed) if now < closed.saturating_add(AFTER_DIALOG_MS) => Err(closed + AFTER_DIALOG_MS),
            Some(closed) => Ok(now.saturating_sub(closed)),
            // The paste itself was held until nobody had typed for the whole lease.
            None => Ok(now.saturating_sub(pasted_at).saturating_add(LEASE_MS / 3)),
        }
    }

    /// Whether what a person typed takes over a text that may stand in the composer; keys that answer a dialog do not.
    pub(crate) fn is_taken_over(&mut self, now: u64) -> bool {
        if let Phase::Pasting { typed, .. } = &mut self.phase {
            // If the paste comes out as done, this came after it: before it, it would have been refused.
            typed.is_touched = true;
        }
        let is_answer = self.is_blocked
            || self.dialog_closed_at.is_some_and(|closed| now <= closed.saturating_add(ANSWER_ECHO_MS));
        let stands =
            matches!(self.phase, Phase::Standing { .. } | Phase::Pressing { .. } | Phase::Confirming { .. });
        stands && !is_answer
    }
}
