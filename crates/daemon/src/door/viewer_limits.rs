//! Limits the number of viewers, in all and per process: a viewer has left the door, and so the limit of its
//! connections.
//!
//! It also knows which process is shown in whose terminal and refuses loops: a process that shows itself
//! would never become quiet. Dropping a permit frees its place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::{ErrorCode, Failure, ProcessId};

use super::caller_limits::CallPermit;

/// Viewers of all processes.
const IN_ALL: usize = 1024;
/// Viewers of one process: each is drawn for whenever it changes.
const PER_PROCESS: usize = 256;
/// How many of these may be in terminals of ours: the others are reserved for people outside.
const PER_PROCESS_WITHIN: usize = 192;

/// The viewers of each process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewerLimits {
    taken: Arc<Mutex<HashMap<ProcessId, usize>>>,
    /// Which process is shown in whose terminal, once per viewer: the one that shows, then the one that is
    /// shown.
    shown: Arc<Mutex<Vec<(ProcessId, ProcessId)>>>,
}

/// One viewer's place.
#[derive(Debug)]
pub(crate) struct ViewerPermit {
    viewer_limits: ViewerLimits,
    process: ProcessId,
    /// The process in whose terminal it is.
    within: Option<ProcessId>,
    /// Its permit among the viewers of its caller.
    _slip: Option<CallPermit>,
}

impl ViewerPermit {
    /// Adds the permit of its caller, held as long as this one.
    pub(super) fn counted_as(mut self, slip: CallPermit) -> Self {
        self._slip = Some(slip);
        self
    }
}

impl ViewerLimits {
    /// Returns a permit for one more viewer. A viewer that detaches the others always gets one for this
    /// process.
    pub(crate) fn acquire(&self, process: ProcessId, is_taking_over: bool) -> Result<ViewerPermit, Failure> {
        let mut taken = self.lock();
        if taken.values().sum::<usize>() >= IN_ALL {
            return Err(full(format!("there are {IN_ALL} viewers, which is the limit")));
        }
        let count = taken.entry(process).or_insert(0);
        if *count >= PER_PROCESS && !is_taking_over {
            return Err(full(format!("this process has {PER_PROCESS} viewers, which is the limit")));
        }
        *count += 1;
        Ok(ViewerPermit { viewer_limits: self.clone(), process, within: None, _slip: None })
    }

    /// Reserves a place for a viewer in the terminal of a process.
    pub(crate) fn acquire_within(
        &self,
        within: ProcessId,
        process: ProcessId,
        is_taking_over: bool,
    ) -> Result<ViewerPermit, Failure> {
        let mut shown = self.lock_shown();
        if shows(&shown, process, within) {
            let message = "it would show itself: you are in its terminal, or in one that is shown there";
            return Err(Failure::invalid("target", message)
                .hint("attach from a terminal outside; `qd logs` shows what it has printed"));
        }
        let within_it = shown.iter().filter(|(_, what)| *what == process).count();
        if within_it >= PER_PROCESS_WITHIN && !is_taking_over {
            let message =
                format!("this process has {PER_PROCESS_WITHIN} viewers in terminals of its own kind");
            return Err(full(message));
        }
        let mut permit = self.acquire(process, is_taking_over)?;
        shown.push((within, process));
        permit.within = Some(within);
        Ok(permit)
    }

    fn lock_shown(&self) -> MutexGuard<'_, Vec<(ProcessId, ProcessId)>> {
        // Every change is one entry, so a panic of another thread cannot have left half of it.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProcessId, usize>> {
        // Every change is one number, so a panic of another thread cannot have left half of it.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if `outer` shows `inner`: itself, in its terminal, or in a terminal that is shown there.
fn shows(shown: &[(ProcessId, ProcessId)], outer: ProcessId, inner: ProcessId) -> bool {
    let mut reached = vec![outer];
    let mut at = 0;
    while let Some(here) = reached.get(at).copied() {
        if here == inner {
            return true;
        }
        let next: Vec<_> = shown.iter().filter(|(by, _)| *by == here).map(|(_, what)| *what).collect();
        reached.extend(next.into_iter().filter(|what| !reached.contains(what)).collect::<Vec<_>>());
        at += 1;
    }
    false
}

impl Drop for ViewerPermit {
    fn drop(&mut self) {
        if let Some(within) = self.within {
            let mut shown = self.viewer_limits.lock_shown();
            if let Some(at) = shown.iter().position(|entry| *entry == (within, self.process)) {
                shown.swap_remove(at);
            }
        }
        let mut taken = self.viewer_limits.lock();
        if let Some(count) = taken.get_mut(&self.process) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.remove(&self.process);
            }
        }
    }
}

fn full(message: String) -> Failure {
    Failure::new(ErrorCode::Limit, message)
        .hint("detach some viewers; --take-over detaches a process's others")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(n: u64) -> ProcessId {
        ProcessId::from_entropy(n)
    }

    #[test]
    fn a_process_is_shown_neither_in_its_own_terminal_nor_in_one_that_is_shown_there() {
        let viewer_limits = ViewerLimits::default();
        let [a, b, c] = [1, 2, 3].map(process);
        let refused = viewer_limits.acquire_within(a, a, true).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgs);
        let a_shows_b = viewer_limits.acquire_within(a, b, false).unwrap();
        let b_shows_c = viewer_limits.acquire_within(b, c, false).unwrap();
        let again = viewer_limits.acquire_within(b, c, false).unwrap();
        assert!(viewer_limits.acquire_within(b, a, false).is_err());
        assert!(viewer_limits.acquire_within(c, a, false).is_err());
        assert!(viewer_limits.acquire_within(a, c, false).is_ok(), "the same twice is no circle");
        drop(b_shows_c);
        assert!(viewer_limits.acquire_within(c, a, false).is_err(), "the second of two still shows it");
        drop(again);
        drop(viewer_limits.acquire_within(c, a, false).unwrap());
        drop(a_shows_b);
        assert!(viewer_limits.lock().is_empty() && viewer_limits.lock_shown().is_empty());
    }

    #[test]
    fn d10_viewers_are_bounded_for_one_process_and_in_all_and_a_left_seat_is_free() {
        let viewer_limits = ViewerLimits::default();
        let mut seats: Vec<ViewerPermit> =
            (0..PER_PROCESS).map(|_| viewer_limits.acquire(process(0), false).unwrap()).collect();
        let refused = viewer_limits.acquire(process(0), false).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Limit);
        assert!(refused.message.contains("256"), "{}", refused.message);
        drop(seats.pop());
        seats.push(viewer_limits.acquire(process(0), false).unwrap());
        let more = (1..).map_while(|n| viewer_limits.acquire(process(n), false).ok());
        seats.extend(more);
        assert_eq!(seats.len(), IN_ALL);
        assert!(viewer_limits.acquire(process(0), true).is_err(), "in all is in all");
        seats.pop();
        seats.push(viewer_limits.acquire(process(0), true).unwrap());
        drop(seats);
        assert!(viewer_limits.lock().is_empty());
    }
}
