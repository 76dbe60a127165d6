//! `qd search`: prints matches in rendered history. The daemon searches.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Search, Target};

use crate::context::Context;
use crate::errors::CliError;

/// Find a regular expression in what a process has shown; exit code 1 when nothing matches
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Its name or id
    name: String,

    /// The regular expression
    #[arg(value_name = "RE")]
    pattern: String,

    /// Print at most this many matches [default: 100]
    #[arg(long)]
    limit: Option<u32>,

    /// Print lines of at most this many bytes in all; 65536 is the maximum [default: 12000]
    #[arg(long)]
    bytes: Option<u32>,
}

impl SearchArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let Self { name, pattern, limit, bytes } = self;
        let found = context
            .connect()?
            .search(Search { target: Target(name), pattern, limit, bytes })
            .map_err(|error| CliError::field("pattern", "the regular expression", error))?;
        context.print(&found, |found, out| {
            for one in &found.matches {
                let (before, after) = (dots(one.skipped > 0), dots(one.cut));
                out.text(&format!("{}: {before}{}{after}", one.line, one.text))?;
            }
            if found.truncated { out.line("… more; raise --limit or --bytes") } else { Ok(()) }
        })?;
        Ok(if found.matches.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn dots(is_cut: bool) -> &'static str {
    if is_cut { "…" } else { "" }
}
