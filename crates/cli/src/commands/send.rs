//! `qd send`: types a text and presses Enter. `qd paste` streams long input.

use std::io::Read;
use std::process::ExitCode;

use clap::Args;
use proto::reply::Wrote;
use proto::request::{Target, TypedInput, Write};

use crate::context::Context;
use crate::errors::CliError;
use crate::output::Output;

/// Most bytes that are sent as one line of the protocol.
const MAX_TEXT: u64 = 1 << 20; // 1 MiB

/// Type a text into a process and press Enter
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Its name or id
    name: String,

    /// The text; - reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    text: String,

    /// Do not press Enter
    #[arg(long)]
    no_enter: bool,

    /// Give up after this many seconds [default: 10]
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    timeout: Option<u64>,
}

impl SendArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let text = if self.text == "-" { from_stdin()? } else { self.text };
        let request = Write {
            target: Target(self.name),
            input: TypedInput::Text(text),
            submit: !self.no_enter,
            timeout_ms: self.timeout,
            key: None,
        };
        let wrote = client::reconnecting::write(context.address()?, request)?;
        context.confirm(&wrote, print_wrote)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints what was written, in words.
pub(crate) fn print_wrote(wrote: &Wrote, out: &mut Output) -> Result<(), CliError> {
    let submitted = match wrote.submitted {
        Some(true) => ", submitted",
        Some(false) => ", Enter pressed without visible effect",
        None => "",
    };
    out.line(&format!("wrote {} of {} bytes{submitted}", wrote.written, wrote.of))
}

/// Reads all of stdin without its last line feed: Enter is pressed instead.
pub(crate) fn from_stdin() -> Result<String, CliError> {
    let mut text = String::new();
    let stdin = std::io::stdin().lock();
    stdin
        .take(MAX_TEXT + 1)
        .read_to_string(&mut text)
        .map_err(CliError::io("stdin cannot be read as text"))?;
    if text.len() as u64 > MAX_TEXT {
        return Err(CliError::usage("more than 1 MiB: use `qd paste NAME -`"));
    }
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
