//! `qd mcp`: serves one client on standard input and output.
//!
//! It ends when the client closes its side, when our output is closed, on a signal, or when the process that
//! started us is gone. All four are normal.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use client::AsyncClient;
use proto::Dirs;
use rmcp::service::serve_directly;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::failure::MAX_CALLS;
use crate::server::Server;
use crate::tools::ToolContext;
use crate::wire;

/// How long running calls may take once the input has ended.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(700);
/// How long finished answers may take to be written when a signal ends us.
const BRIEF: Duration = Duration::from_millis(150);
/// Threads that connect to the daemon.
const MAX_THREADS: usize = 24;

/// The environment of a server.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The daemon's directories.
    pub dirs: Dirs,
    /// The `qd` that is started as a daemon when none listens.
    pub exe: PathBuf,
    /// The base of relative directories.
    pub here: PathBuf,
    /// Called once, when a client calls its first tool: the caller can free what only the start needed.
    pub on_first_call: fn(),
}

/// Serves one client on standard input and output until it is gone.
pub fn serve_stdio(setup: Setup) -> io::Result<()> {
    secluded();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .build()?;
    let ended = runtime.block_on(serve(setup));
    // Threads that still connect to the daemon must not delay the end.
    runtime.shutdown_background();
    ended
}

/// Keeps other processes of this user from reading our memory or environment, where the run's identity is.
pub(crate) fn secluded() {
    // Where the kernel refuses, the daemon's check of our lineage is the protection that remains.
    let _secluded = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

async fn serve(setup: Setup) -> io::Result<()> {
    // Signals are handled before anything is read, so that an early one ends us normally.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Plain descriptors, because the caller may hold the lock of the standard streams.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let (wire, client) = wire::begin(File::from(input), File::from(output))?;
    let daemon = AsyncClient::new(setup.dirs, setup.exe, MAX_CALLS);
    let server = Server::new(ToolContext::new(daemon, setup.here, setup.on_first_call), client.gone.clone());
    let running = serve_directly(server, wire, None);
    let stop = running.cancellation_token();
    let mut gone = client.gone;
    // Calls that run when the input ends are still answered, unless they wait for something.
    let last_words = async {
        let _quit = running.waiting().await;
        let _written = client.written.await;
    };
    tokio::pin!(last_words);
    let timeout = tokio::select! {
        () = &mut last_words => return Ok(()),
        _ = gone.wait_for(|gone| *gone) => CLOSE_TIMEOUT,
        _ = interrupt.recv() => BRIEF,
        _ = terminate.recv() => BRIEF,
        () = starter_is_over() => BRIEF,
    };
    if timeout == BRIEF {
        stop.cancel();
    }
    // What is not written by then is dropped with the runtime.
    let _said = tokio::time::timeout(timeout, last_words).await;
    Ok(())
}

/// Resolves when the process that started us ends, even if another process still holds our input open. Waits
/// for ever where that process cannot be watched: the end of our input remains.
async fn starter_is_over() {
    let (report, ended) = oneshot::channel();
    let watching = starter().map(|handle| {
        std::thread::Builder::new().name("mcp-starter".to_owned()).spawn(move || {
            let mut watched = [PollFd::new(&handle, PollFlags::IN)];
            while matches!(poll(&mut watched, None), Err(Errno::INTR)) {}
            // The receiver is gone when we end first.
            let _sent = report.send(());
        })
    });
    match watching {
        Some(Ok(_)) => drop(ended.await),
        Some(Err(_)) | None => std::future::pending().await,
    }
}

fn starter() -> Option<OwnedFd> {
    let parent: Pid = rustix::process::getppid()?;
    let handle = rustix::process::pidfd_open(parent, PidfdFlags::empty()).ok()?;
    // The parent may have ended before the handle was opened, which could then belong to another process.
    (rustix::process::getppid() == Some(parent)).then_some(handle)
}
