//! One agent: its vendor session, its turns, the evidence about its run and the state that follows from it.
//!
//! `Agent` is a machine of its own: `facts` takes what becomes known, `turns` and `interrupt` follow from it, and every
//! effect goes to the outbox. What other machines do about a change is in `reevaluate` and `exit`.

pub(crate) mod drift;
pub(crate) mod exit;
pub(crate) mod facts;
pub(crate) mod interrupt;
pub(crate) mod reevaluate;
pub(crate) mod returned_prompt;
pub(crate) mod sources;
pub(crate) mod state_from_evidence;
pub(crate) mod turns;

use std::collections::BTreeMap;

use proto::agent::{AgentView, Composer, Context, Opinion, Quota, Source, Turn, TurnEnd};
use proto::request::{PermissionMode, PermissionWait};
use proto::{AgentState, Evidence};
use serde::{Deserialize, Serialize};

use crate::agent::drift::DriftBook;
use crate::agent::interrupt::Interrupting;
use crate::agent::returned_prompt::ReturnedPrompt;
use crate::agent::sources::{EvidenceSlot, EvidenceTable};
use crate::agent::state_from_evidence::{Belief, Judgement};
use crate::effect::AgentStart;
use crate::inbox::failures::AgentFailure;
use crate::inbox::{Answering, Asked};
use crate::input::{Launched, Moment, RunKey, Ticket};
use crate::mail::delivery::DeliveryProgress;

/// How long a list of the inbox waits for what is known of an agent that this daemon took over. Screens are read within
/// milliseconds, on a busy machine within a second.
const RECONNECT_MS: u64 = 3_000;

/// What is made durable of an agent. New fields need a default, so that older documents still read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// The vendor session of the run.
    #[serde(default)]
    pub session: Option<String>,
    /// The one before it, in case the run never had its own.
    #[serde(default)]
    pub past_session: Option<String>,
    /// The vendor session that the run continues.
    #[serde(default)]
    pub resumed: Option<String>,
    /// Who answers its requests for permission.
    #[serde(default)]
    pub permissions: Option<PermissionWait>,
    /// Which model it was asked to use.
    #[serde(default)]
    pub model: Option<String>,
    /// What it was allowed to do without asking.
    #[serde(default)]
    pub mode: Option<PermissionMode>,
    /// The beginning of what it was asked first.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The newest turn.
    #[serde(default)]
    pub turn: u64,
    /// What only Quarterdeck writes into the head of a message to this run.
    #[serde(default)]
    pub nonce: String,
    /// The failure that waits for a person.
    #[serde(default)]
    pub failure: Option<AgentFailure>,
    /// What launches lacked when a person dismissed the item about it.
    #[serde(default)]
    pub dismissed: Vec<String>,
    /// The state in which it waits for somebody, if it does, so that the next daemon knows since when.
    #[serde(default)]
    pub waiting_since: Option<WaitingSince>,
}

impl AgentRecord {
    /// Returns true if the agent waited for an answer when it was last known what it does.
    pub(crate) fn was_blocked(&self) -> bool {
        self.waiting_since.is_some_and(|last| last.state == AgentState::Blocked)
    }
}

/// A state in which an agent does nothing by itself, and since when, wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingSince {
    /// Idle, waiting, blocked or error.
    pub state: AgentState,
    /// In milliseconds since the epoch.
    pub at: u64,
}

/// The agent's part of an entry.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    /// The run it is about.
    pub(crate) run: RunKey,
    pub(crate) record: AgentRecord,
    /// The vendor session the next run is to continue.
    pub(crate) resume_next: Option<String>,
    /// The vendor session that the run before could not continue, from its end until the run in its place has started.
    pub(crate) refused_session: Option<String>,
    /// By number; the newest few.
    pub(crate) turns: BTreeMap<u64, Turn>,
    /// Turns whose text is being found, and when that is given up.
    pub(crate) collecting: BTreeMap<u64, u64>,
    /// Who asked for a text that is being found.
    pub(crate) result_tickets: Vec<(Ticket, u64)>,
    /// Messages that are not delivered yet.
    pub(crate) mail: u32,
    /// When a person was last notified about it.
    pub(crate) notified_at: Option<u64>,
    /// What is known of the run.
    pub(crate) live: Live,
}

