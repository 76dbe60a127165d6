//! The runs whose holder has not answered yet, and requests to end one of them anyway. The probe of the run
//! ends it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::RunKey;
use tokio::sync::Notify;

/// Runs whose holder is being looked for. Cheap to clone; the lock is held for look-ups and inserts only.
#[derive(Clone, Default)]
pub(crate) struct PendingHolders {
    runs: Arc<Mutex<HashMap<RunKey, Arc<Notify>>>>,
}

impl PendingHolders {
    /// Adds a run; the returned notification fires when the run is to end.
    pub(super) fn add(&self, run: RunKey) -> Arc<Notify> {
        Arc::clone(self.lock().entry(run).or_default())
    }

    /// Removes a run that was found or is gone.
    pub(super) fn remove(&self, run: RunKey) {
        self.lock().remove(&run);
    }

    /// Returns the runs that are being looked for.
    pub(super) fn runs(&self) -> HashSet<RunKey> {
        self.lock().keys().copied().collect()
    }

    /// Returns true if the run is being looked for.
    pub(crate) fn has(&self, run: RunKey) -> bool {
        self.lock().contains_key(&run)
    }

    /// Requests the end of a run whose holder is silent; returns false if it is not one of these. A lost run waits for
    /// the earlier holders of its process, which end with it.
    pub(crate) fn end(&self, run: RunKey) -> bool {
        let runs = self.lock();
        let is_pending = runs.contains_key(&run);
        let of_process = runs.iter().filter(|(other, _)| is_pending && other.process == run.process);
        of_process.for_each(|(_, end)| end.notify_one());
        is_pending
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunKey, Arc<Notify>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
