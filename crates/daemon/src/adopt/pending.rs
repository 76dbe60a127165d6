//! Runs whose holder has not been heard yet, and the wish to end one all the same.
//!
//! Owns the list. Refuses ending anything itself: whoever looks for the holder does.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::RunKey;
use tokio::sync::Notify;

/// Runs that are looked for. Cheap to clone; a short lock: look-ups and inserts only.
#[derive(Clone, Default)]
pub(crate) struct PendingHolders {
    runs: Arc<Mutex<HashMap<RunKey, Arc<Notify>>>>,
}

impl PendingHolders {
    /// This run is looked for from now on; told when it is to end.
    pub(super) fn add(&self, run: RunKey) -> Arc<Notify> {
        Arc::clone(self.lock().entry(run).or_default())
    }

    /// It was found, or is gone.
    pub(super) fn remove(&self, run: RunKey) {
        self.lock().remove(&run);
    }

    /// Those that are looked for.
    pub(super) fn runs(&self) -> HashSet<RunKey> {
        self.lock().keys().copied().collect()
    }

    /// Whether it is looked for.
    pub(crate) fn has(&self, run: RunKey) -> bool {
        self.lock().contains_key(&run)
    }

    /// Ends it, although its holder is silent; whether it is one of those.
    pub(crate) fn end(&self, run: RunKey) -> bool {
        let end = self.lock().get(&run).map(Arc::clone);
        end.inspect(|end| end.notify_one()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunKey, Arc<Notify>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
