//! `qd reset`: repairs the terminal after a program that had it was killed. It needs no daemon.

use std::process::ExitCode;

use clap::Args;
use client::attach::reset_terminal;

use crate::context::Context;
use crate::errors::CliError;

/// Repair this terminal after a program in it was killed: echo on, whole lines, main screen, mouse off
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