/// What is known of an agent's run; a new run replaces all of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    pub(crate) launched: Option<Launched>,
    pub(crate) startup: Startup,
    pub(crate) evidence: EvidenceState,
    pub(crate) screen: ScreenFacts,
    pub(crate) quota: QuotaState,
    pub(crate) newest_turn: NewestTurn,
    pub(crate) progress: DeliveryProgress,
    pub(crate) dialogs: DialogState,
    pub(crate) interrupting: Option<Interrupting>,
    pub(crate) returned_prompt: Option<ReturnedPrompt>,
}

impl Live {
    /// Notes that this daemon took the run over.
    pub(crate) fn note_adopted(&mut self, now: u64) {
        self.startup.reconnecting_until = Some(now.saturating_add(RECONNECT_MS));
    }

    /// Returns until when the dialogs of the run are awaited, if this daemon took it over and does not know them yet: its
    /// screen was not looked at, or the agent was blocked and it is not known whether it still is.
    pub(crate) fn reconnecting_until(&self, was_blocked: bool, now: u64) -> Option<u64> {
        let is_unknown =
            self.evidence.belief.state == AgentState::Starting && (was_blocked || !self.screen.is_looked_at);
        self.startup.reconnecting_until.filter(|until| is_unknown && *until > now)
    }
}

/// How far a run has come to taking prompts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Startup {
    /// When the run began, on the uptime clock.
    pub(crate) began: u64,
    /// It took prompts at least once.
    pub(crate) has_rested: bool,
    /// It showed a dialog: a person may have ended it there.
    pub(crate) was_blocked: bool,
    /// When it should take prompts; none: it does, or a person was notified that it does not.
    pub(crate) late_at: Option<u64>,
    /// A person was notified that it takes long to start.
    pub(crate) is_late: bool,
    /// This daemon took the run over from an earlier one: until then its dialogs may still be unknown.
    pub(crate) reconnecting_until: Option<u64>,
}

/// What the sources say about a run's state, and what is believed.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvidenceState {
    pub(crate) table: EvidenceTable,
    pub(crate) belief: Belief,
    /// Since when the state holds, wall time.
    pub(crate) since: u64,
    pub(crate) judgement: Option<Judgement>,
    /// When that was, on the uptime clock.
    pub(crate) judged_at: u64,
    pub(crate) drift: DriftBook,
    /// When the sources have disagreed for too long.
    pub(crate) drift_at: Option<u64>,
}

/// What the screen shows of a run, and when a person typed there.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScreenFacts {
    pub(crate) composer: Composer,
    /// The screen was looked at since this daemon knows the run.
    pub(crate) is_looked_at: bool,
    /// A digest of the words above the open dialog's options.
    pub(crate) dialog_context: Option<u64>,
    /// Background work the screen shows.
    pub(crate) background: u32,
    pub(crate) context: Option<Context>,
    /// When a person last typed, on the uptime clock.
    pub(crate) person_at: Option<u64>,
}

/// What the vendor allows a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotaState {
    pub(crate) limit: Option<Quota>,
    /// When the vendor takes turns again, on the uptime clock.
    pub(crate) until: Option<u64>,
    /// The turn for which a person was notified that the vendor refuses turns.
    pub(crate) notified_turn: Option<u64>,
}

/// When the newest turn of a run began and when it counts as over.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewestTurn {
    /// When it began, on the uptime clock.
    pub(crate) began: u64,
    /// If it began unseen, it counts as over when nothing of it was seen until then.
    pub(crate) unseen_until: Option<u64>,
}

