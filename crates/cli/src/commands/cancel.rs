//! `qd cancel`: cancels a message that is still in the queue. The daemon refuses one that has left it.

use std::process::ExitCode;

use clap::Args;
use proto::agent::MailId;
use proto::request::CancelMessage;

use crate::context::Context;
use crate::errors::CliError;

/// Cancel a message that is still in the queue
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The message's number, as `qd tell` prints it
    #[arg(value_parser = crate::text_arg::number)]
    message: u64,
}

impl CancelArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let receipt = context.connect()?.cancel_message(CancelMessage { mail: MailId(self.message) })?;
        context
            .print(&receipt, |receipt, out| out.line(&format!("message {} is taken back", receipt.mail)))?;
        Ok(ExitCode::SUCCESS)
    }
}
