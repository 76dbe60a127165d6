//! `qd reset`: mends the terminal after a program that had it was killed. It needs no daemon.

use std::process::ExitCode;

use clap::Args;
use client::attach::reset_terminal;

use crate::context::Context;
use crate::errors::CliError;

/// Return this terminal to normal after something in it was killed: lines, echo, main screen, no mouse
#[derive(Debug, Args)]
#[command(after_help = "When keys are not shown, type `qd reset` blindly and press Enter; if that does \
nothing, press Ctrl-J.")]
pub(crate) struct ResetArgs {}

impl ResetArgs {
    pub(crate) fn run(self, _context: &mut Context) -> Result<ExitCode, CliError> {
        reset_terminal(rustix::stdio::stdin(), rustix::stdio::stdout())
            .map_err(CliError::io("the terminal cannot be used"))?;
        Ok(ExitCode::SUCCESS)
    }
}
