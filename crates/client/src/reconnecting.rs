//! What goes on across the ends of daemons: a log that is followed, events, a wait.
//!
//! Owns going on with the next daemon where the one before was left: a log by its offset, a wait by its beginning and its
//! deadline. Refuses pretending: what happened to the crew meanwhile is told as `resync`, and a run that was started again
//! meanwhile is not taken for the one before.

mod events;
mod follow;
mod tell;
mod wait;

use proto::{ErrorCode, Failure, ProcessId, RunNumber};

pub use events::ReconnectingEvents;
pub use follow::ReconnectingFollow;
pub use tell::tell;
pub use wait::wait;

use crate::{ClientError, Connection, StreamEnd};

/// What a stream gives next.
#[derive(Debug)]
pub enum Next<T> {
    /// Something came.
    Came(T),
    /// Nothing comes any more.
    Over,
    /// This side wants to stop.
    Stopped(StreamEnd),
}

/// Makes sure that these processes still have the runs they had; those that are gone are left to whoever asks for them.
fn check_runs(connection: &mut Connection, runs: &[(ProcessId, RunNumber)]) -> Result<(), ClientError> {
    if runs.is_empty() {
        return Ok(());
    }
    let all = connection.list()?;
    for (id, run) in runs {
        if let Some(view) = all.iter().find(|view| view.id == *id && view.run != *run) {
            let message = format!("{} was started again while the daemon was away", view.name);
            let failure = Failure::new(ErrorCode::NotRunning, message);
            return Err(failure
                .hint("how its run before went on, nobody can say: ask about the new one")
                .into());
        }
    }
    Ok(())
}
