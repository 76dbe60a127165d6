//! `qd grant`: gives a process a right beyond the tree.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use proto::request::{Grant, Target};
use proto::rights::Right;

use crate::context::Context;
use crate::errors::CliError;

/// Give a process a right over another process
#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    /// The process that gets the right, by name or id
    who: String,

    /// What it may do
    #[arg(value_enum)]
    right: RightWord,

    /// Over which process, by name or id
    whom: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RightWord {
    /// Read screens and logs, and wait
    Read,
    /// Type, resize, signal, end, restart and rename; and read
    Drive,
    /// Send it messages
    Message,
}

impl GrantArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let right = match self.right {
            RightWord::Read => Right::Read,
            RightWord::Drive => Right::Drive,
            RightWord::Message => Right::Message,
        };
        let request = Grant { to: Target(self.who), right, over: Target(self.whom) };
        let grant = context.connect()?.grant(request)?;
        context.confirm(&grant, |grant, out| out.line(&format!("grant {}: {grant}", grant.grant.grant)))?;
        Ok(ExitCode::SUCCESS)
    }
}
