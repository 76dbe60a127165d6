//! `qd see`: marks what a process did as seen, in all clients.

use std::process::ExitCode;

use clap::Args;
use proto::Printable;
use proto::request::{See, Target};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Mark what a process did as seen
#[derive(Debug, Args)]
pub(crate) struct SeeArgs {
    /// Its name or id
    name: String,

    /// Up to this turn of an agent [default: everything until now]
    #[arg(long, value_name = "N")]
    turn: Option<u64>,

    /// Up to this version of its screen, as `qd read --json` printed it; what ended later stays unseen
    #[arg(long, value_name = "V", conflicts_with = "turn")]
    screen_version: Option<u64>,
}

impl SeeArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let Self { name, turn, screen_version: version } = self;
        context.connect()?.see(See { target: Target(name.clone()), turn, version })?;
        context.confirm(&json!({ "name": name }), |_, out| {
            out.line(&format!("{} is marked as seen", Printable(&name)))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
