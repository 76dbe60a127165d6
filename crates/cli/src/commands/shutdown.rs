//! `qd shutdown`: ends the daemon and waits until it is gone; processes stay unless `--kill` is given, which
//! also ends those without a daemon.

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
use crate::context::{Context, dirs, own_executable};
use crate::errors::CliError;

/// How long a daemon that agreed to end may take.
const DEADLINE: Duration = Duration::from_secs(30);
/// How long one may take that ends every process first: the longest grace is ten minutes.
const KILL_DEADLINE: Duration = Duration::from_secs(660);

/// How long to wait for the end of a daemon that does not listen before it is looked for again: it may have
/// begun to.
const LEAVING: Duration = Duration::from_millis(100);

/// End the daemon; processes continue, and the next command finds them again
#[derive(Debug, Args)]
pub(crate) struct ShutdownArgs {
    /// End every process too
    #[arg(long)]
    kill: bool,

    #[command(flatten)]
    grace: GraceArgs,
}

/// What there is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Daemon,
    /// Only processes that continued without a daemon.
    Processes,
    Nothing,
}

impl ShutdownArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let deadline = Instant::now() + if self.kill { KILL_DEADLINE } else { DEADLINE };
        let progress = self.kill.then(|| Progress::begin("everything", "qd shutdown --kill --now"));
        let found = self.end(&dirs()?, deadline);
        drop(progress);
        let found = found?;
        let words = match found {
            Found::Daemon => "the daemon has ended",
            Found::Processes => "no daemon was running; the processes that ran without one have ended",
            Found::Nothing => "not running",
        };
        let was_running = found == Found::Daemon;
        context.confirm(&json!({"running": false, "was_running": was_running}), |_, out| out.line(words))?;
        Ok(ExitCode::SUCCESS)
    }

    fn end(&self, dirs: &Dirs, deadline: Instant) -> Result<Found, CliError> {
        let (mut found, exe) = (Found::Nothing, own_executable()?);
        loop {
            let (connection, now_found) = match self.reach(dirs, &exe) {
                Ok(Some(reached)) => reached,
                Ok(None) if Instant::now() < deadline && is_leaving(dirs)? => continue,
                Ok(None) => return Ok(found),
                // Another command has ended the daemon that was started for this: the next round waits until
                // it is gone.
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

    /// Connects to what is to be ended; `None` when there is nothing.
    fn reach(&self, dirs: &Dirs, exe: &Path) -> Result<Option<(Connection, Found)>, ClientError> {
        match DaemonAddress::without_start(dirs.clone()).connect_if_running() {
            Ok(connection) => Ok(Some((connection, Found::Daemon))),
            // Only a daemon knows what belongs to a run, so one is started to end them.
            Err(ClientError::Unreachable(_)) if self.kill && has_holders(dirs) => {
                let connection = DaemonAddress::new(dirs.clone(), exe.to_owned()).connect()?;
                Ok(Some((connection, Found::Processes)))
            }
            Err(ClientError::Unreachable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns true if everything was ended. False when the daemon ended for another request, which may have
    /// let the processes continue.
    fn is_over(&self, mut connection: Connection, deadline: Instant) -> Result<bool, CliError> {
        match connection.shutdown(Shutdown { kill: self.kill, stop: self.grace.stop(None) }, deadline) {
            Ok(true) => Ok(true),
            Err(error) if self.kill && error.is_leaving() && Instant::now() < deadline => Ok(false),
            Err(error) => Err(error.into()),
            Ok(false) => {
                let words = "the daemon was asked to end and still runs";
                Err(CliError::Own(Failure::new(ErrorCode::Timeout, words)))
            }
        }
    }
}

/// Returns true if there is a daemon that does not listen; waits a moment for its end.
fn is_leaving(dirs: &Dirs) -> Result<bool, CliError> {
    Ok(DaemonAddress::without_start(dirs.clone()).wait_for_leaving(Instant::now() + LEAVING)?)
}

/// Returns true if there may be holders. A directory that cannot be read counts: the daemon that is started
/// to end them reports the reason.
fn has_holders(dirs: &Dirs) -> bool {
    // Those of an earlier version are in the runtime directory.
    [dirs.holders(), holders_in(&dirs.runtime)].iter().any(|dir| match std::fs::read_dir(dir) {
        Ok(mut sockets) => sockets.next().is_some(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    })
}