/// The dialogs of a run and their answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct DialogState {
    pub(crate) answering: Option<Answering>,
    /// The state became blocked a moment ago: until then its dialog's options may still be read.
    pub(crate) options_until: Option<u64>,
    /// An answer worked a moment ago: until then a block without a dialog is the one that was answered.
    pub(crate) answered_until: Option<u64>,
    /// Requests for permission that wait in the inbox.
    pub(crate) permissions: u32,
    /// The vendor showed its own dialog for a request that waits in the inbox.
    pub(crate) is_permission_shown: bool,
    /// What its hooks asked permission for since it was last not blocked.
    pub(crate) asked: Asked,
}

impl Agent {
    /// The entry's part an earlier daemon wrote down, of a run that was started at this wall time.
    pub(crate) fn from_record(record: AgentRecord, run: RunKey, is_live: bool, started_at: u64) -> Self {
        let state = if is_live { AgentState::Starting } else { AgentState::Exited };
        let since = record.waiting_since.as_ref().map_or(started_at, |waiting| waiting.at);
        let belief = Belief { state, pending: None };
        let evidence = EvidenceState { belief, since, ..EvidenceState::default() };
        let live = Live { evidence, ..Live::default() };
        Self {
            run,
            record,
            resume_next: None,
            refused_session: None,
            turns: BTreeMap::new(),
            collecting: BTreeMap::new(),
            result_tickets: Vec::new(),
            mail: 0,
            notified_at: None,
            live,
        }
    }

    /// Begins a new run: everything that was known belonged to the old one.
    pub(crate) fn start(&mut self, run: RunKey, nonce: String, now: Moment) {
        self.run = run;
        let resume = self.resume_next.take();
        if let Some(session) = self.record.session.take() {
            self.record.past_session = Some(session);
        }
        self.record.session.clone_from(&resume);
        self.record.resumed = resume;
        self.record.nonce = nonce;
        self.record.waiting_since = None;
        let startup = Startup { began: now.uptime_ms, ..Startup::default() };
        let evidence = EvidenceState { since: now.wall_ms, ..EvidenceState::default() };
        self.live = Live { startup, evidence, ..Live::default() };
    }

    /// What the current run is started with.
    pub(crate) fn order(&self) -> AgentStart {
        let permissions_wait = self.record.permissions.is_some();
        let (model, mode) = (self.record.model.clone(), self.record.mode);
        AgentStart { resume: self.record.resumed.clone(), permissions_wait, model, mode }
    }

    /// What it is believed to do.
    pub(crate) fn state(&self) -> AgentState {
        self.live.evidence.belief.state
    }

    /// The turn that is under way.
    pub(crate) fn running_turn(&self) -> Option<u64> {
        self.turns.get(&self.record.turn).filter(|turn| turn.end == TurnEnd::Running).map(|turn| turn.turn)
    }

    /// The strongest evidence of what blocks it: a dialog on the screen, else any source that reports it as blocked.
    pub(crate) fn blocking(&self) -> Option<&Evidence> {
        let says_blocked = |slot: &&EvidenceSlot| slot.state() == Some(AgentState::Blocked);
        let dialog = self.live.evidence.table.get(Source::Dialog).filter(says_blocked);
        let others = || self.live.evidence.table.slots().filter(says_blocked);
        let read = others().find(|slot| slot.evidence.dialog.is_some());
        // A screen may be too small for the options of a dialog that the vendor's server knows.
        let is_answerable = |slot: &&EvidenceSlot| {
            let dialog = slot.evidence.dialog.as_ref().filter(|_| slot.evidence.source != Source::Hook);
            dialog.is_some_and(|dialog| !dialog.options.is_empty())
        };
        let answerable = dialog.filter(is_answerable).or_else(|| others().find(is_answerable));
        answerable.or(dialog).or(read).or_else(|| others().next()).map(|slot| &slot.evidence)
    }

