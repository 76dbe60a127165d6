//! `qd attention`: asks for a person's attention from inside a run.

use std::process::ExitCode;

use clap::Args;
use proto::request::Attention;

use crate::context::Context;
use crate::errors::CliError;

/// From inside a process: ask the person to look at it
#[derive(Debug, Args)]
pub(crate) struct AttentionArgs {
    /// Why the person should look
    #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    reason: String,

    /// A second call with the same key asks nothing new
    #[arg(long)]
    key: Option<String>,
}

impl AttentionArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let asked = context.connect()?.attention(Attention { reason: self.reason, key: self.key })?;
        context.print(&asked, |asked, out| out.line(&format!("item {} is in the inbox", asked.item)))?;
        Ok(ExitCode::SUCCESS)
    }
}
