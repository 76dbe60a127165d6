//! `qd resize`: sets a process's terminal size, which the daemon clamps.

use std::process::ExitCode;

use clap::Args;
use proto::Size;
use proto::request::{Resize, Target};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Set the terminal size of a process
#[derive(Debug, Args)]
pub(crate) struct ResizeArgs {
    /// Its name or id
    name: String,

    /// The size
    #[arg(value_name = "COLSxROWS")]
    size: Size,
}

impl ResizeArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        context.connect()?.resize(Resize { target: Target(self.name), size: self.size.into() })?;
        let size = self.size.clamped();
        context.confirm(&json!({ "size": size }), |_, out| out.line(&format!("it is {size} now")))?;
        Ok(ExitCode::SUCCESS)
    }
}
