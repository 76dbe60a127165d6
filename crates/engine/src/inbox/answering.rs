//! An answer on its way from a choice to the keys that make it.
//!
//! The keys are typed again where a dialog did not react. The caller gets its answer only when the dialog is gone.

use proto::agent::{DialogOption, Source};
use proto::reply::Done;
use proto::{AgentState, ErrorCode, Failure, ProcessId, Reply};

use super::no_longer_open;
use crate::agent::Agent;
use crate::agent::sources::{EvidenceSlot, EvidenceTable};
use crate::context::Context;
use crate::effect::{CommandAnswer, Effect, Guard, Keystrokes};
use crate::inbox::Inbox;
use crate::input::{JobId, Ticket, TypingOutcome};

/// How long a dialog may stay on the screen after it was answered, each time.
const ANSWERED_MS: u64 = 1_500;
/// How often the keys of an answer are typed while the same dialog stays open.
const TRIES: u8 = 3;
/// How long the keys of an answer may take to be typed.
pub(crate) const TYPED_MS: u64 = 10_000;
/// A report of `blocked` this soon after the answer is about the answered dialog.
const HUSH_MS: u64 = 1_000;

/// An answer on its way to the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answering {
    pub(crate) item: u64,
    pub(crate) job: JobId,
    pub(crate) ticket: Ticket,
    pub(crate) digest: String,
    /// The words above the dialog when the answer began.
    pub(crate) context: Option<u64>,
    /// Which option: its first name, and how it was guarded.
    pub(crate) option: String,
    pub(crate) guard: Guard,
    /// How often the keys were typed: a dialog that has just been drawn may not hear the first ones.
    pub(crate) tries: u8,
    /// The keys are typed: the dialog is to go.
    pub(crate) is_typed: bool,
    /// When the keys were first typed.
    pub(crate) typed_at: Option<u64>,
    /// The sources that had reported `blocked` by then: another such report of theirs is about another dialog.
    pub(crate) reported_by: Vec<Source>,
    /// The screen was seen without the dialog since the answer began: one that reads the same now is another one.
    pub(crate) was_gone: bool,
    pub(crate) until: u64,
}

/// The sources by which a program itself tells what it does.
const REPORTS: [Source; 4] = [Source::ProgramStatus, Source::Server, Source::StateFile, Source::Hook];

impl Agent {
    /// Returns true if the program has gone on since the keys of an answer were typed: its dialog was gone, other words
    /// are above it, or the program itself reports something new. What reads the same then may be the next dialog, and the keys must
    /// not be typed again. A first report of `blocked` is only late: it is about the dialog that was answered.
    fn has_gone_on_since(&self, answering: &Answering) -> bool {
        let is_late = |slot: &EvidenceSlot| {
            slot.state() == Some(AgentState::Blocked)
                && !answering.reported_by.contains(&slot.evidence.source)
        };
        let is_new = |slot: &EvidenceSlot| {
            answering.typed_at.is_some_and(|typed_at| slot.since > typed_at) && !is_late(slot)
        };
        let context = self.live.screen.dialog_context;
        answering.was_gone
            || context.is_some_and(|context| answering.context.is_some_and(|before| before != context))
            || REPORTS.iter().filter_map(|source| self.live.evidence.table.get(*source)).any(is_new)
    }
}

/// Returns the sources by which the program reports `blocked` now.
fn blocked_by(table: &EvidenceTable) -> Vec<Source> {
    let reports = REPORTS.iter().filter_map(|source| table.get(*source));
    let is_blocked = |slot: &&EvidenceSlot| slot.state() == Some(AgentState::Blocked);
    reports.filter(is_blocked).map(|slot| slot.evidence.source).collect()
}

impl Inbox {
    /// Takes the outcome of the keys of an answer; returns false if the job belongs to no answer.
    pub(crate) fn answer_typed(
        &mut self,
        id: ProcessId,
        job: JobId,
        outcome: TypingOutcome,
        ctx: &mut Context,
    ) -> bool {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(id) else { return false };
        let Some(answering) = agent.live.dialogs.answering.as_mut().filter(|answering| answering.job == job)
        else {
            return false;
        };
        let failure = match outcome {
            TypingOutcome::Done => {
                answering.is_typed = true;
                if answering.typed_at.is_none() {
                    answering.typed_at = Some(now);
                    answering.reported_by = blocked_by(&agent.live.evidence.table);
                }
                answering.until = now + ANSWERED_MS;
                self.finish_answering(id, ctx);
                return true;
            }
            TypingOutcome::Stale
            | TypingOutcome::Dialog
            | TypingOutcome::Draft
            | TypingOutcome::NoComposer
            | TypingOutcome::Shell
            | TypingOutcome::OtherText => no_longer_open(),
            TypingOutcome::NoEcho => Failure::new(ErrorCode::NotDelivered, "the terminal reads a secret"),
            TypingOutcome::PersonTyping => Failure::new(ErrorCode::HumanTyping, "a person is typing there"),
            TypingOutcome::Partial => {
                Failure::new(ErrorCode::Partial, "only part of the answer reached the terminal")
            }
            TypingOutcome::Gone => Failure::new(ErrorCode::NotRunning, "the agent is over"),
        };
        let answering = agent.live.dialogs.answering.take();
        if let Some(answering) = answering {
            ctx.out.reply(answering.ticket, Err(failure));
        }
        true
    }

