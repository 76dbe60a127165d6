//! A worker's way to the engine: facts in order, never lost, never waited for.
//!
//! Owns what could not be sent yet. Refuses blocking: the engine may be waiting for this very worker.

use std::collections::VecDeque;

use engine::{Fact, Input, RunKey};
use tokio::sync::mpsc::{self, error::TrySendError};

/// Facts on their way.
pub(crate) struct FactLane {
    engine: mpsc::Sender<Input>,
    /// Full-queue policy: kept here, in order, and retried every turn. Bounded because repeating facts are coalesced at
    /// their source and the others come a few per run.
    waiting: VecDeque<Input>,
}

impl FactLane {
    pub(crate) fn new(engine: mpsc::Sender<Input>) -> Self {
        Self { engine, waiting: VecDeque::new() }
    }

    /// Says one thing about a run.
    pub(crate) fn say(&mut self, run: RunKey, fact: Fact) {
        self.waiting.push_back(Input::Fact { run, fact });
        self.flush();
    }

    /// Sends what waits; whether all is out.
    pub(crate) fn flush(&mut self) -> bool {
        while let Some(input) = self.waiting.pop_front() {
            match self.engine.try_send(input) {
                Ok(()) => {}
                Err(TrySendError::Full(input)) => {
                    self.waiting.push_front(input);
                    return false;
                }
                Err(TrySendError::Closed(_)) => self.waiting.clear(),
            }
        }
        true
    }

    /// Whether nothing waits.
    pub(crate) fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A sender for a thread that may block.
    pub(crate) fn sender(&self) -> mpsc::Sender<Input> {
        self.engine.clone()
    }
}
