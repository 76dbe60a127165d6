//! `qd land`: a task's branch onto its target, tried first.

use std::process::ExitCode;

use clap::Args;
use proto::inherited_variables::{Variables, is_inheritable};
use proto::request::{LandTask, SizeRequest, TaskAct};
use proto::task::{TaskCheckout, TaskOutcome};

use super::{operate, progress, target, unexpected};
use crate::context::Context;
use crate::errors::CliError;

/// Land a task: combine its branch with the target in a separate worktree, run the gate (a check) there, and move the target if the gate passes
#[derive(Debug, Args)]
pub(crate) struct LandArgs {
    /// The task [default: the task of this directory]
    name: Option<String>,

    /// The branch that it lands on [default: its base]
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,

    /// A line of shell that must succeed first; it runs in a worktree with the combined result
    #[arg(long, value_name = "CMD", value_parser = gate)]
    gate: Option<String>,

    /// Make a merge commit instead of a rebase
    #[arg(long)]
    merge: bool,

    /// If the gate fails, send the end of its output to the task's agent
    #[arg(long, requires = "gate")]
    tell: bool,
}

/// Takes a line of shell. An empty one, such as a variable that is not set, would let everything pass.
fn gate(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        Err("the gate is empty: leave --gate out to land without a check")
    } else {
        Ok(text.to_owned())
    }
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
        let shown = progress::begin(context, request.target.clone(), "landing it")?;
        let outcome = operate(context, TaskAct::Land(Box::new(request)));
        drop(shown);
        let outcome = outcome?;
        let TaskOutcome::Landed(landed) = outcome else { return Err(unexpected()) };
        context.confirm(&landed, |landed, out| {
            out.line(&format!("landed {} on {} at {}", landed.name, landed.into, landed.commit))?;
            match &landed.checkout {
                TaskCheckout::Left { path } => out.line(&format!(
                    "warning: the checkout {path} still has the old commit's files; run `git status` there"
                )),
                TaskCheckout::Updated { path, saved: Some(saved) } => out.line(&format!(
                    "warning: some files in {path} were left half written by an interrupted landing and were replaced; `git diff {saved}:worktree` there shows what they contained"
                )),
                TaskCheckout::Absent | TaskCheckout::Updated { saved: None, .. } => Ok(()),
            }
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
