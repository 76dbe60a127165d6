//! `qd` without a verb: the deck. Shows help where there is no terminal to show it on.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use proto::{ErrorCode, Failure, Printable};
use tui::{LeftDeck, TuiError};

use crate::args::Cli;
use crate::commands::import::adoption;
use crate::context::Context;
use crate::errors::CliError;

/// Shows the deck until the person leaves it.
pub(crate) fn run(context: &mut Context) -> Result<ExitCode, CliError> {
    if context.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        // Output is closed: nothing can be printed.
        drop(Cli::command().print_help());
        return Ok(ExitCode::SUCCESS);
    }
    let left = tui::run(context.address()?, adoption()).map_err(cli_error)?;
    for draft in &left.drafts {
        let file = draft.to_string_lossy();
        // There may be nobody to read it.
        drop(writeln!(std::io::stderr(), "qd: your text in {} was not saved", Printable(&file)));
    }
    match left.why {
        LeftDeck::Left => Ok(ExitCode::SUCCESS),
        LeftDeck::HungUp => Ok(ExitCode::FAILURE),
        LeftDeck::Signalled(signal) => Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
    }
}

fn cli_error(error: TuiError) -> CliError {
    match error {
        TuiError::Daemon(error) => error.into(),
        TuiError::Terminal(error) => CliError::io("the terminal cannot be used")(error),
        TuiError::Settings(fault) => {
            CliError::usage(fault).hinted("correct tui.toml; docs/tui.md lists every setting")
        }
        error @ TuiError::Fault(_) => CliError::Own(Failure::new(ErrorCode::Internal, error.to_string())),
    }
}
