//! How much of the door one caller may have: connections, calls under way, waits, viewers and memory
//! for requests that are not whole yet.
//!
//! One run cannot starve another, and all runs together cannot starve people: what is not a person's has a share of its
//! own, and the rest is kept for people. A person's own programs cannot lock the person out: the last connections are a
//! reserve for short calls of people. A count goes down when its permit is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::Caller;
use proto::{ErrorCode, Failure};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::caller::Who;

/// Connections of all callers.
pub(super) const CONNECTIONS: usize = 1024;
/// The last of them: for people who find all others in use, and only while a call is under way.
const RESERVE: usize = 64;
/// How long a connection of the reserve may be idle before it is closed.
pub(super) const RESERVE_IDLE: Duration = Duration::from_millis(500);
/// Connections of all callers that are not people; the others are reserved for people.
const CONNECTIONS_OF_RUNS: usize = 640;
/// Viewers of all who are not people.
const VIEWERS_OF_RUNS: usize = 640;

/// Memory is counted in pieces of this size.
const PIECE: usize = 64 << 10; // 64 KiB
/// Memory for a request that every connection may use uncounted.
const UNCOUNTED: usize = 128 << 10; // 128 KiB

/// What one caller may have at once.
#[derive(Clone, Copy, Debug)]
struct Limits {
    connections: usize,
    calls: usize,
    waits: usize,
    viewers: usize,
    /// Bytes of requests that are not whole yet.
    input: usize,
}

const OF_PEOPLE: Limits =
    Limits { connections: CONNECTIONS, calls: 4096, waits: 2048, viewers: CONNECTIONS, input: 256 << 20 };
const OF_A_PROCESS: Limits =
    Limits { connections: 128, calls: 256, waits: 128, viewers: 64, input: 32 << 20 };
/// All who could not be identified together: they may ask only how the daemon is, and wait to be placed.
const OF_NOBODY: Limits = Limits { connections: 256, calls: 256, waits: 1, viewers: 1, input: 8 << 20 };

fn limits(who: Who) -> Limits {
    match who {
        Who::People => OF_PEOPLE,
        Who::Process(_) => OF_A_PROCESS,
        Who::Nobody => OF_NOBODY,
    }
}

/// What one caller may still use.
#[derive(Debug)]
struct Allowance {
    limits: Limits,
    connections: Arc<Semaphore>,
    calls: Arc<Semaphore>,
    waits: Arc<Semaphore>,
    viewers: Arc<Semaphore>,
    input: Arc<Semaphore>,
}

impl Allowance {
    fn new(limits: Limits) -> Self {
        let room = |count| Arc::new(Semaphore::new(count));
        Self {
            limits,
            connections: room(limits.connections),
            calls: room(limits.calls),
            waits: room(limits.waits),
            viewers: room(limits.viewers),
            input: room(limits.input / PIECE),
        }
    }
}

/// All allowances. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Quotas {
    /// A short lock: look-ups and inserts only.
    callers: Arc<Mutex<HashMap<Who, Arc<Allowance>>>>,
    /// Connections that are not in the reserve.
    connections: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
    connections_of_runs: Arc<Semaphore>,
    viewers_of_runs: Arc<Semaphore>,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            callers: Arc::default(),
            connections: Arc::new(Semaphore::new(CONNECTIONS - RESERVE)),
            reserve: Arc::new(Semaphore::new(RESERVE)),
            connections_of_runs: Arc::new(Semaphore::new(CONNECTIONS_OF_RUNS)),
            viewers_of_runs: Arc::new(Semaphore::new(VIEWERS_OF_RUNS)),
        }
    }
}

/// One connection's permit, with its caller's allowance.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    quotas: Quotas,
    who: Who,
    allowance: Arc<Allowance>,
    is_of_reserve: bool,
    _any: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    _shared: Option<OwnedSemaphorePermit>,
}

/// The permit of one call, wait or viewer. The allowance stays as long as anything of it is in use.
#[derive(Debug)]
pub(crate) struct CallPermit {
    _allowance: Arc<Allowance>,
    _own: OwnedSemaphorePermit,
    _shared: Option<OwnedSemaphorePermit>,
}

/// Memory of one connection for a request that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct InputPermit {
    pieces: usize,
    _own: Option<OwnedSemaphorePermit>,
}

impl Quotas {
    /// Returns a permit for one more connection of this caller.
    pub(crate) fn admit(&self, caller: Caller) -> Result<ConnectionPermit, Failure> {
        let who = Who::of(caller);
        let allowance = self.allowance(who);
        let limit = allowance.limits.connections;
        let own = try_acquire(&allowance.connections).ok_or_else(|| full(limit, "connections"))?;
        let shared = self.shared(who, &self.connections_of_runs, CONNECTIONS_OF_RUNS, "connections")?;
        let (any, is_of_reserve) = self.any(who)?;
        let quotas = self.clone();
        Ok(ConnectionPermit { quotas, who, allowance, is_of_reserve, _any: any, _own: own, _shared: shared })
    }

