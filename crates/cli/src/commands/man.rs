//! `qd man`: manual pages generated from the grammar.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};

use crate::args::Cli;
use crate::context::Context;
use crate::errors::CliError;

/// Print the manual page, or write one page per verb into a directory
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory, which must exist
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let command = Cli::command();
        match self.dir {
            Some(dir) => {
                let what = format!("{} cannot be written", dir.display());
                clap_mangen::generate_to(command, dir).map_err(CliError::io(what))?;
            }
            None => {
                let mut page = Vec::new();
                clap_mangen::Man::new(command).render(&mut page).map_err(CliError::output)?;
                context.out.bytes(&page)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
