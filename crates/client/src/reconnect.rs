//! Reconnects to a daemon after one is gone: decides whether to start one or to wait, and for how long.
//!
//! It distinguishes a daemon that died from one that was shut down. After `qd shutdown` a new daemon starts
//! only for a new request, not because a client still listens.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use proto::ErrorCode;

use crate::stream_end::{Stops, StreamEnd};
use crate::{ClientError, Connection, DaemonAddress};

/// How long the next daemon may take: time for an upgrade.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one attempt may take, the start of a daemon with hundreds of holders included.
const ATTEMPT: Duration = Duration::from_secs(20);
/// The pause between two attempts; stops are handled meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

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
    deadline: Option<Instant>,
    parting: ClientError,
) -> Result<Reconnected<Connection>, ClientError> {
    if address.is_private() {
        return Err(parting);
    }
    let wait_limit = Instant::now() + PATIENCE;
    let deadline = deadline.map_or(wait_limit, |deadline| deadline.min(wait_limit));
    loop {
        let error = match attempt(address, deadline.min(Instant::now() + ATTEMPT), None) {
            Ok(connection) => return Ok(Reconnected::There(connection)),
            Err(error) => error,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if is_final(&error) || left.is_zero() {
            return Err(error);
        }
        if let Some(stop) = stops.wait(None, Some(PAUSE.min(left)))? {
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
        let connection = match reconnect(address, stops, None, parting)? {
            Reconnected::There(connection) => connection,
            Reconnected::Stopped(stop) => return Ok(Reconnected::Stopped(stop)),
        };
        match begin(connection) {
            Err(error) if error.is_leaving() => parting = error,
            begun => return begun.map(Reconnected::There),
        }
    }
}

/// Makes one attempt, which also ends when `cancel_fd` becomes readable. A socket without a listener was left
/// by a daemon that died: another one is started, where that is allowed. A daemon that was shut down has
/// removed its socket first.
pub(crate) fn attempt(
    address: &mut DaemonAddress,
    deadline: Instant,
    cancel_fd: Option<BorrowedFd<'_>>,
) -> Result<Connection, ClientError> {
    let socket = address.places().socket();
    match Connection::open(&socket) {
        Ok(mut connection) => connection.hello_before(deadline, cancel_fd).map(|_| connection),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            address.connect_unless(deadline, cancel_fd)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ClientError::Unreachable("it was told to end, and no other has come".to_owned()))
        }
        Err(source) => Err(ClientError::Unopened { socket, source }),
    }
}

/// Returns true if another attempt would have the same result.
pub(crate) fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Version { .. } => true,
        ClientError::Failed(failure) => failure.code != ErrorCode::ShuttingDown,
        ClientError::Unopened { .. } => error.is_forbidden(),
        ClientError::Unreachable(_) | ClientError::Silent(_) | ClientError::Broken(_) => false,
    }
}