    /// Returns one of all connections, and true if it is of the reserve.
    fn any(&self, who: Who) -> Result<(OwnedSemaphorePermit, bool), Failure> {
        if let Some(permit) = try_acquire(&self.connections) {
            return Ok((permit, false));
        }
        let reserve = try_acquire(&self.reserve).filter(|_| who == Who::People);
        reserve.map(|permit| (permit, true)).ok_or_else(all_in_use)
    }

    fn allowance(&self, who: Who) -> Arc<Allowance> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        // Callers without anything in use are forgotten.
        callers.retain(|_, allowance| Arc::strong_count(allowance) > 1);
        Arc::clone(callers.entry(who).or_insert_with(|| Arc::new(Allowance::new(limits(who)))))
    }

    fn shared(
        &self,
        who: Who,
        room: &Arc<Semaphore>,
        limit: usize,
        what: &str,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if who == Who::People {
            return Ok(None);
        }
        let message = format!(
            "all processes together have {limit} {what}, which is the limit: the rest is reserved for people"
        );
        try_acquire(room).map(Some).ok_or_else(|| Failure::new(ErrorCode::Limit, message).hint(HINT))
    }
}

impl ConnectionPermit {
    /// Returns true if the connection is for short calls only and is closed when it is idle.
    pub(crate) fn is_of_reserve(&self) -> bool {
        self.is_of_reserve
    }

    /// Returns a permit for one more call.
    pub(crate) fn call(&self) -> Result<CallPermit, Failure> {
        self.slip(&self.allowance.calls, self.allowance.limits.calls, "calls under way")
    }

    /// Returns a permit for one more wait.
    pub(crate) fn wait(&self) -> Result<CallPermit, Failure> {
        self.check_long()?;
        self.slip(&self.allowance.waits, self.allowance.limits.waits, "waits")
    }

    /// Returns a permit for one more viewer.
    pub(crate) fn viewer(&self) -> Result<CallPermit, Failure> {
        self.check_long()?;
        let mut slip = self.slip(&self.allowance.viewers, self.allowance.limits.viewers, "viewers")?;
        let room = &self.quotas.viewers_of_runs;
        slip._shared = self.quotas.shared(self.who, room, VIEWERS_OF_RUNS, "viewers")?;
        Ok(slip)
    }

    /// Refuses what may last on a connection of the reserve.
    pub(crate) fn check_long(&self) -> Result<(), Failure> {
        if self.is_of_reserve { Err(all_in_use()) } else { Ok(()) }
    }

    /// Counts the memory that a connection uses for a request that is not whole yet.
    pub(crate) fn count_input(&self, bytes: usize, held: &mut InputPermit) -> Result<(), Failure> {
        let pieces = if bytes > UNCOUNTED { bytes.div_ceil(PIECE) } else { 0 };
        if pieces == held.pieces {
            return Ok(());
        }
        *held = InputPermit::default();
        if pieces > 0 {
            let count = u32::try_from(pieces).unwrap_or(u32::MAX);
            let own = Arc::clone(&self.allowance.input).try_acquire_many_owned(count).map_err(|_| {
                let limit = self.allowance.limits.input >> 20;
                let message = format!(
                    "your requests that are not finished have {limit} MiB together, which is the limit"
                );
                Failure::new(ErrorCode::Limit, message).hint(HINT)
            })?;
            *held = InputPermit { pieces, _own: Some(own) };
        }
        Ok(())
    }

    fn slip(&self, room: &Arc<Semaphore>, limit: usize, what: &str) -> Result<CallPermit, Failure> {
        let own = try_acquire(room).ok_or_else(|| full(limit, what))?;
        Ok(CallPermit { _allowance: Arc::clone(&self.allowance), _own: own, _shared: None })
    }
}

const HINT: &str = "end some of them first";

fn try_acquire(room: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(room).try_acquire_owned().ok()
}

/// Returns the error of a caller that finds every connection in use.
pub(super) fn all_in_use() -> Failure {
    let message = format!(
        "{} connections are open; the last {RESERVE} are reserved for short calls of people",
        CONNECTIONS - RESERVE
    );
    Failure::new(ErrorCode::Limit, message).hint("end some of the programs that hold connections")
}

