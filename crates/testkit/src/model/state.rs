//! The state that the server's threads and the test share: requests, gates, settings. The lock is held only
//! for look-ups and notes, so a std mutex suffices.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::script::Pause;
use super::{ModelOutcome, ModelRequest, Usage};

/// Shared by the test's handle and every connection.
#[derive(Debug)]
pub(super) struct ModelState {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<ModelRequest>,
    strays: Vec<String>,
    usage: Usage,
    gates: HashSet<String>,
    /// How often everything that hangs was released.
    releases: u64,
    is_over: bool,
}

/// How a wait of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Waited {
    Through,
    /// The client has left, or the server ends.
    Over,
}

impl ModelState {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new() }
    }

    /// Records a request under the next number.
    pub(super) fn note(&self, request: ModelRequest) -> Ticket {
        let mut state = self.lock();
        let ticket = Ticket { number: state.requests.len(), release: state.releases };
        state.requests.push(ModelRequest { number: ticket.number, ..request });
        self.changed.notify_all();
        ticket
    }

    /// Records something that is no request to a model.
    pub(super) fn note_stray(&self, what: String) {
        self.lock().strays.push(what);
    }

    /// Records how a request ended; the thread that answered it has the last word.
    pub(super) fn note_outcome(&self, ticket: Ticket, outcome: ModelOutcome) {
        self.change(|state| {
            if let Some(request) = state.requests.get_mut(ticket.number) {
                request.outcome = Some(outcome);
            }
        });
    }

    /// Records that the client is gone. After a whole answer every client leaves, so that is ignored.
    pub(super) fn note_leaving(&self, ticket: Ticket) {
        self.change(|state| {
            if let Some(request) = state.requests.get_mut(ticket.number) {
                request.outcome.get_or_insert(ModelOutcome::ClientLeft);
            }
        });
    }

    /// Waits until this request may continue.
    pub(super) fn pass(&self, ticket: Ticket, pauses: &[Pause]) -> Waited {
        for pause in pauses {
            let waited = match pause {
                Pause::Gate(name) => self.until(ticket, None, |state| state.gates.contains(name)),
                Pause::Slow(time) => self.until(ticket, Some(*time), |_| false),
            };
            if waited == Waited::Over {
                return Waited::Over;
            }
        }
        Waited::Through
    }

    /// Waits until the test releases what hangs.
    pub(super) fn hang(&self, ticket: Ticket) -> Waited {
        self.until(ticket, None, |state| state.releases > ticket.release)
    }

    fn until(
        &self,
        ticket: Ticket,
        longest: Option<Duration>,
        is_through: impl Fn(&State) -> bool,
    ) -> Waited {
        let until = longest.map(|longest| Instant::now() + longest);
        let mut state = self.lock();
        loop {
            let has_left = |request: &ModelRequest| request.outcome == Some(ModelOutcome::ClientLeft);
            if state.is_over || state.requests.get(ticket.number).is_some_and(has_left) {
                return Waited::Over;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if is_through(&state) || left.is_some_and(|left| left.is_zero()) {
                return Waited::Through;
            }
            let left = left.unwrap_or(Duration::MAX);
            state = self.changed.wait_timeout(state, left).expect("no thread panics with the board").0;
        }
    }

    /// Returns every request so far.
    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        self.lock().requests.clone()
    }

    /// Returns other requests.
    pub(super) fn strays(&self) -> Vec<String> {
        self.lock().strays.clone()
    }

    /// Waits for the first request that matches; `None` when the time is over.
    pub(super) fn find(
        &self,
        within: Duration,
        matches: impl Fn(&ModelRequest) -> bool,
    ) -> Option<ModelRequest> {
        let until = Instant::now() + within;
        let mut state = self.lock();
        loop {
            if let Some(found) = state.requests.iter().find(|request| matches(request)) {
                return Some(found.clone());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).expect("no thread panics with the board").0;
        }
    }

    pub(super) fn usage(&self) -> Usage {
        self.lock().usage
    }

    pub(super) fn set_usage(&self, usage: Usage) {
        self.change(|state| state.usage = usage);
    }

    pub(super) fn open(&self, gate: &str) {
        self.change(|state| {
            state.gates.insert(gate.to_owned());
        });
    }

    pub(super) fn release(&self) {
        self.change(|state| state.releases += 1);
    }

    pub(super) fn end(&self) {
        self.change(|state| state.is_over = true);
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with the board")
    }
}

/// A noted request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    pub(super) number: usize,
    /// The number of releases before it: a release right after the test saw the request still counts for it.
    release: u64,
}
