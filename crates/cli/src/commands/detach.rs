//! `qd detach`: detaches viewers. The process continues.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Detach, Target};

use crate::context::Context;
use crate::errors::CliError;

/// Detach all viewers of a process, or one viewer; the process runs on
#[derive(Debug, Args)]
pub(crate) struct DetachArgs {
    /// A process by its name or id, or a viewer by the name that `qd viewers` shows, such as v7
    #[arg(value_name = "PROCESS|VIEWER")]
    target: String,
}

impl DetachArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let detach = Detach { target: Target(self.target.clone()) };
        let gone = context.connect()?.detach(detach)?;
        context.confirm(&gone, |gone, out| match gone.as_slice() {
            [] => out.line(&format!("{} has no viewers", self.target)),
            gone => {
                let names: Vec<String> = gone.iter().map(|viewer| format!("v{}", viewer.viewer)).collect();
                out.line(&format!("detached {}", names.join(", ")))
            }
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