fn full(limit: usize, what: &str) -> Failure {
    Failure::new(ErrorCode::Limit, format!("this caller has {limit} {what}, which is the limit")).hint(HINT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::RunKey;
    use proto::{ProcessId, RunNumber};

    fn process(n: u64) -> Caller {
        Caller::Process(RunKey::new(ProcessId::from_entropy(n), RunNumber(1)))
    }

    fn all(quotas: &Quotas, caller: Caller) -> Vec<ConnectionPermit> {
        std::iter::from_fn(|| quotas.admit(caller).ok()).take(2 * CONNECTIONS).collect()
    }

    #[test]
    fn m5_one_run_has_its_share_of_connections_all_runs_have_theirs_and_people_have_the_rest() {
        let quotas = Quotas::default();
        let first = all(&quotas, process(1));
        assert_eq!(first.len(), OF_A_PROCESS.connections);
        assert_eq!(quotas.admit(process(1)).unwrap_err().code, ErrorCode::Limit);
        let again = Caller::Via(RunKey::new(ProcessId::from_entropy(1), RunNumber(2)));
        assert!(quotas.admit(again).is_err(), "a new run of it has no new share");
        let others: Vec<ConnectionPermit> =
            (2..100).chain([0]).flat_map(|n| all(&quotas, process(n))).collect();
        assert_eq!(first.len() + others.len(), CONNECTIONS_OF_RUNS);
        assert!(quotas.admit(Caller::Nobody).is_err());
        let people: Vec<ConnectionPermit> =
            (0..CONNECTIONS - CONNECTIONS_OF_RUNS).map(|_| quotas.admit(Caller::Person).unwrap()).collect();
        assert!(people.iter().filter(|permit| permit.is_of_reserve()).count() == RESERVE);
        drop(first);
        assert_eq!(all(&quotas, process(1)).len(), OF_A_PROCESS.connections, "what is left is free");
        drop((others, people));
        assert!(quotas.admit(Caller::Person).is_ok());
        assert_eq!(quotas.callers.lock().unwrap().len(), 1, "who has nothing in use is forgotten");
    }

    #[test]
    fn m5_the_last_connections_are_for_short_calls_of_people() {
        let quotas = Quotas::default();
        let idle: Vec<ConnectionPermit> =
            (0..CONNECTIONS - RESERVE).map(|_| quotas.admit(Caller::Person).unwrap()).collect();
        assert!(idle.iter().all(|permit| !permit.is_of_reserve()));
        assert_eq!(quotas.admit(process(1)).unwrap_err().code, ErrorCode::Limit);
        let short = quotas.admit(Caller::Person).unwrap();
        assert!(short.is_of_reserve() && short.call().is_ok());
        assert!(
            short.wait().is_err() && short.viewer().is_err(),
            "what may last has no place in the reserve"
        );
        drop(idle);
        assert!(quotas.admit(Caller::Person).unwrap().wait().is_ok());
    }

    #[test]
    fn m5_calls_waits_and_viewers_of_one_caller_are_counted_over_all_its_connections() {
        let quotas = Quotas::default();
        let [one, two] = [process(1), process(1)].map(|caller| quotas.admit(caller).unwrap());
        let stranger = quotas.admit(process(2)).unwrap();
        type Ask = fn(&ConnectionPermit) -> Result<CallPermit, Failure>;
        let kinds: [(Ask, usize); 3] = [
            (ConnectionPermit::call, OF_A_PROCESS.calls),
            (ConnectionPermit::wait, OF_A_PROCESS.waits),
            (ConnectionPermit::viewer, OF_A_PROCESS.viewers),
        ];
        for (ask, limit) in kinds {
            let mut slips: Vec<CallPermit> = (0..limit).map(|n| ask([&one, &two][n % 2]).unwrap()).collect();
            assert_eq!(ask(&two).unwrap_err().code, ErrorCode::Limit);
            assert!(ask(&stranger).is_ok(), "another caller's share is its own");
            slips.pop();
            assert!(ask(&one).is_ok());
        }
    }

    #[test]
    fn m5_memory_for_requests_that_are_not_whole_is_counted_over_all_connections_of_a_caller() {
        let quotas = Quotas::default();
        let connections: Vec<ConnectionPermit> =
            (0..128).map(|_| quotas.admit(process(1)).unwrap()).collect();
        let mut held: Vec<InputPermit> = connections.iter().map(|_| InputPermit::default()).collect();
        let count = |held: &mut [InputPermit], bytes| {
            let pairs = connections.iter().zip(held);
            pairs.map(|(connection, held)| connection.count_input(bytes, held)).filter(Result::is_ok).count()
        };
        assert_eq!(count(&mut held, UNCOUNTED), 128, "what every request needs is not counted");
        assert_eq!(count(&mut held, 4 << 20), 8);
        let stranger = quotas.admit(process(2)).unwrap();
        assert!(stranger.count_input(4 << 20, &mut InputPermit::default()).is_ok());
        assert_eq!(count(&mut held, 0), 128);
        assert_eq!(count(&mut held, 8 << 20), 4, "what is whole is free again");
    }

    #[test]
    fn m5_a_viewer_counts_after_its_connection_has_become_one() {
        let quotas = Quotas::default();
        let seats: Vec<CallPermit> =
            (0..OF_A_PROCESS.viewers).map(|_| quotas.admit(process(1)).unwrap().viewer().unwrap()).collect();
        assert!(quotas.admit(process(1)).unwrap().viewer().is_err());
        drop(seats);
        assert!(quotas.admit(process(1)).unwrap().viewer().is_ok());
    }
}
