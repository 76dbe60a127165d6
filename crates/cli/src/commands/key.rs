//! `qd key`: presses named keys. The daemon encodes them for the child's modes.

use std::process::ExitCode;

use clap::Args;
use proto::request::{Target, TypedInput, Write};

use crate::context::Context;
use crate::errors::CliError;

/// Press keys in a process, such as enter, ctrl-c, alt-x, up, f5
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Its name or id
    name: String,

    /// The keys, in order
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,
}

impl KeyArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let count = self.keys.len();
        let request = Write {
            target: Target(self.name),
            input: TypedInput::Keys(self.keys),
            submit: false,
            timeout_ms: None,
            key: None,
        };
        let wrote = client::reconnecting::write(context.address()?, request)?;
        context.confirm(&wrote, |wrote, out| match wrote.written == wrote.of {
            true if count == 1 => out.line("pressed 1 key"),
            true => out.line(&format!("pressed {count} keys")),
            false => super::send::print_wrote(wrote, out),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
