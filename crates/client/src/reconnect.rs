//! Reaches the next daemon after one is gone, as the [policy](crate::reconnect_policy) says; the blocking
//! driver of that policy.

use std::time::Instant;

use crate::reconnect_policy::{Attempts, RetryLimit};
use crate::stream_end::{Stops, StreamEnd};
use crate::{ClientError, Connection, DaemonAddress};

/// The result of waiting for the next daemon.
#[derive(Debug)]
pub(crate) enum Reconnected<T> {
    /// It is there and was greeted; this is the result of `begin`.
    There(T),
    /// This side stopped meanwhile.
    Stopped(StreamEnd),
}

/// Waits for the next daemon, until `deadline` at most. Returns the error that ended the previous one where
/// no other can come.
pub(crate) fn reconnect(
    address: &mut DaemonAddress,
    stops: &mut Stops,
    attempts: Attempts,
    parting: ClientError,
) -> Result<Reconnected<Connection>, ClientError> {
    if address.is_private() {
        return Err(parting);
    }
    let mut attempts = attempts;
    loop {
        let error = match address.reconnect_before(attempts.attempt_deadline(Instant::now())) {
            Ok(connection) => return Ok(Reconnected::There(connection)),
            Err(error) => error,
        };
        let Some(pause) = attempts.pause_after(&error, Instant::now()) else { return Err(error) };
        if let Some(stop) = stops.wait(None, Some(pause))? {
            return Ok(Reconnected::Stopped(stop));
        }
    }
}

/// Waits for the next daemon and runs `begin` there, as often as daemons end in the middle of it.
pub(crate) fn begin_again<T>(
    address: &mut DaemonAddress,
    stops: &mut Stops,
    mut parting: ClientError,
    mut begin: impl FnMut(Connection) -> Result<T, ClientError>,
) -> Result<Reconnected<T>, ClientError> {
    loop {
        let attempts = Attempts::new(RetryLimit::Stream, Instant::now());
        let connection = match reconnect(address, stops, attempts, parting)? {
            Reconnected::There(connection) => connection,
            Reconnected::Stopped(stop) => return Ok(Reconnected::Stopped(stop)),
        };
        match begin(connection) {
            Err(error) if error.is_leaving() => parting = error,
            begun => return begun.map(Reconnected::There),
        }
    }
}
