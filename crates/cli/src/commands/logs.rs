//! `qd logs`: the log, now or as it grows. Owns what a terminal may see of it; refuses hiding gaps.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use client::attach::{Clipboard, Filter};
use client::{Chunk, FollowStream};
use proto::request::{Follow, Target};
use serde_json::json;

use crate::context::Context;
use crate::errors::CliError;

/// Ends whatever colours and strings the log left open on a terminal.
const SETTLE: &[u8] = b"\x18\x1b[m\x1b[?25h";

/// Print the log of a process
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Its name or id
    name: String,

    /// Go on until the run is over
    #[arg(short, long)]
    follow: bool,

    /// Do not filter terminal queries
    #[arg(long)]
    raw: bool,

    /// From this offset on; otherwise from the oldest byte there is
    #[arg(long, value_name = "OFFSET")]
    since: Option<u64>,
}

impl LogsArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let follow = Follow { target: Target(self.name), from: self.since, live: self.follow };
        let stream = FollowStream::begin(context.connect()?, follow)?;
        let is_filtered = context.out.is_terminal() && !self.raw && !context.json;
        let mut filter = Filter::new(Clipboard::Refused);
        for chunk in stream {
            match chunk? {
                chunk if context.json => tell(context, chunk)?,
                Chunk::Bytes { bytes, .. } if is_filtered => context.out.bytes(&filter.pass(&bytes))?,
                Chunk::Bytes { bytes, .. } => context.out.bytes(&bytes)?,
                Chunk::Gap { from, to } => {
                    drop(writeln!(std::io::stderr(), "[{} bytes are gone]", to.saturating_sub(from)));
                }
                Chunk::Resized(_) | Chunk::Exit(_) => {}
            }
        }
        if is_filtered {
            context.out.bytes(SETTLE)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// One JSON object per piece, text with replacement characters where bytes are no UTF-8.
fn tell(context: &mut Context, chunk: Chunk) -> Result<(), CliError> {
    let value = match chunk {
        Chunk::Bytes { offset, bytes } => json!({"offset": offset, "text": String::from_utf8_lossy(&bytes)}),
        Chunk::Gap { from, to } => json!({"gap": {"from": from, "to": to}}),
        Chunk::Resized(size) => json!({"size": size}),
        Chunk::Exit(exit) => json!({"exit": exit}),
    };
    context.out.json(&value)
}
