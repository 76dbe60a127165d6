//! What every source last said about an agent: one slot per source.
//!
//! It keeps when an opinion began, when it was last reported and when it stops counting; `state_from_evidence` weighs them.

use std::collections::BTreeMap;

use proto::agent::Source;
use proto::{AgentState, Evidence};

use crate::input::Moment;

/// How long a hook that said "busy" counts when its manifest names no limit: a hook marks a moment, and the one that
/// would end it does not always come.
const HOOK_BUSY_MS: u64 = 120_000;

/// The last opinion of one source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EvidenceSlot {
    pub(crate) evidence: Evidence,
    /// When it began to say this, on the uptime clock; saying it again does not move it.
    pub(crate) since: u64,
    /// When it last said it.
    pub(crate) at: Moment,
}

impl EvidenceSlot {
    /// The state that it reports, if any.
    pub(crate) fn state(&self) -> Option<AgentState> {
        self.evidence.state
    }

    /// When it stops counting. Sources that write only on change never do: they are wrong only when they are dead.
    pub(crate) fn expires(&self) -> Option<u64> {
        let limit = match self.evidence.source {
            Source::Process | Source::ProgramStatus | Source::Server | Source::StateFile => None,
            Source::Hook if self.state().is_some_and(AgentState::is_busy) => {
                self.evidence.max_age_ms.or(Some(HOOK_BUSY_MS))
            }
            Source::Hook
            | Source::Dialog
            | Source::Title
            | Source::Progress
            | Source::Screen
            | Source::Silence => self.evidence.max_age_ms,
        };
        limit.map(|limit| self.at.uptime_ms.saturating_add(limit))
    }

    /// Returns true if it still counts.
    pub(crate) fn counts(&self, now: u64) -> bool {
        self.expires().is_none_or(|expires| now < expires)
    }

    /// The dialog it sees.
    pub(crate) fn digest(&self) -> Option<&str> {
        self.evidence.dialog.as_ref().map(|dialog| dialog.digest.as_str())
    }
}

/// The opinions about one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EvidenceTable {
    slots: BTreeMap<Source, EvidenceSlot>,
}

impl EvidenceTable {
    /// Puts the opinion of a source in place of its last one.
    pub(crate) fn put(&mut self, evidence: Evidence, now: Moment) {
        let known = self.slots.get(&evidence.source);
        let digest = evidence.dialog.as_ref().map(|dialog| dialog.digest.as_str());
        let is_same = |slot: &&EvidenceSlot| slot.state() == evidence.state && slot.digest() == digest;
        let since = known.filter(is_same).map_or(now.uptime_ms, |slot| slot.since);
        self.slots.insert(evidence.source, EvidenceSlot { evidence, since, at: now });
    }

    /// A source has no opinion any more.
    pub(crate) fn withdraw(&mut self, source: Source) {
        self.slots.remove(&source);
    }

    /// The opinion of one source.
    pub(crate) fn get(&self, source: Source) -> Option<&EvidenceSlot> {
        self.slots.get(&source)
    }

    /// Every opinion, strongest source first.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &EvidenceSlot> {
        self.slots.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(uptime_ms: u64) -> Moment {
        Moment { uptime_ms, wall_ms: uptime_ms }
    }

    fn put(table: &mut EvidenceTable, source: Source, state: AgentState, now: u64) {
        table.put(Evidence::new(source, "r", Some(state)), at(now));
    }

    #[test]
    fn saying_the_same_again_does_not_make_an_opinion_younger() {
        let mut table = EvidenceTable::default();
        put(&mut table, Source::Title, AgentState::Working, 10);
        put(&mut table, Source::Title, AgentState::Working, 50);
        let slot = table.get(Source::Title).unwrap();
        assert_eq!((slot.since, slot.at.uptime_ms), (10, 50));
        put(&mut table, Source::Title, AgentState::Idle, 60);
        assert_eq!(table.get(Source::Title).unwrap().since, 60);
    }

    #[test]
    fn hooks_age_and_reports_do_not() {
        let mut table = EvidenceTable::default();
        for source in [Source::Hook, Source::ProgramStatus, Source::StateFile, Source::Server] {
            let old =
                Evidence { max_age_ms: Some(1_000), ..Evidence::new(source, "r", Some(AgentState::Working)) };
            table.put(old, at(0));
        }
        let counts = |source| table.get(source).unwrap().counts(1_000);
        assert!(!counts(Source::Hook));
        for source in [Source::ProgramStatus, Source::StateFile, Source::Server] {
            assert!(counts(source), "{source:?}");
        }
    }

    #[test]
    fn a_hook_that_said_busy_ages_without_being_told_to_and_one_that_said_idle_does_not() {
        let mut table = EvidenceTable::default();
        put(&mut table, Source::Hook, AgentState::Working, 0);
        assert!(table.get(Source::Hook).unwrap().counts(HOOK_BUSY_MS - 1));
        assert!(!table.get(Source::Hook).unwrap().counts(HOOK_BUSY_MS));
        put(&mut table, Source::Hook, AgentState::Idle, 0);
        assert!(table.get(Source::Hook).unwrap().counts(u64::MAX));
    }
}
