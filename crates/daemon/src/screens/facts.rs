//! The worker's queue of facts for the engine: in order, never lost, never blocking, because the engine may
//! be waiting for this very worker.

use std::collections::VecDeque;

use engine::{Input, RunFact, RunKey};
use tokio::sync::mpsc::{self, error::TrySendError};

/// Facts on their way.
pub(crate) struct FactQueue {
    engine: mpsc::Sender<Input>,
    /// When the engine's queue is full, facts are kept here, in order, and retried every turn. It is bounded:
    /// of what a child or a viewer can repeat without end only the newest waits, and the others come a few
    /// per run.
    waiting: VecDeque<Input>,
}

impl FactQueue {
    pub(crate) fn new(engine: mpsc::Sender<Input>) -> Self {
        Self { engine, waiting: VecDeque::new() }
    }

    /// Adds a fact about a run.
    pub(crate) fn push_fact(&mut self, run: RunKey, fact: RunFact) {
        self.push_input(Input::Fact { run, fact });
    }

    /// Adds an input about a run that the engine does not know yet.
    pub(crate) fn push_input(&mut self, input: Input) {
        self.waiting.retain(|earlier| !is_outdated(earlier, &input));
        self.waiting.push_back(input);
        self.flush();
    }

    /// Sends what waits; returns true when all is sent.
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

    /// Returns true if nothing waits.
    pub(crate) fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns a sender for a thread that may block.
    pub(crate) fn sender(&self) -> mpsc::Sender<Input> {
        self.engine.clone()
    }
}

/// Returns true if the later input replaces the earlier: both are about the same thing, and only its present
/// state counts.
fn is_outdated(earlier: &Input, later: &Input) -> bool {
    let (Input::Fact { run, fact }, Input::Fact { run: later_run, fact: later }) = (earlier, later) else {
        return false;
    };
    let is_same = match (fact, later) {
        (RunFact::Output { .. }, RunFact::Output { .. }) | (RunFact::Title(_), RunFact::Title(_)) => true,
        (RunFact::Typed { by, viewer }, RunFact::Typed { by: later_by, viewer: later }) => {
            (by, viewer) == (later_by, later)
        }
        // A request to own the size is not the same as a change of size: it counts although the size has
        // changed since.
        (
            RunFact::ViewerResized { viewer, owns, .. },
            RunFact::ViewerResized { viewer: later, owns: later_owns, .. },
        ) => (viewer, owns) == (later, later_owns),
        _ => false,
    };
    run == later_run && is_same
}

#[cfg(test)]
mod tests {
    use engine::ViewerId;
    use proto::{Owner, ProcessId, RunNumber, Size};

    use super::*;

    fn run(process: u64) -> RunKey {
        RunKey { process: ProcessId::from_entropy(process), run: RunNumber(1) }
    }

    fn resized(viewer: u64, cols: u16, owns: bool) -> RunFact {
        RunFact::ViewerResized { viewer: ViewerId(viewer), size: Size { cols, rows: 24 }, owns }
    }

    /// Pushes these facts into a queue with room for one; returns, in words, what reaches the engine.
    fn said(facts: &[(RunKey, RunFact)]) -> Vec<String> {
        let (engine, mut heard) = mpsc::channel(1);
        let mut input_queue = FactQueue::new(engine);
        input_queue.push_fact(run(9), RunFact::TreeGone);
        facts.iter().for_each(|(run, fact)| input_queue.push_fact(*run, fact.clone()));
        let mut all = Vec::new();
        while let Ok(input) = heard.try_recv() {
            all.push(format!("{input:?}"));
            input_queue.flush();
        }
        assert!(input_queue.is_clear());
        all.split_off(1)
    }

    fn describe(run: RunKey, fact: RunFact) -> String {
        format!("{:?}", Input::Fact { run, fact })
    }

    #[test]
    fn a_viewer_that_asks_without_end_waits_for_the_engine_once_per_wish() {
        let mut asked: Vec<_> = Vec::new();
        for cols in 100..300 {
            asked.push((run(1), resized(1, cols, false)));
            asked.push((run(1), resized(1, cols, true)));
            asked.push((run(1), RunFact::Typed { by: Owner::User, viewer: Some(ViewerId(1)) }));
            asked.push((run(1), RunFact::Typed { by: Owner::User, viewer: Some(ViewerId(2)) }));
            asked.push((run(1), RunFact::Output { end: cols.into() }));
            asked.push((run(1), RunFact::Title(format!("{cols}"))));
        }
        assert!(
            said(&asked)
                == asked
                    .split_off(asked.len() - 6)
                    .into_iter()
                    .map(|(run, fact)| describe(run, fact))
                    .collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_others_say_and_what_happens_once_waits_in_order() {
        let facts = [
            (run(1), resized(1, 100, true)),
            (run(1), resized(2, 90, false)),
            (run(2), resized(1, 80, true)),
            (run(1), RunFact::ViewerLeft { viewer: ViewerId(2) }),
            (run(1), resized(1, 101, false)),
            (run(1), RunFact::TreeGone),
            (run(1), RunFact::TreeGone),
        ];
        assert_eq!(said(&facts), facts.map(|(run, fact)| describe(run, fact)));
    }
}
