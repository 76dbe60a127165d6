//! Decides an agent's state from the evidence of all sources: which piece wins, which comes second, and whether the change
//! waits.
//!
//! `docs/design/0006-state.md` has the rules as a table with the reasons. The belief before and the moment are arguments, so
//! any judgement can be repeated.

use proto::AgentState;
use proto::agent::Source;

use crate::agent::sources::{EvidenceSlot, EvidenceTable};

/// For this long after a report changed, a dialog that was there before it may be the one just answered.
const DIALOG_GRACE_MS: u64 = 300;
/// A hook older than this marks the past: newer evidence may overrule it.
const HOOK_FRESH_MS: u64 = 2_000;
/// How long newer weak evidence must stand before it overrules a hook that is not fresh.
const HOOK_YIELDS_MS: u64 = 700;
/// Weak sources that changed this close together were seen at the same instant.
const INSTANT_MS: u64 = 100;
/// How long weak sources must agree that a turn is over.
const REST_AGREED_MS: u64 = 240;
/// How long they must agree that a program has started: many draw their prompt, restore a session and draw it again,
/// and what was typed in between is gone.
const START_AGREED_MS: u64 = 1_000;

/// What is believed, and what is about to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Belief {
    /// What is believed.
    pub(crate) state: AgentState,
    /// What weak sources have begun to say, and since when.
    pub(crate) pending: Option<(AgentState, u64)>,
}

impl Default for Belief {
    fn default() -> Self {
        Self { state: AgentState::Starting, pending: None }
    }
}

/// Why a judgement came out as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// No source has an opinion that counts.
    Nothing,
    /// The strongest source won.
    Strongest,
    /// A request for permission waits in the inbox.
    PermissionWaits,
    /// A report says that the agent rests, and the last hook that its turn failed.
    TurnFailed,
    /// A dialog stands on the screen although a stronger source says something else.
    DialogStands,
    /// A hook is not fresh and newer evidence stands against it.
    HookWorn,
    /// Seen at the same instant: blocked beats working beats idle.
    SameInstant,
    /// The strongest source does not know: what was believed is held.
    Held,
    /// A turn is over only when weak sources agree for long enough.
    NotYet,
    /// A failed turn stays failed until the next prompt.
    ErrorStays,
}

/// The judgement of all evidence at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) belief: Belief,
    pub(crate) winner: Option<Source>,
    /// The strongest source with another opinion.
    pub(crate) runner_up: Option<Source>,
    /// The screen shows something that cannot be judged.
    pub(crate) held: bool,
    /// The highest number of any source that counts.
    pub(crate) background: u32,
    pub(crate) reason: Reason,
    /// When it must be judged again although nothing happens.
    pub(crate) recheck: Option<u64>,
}

/// Returns true if opinions of these states contradict each other.
pub(crate) fn contradict(one: AgentState, other: AgentState) -> bool {
    class(one) != class(other)
}

fn class(state: AgentState) -> u8 {
    match state {
        AgentState::Starting => 0,
        AgentState::Working | AgentState::Thinking => 1,
        AgentState::Blocked => 2,
        AgentState::Waiting | AgentState::Idle => 3,
        AgentState::Error => 4,
        AgentState::Exited => 5,
    }
}

/// Returns true if no turn is under way and the next one can begin.
fn is_rest(state: AgentState) -> bool {
    matches!(state, AgentState::Idle | AgentState::Waiting)
}

/// Blocked beats working beats idle.
fn urgency(state: AgentState) -> u8 {
    match state {
        AgentState::Blocked => 3,
        AgentState::Error => 2,
        AgentState::Working | AgentState::Thinking => 1,
        AgentState::Starting | AgentState::Waiting | AgentState::Idle | AgentState::Exited => 0,
    }
}

/// Strongest first. A screen rule that says blocked saw a dialog it could not read: it ranks as one.
fn rank(slot: &EvidenceSlot) -> u8 {
    match slot.evidence.source {
        Source::Process => 0,
        Source::ProgramStatus => 1,
        Source::Server => 2,
        Source::StateFile => 3,
        Source::Dialog => 4,
        Source::Screen if slot.state() == Some(AgentState::Blocked) => 5,
        Source::Hook => 6,
        Source::Title => 7,
        Source::Progress => 8,
        Source::Screen => 9,
        Source::Silence => 10,
    }
}

