//! `qd exec`: runs a command in the foreground and exits with its code.
//!
//! With a terminal on both sides the command is attached. Otherwise its output goes to standard output as it comes, and
//! standard input goes to it until the end, unless that is a terminal: a pager beside this command may read its keys.

mod input;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use client::log_view::LogView;
use client::{Chunk, ClientError, Connection, Next, ReconnectingFollow, Stops, StreamEnd};
use proto::error::Cause;
use proto::request::{Close, Follow, Target};
use proto::{ErrorCode, Exit, Failure, Kind, Printable, ProcessId, Status};
use rustix::termios::isatty;

use self::input::Input;
use crate::commands::spawn::SpawnArgs;
use crate::commands::{attach, logs};
use crate::context::{Context, own_path};
use crate::errors::CliError;

/// Makes the terminal a plain pipe (no echo, nothing translated), reports it with one byte, and becomes the
/// command.
const PLAIN: &str = "stty -echo -opost -isig -ixon -icrnl 2>/dev/null; printf '\\001'; exec \"$@\"";
/// The byte that reports it.
const READY: u8 = 1;
/// Daemons that may die under one call before the command gives up.
const DEATHS: u32 = 5;

/// Run a command in the foreground and exit with its exit code
///
/// With a terminal on both sides the command is attached. Otherwise its output, errors included, goes to stdout, and what
/// is piped in goes to it; a terminal as stdin is not read, so a command that asks something needs both sides.
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Its name [default: command-N]
    #[arg(long)]
    name: Option<String>,

    /// The directory it runs in [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,

    /// Set a variable for it; K alone copies the value from this shell
    #[arg(long, value_name = "K=V")]
    env: Vec<String>,

    /// Give it only the harmless part of this shell's environment
    #[arg(long)]
    clean_env: bool,

    /// Keep its entry when it has ended, so that its output can be read again
    #[arg(long)]
    keep: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "ARGV")]
    argv: Vec<String>,
}

impl ExecArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        let (keep, has_input) = (self.keep, !isatty(rustix::stdio::stdin()));
        let is_attached = !has_input && context.out.is_terminal() && !context.json;
        let mut spawn = SpawnArgs::of_kind(Kind::Command);
        (spawn.name, spawn.cwd, spawn.size) = (self.name, self.cwd, attach::shown_size());
        (spawn.env, spawn.clean_env) = (self.env, self.clean_env);
        spawn.argv = if is_attached { self.argv } else { plain(check_program(self.argv, &spawn.env)?) };
        let request = spawn.request(std::env::vars_os().collect())?;
        let spawned = client::reconnecting::spawn(context.address()?, request)?;
        let code = if is_attached {
            attach::attach_to(context, Target(spawned.id.to_string()))?
        } else {
            piped(context, spawned.id, has_input)?
        };
        if !keep {
            remove(context, spawned.id)?;
        }
        Ok(code)
    }
}

/// Refuses a program that this shell's PATH does not have, because the error of the shell around it would be in words
/// that a person did not expect.
fn check_program(argv: Vec<String>, env: &[String]) -> Result<Vec<String>, CliError> {
    let has_own_path = env.iter().any(|pair| pair.starts_with("PATH="));
    let program = argv.first().map(String::as_str).unwrap_or_default();
    let Some(path) = own_path().filter(|_| !has_own_path && !program.contains('/')) else { return Ok(argv) };
    if daemon::finds_program(program, &path, Path::new(".")) {
        return Ok(argv);
    }
    let failure = Failure::new(ErrorCode::SpawnFailed, format!("program not found: {}", Printable(program)));
    Err(CliError::Own(failure.cause(Cause::NotFound).hint("check its name and PATH, or give its full path")))
}

/// Wraps the command in a shell that makes its terminal plain first.
fn plain(argv: Vec<String>) -> Vec<String> {
    ["/bin/sh", "-c", PLAIN, "sh"].map(str::to_owned).into_iter().chain(argv).collect()
}

