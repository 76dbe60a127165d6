//! The runs that this server has started and whose output its agent has not waited for yet. The first wait on such a run
//! counts from its start: a server may print "listening" before the wait begins.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use proto::{ProcessId, RunNumber};

/// Most runs that are remembered; the oldest goes first.
const MAX_RUNS: usize = 256;

/// The runs, newest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartedRuns(Arc<Mutex<VecDeque<StartedRun>>>);

/// One run of a process.
pub(crate) type StartedRun = (ProcessId, RunNumber);

impl StartedRuns {
    pub(crate) fn add(&self, run: StartedRun) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= MAX_RUNS {
            runs.pop_front();
        }
        runs.push_back(run);
    }

    pub(crate) fn has(&self, run: StartedRun) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&run)
    }

    /// Forgets a run, because a wait on it was satisfied: the next one counts only what is new.
    pub(crate) fn forget(&self, run: StartedRun) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != run);
    }
}