/// Sources that infer the state.
pub(crate) fn is_weak(source: Source) -> bool {
    matches!(source, Source::Title | Source::Progress | Source::Screen | Source::Silence)
}

/// Sources that report the vendor's own state.
fn is_report(source: Source) -> bool {
    matches!(source, Source::ProgramStatus | Source::Server | Source::StateFile)
}

/// Weighs everything that counts now against what was believed before.
pub(crate) fn weigh(
    table: &EvidenceTable,
    before: Belief,
    has_permission_waiting: bool,
    now: u64,
) -> Judgement {
    let mut counting: Vec<&EvidenceSlot> = table.slots().filter(|slot| slot.counts(now)).collect();
    counting.sort_by_key(|slot| rank(slot));
    let mut choice = choose(&counting, now);
    if has_permission_waiting && choice.winner.is_none_or(|slot| slot.evidence.source != Source::Process) {
        choice = Selection { reason: Reason::PermissionWaits, ..choice };
    }
    let candidate = match choice.reason {
        Reason::PermissionWaits => Some(AgentState::Blocked),
        _ => choice.winner.and_then(EvidenceSlot::state),
    };
    let (belief, debounced, ripe) = debounce(before, candidate, &choice, now);
    let shows_unknown =
        counting.iter().any(|slot| slot.evidence.source == Source::Screen && slot.state().is_none());
    let is_stranded = counting.is_empty() && belief.state.is_busy();
    let expiries = counting.iter().filter_map(|slot| slot.expires());
    Judgement {
        belief,
        winner: choice.winner.map(|slot| slot.evidence.source),
        runner_up: candidate.and_then(|state| runner_up(&counting, state)),
        held: choice.reason == Reason::Held || shows_unknown || is_stranded,
        background: counting.iter().filter_map(|slot| slot.evidence.background).max().unwrap_or(0),
        reason: debounced.unwrap_or(choice.reason),
        recheck: expiries.chain(choice.recheck).chain(ripe).filter(|at| *at > now).min(),
    }
}

#[derive(Clone, Copy)]
struct Selection<'a> {
    winner: Option<&'a EvidenceSlot>,
    reason: Reason,
    recheck: Option<u64>,
}

/// Who wins at this instant, before any delay.
fn choose<'a>(counting: &[&'a EvidenceSlot], now: u64) -> Selection<'a> {
    let Some(first) = counting.first().copied() else {
        return Selection { winner: None, reason: Reason::Nothing, recheck: None };
    };
    let Some(state) = first.state() else {
        return Selection { winner: Some(first), reason: Reason::Held, recheck: None };
    };
    match first.evidence.source {
        source if is_report(source) => {
            let choice = dialog_over_report(counting, first, state, now);
            failure_under_rest(counting, choice).unwrap_or(choice)
        }
        Source::Hook => newer_over_hook(counting, first, state, now),
        source if is_weak(source) => same_instant(counting, first, state),
        _ => Selection { winner: Some(first), reason: Reason::Strongest, recheck: None },
    }
}

/// A report that says *at rest* does not know how the turn ended, where the vendor has no word for it. The last hook does:
/// the next prompt would have brought another one.
fn failure_under_rest<'a>(counting: &[&'a EvidenceSlot], choice: Selection<'a>) -> Option<Selection<'a>> {
    let rests = choice.winner.and_then(EvidenceSlot::state).is_some_and(is_rest);
    let is_failure = |slot: &&&EvidenceSlot| {
        slot.evidence.source == Source::Hook && slot.state() == Some(AgentState::Error)
    };
    let hook = counting.iter().find(is_failure).filter(|_| rests).copied()?;
    Some(Selection { winner: Some(hook), reason: Reason::TurnFailed, ..choice })
}

