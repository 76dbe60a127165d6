//! `qd schema`: prints the JSON shapes, for programs. A test compares the file beside this one with the real
//! types.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::errors::CliError;

/// The shapes of every `--json` output as a JSON Schema.
const SCHEMA: &str = include_str!("schema.json");

/// Print the shapes of every --json output as a JSON Schema
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {}

/// Returns the shapes by name.
pub(crate) fn definitions() -> Value {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    schema["$defs"].clone()
}

impl SchemaArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        context.out.bytes(SCHEMA.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests;
