//! `qd hook`: passes a lifecycle event of an agent's program to the daemon. It is silent, never starts a
//! daemon and always succeeds, because a hook that fails would stop its agent.

use std::io::Read;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use clap::Args;
use client::DaemonAddress;
use proto::request::Hook;
use proto::{Dirs, Reply, Request};
use serde_json::Value;

use crate::context::{Context, dirs};
use crate::errors::CliError;

/// The most bytes of an event; a larger one is not passed on.
const MAX_PAYLOAD: u64 = 1 << 20; // 1 MiB
/// How long the agent's program may take to write its event.
const READ: Duration = Duration::from_secs(5);
/// How long the daemon may take to say hello.
const HELLO: Duration = Duration::from_secs(2);

/// Pass an event of an agent's program to Quarterdeck; the program calls this itself
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The event's name, if the event itself does not have it
    #[arg(long)]
    event: Option<String>,

    /// The event as JSON [default: read from standard input]
    payload: Option<String>,
}

/// How far the call has come.
enum Step {
    Read,
    Welcome,
    Answered(Option<Value>),
    /// There will be no answer, or the caller has gone.
    Over,
}

impl HookArgs {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CliError> {
        if let Some(output) = dirs().ok().and_then(|dirs| self.send_event(dirs)) {
            // The caller may not read the answer.
            drop(context.out.json(&output));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the answer for the agent's program; `None` when anything fails.
    fn send_event(self, dirs: Dirs) -> Option<Value> {
        let (steps, hear) = sync_channel(4);
        let watcher = steps.clone();
        // Threads, because neither reading standard input nor connecting has a time limit. They end with the
        // process.
        std::thread::Builder::new().spawn(move || watch_caller(&watcher)).ok()?;
        let asking = move || self.call(&dirs, &steps).or_else(|| steps.send(Step::Over).ok());
        std::thread::Builder::new().spawn(asking).ok()?;
        reached(&hear, Some(READ))?;
        reached(&hear, Some(HELLO))?;
        reached(&hear, None)?
    }

    /// Calls the daemon; every early return means that there is no answer.
    fn call(self, dirs: &Dirs, steps: &SyncSender<Step>) -> Option<()> {
        let payload = match self.payload {
            Some(payload) => payload.into_bytes(),
            None => read_input()?,
        };
        let payload = serde_json::from_slice(&payload).ok()?;
        steps.send(Step::Read).ok()?;
        let mut connection = DaemonAddress::without_start(dirs.clone()).connect_if_running().ok()?;
        connection.hello().ok()?;
        steps.send(Step::Welcome).ok()?;
        let reply = connection.call(Request::Hook(Hook { payload, event: self.event })).ok()?;
        let Reply::HookAnswer(answer) = reply else { return None };
        steps.send(Step::Answered(answer.output)).ok()
    }
}

/// Returns the next step, if it comes in time: with the answer when it is the last one.
fn reached(hear: &Receiver<Step>, within: Option<Duration>) -> Option<Option<Value>> {
    let step = match within {
        Some(within) => hear.recv_timeout(within).ok()?,
        None => hear.recv().ok()?,
    };
    match step {
        Step::Read | Step::Welcome => Some(None),
        Step::Answered(output) => Some(output),
        Step::Over => None,
    }
}

fn read_input() -> Option<Vec<u8>> {
    let mut payload = Vec::new();
    let count = std::io::stdin().lock().take(MAX_PAYLOAD + 1).read_to_end(&mut payload).ok()?;
    (count as u64 <= MAX_PAYLOAD).then_some(payload)
}

/// Reports the end of the process that started this one: a hook that waits for a person's answer must not
/// outlive its agent.
fn watch_caller(steps: &SyncSender<Step>) -> Option<()> {
    let parent = rustix::process::getppid()?;
    let pidfd = rustix::process::pidfd_open(parent, rustix::process::PidfdFlags::empty()).ok()?;
    let mut watched = [rustix::event::PollFd::from_borrowed_fd(pidfd.as_fd(), rustix::event::PollFlags::IN)];
    while rustix::event::poll(&mut watched, None) == Err(rustix::io::Errno::INTR) {}
    steps.send(Step::Over).ok()
}
