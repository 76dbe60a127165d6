//! `qd rename`: renames a process. The name is checked here and again by the daemon.

use std::process::ExitCode;

use clap::Args;
use proto::Name;
use proto::request::{Rename, Target};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Give a process another name
#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// Its name or id
    name: String,

    /// The new name: A-Z a-z 0-9 . _ - only, at most 40
    new_name: Name,
}

impl RenameArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let name = self.new_name.to_string();
        context.connect()?.rename(Rename { target: Target(self.name), name: name.clone() })?;
        context.confirm(&json!({ "name": name }), |_, out| out.line(&format!("it is called {name} now")))?;
        Ok(ExitCode::SUCCESS)
    }
}
