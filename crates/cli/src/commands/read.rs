//! `qd read`: prints text of a screen, its history or its log. The daemon cuts text; this file limits raw
//! bytes.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use client::log_view::LogView;
use client::{Chunk, Connection, FollowStream};
use proto::reply::Text;
use proto::request::{Follow, Read, ReadMode, Target};

use super::run_args::RunArgs;
use crate::context::Context;
use crate::errors::CliError;

/// The default number of raw bytes.
const DEFAULT_RAW: u64 = 12_000;
/// Bytes of one reply when everything is printed: the maximum.
const MAX_TEXT: u32 = 65_536;
/// Most raw bytes printed.
const MAX_RAW: u64 = 65_536;

/// Print what a process shows or has printed
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// Its name or id
    name: String,

    #[command(flatten)]
    run: RunArgs,

    /// Which text
    #[arg(long, value_enum, default_value = "screen")]
    mode: Mode,

    /// Start at this offset (stream) or line id (history) [default: the beginning; with --limit, the newest text]
    #[arg(long, value_name = "OFFSET")]
    since: Option<u64>,

    /// Stop before this offset (stream) or line id (history) [default: the end]
    #[arg(long, value_name = "OFFSET")]
    until: Option<u64>,

    /// Print the bytes of the log exactly as the process wrote them
    #[arg(long)]
    raw: bool,

    /// Print at most this many bytes; 65536 is the maximum. Without it, history and stream are printed whole; a screen,
    /// --raw and --json stop at 12000 bytes
    #[arg(long, value_name = "BYTES")]
    limit: Option<u32>,

    /// Join lines that the terminal wrapped
    #[arg(long)]
    join: bool,

    /// Print rows with colours and other styles (screen and history); needs --json
    #[arg(long)]
    styles: bool,
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
        if self.styles && !context.json {
            return Err(CliError::usage("--styles prints rows as JSON: add --json"));
        }
        let Self { since, until, limit, join, styles, .. } = self;
        let (target, run) = (Target(self.name), self.run.choice());
        let request = Read { target, run, mode, since, until, limit, join, styles };
        if mode != ReadMode::Screen && limit.is_none() && !context.json {
            return print_all(context, request);
        }
        let text = context.connect()?.read(request)?;
        if !context.json {
            tell_missed(&text);
            tell_cut(&text, since);
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
        let (target, run) = (Target(self.name), self.run.choice());
        let mut connection = context.connect()?;
        let until = self.until.unwrap_or(u64::MAX);
        let from = match self.since {
            Some(since) => Some(since),
            None if !run.is_present() => None,
            None => newest(&mut connection, &target, until, left)?,
        };
        let stream = FollowStream::begin(connection, Follow { target, run, from, ..Follow::default() })?;
        let end = stream.began.log.end.min(until);
        let mut at = from.unwrap_or(stream.began.log.start);
        // A terminal gets filtered output, like a viewer; a file or a pipe gets all bytes.
        let mut scroll = context.out.is_terminal().then(LogView::default);
        if let Some(scroll) = &scroll {
            context.out.bytes(scroll.before())?;
        }
        for chunk in stream {
            match chunk? {
                Chunk::Bytes { offset, bytes } => {
                    let most = left.min(end.saturating_sub(offset));
                    let count = bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX));
                    let bytes = bytes.get(..count).unwrap_or_default();
                    match &mut scroll {
                        Some(scroll) => context.out.bytes(&scroll.pass(bytes))?,
                        None => context.out.bytes(bytes)?,
                    }
                    left -= count as u64;
                    at = offset + count as u64;
                }
                Chunk::Gap { from, to } => {
                    print_note(&format!("{} bytes are gone", to.saturating_sub(from)));
                    at = to;
                }
                Chunk::Screen(_) | Chunk::Time(_) | Chunk::Resized(_) | Chunk::Exit(_) => {}
            }
            if left == 0 || at >= end {
                break;
            }
        }
        if let Some(scroll) = &scroll {
            context.out.bytes(&scroll.way_back())?;
        }
        if at < end {
            print_note(&format!("{} more bytes; --since {at} goes on", end - at));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints everything that the request names, one reply after the other.
fn print_all(context: &mut Context, mut request: Read) -> Result<ExitCode, CliError> {
    request.limit = Some(MAX_TEXT);
    request.since = Some(request.since.unwrap_or(0));
    let mut connection = context.connect()?;
    let mut all = String::new();
    loop {
        let text = connection.read(request.clone())?;
        tell_missed(&text);
        // A page of history ends with a whole line, a page of the stream wherever the limit was.
        if text.mode == ReadMode::History && !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(&text.text);
        let is_stuck = request.since.is_some_and(|since| text.offset <= since);
        if !text.truncated || is_stuck {
            context.out.text(&all)?;
            return Ok(ExitCode::SUCCESS);
        }
        request.since = Some(text.offset);
    }
}

/// Reports what of the text is lost.
fn tell_missed(text: &Text) {
    let what = if text.mode == ReadMode::History { "lines" } else { "bytes" };
    if text.missed > 0 {
        print_note(&format!("{} {what} are gone", text.missed));
    }
    if text.cut > 0 {
        print_note(&format!(
            "{} bytes of the last line were left out: they do not fit into one answer",
            text.cut
        ));
    }
}

/// Reports what the limit left out, and how to get it.
fn tell_cut(text: &Text, since: Option<u64>) {
    if text.truncated && since.is_some() {
        print_note(&format!("more follows; --since {} goes on", text.offset));
    } else if text.truncated && text.mode != ReadMode::Screen {
        print_note("older text was left out; --since 0 begins with it");
    } else if text.truncated {
        print_note("the limit left out a part of the screen; a larger --limit shows more");
    }
}

/// Printed beside the output; there may be no reader left.
fn print_note(words: &str) {
    drop(writeln!(std::io::stderr(), "[{words}]"));
}

/// Returns where the newest `limit` bytes begin; `None` when the list does not show it.
fn newest(
    connection: &mut Connection,
    target: &Target,
    until: u64,
    limit: u64,
) -> Result<Option<u64>, CliError> {
    let all = connection.list()?;
    let view = all.iter().find(|view| view.id.to_string() == target.0 || view.name.as_str() == target.0);
    Ok(view.map(|view| view.live.log.end.min(until).saturating_sub(limit).max(view.live.log.start)))
}
