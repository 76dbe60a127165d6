//! A worker's way to the engine: facts in order, never lost, never waited for.
//!
//! Owns what could not be sent yet. Refuses blocking: the engine may be waiting for this very worker.

use std::collections::VecDeque;

use engine::{Fact, Input, RunKey};
use tokio::sync::mpsc::{self, error::TrySendError};

/// Facts on their way.
pub(crate) struct FactLane {
    engine: mpsc::Sender<Input>,
    /// Full-queue policy: kept here, in order, and retried every turn. Bounded because of what a child or a viewer can say
    /// without end only the newest waits, and the others come a few per run.
    waiting: VecDeque<Input>,
}

impl FactLane {
    pub(crate) fn new(engine: mpsc::Sender<Input>) -> Self {
        Self { engine, waiting: VecDeque::new() }
    }

    /// Says one thing about a run.
    pub(crate) fn say(&mut self, run: RunKey, fact: Fact) {
        self.tell(Input::Fact { run, fact });
    }

    /// Says what is not about a run the engine knows yet.
    pub(crate) fn tell(&mut self, input: Input) {
        self.waiting.retain(|earlier| !is_outdated(earlier, &input));
        self.waiting.push_back(input);
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

/// Whether nobody misses the earlier of two things when the later is said: both are the same thing about the same
/// somebody, and only how it is now counts.
fn is_outdated(earlier: &Input, later: &Input) -> bool {
    let (Input::Fact { run, fact }, Input::Fact { run: later_run, fact: later }) = (earlier, later) else {
        return false;
    };
    let is_same = match (fact, later) {
        (Fact::Output { .. }, Fact::Output { .. }) | (Fact::Title(_), Fact::Title(_)) => true,
        (Fact::Typed { by, viewer }, Fact::Typed { by: later_by, viewer: later }) => {
            (by, viewer) == (later_by, later)
        }
        // A wish to own the size is not the news that it changed: it counts although the size is another by now.
        (
            Fact::ViewerResized { viewer, owns, .. },
            Fact::ViewerResized { viewer: later, owns: later_owns, .. },
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

    fn resized(viewer: u64, cols: u16, owns: bool) -> Fact {
        Fact::ViewerResized { viewer: ViewerId(viewer), size: Size { cols, rows: 24 }, owns }
    }

    /// Everything that comes out of a queue with room for one.
    fn said(facts: &[(RunKey, Fact)]) -> Vec<String> {
        let (engine, mut heard) = mpsc::channel(1);
        let mut lane = FactLane::new(engine);
        lane.say(run(9), Fact::TreeGone);
        facts.iter().for_each(|(run, fact)| lane.say(*run, fact.clone()));
        let mut all = Vec::new();
        while let Ok(input) = heard.try_recv() {
            all.push(format!("{input:?}"));
            lane.flush();
        }
        assert!(lane.is_clear());
        all.split_off(1)
    }

    fn shown(run: RunKey, fact: Fact) -> String {
        format!("{:?}", Input::Fact { run, fact })
    }

    #[test]
    fn a_viewer_that_asks_without_end_waits_for_the_engine_once_per_wish() {
        let mut asked: Vec<_> = Vec::new();
        for cols in 100..300 {
            asked.push((run(1), resized(1, cols, false)));
            asked.push((run(1), resized(1, cols, true)));
            asked.push((run(1), Fact::Typed { by: Owner::User, viewer: Some(ViewerId(1)) }));
            asked.push((run(1), Fact::Typed { by: Owner::User, viewer: Some(ViewerId(2)) }));
            asked.push((run(1), Fact::Output { end: cols.into() }));
            asked.push((run(1), Fact::Title(format!("{cols}"))));
        }
        assert!(
            said(&asked)
                == asked
                    .split_off(asked.len() - 6)
                    .into_iter()
                    .map(|(run, fact)| shown(run, fact))
                    .collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_others_say_and_what_happens_once_waits_in_order() {
        let told = [
            (run(1), resized(1, 100, true)),
            (run(1), resized(2, 90, false)),
            (run(2), resized(1, 80, true)),
            (run(1), Fact::ViewerLeft { viewer: ViewerId(2) }),
            (run(1), resized(1, 101, false)),
            (run(1), Fact::TreeGone),
            (run(1), Fact::TreeGone),
        ];
        assert_eq!(said(&told), told.map(|(run, fact)| shown(run, fact)));
    }
}
