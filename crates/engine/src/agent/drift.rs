//! Sources that contradict each other for too long: samples from which rules are repaired.
//!
//! Decides which disagreements are worth a sample, and how often; the daemon keeps the samples.

use std::collections::BTreeMap;

use proto::agent::Source;

use crate::agent::sources::{EvidenceSlot, EvidenceTable};
use crate::agent::state_from_evidence::contradict;

/// How long two sources may disagree; less is the time one of them takes to notice.
const LASTING_MS: u64 = 1_000;
/// The same pair is not sampled again within this time.
const AGAIN_MS: u64 = 60_000;

/// The disagreements of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct DriftBook {
    /// How many were sampled.
    pub(crate) count: u32,
    last: BTreeMap<(Source, Source), u64>,
}

impl DriftBook {
    /// When the winner and the runner-up have disagreed for too long; none: they do not, or were sampled lately.
    pub(crate) fn sample_due_at(&self, winner: &EvidenceSlot, other: &EvidenceSlot) -> Option<u64> {
        let pair = (winner.evidence.source, other.evidence.source);
        if !is_worth_it(winner, other) {
            return None;
        }
        let began = winner.since.max(other.since);
        let last = self.last.get(&pair).copied();
        if last.is_some_and(|last| last >= began) {
            // The same disagreement, still standing: one sample shows all there is to see.
            return None;
        }
        let again = last.map_or(0, |last| last.saturating_add(AGAIN_MS));
        Some(began.saturating_add(LASTING_MS).max(again))
    }

    /// A sample was taken.
    pub(crate) fn note_sample(&mut self, winner: Source, other: Source, now: u64) {
        self.count = self.count.saturating_add(1);
        self.last.insert((winner, other), now);
    }
}

/// The pair that disagrees, if both still speak.
pub(crate) fn pair(
    table: &EvidenceTable,
    winner: Option<Source>,
    other: Option<Source>,
) -> Option<(&EvidenceSlot, &EvidenceSlot)> {
    Some((table.get(winner?)?, table.get(other?)?))
}

/// A hook that was overtaken by newer evidence was not wrong, only past; silence is a guess by nature.
fn is_worth_it(winner: &EvidenceSlot, other: &EvidenceSlot) -> bool {
    let is_past = |slot: &EvidenceSlot, rival: &EvidenceSlot| {
        slot.evidence.source == Source::Hook && rival.since >= slot.at.uptime_ms
    };
    let is_guess = |slot: &EvidenceSlot| slot.evidence.source == Source::Silence;
    let states = winner.state().zip(other.state());
    states.is_some_and(|(one, two)| contradict(one, two))
        && !is_past(winner, other)
        && !is_past(other, winner)
        && !is_guess(winner)
        && !is_guess(other)
}
