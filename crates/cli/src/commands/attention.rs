//! `qd attention`: says from inside a run that a person should look. Owns nothing but the words.

use std::process::ExitCode;

use clap::Args;
use proto::request::Attention;

use crate::context::Context;
use crate::errors::CliError;

/// From inside a process: say that a person should look
#[derive(Debug, Args)]
pub(crate) struct AttentionArgs {
    /// Why
    reason: String,

    /// The same key again asks nothing twice
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
