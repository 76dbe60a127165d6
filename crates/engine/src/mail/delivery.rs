//! The state of one delivery: its phase, its deadlines and what a person did to the text meanwhile. `deliver` moves it on;
//! `docs/design/0007-delivery.md` has the phases as a table.

use proto::AgentState;
use proto::agent::{Composer, MailId};

use crate::input::JobId;
use crate::mail::MailStage;

/// Programs do not type while a person has typed within this time: messages, interrupts, answers and `write` wait for it.
pub const LEASE_MS: u64 = 3_000;
/// How long the agent may take to show that it took a prompt.
pub(crate) const CONFIRM_MS: u64 = 1_500;
/// How much longer it may take when the composer is empty again.
pub(crate) const CONFIRM_LATE_MS: u64 = 3_000;
/// How much longer it may take where a source of its own reports every prompt: programs that are still setting themselves up
/// queue a prompt, and report it when they come to it.
pub(crate) const REPORT_LATE_MS: u64 = 10_000;
/// How long a hand-over with an unknown outcome, or a restored delivery, may take to show a sign.
pub(crate) const HAND_OVER_UNKNOWN_MS: u64 = 5_000;
/// How long a text given at the end of a turn may take to be refused.
pub(crate) const CONTINUE_MS: u64 = 2_000;
/// How long typing and handing over may take before the answer counts as lost.
pub(crate) const LOST_MS: u64 = 120_000;
/// How long the composer may stay unreadable behind a paste that it never showed: what describes it does not fit the text.
const NEVER_SHOWN_MS: u64 = 30_000;
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

/// A message whose text is in the composer, or is being pasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PastedText {
    pub(crate) mail: MailId,
    /// When the paste was ordered.
    pub(crate) pasted_at: u64,
    /// How often Enter was pressed.
    pub(crate) presses: u8,
    /// The composer was seen to hold it at some time.
    pub(crate) was_seen: bool,
    /// The composer held it when it was last seen; a dialog may hide it since.
    pub(crate) is_seen: bool,
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
    pub(crate) pasted: PastedText,
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
    /// No message is.
    #[default]
    None,
    /// The vendor's own channel is being asked.
    HandingOver { mail: MailId, since: u64, until: u64 },
    /// The channel may or may not have taken it.
    HandOverUnknown { mail: MailId, since: u64, until: u64, why: String },
    /// A hook gave it to the agent at the end of a turn.
    Continuing { mail: MailId, turn: u64, since: u64, until: u64 },
    /// Its text is being put into the composer.
    Pasting { pasted: PastedText, job: JobId, until: u64 },
    /// Its text is in the composer and something is in the way of Enter.
    Pasted { pasted: PastedText },
    /// Enter is being pressed.
    Pressing { pasted: PastedText, job: JobId, since: u64, until: u64 },
    /// Enter was pressed.
    Confirming { pasted: PastedText, since: u64, until: u64, is_last: bool },
    /// An earlier daemon had got this far.
    Restored { mail: MailId, stage: MailStage, until: Option<u64> },
}

/// The delivery of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeliveryProgress {
    pub(crate) phase: Phase,
    /// Typing was refused: not again before this moment.
    pub(crate) retry_at: Option<u64>,
    pub(super) refused_at: u64,
    /// When a pasted text that was never seen in the composer is given up.
    pub(super) give_up_at: Option<u64>,
    /// The message its vendor's channel could not take.
    pub(crate) without_channel: Option<MailId>,
    /// A source reports the agent as blocked: a person who types answers its dialog.
    pub(crate) is_blocked: bool,
    /// When a dialog was last seen to close.
    pub(crate) dialog_closed_at: Option<u64>,
    /// The text for which Enter was last pressed.
    pub(crate) last_typed: Option<String>,
}

impl DeliveryProgress {
    /// The message in flight.
    pub(crate) fn mail(&self) -> Option<MailId> {
        match &self.phase {
            Phase::None => None,
            Phase::HandingOver { mail, .. }
            | Phase::HandOverUnknown { mail, .. }
            | Phase::Continuing { mail, .. }
            | Phase::Restored { mail, .. } => Some(*mail),
            Phase::Pasting { pasted, .. }
            | Phase::Pasted { pasted }
            | Phase::Pressing { pasted, .. }
            | Phase::Confirming { pasted, .. } => Some(pasted.mail),
        }
    }

    /// Ends the delivery of this message, if it is the one in flight.
    pub(crate) fn forget(&mut self, mail: MailId) {
        if self.mail() == Some(mail) {
            self.phase = Phase::None;
        }
    }

    /// When something about it is due.
    pub(crate) fn next_deadline(&self, state: AgentState) -> Option<u64> {
        match &self.phase {
            Phase::None => self.retry_at,
            Phase::Pasted { .. } => self.retry_at.into_iter().chain(self.give_up_at).min(),
            // An open dialog hides the sign that it waits for.
            Phase::Confirming { .. } | Phase::Restored { .. } if state == AgentState::Blocked => None,
            Phase::HandingOver { until, .. }
            | Phase::HandOverUnknown { until, .. }
            | Phase::Continuing { until, .. }
            | Phase::Pasting { until, .. }
            | Phase::Pressing { until, .. } => Some(*until),
            Phase::Confirming { until, .. } => Some(self.seen_by(*until)),
            Phase::Restored { until, .. } => *until,
        }
    }

