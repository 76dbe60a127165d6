//! `qd kill`: ends a run or sends one signal; the entry stays, except a terminal's. A signal without a grace is only sent.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::request::{Kill, Target};
use serde_json::json;

use super::ending::{self, GraceArgs, Progress};
use crate::context::Context;
use crate::errors::CliError;

/// End a process and everything it started; its entry stays, except a terminal's
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// Its name or id
    name: String,

    /// Only send this signal, by name or number; with --grace ask with it and kill afterwards
    #[arg(long, value_parser = ending::signal, conflicts_with = "now")]
    signal: Option<i32>,

    #[command(flatten)]
    grace: GraceArgs,
}

impl KillArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let grace_ms = self.grace.grace_ms();
        let request = Kill { target: Target(self.name.clone()), signal: self.signal, grace_ms };
        let mut connection = context.connect()?;
        let progress = Progress::begin(&self.name, &format!("qd kill --now {}", self.name));
        let ended = connection.kill(request);
        drop(progress);
        let ended = ended?;
        if let Some(ended) = ended {
            context.confirm(&ended, |ended, out| {
                let how = ended
                    .exit
                    .map_or_else(|| "was not running".to_owned(), |exit| super::wait::exit_words(&exit));
                out.line(&format!("{}: {how}", Printable(&self.name)))
            })?;
        } else {
            context.confirm(&json!({}), |_, out| {
                out.line(&format!("{}: the signal was sent", Printable(&self.name)))
            })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
