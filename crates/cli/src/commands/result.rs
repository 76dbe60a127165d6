//! `qd result`: prints the agent's text at the end of a turn.

use std::process::ExitCode;

use clap::Args;
use proto::agent::TurnEnd;
use proto::request::{AskResult, Target};

use crate::context::Context;
use crate::errors::CliError;

/// Print an agent's text at the end of a turn
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Its name or id
    name: String,

    /// Which turn [default: the newest that is over]
    turn: Option<u64>,
}

impl ResultArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let ask = AskResult { target: Target(self.name), turn: self.turn };
        let turn = context.connect()?.result(ask)?;
        context.print(&turn, |turn, out| {
            out.text(&turn.text)?;
            if turn.from == "screen" {
                out.line(
                    "(this is the screen at the end of the turn: the agent's own words could not be read)",
                )?;
            }
            match turn.end {
                TurnEnd::Done | TurnEnd::Running => Ok(()),
                TurnEnd::Interrupted => out.line("(the turn was interrupted)"),
                TurnEnd::Failed => out.line("(the turn failed)"),
                TurnEnd::Exited => out.line("(the program ended during the turn)"),
            }
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
