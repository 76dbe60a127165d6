//! `qd read`: text of a screen, its history or its log. Owns choosing which, and the limit of raw bytes; refuses cutting
//! text by itself.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use client::{Chunk, Connection, FollowStream};
use proto::request::{Follow, Read, ReadMode, Target};

use crate::context::Context;
use crate::errors::CliError;

/// Raw bytes printed when nobody says how many.
const DEFAULT_RAW: u64 = 12_000;
/// Most raw bytes printed.
const MAX_RAW: u64 = 65_536;

/// Print what a process shows or has printed
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// Its name or id
    name: String,

    /// Which text
    #[arg(long, value_enum, default_value = "screen")]
    mode: Mode,

    /// From this offset (stream) or line id (history) on; otherwise the newest
    #[arg(long, value_name = "OFFSET")]
    since: Option<u64>,

    /// Up to this offset (stream) or line id (history), itself not included; otherwise to the end
    #[arg(long, value_name = "OFFSET")]
    until: Option<u64>,

    /// The bytes of the log exactly as the process wrote them
    #[arg(long)]
    raw: bool,

    /// At most this many bytes; otherwise 12000, and never more than 65536
    #[arg(long, value_name = "BYTES")]
    limit: Option<u32>,

    /// Join lines that the terminal wrapped
    #[arg(long)]
    join: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// The visible screen
    Screen,
    /// Rendered lines, scrollback included
    History,
    /// The log by offset, as text
    Stream,
}

impl ReadArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        if self.raw {
            return self.run_raw(context);
        }
        let mode = match self.mode {
            Mode::Screen => ReadMode::Screen,
            Mode::History => ReadMode::History,
            Mode::Stream => ReadMode::Stream,
        };
        let Self { since, until, limit, join, .. } = self;
        let wish = Read { target: Target(self.name), mode, since, until, limit, join };
        let text = context.connect()?.read(wish)?;
        if text.missed > 0 && !context.json {
            let what = if mode == ReadMode::History { "lines" } else { "bytes" };
            tell(&format!("{} {what} are gone", text.missed));
        }
        context.print(&text, |text, out| out.text(&text.text))?;
        Ok(ExitCode::SUCCESS)
    }

    fn run_raw(self, context: &mut Context) -> Result<ExitCode, CliError> {
        if context.json {
            return Err(CliError::usage("--raw prints bytes and --json prints text: choose one"));
        }
        let mut left = match self.limit.map(u64::from) {
            Some(0) => return Err(CliError::usage("limit: at least 1")),
            limit => limit.unwrap_or(DEFAULT_RAW).min(MAX_RAW),
        };
        let target = Target(self.name);
        let mut connection = context.connect()?;
        let until = self.until.unwrap_or(u64::MAX);
        let from = match self.since {
            Some(since) => Some(since),
            None => newest(&mut connection, &target, until, left)?,
        };
        let stream = FollowStream::begin(connection, Follow { target, from, live: false })?;
        let end = stream.began.log.end.min(until);
        let mut at = from.unwrap_or(stream.began.log.start);
        for chunk in stream {
            match chunk? {
                Chunk::Bytes { offset, bytes } => {
                    let most = left.min(end.saturating_sub(offset));
                    let count = bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX));
                    context.out.bytes(bytes.get(..count).unwrap_or_default())?;
                    left -= count as u64;
                    at = offset + count as u64;
                }
                Chunk::Gap { from, to } => {
                    tell(&format!("{} bytes are gone", to.saturating_sub(from)));
                    at = to;
                }
                Chunk::Resized(_) | Chunk::Exit(_) => {}
            }
            if left == 0 || at >= end {
                break;
            }
        }
        if at < end {
            tell(&format!("{} more bytes; --since {at} goes on", end - at));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Beside the bytes, for whoever reads both; nobody may be left to.
fn tell(words: &str) {
    drop(writeln!(std::io::stderr(), "[{words}]"));
}

/// Where the newest `limit` bytes begin; nothing when the list does not say.
fn newest(
    connection: &mut Connection,
    target: &Target,
    until: u64,
    limit: u64,
) -> Result<Option<u64>, CliError> {
    let all = connection.list()?;
    let view = all.iter().find(|view| view.id.to_string() == target.0 || view.name.as_str() == target.0);
    Ok(view.map(|view| view.log.end.min(until).saturating_sub(limit).max(view.log.start)))
}
