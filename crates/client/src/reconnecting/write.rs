//! Types a text to its end even if daemons die meanwhile: the next daemon continues after the bytes that were
//! typed.

use std::io::Read;
use std::time::Instant;

use proto::reply::Wrote;
use proto::request::{Empty, TypedInput, Write, WriteKey};
use proto::{ErrorCode, Failure, Target};

use crate::paste::{PIECE, Paste, PasteError, fill_piece};
use crate::reconnect::{Reconnected, reconnect};
use crate::reconnect_policy::{Attempts, RetryLimit, fresh_key};
use crate::{ClientError, Connection, DaemonAddress, Stops};

/// Types as [`Connection::write`] does. If the daemon dies meanwhile, the request is repeated to the next one
/// with the same key; that daemon types the missing bytes or reports exactly how much was typed.
///
/// # Errors
/// The daemon refuses the text, or no daemon can be reached.
pub fn write(address: &mut DaemonAddress, mut request: Write) -> Result<Wrote, ClientError> {
    request.key.get_or_insert_with(write_key);
    let mut connection = address.connect()?;
    loop {
        let parting = match connection.write(request.clone()) {
            Err(error) if error.is_leaving() => error,
            answer => return answer,
        };
        connection = next_daemon(address, parting, &request.target)?;
        if let Some(key) = &mut request.key {
            key.again = true;
        }
    }
}

/// Pastes everything that `source` returns, as [`Connection::paste_stream`] does. If the daemon dies, the
/// next one finishes a text that fits into one piece; for a longer text it reports exactly how much was
/// typed.
///
/// # Errors
/// The source cannot be read, the daemon refuses the text, or no daemon can be reached.
pub fn paste(
    address: &mut DaemonAddress,
    mut paste: Paste,
    source: &mut dyn Read,
    progress: &mut dyn FnMut(u64),
) -> Result<Wrote, PasteError> {
    let mut first = vec![0; PIECE];
    let count = fill_piece(source, &mut first).map_err(PasteError::Source)?;
    first.truncate(count);
    if count < PIECE {
        match String::from_utf8(first) {
            Ok(text) => return Ok(write(address, whole(paste, TypedInput::Paste(text)))?),
            Err(error) => first = error.into_bytes(),
        }
    }
    let key = paste.key.get_or_insert_with(write_key).clone();
    let (target, submit, timeout_ms) = (paste.target.clone(), paste.submit, paste.timeout_ms);
    let pasted = address.connect()?.paste_stream(paste, &mut first.as_slice().chain(source), progress);
    let parting = match pasted {
        Err(PasteError::Client(error)) if error.is_leaving() => error,
        answer => return answer,
    };
    // What was read from the source cannot be read again, so the next daemon can only report how much was
    // typed.
    drop(next_daemon(address, parting, &target)?);
    let input = TypedInput::Report(Empty {});
    let key = Some(WriteKey { again: true, ..key });
    Ok(write(address, Write { target, input, submit, timeout_ms, key })?)
}

fn whole(paste: Paste, input: TypedInput) -> Write {
    let Paste { target, submit, timeout_ms, key } = paste;
    Write { target, input, submit, timeout_ms, key }
}

fn write_key() -> WriteKey {
    WriteKey { id: fresh_key(), again: false }
}

/// Waits for the next daemon. Fails with an unknown outcome if none comes.
fn next_daemon(
    address: &mut DaemonAddress,
    parting: ClientError,
    target: &Target,
) -> Result<Connection, ClientError> {
    let unknown = |why: String| {
        let message = format!(
            "the daemon ended while it typed into {}, and how much was typed is not known: {why}",
            target.0
        );
        Failure::new(ErrorCode::UnknownOutcome, message).hint("look before you type again: qd read")
    };
    let attempts = Attempts::new(RetryLimit::Typing, Instant::now());
    match reconnect(address, &mut Stops::default(), attempts, parting) {
        Ok(Reconnected::There(connection)) => Ok(connection),
        Ok(Reconnected::Stopped(_)) => Err(ClientError::gone()),
        Err(error) => Err(unknown(error.to_string()).into()),
    }
}
