//! Operations on tasks and spawns whose outcome is known although the daemon ends meanwhile.

use std::time::Instant;

use proto::reply::Spawned;
use proto::request::{Empty, Spawn, Task};
use proto::task::TaskOutcome;
use proto::{ErrorCode, Failure, ProcessView, VerbSpec, verb};

use crate::reconnect::{Reconnected, reconnect};
use crate::reconnect_policy::{Attempts, RetryLimit, fresh_key};
use crate::verbs::unexpected;
use crate::{ClientError, DaemonAddress, Stops};

/// Asks about tasks as [`Connection::task`](crate::Connection::task) does. When the daemon ends meanwhile, the next
/// one gets the same key: it goes on with what was recorded, or does what was not, and answers what came of it.
///
/// # Errors
/// The daemon refuses the request, or no daemon can be reached; whether it was done is unknown then.
pub fn task(address: &mut DaemonAddress, mut request: Task) -> Result<TaskOutcome, ClientError> {
    request.key.get_or_insert_with(fresh_key);
    let hint = "qd tasks shows where it stands; what was recorded goes on with the next daemon";
    again::<verb::Task>(address, hint, request).map(|outcome| *outcome)
}

/// Starts a process as [`Connection::spawn`](crate::Connection::spawn) does. When the daemon ends meanwhile, the
/// next one gets the same key, so nothing is started twice.
///
/// # Errors
/// The daemon refuses the request, or no daemon can be reached; whether the process runs is unknown then.
pub fn spawn(address: &mut DaemonAddress, mut request: Spawn) -> Result<Spawned, ClientError> {
    request.key.get_or_insert_with(fresh_key);
    again::<verb::Spawn>(address, "qd ps shows whether it runs", Box::new(request))
}

/// Lists the processes as [`Connection::list`](crate::Connection::list) does, at the next daemon if one ends meanwhile.
///
/// # Errors
/// The daemon refuses the request, or no daemon can be reached.
pub fn list(address: &mut DaemonAddress) -> Result<Vec<ProcessView>, ClientError> {
    again::<verb::List>(address, "qd status shows whether a daemon runs", Empty {})
}

/// Sends a request with a key, or one that only reads, until a daemon answers it.
fn again<V: VerbSpec>(
    address: &mut DaemonAddress,
    hint: &str,
    arguments: V::Arguments,
) -> Result<V::Reply, ClientError> {
    let request = V::request(arguments);
    let (mut connection, id) = address.connect_with(&request)?;
    let mut answered = connection.answer_to(id, &request);
    loop {
        let parting = match answered {
            Err(error) if error.is_leaving() => error,
            answer => return V::result(answer?).map_err(|other| unexpected(V::WORD, &other)),
        };
        let attempts = Attempts::new(RetryLimit::Call, Instant::now());
        connection = match reconnect(address, &mut Stops::default(), attempts, parting) {
            Ok(Reconnected::There(connection)) => connection,
            Ok(Reconnected::Stopped(_)) => return Err(unknown("this command was stopped", hint)),
            Err(error) => return Err(unknown(&error.to_string(), hint)),
        };
        answered = connection.call(request.clone());
    }
}

fn unknown(why: &str, hint: &str) -> ClientError {
    let message = format!("the daemon ended, and whether this was done is not known: {why}");
    Failure::new(ErrorCode::UnknownOutcome, message).hint(hint).into()
}
