//! `qd status`: prints whether a daemon runs, and its status. It never starts one.

use std::process::ExitCode;

use clap::Args;
use client::{ClientError, DaemonAddress};
use proto::Printable;
use proto::reply::DaemonStatus;
use serde_json::json;

use crate::context::{Context, dirs};
use crate::errors::{CliError, UNREACHABLE};
use crate::output::{Output, span};

/// Show whether the daemon runs; never starts one
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {}

impl StatusArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let status = DaemonAddress::without_start(dirs()?).connect_if_running();
        match status.and_then(|mut connection| connection.status()) {
            Ok(status) => {
                context.print(&status, print_status)?;
                Ok(ExitCode::SUCCESS)
            }
            Err(error) if is_gone(&error) => {
                context.print(&json!({"running": false}), |_, out| out.line("not running"))?;
                Ok(ExitCode::from(UNREACHABLE))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns true if no daemon answers: none listens, or the one that did has just died.
fn is_gone(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable(_)) || error.is_leaving()
}

fn print_status(status: &DaemonStatus, out: &mut Output) -> Result<(), CliError> {
    let DaemonStatus { pid, version, protocol, processes, viewers, .. } = status;
    let up = span(status.uptime_s);
    out.line(&format!("running: pid {pid}, version {}, protocol {protocol}, up {up}", Printable(version)))?;
    let count = |number: u32, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    };
    let (processes, viewers) =
        (count(*processes, "process", "processes"), count(*viewers, "viewer", "viewers"));
    out.line(&format!("{processes}, {viewers}"))?;
    status.warnings.iter().try_for_each(|warning| out.line(&format!("warning: {}", Printable(warning))))
}
