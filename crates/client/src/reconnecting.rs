//! Streams, waits and operations that survive the end of a daemon: a followed log, events, a wait, a text that is typed,
//! a task that is made or landed.
//!
//! They continue with the next daemon: a log from its offset, a wait with its beginning and its deadline.
//! Missed events become `resync`, and a run that was restarted meanwhile is not mistaken for the one before.

mod events;
mod follow;
mod task;
mod tell;
mod wait;
mod write;

use proto::{ErrorCode, Failure, ProcessId, RunNumber};

pub use events::ReconnectingEvents;
pub use follow::ReconnectingFollow;
pub use task::{list, spawn, task};
pub use tell::tell;
pub use wait::wait;
pub use write::{paste, write};

use crate::{ClientError, Connection, StreamEnd};

/// The next thing of a stream.
#[derive(Debug)]
pub enum Next<T> {
    /// Something came.
    Came(T),
    /// The stream has ended.
    Over,
    /// This side stops.
    Stopped(StreamEnd),
}

/// Checks that these processes still have the same runs; removed ones are left to the next request.
fn check_runs(connection: &mut Connection, runs: &[(ProcessId, RunNumber)]) -> Result<(), ClientError> {
    if runs.is_empty() {
        return Ok(());
    }
    let all = connection.list()?;
    for (id, run) in runs {
        if let Some(view) = all.iter().find(|view| view.id == *id && view.run != *run) {
            let message = format!("{} was started again while the daemon was away", view.name);
            let failure = Failure::new(ErrorCode::NotRunning, message);
            return Err(failure.hint("how the earlier run ended is not known; ask about the new one").into());
        }
    }
    Ok(())
}
