//! `qd paste`: pastes a text of any length, streamed from stdin, with progress. The daemon encodes it.

use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use client::paste::Paste;
use client::reconnecting;
use proto::request::{Target, TypedInput, Write};

use crate::context::Context;
use crate::errors::CliError;

/// Progress is shown once a paste takes this long, and this often.
const PROGRESS_AFTER: Duration = Duration::from_millis(500);

/// Paste a text into a process, as a bracketed paste if the program asked for those
#[derive(Debug, Args)]
pub(crate) struct PasteArgs {
    /// Its name or id
    name: String,

    /// The text, of any length; - reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = crate::text_arg::text)]
    text: String,

    /// Press Enter afterwards
    #[arg(long)]
    submit: bool,

    /// Give up after this many seconds
    #[arg(long, value_name = "SECS", value_parser = crate::time_arg::seconds)]
    timeout: Option<u64>,
}

impl PasteArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let (target, submit, timeout_ms) = (Target(self.name), self.submit, self.timeout);
        let wrote = if self.text == "-" {
            let mut progress = Progress::new();
            let paste = Paste { target, submit, timeout_ms, key: None };
            let mut stdin = std::io::stdin().lock();
            let wrote =
                reconnecting::paste(context.address()?, paste, &mut stdin, &mut |sent| progress.show(sent));
            progress.end();
            wrote?
        } else {
            let input = TypedInput::Paste(self.text);
            reconnecting::write(context.address()?, Write { target, input, submit, timeout_ms, key: None })?
        };
        context.confirm(&wrote, super::send::print_wrote)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The progress of a paste, on a terminal only.
struct Progress {
    next: Instant,
    is_shown: bool,
    is_wanted: bool,
}

impl Progress {
    fn new() -> Self {
        let is_wanted = std::io::stderr().is_terminal();
        Self { next: Instant::now() + PROGRESS_AFTER, is_shown: false, is_wanted }
    }

    fn show(&mut self, sent: u64) {
        if self.is_wanted && Instant::now() >= self.next {
            self.next = Instant::now() + PROGRESS_AFTER;
            self.is_shown = true;
            drop(write!(std::io::stderr(), "\r\x1b[Kpasted {:.1} MiB", sent as f64 / f64::from(1 << 20)));
        }
    }

    fn end(&self) {
        if self.is_shown {
            drop(write!(std::io::stderr(), "\r\x1b[K"));
        }
    }
}
