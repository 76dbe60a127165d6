//! `qd restart`: a new run of the same argv. Owns nothing but the words.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Restart, Target};

use crate::context::Context;
use crate::errors::CliError;

/// Start a new run of a process, ending the old one first
#[derive(Debug, Args)]
pub(crate) struct RestartArgs {
    /// Its name or id
    name: String,
}

impl RestartArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let spawned = context.connect()?.restart(Restart { target: Target(self.name) })?;
        context.print(&spawned, |spawned, out| {
            out.line(&format!("{} is {}, run {}", spawned.name, spawned.status, spawned.run))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