/// Copies input and output until the run is over.
fn piped(context: &mut Context, id: ProcessId, has_input: bool) -> Result<ExitCode, CliError> {
    let mut input =
        if has_input { Some(Input::new(context.address()?.for_another_thread(), id)) } else { None };
    let follow = Follow { target: Target(id.to_string()), from: Some(0), live: true, ..Follow::default() };
    let mut log = asked_again(context, |connection| {
        let stops =
            Stops::default().unread(rustix::stdio::stdout()).signals().map_err(ClientError::Broken)?;
        ReconnectingFollow::begin(connection, follow.clone(), stops)
    })?;
    let mut scroll = context.out.is_terminal().then(LogView::default);
    let (mut is_plain, mut ended) = (false, None);
    let stop = loop {
        match log.next(context.address()?)? {
            Next::Came(Chunk::Bytes { bytes, .. }) => {
                let shown = if is_plain { &bytes[..] } else { behind_ready(&bytes, &mut is_plain) };
                if let Some(input) = input.as_mut().filter(|_| is_plain) {
                    input.begin();
                }
                match &mut scroll {
                    Some(scroll) => context.out.bytes(&scroll.pass(shown))?,
                    None => context.out.bytes(shown)?,
                }
            }
            Next::Came(Chunk::Gap { from, to }) => logs::tell_gap(from, to),
            Next::Came(Chunk::Exit(exit)) => ended = Some(exit),
            Next::Came(Chunk::Screen(_) | Chunk::Time(_) | Chunk::Resized(_)) => {}
            Next::Over => break None,
            Next::Stopped(stop) => break Some(stop),
        }
    };
    if let Some(scroll) = &scroll {
        context.out.bytes(&scroll.way_back())?;
    }
    if let Some(error) = input.as_ref().and_then(Input::failure) {
        return Err(error.into());
    }
    match stop {
        Some(stop) => interrupted(context, id, stop),
        None => Ok(ExitCode::from(ended.as_ref().map_or(1, Exit::shell_code))),
    }
}

/// Returns the bytes after the one that reports a plain terminal.
fn behind_ready<'a>(bytes: &'a [u8], is_plain: &mut bool) -> &'a [u8] {
    match bytes.iter().position(|byte| *byte == READY) {
        Some(place) => {
            *is_plain = true;
            &bytes[place + 1..]
        }
        None => &[],
    }
}

/// The reader is gone, or a signal came: the process ends with this command.
fn interrupted(context: &mut Context, id: ProcessId, stop: StreamEnd) -> Result<ExitCode, CliError> {
    let close =
        Close { target: Target(id.to_string()), keep_background: false, stop: proto::Stop::default() };
    drop(context.connect()?.close(close));
    logs::stopped(stop)
}

/// Removes the entry if the run is over; a process that was detached from continues.
fn remove(context: &mut Context, id: ProcessId) -> Result<(), CliError> {
    let is_over = |status| matches!(status, Status::Exited | Status::Failed);
    asked_again(context, |mut connection| {
        if connection.list()?.iter().any(|process| process.id == id && is_over(process.status)) {
            connection.close(Close {
                target: Target(id.to_string()),
                keep_background: false,
                stop: proto::Stop::default(),
            })?;
        }
        Ok(())
    })
}

/// Makes a call that may be made twice, again at the next daemon when one died before its answer.
fn asked_again<T>(
    context: &mut Context,
    mut call: impl FnMut(Connection) -> Result<T, ClientError>,
) -> Result<T, CliError> {
    let mut deaths = 0;
    loop {
        match context.address()?.connect().and_then(&mut call) {
            Err(ClientError::Broken(_)) if deaths < DEATHS => deaths += 1,
            answer => return Ok(answer?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m14_only_what_comes_after_the_terminal_is_plain_is_output() {
        let mut is_plain = false;
        assert_eq!(behind_ready(b"noise", &mut is_plain), b"");
        assert!(!is_plain);
        assert_eq!(behind_ready(b"x\x01out", &mut is_plain), b"out");
        assert!(is_plain);
    }
}