    /// Returns when the effect of Enter must be visible: an open dialog hides it until it closes.
    pub(crate) fn seen_by(&self, until: u64) -> u64 {
        until.max(self.dialog_closed_at.map_or(0, |closed| closed.saturating_add(CONFIRM_MS)))
    }

    /// Returns the moment from which work that begins is the effect of this message.
    pub(crate) fn confirmed_since(&self) -> Option<u64> {
        match &self.phase {
            Phase::HandingOver { since, .. }
            | Phase::HandOverUnknown { since, .. }
            | Phase::Continuing { since, .. }
            | Phase::Pressing { since, .. }
            | Phase::Confirming { since, .. } => Some(*since),
            Phase::None | Phase::Pasting { .. } | Phase::Pasted { .. } | Phase::Restored { .. } => None,
        }
    }

    /// Takes a look at the composer; returns true if a person took the text out of it. Enter works at once or not at all: a
    /// text that leaves the composer long after Enter did not leave because of it.
    pub(crate) fn saw_composer(&mut self, before: Composer, composer: Composer, now: u64) -> bool {
        if let Phase::Pasting { pasted, .. }
        | Phase::Pasted { pasted }
        | Phase::Pressing { pasted, .. }
        | Phase::Confirming { pasted, .. } = &mut self.phase
        {
            pasted.was_seen |= composer == Composer::Draft;
            pasted.is_seen = match composer {
                Composer::Draft => true,
                Composer::Empty => false,
                Composer::Unknown | Composer::Shell => pasted.is_seen,
            };
        }
        if composer != Composer::Draft && self.retry_at.is_some() {
            let soon = self.refused_at.saturating_add(AGAIN_MS).max(now);
            self.retry_at = self.retry_at.map(|at| at.min(soon));
        }
        let vanished = before == Composer::Draft && composer == Composer::Empty;
        matches!(self.phase, Phase::Confirming { since, .. } if vanished && now > since.saturating_add(CONFIRM_MS))
    }

    /// Notes that typing was refused, and when it may be tried again.
    pub(crate) fn refused(&mut self, now: u64) {
        self.refused_at = now;
        self.retry_at = Some(now.saturating_add(LEASE_MS));
    }

    /// Lets nothing be typed before this moment.
    pub(crate) fn hold_until(&mut self, at: u64) {
        self.retry_at = Some(self.retry_at.map_or(at, |known| known.max(at)));
    }

    /// Notes that the composer cannot be read behind this paste; returns true if the text is to be given up. One that was seen
    /// there before is hidden by something that goes away again.
    pub(super) fn is_given_up(&mut self, pasted: PastedText, now: u64) -> bool {
        let at = pasted.pasted_at.saturating_add(NEVER_SHOWN_MS);
        let is_new = !pasted.was_seen && pasted.presses == 0;
        self.give_up_at = (is_new && now < at).then_some(at);
        is_new && now >= at
    }

    /// Returns true if typing may be tried now.
    pub(crate) fn may_try(&self, now: u64) -> bool {
        self.retry_at.is_none_or(|at| at <= now)
    }

    /// Returns for how long no person may have typed when Enter is pressed: since the paste, or since a dialog closed,
    /// because keys before that answered the dialog. The error is the earliest moment for Enter: a span of no length would
    /// not cover the time until the key is really pressed.
    pub(crate) fn quiet_for(&self, pasted_at: u64, now: u64) -> Result<u64, u64> {
        match self.dialog_closed_at.filter(|closed| *closed >= pasted_at) {
            Some(closed) if now < closed.saturating_add(AFTER_DIALOG_MS) => Err(closed + AFTER_DIALOG_MS),
            Some(closed) => Ok(now.saturating_sub(closed)),
            // The paste itself waited until no person had typed for the whole lease.
            None => Ok(now.saturating_sub(pasted_at).saturating_add(LEASE_MS / 3)),
        }
    }

    /// Returns true if a person who types now changes a text that may be in the composer; keys that answer a dialog do not.
    pub(crate) fn is_taken_over(&mut self, now: u64) -> bool {
        if let Phase::Pasting { pasted, .. } = &mut self.phase {
            // If the paste comes out as done, this came after it: before it, it would have been refused.
            pasted.is_touched = true;
        }
        let is_answer = self.is_blocked
            || self.dialog_closed_at.is_some_and(|closed| now <= closed.saturating_add(ANSWER_ECHO_MS));
        let is_in_composer =
            matches!(self.phase, Phase::Pasted { .. } | Phase::Pressing { .. } | Phase::Confirming { .. });
        is_in_composer && !is_answer
    }
}
