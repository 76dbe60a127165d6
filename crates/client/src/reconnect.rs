//! Coming back to a daemon that is gone: which one is started anew, which is waited for, and for how long.
//!
//! Owns telling a daemon that died from one that was told to end. Refuses undoing the latter: whoever said
//! `qd shutdown` gets another daemon when somebody asks for something, not because somebody still listens.

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
/// Between two attempts; stops are heard meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// What came of waiting for the next daemon.
#[derive(Debug)]
pub(crate) enum Reconnected<T> {
    /// It is there, and was greeted: what came of that.
    There(T),
    /// Something else was wanted meanwhile.
    Stopped(StreamEnd),
}

/// Waits for the next daemon, until `deadline` at most. The error that ended the one before is told where no other can
/// come.
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

/// Waits for the next daemon and begins there what `begin` does, as often as daemons end in the middle of it.
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

/// One attempt, given up also when `cancel_fd` rings. A socket that nobody answers at is what a daemon leaves that died: another is
/// started, where that may be. One that was told to end has taken its socket away first.
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

/// Asking again would be answered the same.
pub(crate) fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Version { .. } => true,
        ClientError::Failed(failure) => failure.code != ErrorCode::ShuttingDown,
        ClientError::Unopened { .. } => error.is_forbidden(),
        ClientError::Unreachable(_) | ClientError::Silent(_) | ClientError::Broken(_) => false,
    }
}
