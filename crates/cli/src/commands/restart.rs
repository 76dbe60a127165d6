//! `qd restart`: starts a new run of the same argv.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Restart, Target};

use super::ending::{self, GraceArgs, Progress};
use crate::context::{Context, own_offer};
use crate::errors::CliError;

/// End a process and start it again with the same command
#[derive(Debug, Args)]
pub(crate) struct RestartArgs {
    /// Its name or id
    name: String,

    /// The first signal that asks it to end, by name or number [default: TERM; terminals: HUP]
    #[arg(long, value_parser = ending::signal)]
    signal: Option<i32>,

    #[command(flatten)]
    grace: GraceArgs,
}

impl RestartArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let progress = Progress::begin(&self.name, &format!("qd restart --now {}", self.name));
        let stop = self.grace.stop(self.signal);
        let spawned = connection.restart(Restart { target: Target(self.name), stop, offer: own_offer() });
        drop(progress);
        let spawned = spawned?;
        context.confirm(&spawned, |spawned, out| {
            super::spawn::warn(spawned);
            out.line(&format!("{} is {}, run {}", spawned.name, spawned.status, spawned.run))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