/// A program that reports its state may not report every dialog (onboarding comes before its first report), so a dialog
/// that stands beats a report that says something else. Right after the report changed, the dialog may be the one that
/// was just answered and not yet painted over.
fn dialog_over_report<'a>(
    counting: &[&'a EvidenceSlot],
    report: &'a EvidenceSlot,
    state: AgentState,
    now: u64,
) -> Selection<'a> {
    let strongest = Selection { winner: Some(report), reason: Reason::Strongest, recheck: None };
    let is_dialog =
        |slot: &&&EvidenceSlot| matches!(rank(slot), 4 | 5) && slot.state() == Some(AgentState::Blocked);
    match counting.iter().find(is_dialog).copied() {
        Some(dialog) if state != AgentState::Blocked && state != AgentState::Exited => {
            let settled = report.since.saturating_add(DIALOG_GRACE_MS);
            if dialog.since >= report.since || now >= settled {
                Selection { winner: Some(dialog), reason: Reason::DialogStands, recheck: None }
            } else {
                Selection { recheck: Some(settled), ..strongest }
            }
        }
        _ => strongest,
    }
}

/// A hook marks a moment, and none is fired for an interruption: once it is not fresh, a weaker source that began to
/// say something else after it, and has stood, wins.
fn newer_over_hook<'a>(
    counting: &[&'a EvidenceSlot],
    hook: &'a EvidenceSlot,
    state: AgentState,
    now: u64,
) -> Selection<'a> {
    let strongest = Selection { winner: Some(hook), reason: Reason::Strongest, recheck: None };
    // Only the strongest of the weak sources may: a composer on the screen means nothing while the title shows work.
    let says_something = |slot: &&&EvidenceSlot| is_weak(slot.evidence.source) && slot.state().is_some();
    let is_newer = |slot: &&EvidenceSlot| {
        slot.since > hook.at.uptime_ms && slot.state().is_some_and(|other| contradict(other, state))
    };
    let Some(newer) = counting.iter().find(says_something).copied().filter(is_newer) else {
        return strongest;
    };
    let worn = (hook.at.uptime_ms + HOOK_FRESH_MS).max(newer.since + HOOK_YIELDS_MS);
    if now >= worn {
        Selection { winner: Some(newer), reason: Reason::HookWorn, recheck: None }
    } else {
        Selection { recheck: Some(worn), ..strongest }
    }
}

/// Weak sources that changed together: the most urgent of them, the stronger of equals.
fn same_instant<'a>(
    counting: &[&'a EvidenceSlot],
    first: &'a EvidenceSlot,
    state: AgentState,
) -> Selection<'a> {
    let mut best = (first, urgency(state));
    for slot in counting.iter().copied().filter(|slot| slot.since.abs_diff(first.since) <= INSTANT_MS) {
        if let Some(urgent) = slot.state().map(urgency).filter(|urgent| *urgent > best.1) {
            best = (slot, urgent);
        }
    }
    let reason = if std::ptr::eq(best.0, first) { Reason::Strongest } else { Reason::SameInstant };
    Selection { winner: Some(best.0), reason, recheck: None }
}

fn runner_up(counting: &[&EvidenceSlot], winner: AgentState) -> Option<Source> {
    let is_other = |slot: &&&EvidenceSlot| slot.state().is_some_and(|state| contradict(state, winner));
    counting.iter().find(is_other).map(|slot| slot.evidence.source)
}

/// What is believed after some delay: at once into work and dialogs, slowly out of them on weak evidence.
fn debounce(
    before: Belief,
    candidate: Option<AgentState>,
    choice: &Selection<'_>,
    now: u64,
) -> (Belief, Option<Reason>, Option<u64>) {
    let settled = |state| (Belief { state, pending: None }, None, None);
    let Some(next) = candidate else { return settled(before.state) };
    let is_rest = is_rest(next);
    if is_rest && before.state == AgentState::Error {
        return (Belief { state: AgentState::Error, pending: None }, Some(Reason::ErrorStays), None);
    }
    let is_inferred = choice.winner.is_some_and(|slot| is_weak(slot.evidence.source));
    let was_otherwise = before.state.is_busy() || before.state == AgentState::Starting;
    if !(is_rest && is_inferred && was_otherwise && choice.reason != Reason::HookWorn) {
        return settled(next);
    }
    let begun = before.pending.filter(|(state, _)| *state == next).map_or(now, |(_, begun)| begun);
    let agreed = if before.state == AgentState::Starting { START_AGREED_MS } else { REST_AGREED_MS };
    let ripe = begun.saturating_add(agreed);
    if now >= ripe {
        return settled(next);
    }
    (Belief { state: before.state, pending: Some((next, begun)) }, Some(Reason::NotYet), Some(ripe))
}

#[cfg(test)]
mod tests;