    /// The name of what blocks it: the dialog's digest, or one made from what is said about it.
    pub(crate) fn blocking_digest(&self) -> Option<String> {
        if self.state() != AgentState::Blocked {
            return None;
        }
        let evidence = self.blocking()?;
        let made = || format!("{:?}/{}/{}", evidence.source, evidence.rule, evidence.message);
        Some(evidence.dialog.as_ref().map_or_else(made, |dialog| dialog.digest.clone()))
    }

    /// An opinion as it is shown.
    pub(crate) fn opinion(slot: &EvidenceSlot, now: u64) -> Opinion {
        Opinion { evidence: slot.evidence.clone(), at: slot.at.wall_ms, counts: slot.counts(now) }
    }

    /// What is shown of it, under the name of its manifest.
    pub(crate) fn view(&self, manifest: &str) -> AgentView {
        let (judgement, now) = (self.live.evidence.judgement.as_ref(), self.live.evidence.judged_at);
        let opinion = |source: Option<Source>| {
            source
                .and_then(|source| self.live.evidence.table.get(source))
                .map(|slot| Self::opinion(slot, now))
        };
        AgentView {
            manifest: manifest.to_owned(),
            state: self.state(),
            since: self.live.evidence.since,
            evidence: opinion(judgement.and_then(|judgement| judgement.winner)),
            runner_up: opinion(judgement.and_then(|judgement| judgement.runner_up)),
            background: self.background(),
            held: judgement.is_some_and(|judgement| judgement.held),
            quota: self.live.quota.limit,
            session: self.record.session.clone(),
            context: self.live.screen.context,
            turn: self.record.turn,
            mail: self.mail,
            shortfalls: self.shortfalls().to_vec(),
            new_line: self.live.launched.as_ref().and_then(|launched| launched.new_line.clone()),
        }
    }

    /// What the launch of the current run lacks.
    pub(crate) fn shortfalls(&self) -> &[String] {
        self.live.launched.as_ref().map_or(&[], |launched| launched.shortfalls.as_slice())
    }

    /// The part of its state that is announced when it changes.
    pub(crate) fn visible(&self) -> Visible {
        let judgement = self.live.evidence.judgement.as_ref();
        let winner = judgement.and_then(|judgement| judgement.winner);
        let words = winner.and_then(|source| self.live.evidence.table.get(source)).map(|slot| &slot.evidence);
        Visible {
            state: self.state(),
            winner: words.map(|evidence| VisibleEvidence {
                source: evidence.source,
                rule: evidence.rule.clone(),
                message: evidence.message.clone(),
            }),
            runner_up: judgement.and_then(|judgement| judgement.runner_up),
            held: judgement.is_some_and(|judgement| judgement.held),
            background: self.background(),
            quota: self.live.quota.limit,
        }
    }

    /// When something about it is due, on the uptime clock.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let live = &self.live;
        let recheck = live.evidence.judgement.as_ref().and_then(|judgement| judgement.recheck);
        let answering = live.dialogs.answering.as_ref().map(|answering| answering.until);
        let collecting = self.collecting.values().copied().min();
        let own = [
            recheck,
            live.quota.until,
            live.evidence.drift_at,
            live.newest_turn.unseen_until,
            live.dialogs.answered_until,
            live.dialogs.options_until,
            live.startup.late_at,
            answering,
            live.interrupting.as_ref().map(|interrupting| interrupting.until),
            collecting,
        ];
        own.into_iter().flatten().chain(live.progress.next_deadline(self.state())).min()
    }

    fn background(&self) -> u32 {
        self.live
            .evidence
            .judgement
            .as_ref()
            .map_or(0, |judgement| judgement.background)
            .max(self.live.screen.background)
    }
}

/// The part of an agent's state that is announced when it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visible {
    state: AgentState,
    winner: Option<VisibleEvidence>,
    runner_up: Option<Source>,
    held: bool,
    background: u32,
    quota: Option<Quota>,
}

/// What is shown of the evidence that won.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VisibleEvidence {
    source: Source,
    rule: String,
    message: String,
}

#[cfg(test)]
mod tests;
