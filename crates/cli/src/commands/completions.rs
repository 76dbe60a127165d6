//! `qd completions`: completion scripts generated from the grammar. Owns nothing else.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::context::Context;
use crate::errors::CliError;

/// Print the completion script of a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "qd", &mut script);
        context.out.bytes(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
