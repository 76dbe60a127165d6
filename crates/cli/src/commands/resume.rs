//! `qd resume`: starts an agent again in the vendor session it had. Owns nothing but the words.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Resume, Target};

use crate::commands::{attach, spawn};
use crate::context::Context;
use crate::errors::CliError;

/// Start an agent again in the session it had
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Its name or id
    name: String,

    /// Another session of the same agent; otherwise the one it had
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Attach to it at once
    #[arg(long)]
    attach: bool,
}

impl ResumeArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let request = Resume { target: Target(self.name), session: self.session };
        let spawned = context.connect()?.resume(request)?;
        if !self.attach || context.json {
            context.confirm(&spawned, spawn::tell)?;
        }
        if self.attach {
            attach::attach_to(context, Target(spawned.id.to_string()))
        } else {
            Ok(ExitCode::SUCCESS)
        }
    }
}
