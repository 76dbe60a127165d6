//! `qd shutdown`: ends the daemon; processes stay unless told otherwise. Owns waiting until it is gone.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use client::{ClientError, Door};
use proto::request::Shutdown;
use proto::{ErrorCode, Failure};
use serde_json::json;

use crate::context::{Context, places};
use crate::errors::CliError;

/// How long a daemon that agreed to end may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// End the daemon; processes go on and are found again by the next command
#[derive(Debug, Args)]
pub(crate) struct ShutdownArgs {
    /// End every process too
    #[arg(long)]
    kill: bool,
}

impl ShutdownArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let was_running = match Door::without_start(places()?).knock() {
            Ok(mut connection) => {
                if !connection.shutdown(Shutdown { kill: self.kill }, Instant::now() + DEADLINE)? {
                    let words = "the daemon agreed to end and is still there";
                    return Err(CliError::Own(Failure::new(ErrorCode::Timeout, words)));
                }
                true
            }
            Err(ClientError::Unreachable(_)) => false,
            Err(error) => return Err(error.into()),
        };
        let words = if was_running { "the daemon has ended" } else { "not running" };
        context.print(&json!({"running": false, "was_running": was_running}), |_, out| out.line(words))?;
        Ok(ExitCode::SUCCESS)
    }
}
