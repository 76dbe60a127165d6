//! `qd diff`: the changes of a task since its branch began.

use std::process::ExitCode;

use clap::Args;
use proto::request::{DiffTask, TaskAct};
use proto::task::{TaskFileStat, TaskOutcome};

use super::{ask, target, unexpected};
use crate::context::Context;
use crate::errors::CliError;

/// Show a task's changes since its base, including those that are not committed
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The task [default: the task of this directory]
    name: Option<String>,

    /// Print only how many lines of each file changed
    #[arg(long)]
    stat: bool,

    /// Compare with this commit instead
    #[arg(long, value_name = "REF")]
    base: Option<String>,
}

impl DiffArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let is_stat = self.stat;
        let request =
            DiffTask { target: target(self.name)?, stat: self.stat, base: self.base, context: None };
        let TaskOutcome::Diff(diff) = ask(&mut context.connect()?, TaskAct::Diff(request))? else {
            return Err(unexpected());
        };
        context.print(&diff, |diff, out| {
            if !is_stat {
                out.text(&diff.text)?;
                return if diff.is_truncated { out.line("the rest was cut off; see --stat") } else { Ok(()) };
            }
            diff.files.iter().try_for_each(|file| out.line(&numbers(file)))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn numbers(file: &TaskFileStat) -> String {
    let name = match &file.original {
        Some(original) => format!("{original} -> {}", file.path),
        None => file.path.clone(),
    };
    match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!("+{added} -{removed} {name}"),
        _ => format!("binary {name}"),
    }
}
