//! `qd viewers`: lists the viewers of all processes.

use std::process::ExitCode;

use clap::Args;
use proto::reply::ViewerView;

use crate::context::Context;
use crate::errors::CliError;
use crate::output::{Style, Table, now_ms, span};

/// List who watches which process
#[derive(Debug, Args)]
pub(crate) struct ViewersArgs {}

impl ViewersArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let viewers = context.connect()?.viewers()?;
        context.print(&viewers, |viewers, out| {
            let mut table = Table::new(&["VIEWER", "PROCESS", "WHO", "PID", "SINCE", "SIZE", "MODE"]);
            for viewer in viewers {
                table.row(row(viewer));
            }
            out.clipped_table(&table)
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn row(viewer: &ViewerView) -> Vec<(String, Style)> {
    let mode = match (viewer.read_only, viewer.owns_size) {
        (true, _) => "read-only",
        (false, true) => "sets the size",
        (false, false) => "types",
    };
    vec![
        (format!("v{}", viewer.viewer), Style::Bold),
        (viewer.name.to_string(), Style::Plain),
        (viewer.by.clone(), Style::Plain),
        (viewer.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()), Style::Plain),
        (span(now_ms().saturating_sub(viewer.since) / 1_000), Style::Plain),
        (format!("{}x{}", viewer.size.cols, viewer.size.rows), Style::Plain),
        (mode.to_owned(), Style::Plain),
    ]
}
