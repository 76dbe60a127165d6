//! Sends a message and waits for its receipt across the ends of daemons.

use std::time::{Duration, Instant};

use proto::agent::Receipt;
use proto::request::Tell;

use crate::reconnect::{Reconnected, reconnect};
use crate::reconnect_policy::{Attempts, RetryLimit, fresh_key};
use crate::{ClientError, DaemonAddress, Stops};

/// Sends a message as [`crate::Connection::tell`] does. When the daemon ends meanwhile, the next one gets the
/// same key, so the message is never sent twice.
///
/// # Errors
/// The daemon refuses the message, or no daemon can be reached.
pub fn tell(address: &mut DaemonAddress, mut request: Tell) -> Result<Receipt, ClientError> {
    let wait = Duration::from_millis(request.wait_ms.unwrap_or(0));
    let deadline = Instant::now().checked_add(wait);
    request.key.get_or_insert_with(fresh_key);
    let mut connection = address.connect()?;
    loop {
        let parting = match connection.tell(request.clone()) {
            Err(error) if error.is_leaving() => error,
            answer => return answer,
        };
        // The fate of a message that was sent is worth some time beyond the wait for its receipt.
        let now = Instant::now();
        let attempts = Attempts::new(RetryLimit::Typing, now).at_least(deadline, now);
        connection = match reconnect(address, &mut Stops::default(), attempts, parting)? {
            Reconnected::There(connection) => connection,
            Reconnected::Stopped(_) => return Err(ClientError::gone()),
        };
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        request.wait_ms = left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    }
}
