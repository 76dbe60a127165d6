//! `qd logs`: prints the log, now or as it grows, from a chosen start and with times on request. Gaps are
//! reported, and what the log has switched on is undone on a terminal.

mod stamp;

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use client::log_view::LogView;
use client::{Chunk, Next, ReconnectingFollow, Stops, StreamEnd};
use proto::request::{Follow, Target};
use proto::{ErrorCode, Exit, ExitReason, Failure};
use serde_json::json;

use super::run_args::RunArgs;
use crate::context::Context;
use crate::errors::CliError;
use crate::output::now_ms;
use crate::time_arg;
use stamp::Stamp;

/// Print the log of a process
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Its name or id
    name: String,

    #[command(flatten)]
    run: RunArgs,

    /// Continue until the run is over
    #[arg(short, long)]
    follow: bool,

    /// Print only the last lines, this many
    #[arg(long, short = 'n', value_name = "LINES")]
    tail: Option<u32>,

    /// Print only output since this time: an age such as 90s, 10m or 2h, or a time in UTC such as 2026-11-16T08:30
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Print the time (UTC) before each line
    #[arg(long, short = 't')]
    timestamps: bool,

    /// Start at this offset [default: the oldest byte that is kept]
    #[arg(long, value_name = "OFFSET", conflicts_with_all = ["tail", "since"])]
    from: Option<u64>,
}

impl LogsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let follow = self.request()?;
        let connection = context.connect()?;
        // What such a log switches on is undone at the end in any case.
        let mut scroll = (context.out.is_terminal() && !context.json).then(LogView::default);
        let mut stops = Stops::default().unread(rustix::stdio::stdout());
        if scroll.is_some() {
            stops = stops.signals().map_err(CliError::io("signals cannot be received"))?;
        }
        let mut log = ReconnectingFollow::begin(connection, follow, stops)?;
        if let Some(scroll) = &scroll {
            context.out.bytes(scroll.before())?;
        }
        let stamp = (self.timestamps && !context.json).then(Stamp::default);
        let printed = print(context, &mut log, LogFilter { scroll: &mut scroll, stamp, at_ms: None });
        if let Some(scroll) = &scroll {
            context.out.bytes(&scroll.way_back())?;
        }
        match printed? {
            Printed::ToItsEnd(ended) => known_end(&self.name, ended),
            Printed::Until(stop) => stopped(stop),
        }
    }
}

impl LogsArgs {
    fn request(&self) -> Result<Follow, CliError> {
        let since = self.since.as_deref().map(|text| time_arg::parse(text, now_ms())).transpose();
        let since_ms =
            since.map_err(|why| CliError::usage(format!("--since: {why}; --from takes an offset")))?;
        Ok(Follow {
            target: Target(self.name.clone()),
            run: self.run.choice(),
            from: self.from,
            live: self.follow,
            since_ms,
            tail: self.tail,
            times: self.timestamps,
            screen: false,
        })
    }
}

/// How output is changed on its way to the person.
struct LogFilter<'a> {
    /// For a terminal: the filter.
    scroll: &'a mut Option<LogView>,
    /// For `--timestamps`: a time at the beginning of each line.
    stamp: Option<Stamp>,
    /// The time of the present output.
    at_ms: Option<u64>,
}

/// How far a log was printed.
enum Printed {
    /// All of it, and how the run ended if the command waited for that.
    ToItsEnd(Option<Exit>),
    /// Up to this.
    Until(StreamEnd),
}

fn print(
    context: &mut Context,
    log: &mut ReconnectingFollow,
    mut shown: LogFilter<'_>,
) -> Result<Printed, CliError> {
    let mut ended = None;
    loop {
        let chunk = match log.next(context.address()?)? {
            Next::Came(chunk) => chunk,
            Next::Over => return Ok(Printed::ToItsEnd(ended)),
            Next::Stopped(stop) => return Ok(Printed::Until(stop)),
        };
        if let Chunk::Exit(exit) = &chunk {
            ended = Some(*exit);
        }
        match chunk {
            Chunk::Time(at_ms) => {
                shown.at_ms = at_ms;
                if let Some(stamp) = &mut shown.stamp {
                    stamp.set(at_ms);
                }
            }
            chunk if context.json => print_chunk(context, chunk, shown.at_ms)?,
            Chunk::Bytes { bytes, .. } => {
                let bytes = match &mut shown.stamp {
                    Some(stamp) => stamp.lines(&bytes),
                    None => bytes,
                };
                match shown.scroll {
                    Some(scroll) => context.out.bytes(&scroll.pass(&bytes))?,
                    None => context.out.bytes(&bytes)?,
                }
            }
            Chunk::Gap { from, to } => {
                if let Some(scroll) = shown.scroll {
                    context.out.bytes(scroll.skip())?;
                }
                tell_gap(from, to);
            }
            Chunk::Screen(_) | Chunk::Resized(_) | Chunk::Exit(_) => {}
        }
    }
}

/// Printed beside the output; there may be no reader left.
pub(super) fn tell_gap(from: u64, to: u64) {
    drop(writeln!(std::io::stderr(), "[{} bytes are gone]", to.saturating_sub(from)));
}

/// Returns the result of a stream that this side has ended.
pub(super) fn stopped(stop: StreamEnd) -> Result<ExitCode, CliError> {
    match stop {
        StreamEnd::Unread => Err(CliError::BrokenPipe),
        StreamEnd::Signal(signal) => Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
    }
}

/// Success after a run that ended in a known way, or has not ended; an error for a run that was lost, whose
/// end is unknown.
pub(super) fn known_end(name: &str, ended: Option<Exit>) -> Result<ExitCode, CliError> {
    if ended.is_none_or(|exit| exit.reason != ExitReason::Lost) {
        return Ok(ExitCode::SUCCESS);
    }
    let message = format!("{name} was lost: how it ended is not known");
    Err(CliError::Own(Failure::new(ErrorCode::NotRunning, message)))
}

/// Prints one JSON object per piece, with replacement characters for invalid UTF-8.
fn print_chunk(context: &mut Context, chunk: Chunk, at_ms: Option<u64>) -> Result<(), CliError> {
    let value = match chunk {
        Chunk::Bytes { offset, bytes } => {
            let mut value = json!({"offset": offset, "text": String::from_utf8_lossy(&bytes)});
            if let (Some(at_ms), Some(fields)) = (at_ms, value.as_object_mut()) {
                fields.insert("at_ms".to_owned(), at_ms.into());
            }
            value
        }
        Chunk::Time(_) | Chunk::Screen(_) => return Ok(()),
        Chunk::Gap { from, to } => json!({"gap": {"from": from, "to": to}}),
        Chunk::Resized(size) => json!({"size": size}),
        Chunk::Exit(exit) => json!({"exit": exit}),
    };
    context.out.json(&value)
}
