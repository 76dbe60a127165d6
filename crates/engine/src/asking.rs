//! Questions that agents ask the person.
//!
//! Owns a question from its asking to its answer. Refuses answering for the person, and outliving the run that asked.

use proto::agent::{InboxItem, ItemKind};
use proto::{ErrorCode, Failure, Kind};
use serde::{Deserialize, Serialize};

use crate::Engine;
use crate::effect::Effect;
use crate::inbox::{About, Item};
use crate::input::{Caller, RunKey};
use crate::record::Record;
use crate::waits::answer_key;

/// Most questions and calls for attention that one run may have open.
const MAX_OPEN: usize = 20;

/// One open question or call for attention as it is made durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// What the person sees.
    pub view: InboxItem,
    /// The run that asked.
    pub run: proto::RunNumber,
}

impl Engine {
    /// The agent that asks, if it may ask one thing more.
    pub(crate) fn check_asker(&self, caller: Caller) -> Result<RunKey, Failure> {
        let Caller::Process(run) = caller else {
            let message = "only agents ask the person, and this caller is none";
            return Err(Failure::new(ErrorCode::WrongKind, message));
        };
        let process = self.processes.get(&run.process).filter(|process| process.key() == run);
        let Some(process) = process.filter(|process| process.is_live() && process.ending.is_none()) else {
            return Err(Failure::new(ErrorCode::NotRunning, "the run that asks is over"));
        };
        if process.kind != Kind::Agent {
            let message = format!("{} is a {}: only agents ask the person", process.name, process.kind);
            return Err(Failure::new(ErrorCode::WrongKind, message));
        }
        let is_its = |item: &&Item| item.about == About::Question(run);
        if self.items.values().filter(is_its).count() >= MAX_OPEN {
            let message = format!("{MAX_OPEN} of its questions are open already, the most that may be");
            return Err(Failure::new(ErrorCode::Limit, message).hint("wait for an answer"));
        }
        Ok(run)
    }

    /// Writes a question down that was opened.
    pub(crate) fn record_question(&mut self, item: u64, run: RunKey) {
        if let Some(view) = self.items.get(&item).map(|item| item.view.clone()) {
            let record = QuestionRecord { view, run: run.run };
            self.effects.push(Effect::Record(Record::PutQuestion(Box::new(record))));
        }
    }

    /// The person has answered: whoever waits for it hears it, otherwise it is a message. That somebody has looked is
    /// told to those who wait for it only: a message would begin a turn.
    pub(crate) fn answer_question(&mut self, item: u64, asker: RunKey, answer: &str) {
        let kind = self.items.get(&item).map(|item| item.view.kind);
        let is_awaited = self.waits_see_answer(item, answer);
        if !is_awaited && kind != Some(ItemKind::Attention) {
            let text = format!("{}{answer}", before_answer(item));
            self.say_once(asker, "system", text, answer_key(item));
        }
        self.close_item(item);
    }

    /// The questions an earlier daemon left open. One whose run is over is void.
    pub(crate) fn restore_questions(&mut self, saved: Vec<QuestionRecord>) {
        for QuestionRecord { view, run } in saved {
            let (item, run) = (view.item, RunKey::new(view.id, run));
            self.counters.next_item = self.counters.next_item.max(item.saturating_add(1));
            if self.is_run_live(run) {
                self.items.insert(item, Item { view, about: About::Question(run) });
            } else {
                self.effects.push(Effect::Record(Record::RemoveQuestion(item)));
            }
        }
    }
}

/// What stands before an answer that comes as a message; a wait that takes the message back gives the answer alone.
pub(crate) fn before_answer(item: u64) -> String {
    format!("the person answered item {item}: ")
}
