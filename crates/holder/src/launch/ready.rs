//! Holders that were forked ahead of their configuration: while the daemon looks a request up, decides about it and
//! records it, the forkserver can already fork. There are never more of them than starts that are announced.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::control::Forkserver;

/// The most holders that wait. Further starts fork theirs when they need it.
const MOST: usize = 8;

/// A forked holder that waits for its configuration. It ends by itself when its link is closed.
#[derive(Debug)]
pub(super) struct ReadyHolder {
    pub(super) forkserver: Arc<Forkserver>,
    pub(super) link: OwnedFd,
}

/// The holders that wait.
#[derive(Debug, Default)]
pub(super) struct ReadyHolders(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    holders: Vec<ReadyHolder>,
    /// Starts that are announced and not over yet.
    announced: usize,
}

impl ReadyHolders {
    /// Counts a start that was announced; returns true if a holder may be forked for it.
    pub(super) fn announce(&self) -> bool {
        let mut state = self.state();
        state.announced += 1;
        state.holders.len() < MOST
    }

    pub(super) fn put(&self, holder: ReadyHolder) {
        self.state().holders.push(holder);
    }

    /// Takes one for a start.
    pub(super) fn take(&self) -> Option<ReadyHolder> {
        self.state().holders.pop()
    }

    /// Counts the end of an announced start, and lets a holder go that no other one needs.
    pub(super) fn withdraw(&self) {
        let mut state = self.state();
        state.announced = state.announced.saturating_sub(1);
        let unneeded = if state.holders.len() > state.announced { state.holders.pop() } else { None };
        drop(state);
        drop(unneeded);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one step, so a panic of another thread cannot have left half of it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
