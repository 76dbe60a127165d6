//! Coming back to a daemon that is gone: which one is started anew, which is waited for, and for how long.
//!
//! Owns telling a daemon that died from one that was told to end. Refuses undoing the latter: whoever said
//! `qd shutdown` gets another daemon when somebody asks for something, not because somebody still listens.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use proto::ErrorCode;

use crate::stop::{Stop, Stops};
use crate::{ClientError, Connection, Door};

/// How long the next daemon may take: time for an upgrade.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one attempt may take, the start of a daemon with hundreds of holders included.
const ATTEMPT: Duration = Duration::from_secs(20);
/// Between two attempts; stops are heard meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// What came of waiting for the next daemon.
#[derive(Debug)]
pub(crate) enum Rejoined<T> {
    /// It is there, and was greeted: what came of that.
    There(T),
    /// Something else was wanted meanwhile.
    Stopped(Stop),
}

/// Waits for the next daemon, until `deadline` at most. The error that ended the one before is told where no other can
/// come.
pub(crate) fn rejoin(
    door: &mut Door,
    stops: &mut Stops,
    deadline: Option<Instant>,
    parting: ClientError,
) -> Result<Rejoined<Connection>, ClientError> {
    if door.is_private() {
        return Err(parting);
    }
    let patience = Instant::now() + PATIENCE;
    let deadline = deadline.map_or(patience, |deadline| deadline.min(patience));
    loop {
        let error = match attempt(door, deadline.min(Instant::now() + ATTEMPT), None) {
            Ok(connection) => return Ok(Rejoined::There(connection)),
            Err(error) => error,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if is_final(&error) || left.is_zero() {
            return Err(error);
        }
        if let Some(stop) = stops.wait(None, Some(PAUSE.min(left)))? {
            return Ok(Rejoined::Stopped(stop));
        }
    }
}

/// Waits for the next daemon and begins there what `begin` does, as often as daemons end in the middle of it.
pub(crate) fn begin_again<T>(
    door: &mut Door,
    stops: &mut Stops,
    mut parting: ClientError,
    mut begin: impl FnMut(Connection) -> Result<T, ClientError>,
) -> Result<Rejoined<T>, ClientError> {
    loop {
        let connection = match rejoin(door, stops, None, parting)? {
            Rejoined::There(connection) => connection,
            Rejoined::Stopped(stop) => return Ok(Rejoined::Stopped(stop)),
        };
        match begin(connection) {
            Err(error) if error.is_leaving() => parting = error,
            begun => return begun.map(Rejoined::There),
        }
    }
}

/// One attempt, given up also when `bell` rings. A socket that nobody answers at is what a daemon leaves that died: another is
/// started, where that may be. One that was told to end has taken its socket away first.
pub(crate) fn attempt(
    door: &mut Door,
    deadline: Instant,
    bell: Option<BorrowedFd<'_>>,
) -> Result<Connection, ClientError> {
    let socket = door.places().socket();
    match Connection::open(&socket) {
        Ok(mut connection) => connection.hello_before(deadline, bell).map(|_| connection),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => door.connect_unless(deadline, bell),
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
