//! `qd tell`: sends an agent a message and prints its receipt. The daemon delivers it when the agent is
//! ready.

use std::process::ExitCode;

use clap::Args;
use proto::agent::{Delivery, Receipt};
use proto::request::{Target, Tell};
use proto::{ErrorCode, Failure, Printable};

use super::ending::Progress;
use crate::context::Context;
use crate::errors::{self, CliError};

/// The default wait for a receipt.
const TIMEOUT_MS: u64 = 60_000;

/// Send an agent a message and print its receipt
#[derive(Debug, Args)]
pub(crate) struct TellArgs {
    /// Its name or id
    name: String,

    /// The message; - reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    text: String,

    /// Wait this many seconds for the receipt [default: 60], then exit with 5; the message stays queued
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    timeout: Option<u64>,

    /// Do not wait for the receipt; the message stays queued
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,

    /// A second message with the same key is not delivered; you get the receipt of the first
    #[arg(long)]
    key: Option<String>,

    /// Stop trying to deliver it after this many seconds [default: a day]
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    expires: Option<u64>,
}

impl TellArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let text = if self.text == "-" { super::send::from_stdin()? } else { self.text };
        let wait_ms = if self.no_wait { 0 } else { self.timeout.unwrap_or(TIMEOUT_MS) };
        let request = Tell {
            target: Target(self.name),
            text,
            key: self.key,
            wait_ms: Some(wait_ms),
            expires_ms: self.expires,
        };
        let why = format!(
            "waiting until {} takes it; qd messages says why it does not, Ctrl-C leaves it queued",
            Printable(&request.target.0)
        );
        let progress = (!self.no_wait).then(|| Progress::with(why));
        let receipt = client::reconnecting::tell(context.address()?, request);
        drop(progress);
        let receipt = receipt?;
        if let Some(failure) = undelivered(&receipt) {
            return Err(CliError::Own(failure));
        }
        context.print(&receipt, |receipt, out| out.line(&words(receipt)))?;
        let is_late = !self.no_wait && !receipt.delivery.is_final();
        Ok(if is_late { ExitCode::from(errors::TIMEOUT) } else { ExitCode::SUCCESS })
    }
}

/// Returns the error for a message that was not delivered, or whose delivery is unknown.
fn undelivered(receipt: &Receipt) -> Option<Failure> {
    let why = match &receipt.delivery {
        Delivery::Unknown { reason } => {
            let message = format!("whether message {} was delivered is unknown: {reason}", receipt.mail);
            let hint = "look at the agent with qd read or qd attach before you send it again";
            return Some(Failure::new(ErrorCode::UnknownOutcome, message).hint(hint));
        }
        Delivery::Refused { reason } => reason.clone(),
        Delivery::Expired => "it expired before it could be delivered".to_owned(),
        _ => return None,
    };
    let message = format!("message {} was not delivered: {why}", receipt.mail);
    Some(Failure::new(ErrorCode::NotDelivered, message).hint("look at the agent with qd read or qd attach"))
}

/// Returns a receipt in words.
fn words(receipt: &Receipt) -> String {
    match &receipt.delivery {
        delivery @ (Delivery::Queued { .. } | Delivery::Delivering) => {
            format!("message {} is {delivery}", receipt.mail)
        }
        delivery => delivery.to_string(),
    }
}
