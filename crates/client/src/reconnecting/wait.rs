//! A wait across the ends of daemons. The repeated wait has the same runs, the same starting point in the
//! output and the same deadline. A run that was started meanwhile ends it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proto::reply::{Satisfied, Waited};
use proto::request::{Quantifier, Target, Until, Wait};
use proto::{ErrorCode, Failure, ProcessId, Reply, Request, RunNumber};

use super::check_runs;
use crate::protocol::outcome;
use crate::reconnect::{Reconnected, reconnect};
use crate::reconnect_policy::{Attempts, RetryLimit};
use crate::verbs::unexpected;
use crate::{ClientError, Connection, DaemonAddress, Incoming, Stops};

/// One target as it was when the wait began.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    id: ProcessId,
    run: RunNumber,
    /// Where its log ended.
    offset: u64,
}

/// Waits as [`Connection::wait`] does. The end of a daemon does not end it.
pub fn wait(address: &mut DaemonAddress, request: Wait) -> Result<Waited, ClientError> {
    let deadline = request.timeout_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
    let mut connection = address.connect()?;
    let mut beginnings = None;
    loop {
        let answer = match &beginnings {
            None => begin(&mut connection, &request, &mut beginnings),
            Some(known) => go_on(&mut connection, &request, known, deadline),
        };
        let parting = match answer {
            Err(error) if error.is_leaving() => error,
            answer => return answer,
        };
        let attempts = Attempts::new(RetryLimit::Stream, Instant::now()).before(deadline);
        connection = match reconnect(address, &mut Stops::default(), attempts, parting) {
            Ok(Reconnected::There(connection)) => connection,
            Ok(Reconnected::Stopped(_)) => return Err(ClientError::gone()),
            Err(_) if is_past(deadline) => return Err(timed_out()),
            Err(error) => return Err(error),
        };
    }
}

/// Records the state of the targets, then sends the request.
fn begin(
    connection: &mut Connection,
    request: &Wait,
    beginnings: &mut Option<Vec<Option<Beginning>>>,
) -> Result<Waited, ClientError> {
    *beginnings = Some(match request.until {
        // A condition that stays true once it is true needs no starting point.
        Until::Ready(_) | Until::Timer(_) | Until::Item(_) => vec![None; request.targets.len()],
        _ => read_beginnings(connection, &request.targets)?,
    });
    connection.wait(request.clone())
}

fn read_beginnings(
    connection: &mut Connection,
    targets: &[Target],
) -> Result<Vec<Option<Beginning>>, ClientError> {
    let all = connection.list()?;
    let beginning = |target: &Target| {
        let mut views = all.iter();
        let view = views.find(|view| view.name.as_str() == target.0 || view.id.to_string() == target.0)?;
        Some(Beginning { id: view.id, run: view.run, offset: view.live.log.end })
    };
    Ok(targets.iter().map(beginning).collect())
}

/// Repeats the wait with the next daemon.
fn go_on(
    connection: &mut Connection,
    request: &Wait,
    beginnings: &[Option<Beginning>],
    deadline: Option<Instant>,
) -> Result<Waited, ClientError> {
    if is_past(deadline) {
        return Err(timed_out());
    }
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let timeout_ms = left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    let runs: Vec<_> = beginnings.iter().flatten().map(|known| (known.id, known.run)).collect();
    check_runs(connection, &runs)?;
    let target = |(target, beginning): (&Target, &Option<Beginning>)| {
        beginning.map_or_else(|| target.clone(), |beginning| Target(beginning.id.to_string()))
    };
    let targets = request.targets.iter().zip(beginnings).map(target).collect();
    let request = Wait { targets, timeout_ms, ..request.clone() };
    let is_from_now = request.since.is_none() && request.since_version.is_none();
    if !matches!(request.until, Until::Pattern(_)) || !is_from_now {
        return connection.wait(request);
    }
    // Each log has its own starting point, and a call has one for all its targets, so each target gets a
    // call.
    let each = request.targets.iter().zip(beginnings).map(|(target, beginning)| Wait {
        targets: vec![target.clone()],
        since: beginning.map(|beginning| beginning.offset),
        ..request.clone()
    });
    gather(connection, each.collect(), request.quantifier)
}

/// Combines several waits into one: it ends with the first that is satisfied, or with the last.
fn gather(
    connection: &mut Connection,
    each: Vec<Wait>,
    quantifier: Quantifier,
) -> Result<Waited, ClientError> {
    let ids: Vec<u64> =
        each.into_iter().map(|wait| connection.send(Request::Wait(wait))).collect::<Result<_, _>>()?;
    let (mut found, mut open) = (BTreeMap::<usize, Vec<Satisfied>>::new(), ids.len());
    loop {
        let incoming = connection.receive()?.ok_or_else(ClientError::gone)?;
        let Incoming::Answer(answer) = incoming else { continue };
        let place = ids.iter().position(|id| *id == answer.id).unwrap_or(ids.len());
        open = open.saturating_sub(1);
        match outcome(answer.outcome) {
            Ok(Reply::Waited(waited)) => drop(found.insert(place, waited.satisfied)),
            Ok(other) => return Err(unexpected("wait", &other)),
            // One of several that can no longer be satisfied leaves it to the others.
            Err(ClientError::Failed(failure))
                if quantifier == Quantifier::Any && open > 0 && failure.code == ErrorCode::NotRunning => {}
            Err(error) => return Err(error),
        }
        if open == 0 || (quantifier == Quantifier::Any && !found.is_empty()) {
            return Ok(Waited { satisfied: found.into_values().flatten().collect() });
        }
    }
}

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

fn timed_out() -> ClientError {
    let failure = Failure::new(ErrorCode::Timeout, "the wait timed out while there was no daemon");
    failure.hint("raise --timeout, or look with qd read").into()
}
