//! `qd shutdown`: ends the daemon; processes stay unless told otherwise. Owns waiting until it is gone, and ending what
//! goes on without one.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use client::{ClientError, Connection, DaemonAddress};
use proto::dirs::holders_in;
use proto::request::Shutdown;
use proto::{Dirs, ErrorCode, Failure};
use serde_json::json;

use super::ending::{GraceArgs, Progress};
use crate::context::{Context, own_executable, places};
use crate::errors::CliError;

/// How long a daemon that agreed to end may take.
const DEADLINE: Duration = Duration::from_secs(30);
/// How long one may take that ends every process first: the longest grace is ten minutes.
const KILL_DEADLINE: Duration = Duration::from_secs(660);

/// How long the end of a daemon that does not listen is waited for before it is looked for again: it may have begun to.
const LEAVING: Duration = Duration::from_millis(100);

/// End the daemon; processes go on and are found again by the next command
#[derive(Debug, Args)]
pub(crate) struct ShutdownArgs {
    /// End every process too
    #[arg(long)]
    kill: bool,

    #[command(flatten)]
    grace: GraceArgs,
}

/// What was found to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Daemon,
    /// Nobody but processes that went on without one.
    Processes,
    Nothing,
}

impl ShutdownArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let deadline = Instant::now() + if self.kill { KILL_DEADLINE } else { DEADLINE };
        let progress = self.kill.then(|| Progress::begin("everything", "qd shutdown --kill --now"));
        let found = self.end(&places()?, deadline);
        drop(progress);
        let found = found?;
        let words = match found {
            Found::Daemon => "the daemon has ended",
            Found::Processes => "no daemon was running; what went on without one has ended",
            Found::Nothing => "not running",
        };
        let was_running = found == Found::Daemon;
        context.confirm(&json!({"running": false, "was_running": was_running}), |_, out| out.line(words))?;
        Ok(ExitCode::SUCCESS)
    }

    fn end(&self, places: &Dirs, deadline: Instant) -> Result<Found, CliError> {
        let (mut found, exe) = (Found::Nothing, own_executable()?);
        loop {
            let (connection, now_found) = match self.reach(places, &exe) {
                Ok(Some(reached)) => reached,
                Ok(None) if Instant::now() < deadline && is_leaving(places)? => continue,
                Ok(None) => return Ok(found),
                // Somebody else has ended the one that was started for this: the next round waits until it is gone.
                Err(error) if error.is_leaving() && Instant::now() < deadline => continue,
                Err(error) => return Err(error.into()),
            };
            if found == Found::Nothing {
                found = now_found;
            }
            if self.is_over(connection, deadline)? {
                return Ok(found);
            }
        }
    }

    /// Whoever is to be told; nobody when there is nothing to end.
    fn reach(&self, places: &Dirs, exe: &Path) -> Result<Option<(Connection, Found)>, ClientError> {
        match DaemonAddress::without_start(places.clone()).knock() {
            Ok(connection) => Ok(Some((connection, Found::Daemon))),
            // Only a daemon knows what belongs to a run, so one is started to end them.
            Err(ClientError::Unreachable(_)) if self.kill && has_holders(places) => {
                let connection = DaemonAddress::new(places.clone(), exe.to_owned()).connect()?;
                Ok(Some((connection, Found::Processes)))
            }
            Err(ClientError::Unreachable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether everything has ended that was to. It has not when the daemon went on somebody else's word, who may have
    /// let the processes go on.
    fn is_over(&self, mut connection: Connection, deadline: Instant) -> Result<bool, CliError> {
        match connection.shutdown(Shutdown { kill: self.kill, stop: self.grace.stop(None) }, deadline) {
            Ok(true) => Ok(true),
            Err(error) if self.kill && error.is_leaving() && Instant::now() < deadline => Ok(false),
            Err(error) => Err(error.into()),
            Ok(false) => {
                let words = "the daemon agreed to end and is still there";
                Err(CliError::Own(Failure::new(ErrorCode::Timeout, words)))
            }
        }
    }
}

/// Whether there is a daemon that does not listen; waits a moment for its end.
fn is_leaving(places: &Dirs) -> Result<bool, CliError> {
    Ok(DaemonAddress::without_start(places.clone()).wait_for_leaving(Instant::now() + LEAVING)?)
}

/// Whether there may be holders. A directory that cannot be looked at hides none: whoever is started to end them says why
/// it cannot.
fn has_holders(places: &Dirs) -> bool {
    // Those of an earlier version lie in the runtime directory.
    [places.holders(), holders_in(&places.runtime)].iter().any(|dir| match std::fs::read_dir(dir) {
        Ok(mut sockets) => sockets.next().is_some(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    })
}
