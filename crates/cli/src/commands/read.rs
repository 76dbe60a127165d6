//! `qd read`: text of a screen, its history or its log. Owns choosing which; refuses cutting text by itself.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use client::{Chunk, FollowStream};
use proto::request::{Follow, Read, ReadMode, Target};

use crate::context::Context;
use crate::errors::CliError;

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

    /// The bytes of the log exactly as the process wrote them
    #[arg(long)]
    raw: bool,

    /// At most this many bytes
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
        let Self { since, limit, join, .. } = self;
        let text = context.connect()?.read(Read { target: Target(self.name), mode, since, limit, join })?;
        context.print(&text, |text, out| out.text(&text.text))?;
        Ok(ExitCode::SUCCESS)
    }

    fn run_raw(self, context: &mut Context) -> Result<ExitCode, CliError> {
        if context.json {
            return Err(CliError::usage("--raw prints bytes and --json prints text: choose one"));
        }
        let follow = Follow { target: Target(self.name), from: self.since, live: false };
        let stream = FollowStream::begin(context.connect()?, follow)?;
        let mut left = self.limit.map_or(usize::MAX, |limit| limit as usize);
        for chunk in stream {
            if let Chunk::Bytes { bytes, .. } = chunk? {
                let count = bytes.len().min(left);
                context.out.bytes(&bytes[..count])?;
                left -= count;
            }
            if left == 0 {
                break;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
