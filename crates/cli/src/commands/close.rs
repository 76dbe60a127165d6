//! `qd close`: ends processes and removes their entries. It continues after one failed.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::request::{Close, Target};

use super::ending::{self, GraceArgs, Progress};
use crate::context::Context;
use crate::errors::{self, CliError};

/// End processes and remove their entries
#[derive(Debug, Args)]
pub(crate) struct CloseArgs {
    /// Names or ids
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// End only the program itself and leave its background processes running
    #[arg(long)]
    keep_background: bool,

    /// The first signal that asks it to end, by name or number [default: TERM; terminals: HUP]
    #[arg(long, value_parser = ending::signal)]
    signal: Option<i32>,

    #[command(flatten)]
    grace: GraceArgs,
}

impl CloseArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let mut code = None;
        for name in self.names {
            let stop = self.grace.stop(self.signal);
            let target = Target(name.clone());
            let progress = Progress::begin(&name, &format!("qd close --now {name}"));
            let closed = connection.close(Close { target, keep_background: self.keep_background, stop });
            drop(progress);
            match closed {
                Ok(ended) => {
                    context.confirm(&ended, |_, out| out.line(&format!("{} is closed", Printable(&name))))?
                }
                // The others are closed all the same, and the first failure decides the exit code.
                Err(error) => {
                    let error = super::with_nearest(context, false, error.into());
                    let failed = errors::report(&error, context.json);
                    code = code.or(Some(failed));
                }
            }
        }
        Ok(code.unwrap_or(ExitCode::SUCCESS))
    }
}
