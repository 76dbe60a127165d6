//! `qd kill`: ends runs or sends them one signal; the entries stay, except a terminal's. A signal without a grace is only
//! sent. It continues after one failed.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::reply::Ended;
use proto::request::{Kill, Target};
use proto::stop::signal_name;
use serde_json::json;

use super::ending::{self, GraceArgs, Progress};
use crate::context::Context;
use crate::errors::{self, CliError};

/// End processes and everything they started. Their entries stay in the list, except those of terminals
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// Names or ids
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// Only send this signal (a name or a number). With --grace: end the run with this signal first, and kill it after that
    /// time
    #[arg(long, value_parser = ending::signal, conflicts_with = "now")]
    signal: Option<i32>,

    #[command(flatten)]
    grace: GraceArgs,
}

impl KillArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let mut code = None;
        for name in &self.names {
            let (target, grace_ms) = (Target(name.clone()), self.grace.grace_ms());
            let progress = Progress::begin(name, &format!("qd kill --now {name}"));
            let ended = connection.kill(Kill { target, signal: self.signal, grace_ms });
            drop(progress);
            match ended {
                Ok(ended) => self.confirm(name, ended.as_ref(), context)?,
                // The others are ended all the same, and the first failure decides the exit code.
                Err(error) => {
                    let error = super::with_nearest(context, false, error.into());
                    let failed = errors::report(&error, context.json);
                    code = code.or(Some(failed));
                }
            }
        }
        Ok(code.unwrap_or(ExitCode::SUCCESS))
    }

    /// Prints the outcome for one process; `None` means that only a signal was sent.
    fn confirm(&self, name: &str, ended: Option<&Ended>, context: &mut Context) -> Result<(), CliError> {
        let name = Printable(name);
        let Some(ended) = ended else {
            let signal = self.signal.map(signal_name).unwrap_or_default();
            return context.confirm(&json!({}), |_, out| out.line(&format!("{name} was sent {signal}")));
        };
        context.confirm(ended, |ended, out| {
            let how = ended.exit.map(|exit| format!(": {}", super::wait::exit_words(&exit)));
            out.line(&format!("{name} is ended{}", how.unwrap_or_default()))
        })
    }
}
