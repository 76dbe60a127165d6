//! `qd resume`: starts agents again in their vendor sessions.

use std::process::ExitCode;

use clap::Args;
use proto::reply::Spawned;
use proto::request::{Resume, Target};
use proto::{ExitReason, Kind, ProcessView};

use crate::commands::{attach, spawn};
use crate::context::{Context, own_offer};
use crate::errors::{self, CliError};

/// Start an agent again in its session
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Its name or id
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,

    /// Resume every agent that was lost, as after a reboot
    #[arg(long, conflicts_with_all = ["session", "attach"])]
    all: bool,

    /// Another session of the same agent [default: its last one]
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Attach to it at once
    #[arg(long)]
    attach: bool,
}

impl ResumeArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let Some(name) = self.name else { return resume_all(context) };
        let request = Resume { target: Target(name), session: self.session, offer: own_offer() };
        let spawned = context.connect()?.resume(request)?;
        if !self.attach || context.json {
            context.confirm(&spawned, spawn::print_spawned)?;
        }
        if self.attach {
            attach::attach_to(context, Target(spawned.id.to_string()))
        } else {
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Resumes every agent that was lost; one that cannot be resumed is reported, and the others continue.
fn resume_all(context: &mut Context) -> Result<ExitCode, CliError> {
    let mut connection = context.connect()?;
    let mut code = ExitCode::SUCCESS;
    let mut resumed: Vec<Spawned> = Vec::new();
    for process in connection.list()?.iter().filter(|process| is_lost(process)) {
        let request = Resume { target: Target(process.id.to_string()), session: None, offer: own_offer() };
        match connection.resume(request) {
            Ok(spawned) => resumed.push(spawned),
            Err(error) => code = errors::report(&error.into(), context.json),
        }
    }
    context.confirm(&resumed, |resumed, out| {
        if resumed.is_empty() {
            return out.line("no lost agent was resumed");
        }
        resumed.iter().try_for_each(|spawned| spawn::print_spawned(spawned, out))
    })?;
    Ok(code)
}

fn is_lost(process: &ProcessView) -> bool {
    let reason = process.exit.map(|exit| exit.reason);
    process.kind == Kind::Agent && reason == Some(ExitReason::Lost)
}
