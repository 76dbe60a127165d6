//! `qd prune`: removes the entries of processes that are over.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Close, Target};
use proto::{Kind, Name, ProcessView, Status};
use serde::Serialize;

use crate::context::Context;
use crate::errors::{self, CliError};

/// Remove the entries of processes that have ended or could not be started
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Remove ended agents too. By default they stay, because `qd resume` can continue them
    #[arg(long)]
    agents: bool,
}

/// The result for each entry.
#[derive(Debug, Default, Serialize)]
struct Pruned {
    removed: Vec<Name>,
    /// Ended agents that stay.
    kept: Vec<Name>,
}

impl PruneArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let mut connection = context.connect()?;
        let (mut pruned, mut code) = (Pruned::default(), ExitCode::SUCCESS);
        for process in connection.list()?.iter().filter(|process| is_over(process)) {
            if process.kind == Kind::Agent && !self.agents {
                pruned.kept.push(process.name.clone());
                continue;
            }
            let close = Close {
                target: Target(process.id.to_string()),
                keep_background: false,
                stop: proto::Stop::default(),
            };
            match connection.close(close) {
                Ok(_) => pruned.removed.push(process.name.clone()),
                // The others are removed all the same.
                Err(error) => code = errors::report(&error.into(), context.json),
            }
        }
        context.confirm(&pruned, |pruned, out| {
            pruned.removed.iter().try_for_each(|name| out.line(&format!("{name} is removed")))?;
            if pruned.removed.is_empty() {
                out.line("nothing to remove")?;
            }
            match pruned.kept.is_empty() {
                true => Ok(()),
                false => out.line(&format!(
                    "{} ended agents stay: qd resume continues one, qd prune --agents removes them",
                    pruned.kept.len()
                )),
            }
        })?;
        Ok(code)
    }
}

fn is_over(process: &ProcessView) -> bool {
    matches!(process.status, Status::Exited | Status::Failed)
}
