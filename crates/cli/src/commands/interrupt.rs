//! `qd interrupt`: ends an agent's turn without ending the agent. The daemon presses the keys that the
//! agent's manifest names and answers when the turn is over.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Interrupt, Target};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// End an agent's turn; the agent stays
#[derive(Debug, Args)]
pub(crate) struct InterruptArgs {
    /// Its name or id
    name: String,
}

impl InterruptArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let name = self.name;
        context.connect()?.interrupt(Interrupt { target: Target(name.clone()) })?;
        context.print(&json!({ "name": name, "interrupted": true }), |_, out| {
            out.line(&format!("{name} is interrupted"))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
