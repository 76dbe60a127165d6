//! `qd land`: a task's branch onto its target, tried first.

use std::process::ExitCode;

use clap::Args;
use proto::environment::{Variables, is_inheritable};
use proto::request::{LandTask, SizeRequest, TaskAct};
use proto::task::{TaskCheckout, TaskOutcome};

use super::{ask, target, unexpected};
use crate::context::Context;
use crate::errors::CliError;

/// Land a task: combine it with its target aside, run the gate there, and move the target if it passes
#[derive(Debug, Args)]
pub(crate) struct LandArgs {
    /// The task; otherwise that of this directory
    name: Option<String>,

    /// The branch that it lands on; otherwise its base
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,

    /// A line of shell that must succeed first, in a worktree with the combined result
    #[arg(long, value_name = "CMD")]
    gate: Option<String>,

    /// Make a merge commit instead of a rebase
    #[arg(long)]
    merge: bool,

    /// Give the task's agent the end of the output when the gate fails
    #[arg(long, requires = "gate")]
    tell: bool,
}

impl LandArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let own = Variables::of(std::env::vars_os(), is_inheritable);
        let request = LandTask {
            target: target(self.name)?,
            into: self.into,
            gate: self.gate,
            merge: self.merge,
            tell: self.tell,
            base_env: Some(own.text),
            size: SizeRequest::default(),
        };
        let outcome = ask(&mut context.connect()?, TaskAct::Land(Box::new(request)))?;
        let TaskOutcome::Landed(landed) = outcome else { return Err(unexpected()) };
        context.confirm(&landed, |landed, out| {
            out.line(&format!("landed {} on {} at {}", landed.name, landed.into, landed.commit))?;
            match &landed.checkout {
                TaskCheckout::Left { path } => out.line(&format!(
                    "warning: {path} has changes of its own; its files are still those of the old commit"
                )),
                TaskCheckout::Absent | TaskCheckout::Updated { .. } => Ok(()),
            }
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
