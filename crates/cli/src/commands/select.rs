//! `qd select`: shows a process in all clients.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::request::{Select, Target};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Show a process in every open deck
#[derive(Debug, Args)]
pub(crate) struct SelectArgs {
    /// Its name or id
    name: String,
}

impl SelectArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        context.connect()?.select(Select { target: Target(self.name.clone()) })?;
        context.confirm(&json!({ "name": self.name }), |_, out| {
            out.line(&format!("{} is selected", Printable(&self.name)))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
