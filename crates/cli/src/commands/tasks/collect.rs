//! `qd gc`: drops what is finished.

use std::process::ExitCode;

use clap::Args;
use proto::request::{CollectTasks, TaskAct};
use proto::task::TaskOutcome;

use super::{ask, unexpected};
use crate::context::Context;
use crate::errors::CliError;

/// Drop tasks whose work is merged, and forget worktrees that were saved more than 14 days ago
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,

    /// Remove their branches too
    #[arg(long, short)]
    branch: bool,
}

impl GcArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let request = CollectTasks { branch: self.branch, dry_run: self.dry_run };
        let outcome = ask(&mut context.connect()?, TaskAct::Collect(request))?;
        let TaskOutcome::Collected(collected) = outcome else { return Err(unexpected()) };
        let (dropped, forgotten) = match self.dry_run {
            true => ("would drop", "would forget"),
            false => ("dropped", "forgot"),
        };
        context.confirm(&collected, |collected, out| {
            for name in &collected.dropped {
                out.line(&format!("{dropped} {name}"))?;
            }
            for kept in &collected.kept {
                out.line(&format!("{} stays: {}", kept.name, kept.why))?;
            }
            for reference in &collected.forgotten {
                out.line(&format!("{forgotten} {reference}"))?;
            }
            let is_empty = collected.dropped.is_empty() && collected.forgotten.is_empty();
            if is_empty { out.line("nothing to drop or to forget") } else { Ok(()) }
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
