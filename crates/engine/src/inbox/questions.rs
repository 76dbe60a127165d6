//! Questions that agents ask the person.
//!
//! A question lives from its asking to its answer and ends with the run that asked. Keys keep it from being asked twice.

use proto::agent::{InboxItem, ItemKind};
use proto::{ErrorCode, Failure, Kind};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::effect::Effect;
use crate::inbox::Inbox;
use crate::inbox::{ItemSubject, OpenItem};
use crate::input::{Caller, RunKey};
use crate::outbox::{AnsweredQuestion, Signal};
use crate::record::Record;
use crate::waits::answer_key;

/// Most questions and calls for attention that one run may have open.
const MAX_OPEN: usize = 20;
/// Longest key, in bytes.
const MAX_KEY: usize = 200;
/// Keys of one run that are remembered, whatever became of what was asked.
const KEPT: usize = 100;

/// One open question or call for attention as it is made durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// What the person sees.
    pub view: InboxItem,
    /// The run that asked.
    pub run: proto::RunNumber,
    /// Under which key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Inbox {
    /// The agent that asks, if it may ask one thing more.
    pub(crate) fn check_asker(&self, caller: Caller, ctx: &Context) -> Result<RunKey, Failure> {
        let Caller::Process(run) = caller else {
            let message = "only agents may ask the person, and this caller is no agent";
            return Err(Failure::new(ErrorCode::WrongKind, message));
        };
        let process = ctx.processes.get(&run.process).filter(|process| process.key() == run);
        let Some(process) = process.filter(|process| process.is_live() && process.run.ending.is_none())
        else {
            return Err(Failure::new(ErrorCode::NotRunning, "the run that asks is over"));
        };
        if process.spec.kind != Kind::Agent {
            let message = format!("{} is a {}: only agents ask the person", process.name, process.spec.kind);
            return Err(Failure::new(ErrorCode::WrongKind, message));
        }
        let is_its = |item: &&OpenItem| item.about == ItemSubject::Question(run);
        if self.items.values().filter(is_its).count() >= MAX_OPEN {
            let message = format!("{MAX_OPEN} of its questions are open already, which is the limit");
            return Err(Failure::new(ErrorCode::Limit, message).hint("wait for an answer"));
        }
        Ok(run)
    }

    /// What the same run has asked under this key, whatever became of it.
    pub(crate) fn asked_before(&self, caller: Caller, key: Option<&str>) -> Result<Option<u64>, Failure> {
        let Some(key) = key else { return Ok(None) };
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(Failure::invalid("key", format!("between 1 and {MAX_KEY} bytes")));
        }
        let Caller::Process(run) = caller else { return Ok(None) };
        Ok(self.asked.get(&(run, key.to_owned())).copied())
    }

    /// Writes a question down that was opened.
    pub(crate) fn record_question(&mut self, item: u64, run: RunKey, key: Option<String>, ctx: &mut Context) {
        if let Some(view) = self.items.get(&item).map(|item| item.view.clone()) {
            let record = QuestionRecord { view, run: run.run, key: key.clone() };
            ctx.out.push(Effect::Record(Record::PutQuestion(Box::new(record))));
        }
        if let Some(key) = key {
            self.remember_key(run, key, item, ctx);
        }
    }

    /// A run that is over asks nothing again; of one that goes on the newest keys are enough.
    pub(crate) fn remember_key(&mut self, run: RunKey, key: String, item: u64, ctx: &Context) {
        let is_over = |asked: &&(RunKey, String)| !ctx.processes.is_run_live(asked.0);
        let over: Vec<(RunKey, String)> = self.asked.keys().filter(is_over).cloned().collect();
        let own = || self.asked.iter().filter(|((asker, _), _)| *asker == run);
        let oldest = own().min_by_key(|(_, item)| **item).map(|(key, _)| key.clone());
        let oldest = oldest.filter(|_| own().count() >= KEPT);
        for forgotten in over.into_iter().chain(oldest) {
            self.asked.remove(&forgotten);
        }
        self.asked.insert((run, key), item);
    }

    /// The questions an earlier daemon left open. One whose run is over is void.
    pub(crate) fn restore_questions(&mut self, saved: Vec<QuestionRecord>, ctx: &mut Context) {
        for QuestionRecord { view, run, key } in saved {
            let (item, run) = (view.item, RunKey::new(view.id, run));
            ctx.out.numbers.counters.next_item =
                ctx.out.numbers.counters.next_item.max(item.saturating_add(1));
            if ctx.processes.is_run_live(run) {
                self.items.insert(item, OpenItem { view, about: ItemSubject::Question(run) });
                if let Some(key) = key {
                    self.asked.insert((run, key), item);
                }
            } else {
                ctx.out.push(Effect::Record(Record::RemoveQuestion(item)));
            }
        }
    }

    /// Takes the answer of a person and closes the item. A call for attention gets no message: it would begin a turn.
    pub(crate) fn answer_question(&mut self, item: u64, asker: RunKey, answer: &str, ctx: &mut Context) {
        let kind = self.items.get(&item).map(|item| item.view.kind);
        let message = (kind != Some(ItemKind::Attention))
            .then(|| (format!("{}{answer}", before_answer(item)), answer_key(item)));
        let answered = AnsweredQuestion { item, asker, answer: answer.to_owned(), message };
        ctx.out.signal(Signal::Answered(Box::new(answered)));
        self.close_item(item, ctx);
    }
}

/// What stands before an answer that comes as a message; a wait that takes the message back gives the answer alone.
pub(crate) fn before_answer(item: u64) -> String {
    format!("the person answered item {item}: ")
}
