//! Commands that an operation on a task runs to their end: gates, and what prepares a worktree. Each is a process like any
//! other: people see it, and one that an agent brings needs trust.

use engine::{Command, CommandAnswer};
use proto::request::{Close, Empty, Read, ReadMode, Spawn, Until, Wait};
use proto::{ErrorCode, Failure, ProcessId, Reply, Stop, Target};

use super::super::connection::Client;
use super::super::{read, spawn};

/// How much of a failed command's output is shown, in bytes.
const TAIL: u32 = 4_000;

/// How a command ended.
pub(super) struct CommandEnd {
    /// Its exit code, as a shell has it.
    pub(super) code: u8,
    /// The end of what it printed; empty if it succeeded.
    pub(super) tail: String,
}

/// Starts a command; without its name if another process has that.
pub(super) async fn start_command(client: &Client, order: Spawn) -> Result<ProcessId, Failure> {
    let nameless = Spawn { name: None, ..order.clone() };
    let spawned = match spawn::spawn(client, order).await {
        Err(failure) if failure.code == ErrorCode::Conflict => spawn::spawn(client, nameless).await,
        spawned => spawned,
    };
    match spawned? {
        Reply::Spawned(spawned) => Ok(spawned.id),
        _ => Err(Failure::new(ErrorCode::Internal, "the command was not started")),
    }
}

/// Waits for the end of a command that was started.
pub(super) async fn finish_command(client: &Client, process: ProcessId) -> Result<CommandEnd, Failure> {
    let wait = Wait::until(vec![Target(process.to_string())], Until::Exit(Empty {}));
    let CommandAnswer::Reply(Reply::Waited(waited)) = client.ask(Command::Wait(wait)).await? else {
        return Err(Failure::new(ErrorCode::Internal, "the command's end was not seen"));
    };
    let exit = waited.satisfied.first().and_then(|satisfied| satisfied.exit);
    let code = exit.map_or(1, |exit| exit.shell_code());
    if code == 0 {
        return Ok(CommandEnd { code, tail: String::new() });
    }
    Ok(CommandEnd { code, tail: tail(client, process).await })
}

/// Removes a process of an operation from the list.
pub(super) async fn close(client: &Client, process: ProcessId) {
    let close = Close { target: Target(process.to_string()), keep_background: false, stop: Stop::default() };
    if let Err(failure) = client.ask(Command::Close(close)).await {
        tracing::debug!(%failure, "a command of an operation was not closed");
    }
}

/// The end of what a process printed.
async fn tail(client: &Client, process: ProcessId) -> String {
    let request = Read {
        target: Target(process.to_string()),
        mode: ReadMode::History,
        limit: Some(TAIL),
        join: true,
        ..Read::default()
    };
    match read::read(client, request).await {
        Ok(Reply::Text(text)) => text.text.trim_end().to_owned(),
        _ => String::new(),
    }
}