    /// Finishes an answer whose dialog is gone.
    pub(crate) fn finish_answering(&mut self, id: ProcessId, ctx: &mut Context) {
        let now = ctx.out.now.uptime_ms;
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let open = agent.live.evidence.table.get(Source::Dialog).and_then(|slot| slot.digest());
        let (open, digest) = (open.map(str::to_owned), agent.blocking_digest());
        let is_gone = |answering: &Answering| {
            open.as_ref() != Some(&answering.digest) && digest.as_ref() != Some(&answering.digest)
        };
        let Some(answering) = agent.live.dialogs.answering.as_mut() else { return };
        let is_gone = is_gone(answering);
        answering.was_gone |= is_gone;
        if !answering.is_typed || !is_gone {
            return;
        }
        if let Some(answering) = agent.live.dialogs.answering.take() {
            agent.live.dialogs.answered_until = Some(now + HUSH_MS);
            self.close_item(answering.item, ctx);
            ctx.out.reply(answering.ticket, Ok(CommandAnswer::Reply(Reply::Done(Done {}))));
        }
    }

    /// Handles an answer that did not work in time: its keys once more while the same dialog is open, then a failure.
    pub(crate) fn give_up_answering(&mut self, id: ProcessId, now: u64, ctx: &mut Context) {
        if self.answer_again(id, now, ctx) {
            return;
        }
        let Some(agent) = ctx.processes.agent_mut(id) else { return };
        let Some(answering) = agent.live.dialogs.answering.take_if(|answering| answering.until <= now) else {
            return;
        };
        let has_gone_on = agent.has_gone_on_since(&answering);
        let failure = if has_gone_on {
            let words = "the answer was typed, but a dialog with the same text is open; it may be a new one";
            Failure::new(ErrorCode::NotDelivered, words)
                .hint("qd inbox shows it; answer it there to allow it")
        } else {
            Failure::new(ErrorCode::NotDelivered, "the dialog is still open after the answer")
                .hint("qd read shows its screen; qd inbox what is open")
        };
        ctx.out.reply(answering.ticket, Err(failure));
        if has_gone_on {
            // It gets a number of its own, so that no late answer to the former one hits it.
            self.close_item(answering.item, ctx);
            self.sync_inbox(id, ctx);
        }
    }

    /// Types the keys of an answer again, as the dialog is now; returns false if there is nothing to try.
    pub(crate) fn answer_again(&self, id: ProcessId, now: u64, ctx: &mut Context) -> bool {
        let Some(agent) = ctx.processes.agent(id) else { return false };
        let is_due =
            |answering: &&Answering| answering.until <= now && answering.is_typed && answering.tries < TRIES;
        let Some(answering) = agent.live.dialogs.answering.as_ref().filter(is_due) else { return false };
        if agent.has_gone_on_since(answering) {
            return false;
        }
        let open =
            agent.live.evidence.table.get(Source::Dialog).and_then(|slot| slot.evidence.dialog.as_ref());
        let same = open.filter(|dialog| dialog.digest == answering.digest);
        let names_it = |option: &&DialogOption| option.names.first() == Some(&answering.option);
        let keys =
            same.and_then(|dialog| dialog.options.iter().find(names_it)).map(|option| option.keys.clone());
        let Some(keys) = keys.filter(|keys| !keys.is_empty()) else { return false };
        let guard = answering.guard.clone();
        let job = ctx.out.next_job();
        let Some(process) = ctx.processes.get_mut(&id) else { return false };
        let run = process.key();
        let answering = process.agent.as_deref_mut().and_then(|agent| agent.live.dialogs.answering.as_mut());
        let Some(answering) = answering else { return false };
        (answering.job, answering.is_typed, answering.until) = (job, false, now + TYPED_MS);
        answering.tries += 1;
        ctx.out.push(Effect::Type { run, job, what: Keystrokes::Keys(keys), guard });
        true
    }

    /// Fails an answer whose run is over.
    pub(crate) fn abandon_answering(&self, id: ProcessId, ctx: &mut Context) {
        let answering = ctx.processes.agent_mut(id).and_then(|agent| agent.live.dialogs.answering.take());
        if let Some(answering) = answering {
            let failure = Failure::new(ErrorCode::NotRunning, "the agent ended before the answer reached it");
            ctx.out.reply(answering.ticket, Err(failure));
        }
    }
}
