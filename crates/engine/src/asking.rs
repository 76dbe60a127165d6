//! Questions that agents ask the person.
//!
//! Owns a question from its asking to its answer. Refuses answering for the person.

use proto::agent::InboxItem;
use serde::{Deserialize, Serialize};

use crate::Engine;

/// One open question or call for attention as it is made durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// What the person sees.
    pub view: InboxItem,
    /// The run that asked.
    pub run: proto::RunNumber,
}

impl Engine {
    pub(crate) fn restore_questions(&mut self, _saved: Vec<QuestionRecord>) {}
}
