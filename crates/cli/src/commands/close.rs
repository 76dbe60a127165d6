//! `qd close`: ends processes and removes their entries. Owns going on after one failed; refuses asking back.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::request::{Close, Target};

use crate::context::Context;
use crate::errors::{self, CliError};

/// End processes and remove their entries
#[derive(Debug, Args)]
pub(crate) struct CloseArgs {
    /// Names or ids
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// End the child alone and leave running what it put in the background
    #[arg(long)]
    keep_background: bool,
}

impl CloseArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let mut code = None;
        for name in self.names {
            let request = Close { target: Target(name.clone()), keep_background: self.keep_background };
            match connection.close(request) {
                Ok(ended) => {
                    context.print(&ended, |_, out| out.line(&format!("{} is closed", Printable(&name))))?
                }
                // The others are closed all the same, and the first failure is the exit code's.
                Err(error) => {
                    let told = errors::report(&error.into(), context.json);
                    code = code.or(Some(told));
                }
            }
        }
        Ok(code.unwrap_or(ExitCode::SUCCESS))
    }
}
