//! `qd mcp`: one client on standard input and output, from its first line to its last breath.
//!
//! Owns the runtime and the four ways to end: the client closes its side, our output is closed, a signal, or the process
//! that started us is gone. All four are normal. Refuses ending for any other reason.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use proto::Dirs;
use rmcp::service::serve_directly;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::link::{Link, MAX_CALLS};
use crate::server::Server;
use crate::tools::ToolContext;
use crate::wire;

/// How long answers that are under way may take once the input has ended.
const FAREWELL: Duration = Duration::from_millis(700);
/// How long answers that are ready may take to be written when we are told to end.
const BRIEF: Duration = Duration::from_millis(150);
/// Threads for calls that block, and some for the listeners to events.
const MAX_THREADS: usize = MAX_CALLS + 24;

/// What a server needs to know of its surroundings.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where the daemon keeps its things.
    pub places: Dirs,
    /// The `qd` that is started as a daemon when nobody listens.
    pub exe: PathBuf,
    /// Where relative directories begin.
    pub here: PathBuf,
    /// Done once, when a client that was greeted calls its first tool: what only the start needed can go then.
    pub settled: fn(),
}

/// Serves one client on standard input and output until it is gone.
pub fn serve_stdio(setup: Setup) -> io::Result<()> {
    secluded();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .build()?;
    let ended = runtime.block_on(serve(setup));
    // Threads that still block on the daemon must not hold up the end.
    runtime.shutdown_background();
    ended
}

/// Siblings of this user may not read our memory or environment, where the run's identity is.
pub(crate) fn secluded() {
    // Where the kernel refuses, the daemon's own look at our lineage is the protection that remains.
    let _secluded = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

async fn serve(setup: Setup) -> io::Result<()> {
    // Before anything is read: a signal that comes at once is an end like any other.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Plain descriptors: whoever runs us may hold the lock of the standard streams.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let (wire, client) = wire::begin(File::from(input), File::from(output))?;
    let link = Link::new(setup.places, setup.exe);
    let server = Server::new(ToolContext::new(link, setup.here, setup.settled), client.gone.clone());
    let running = serve_directly(server, wire, None);
    let stop = running.cancellation_token();
    let mut gone = client.gone;
    // What is under way when the input ends is still answered, unless it waits for something.
    let last_words = async {
        let _quit = running.waiting().await;
        let _written = client.written.await;
    };
    tokio::pin!(last_words);
    let patience = tokio::select! {
        () = &mut last_words => return Ok(()),
        _ = gone.wait_for(|gone| *gone) => FAREWELL,
        _ = interrupt.recv() => BRIEF,
        _ = terminate.recv() => BRIEF,
        () = starter_is_over() => BRIEF,
    };
    if patience == BRIEF {
        stop.cancel();
    }
    // Whatever is not said by then is dropped with the runtime.
    let _said = tokio::time::timeout(patience, last_words).await;
    Ok(())
}

/// Hears of the end of the process that started us, also when somebody else still holds our input open. Waits for ever
/// where that process cannot be watched: the end of our input remains.
async fn starter_is_over() {
    let (told, hears) = oneshot::channel();
    let watching = starter().map(|handle| {
        std::thread::Builder::new().name("mcp-starter".to_owned()).spawn(move || {
            let mut watched = [PollFd::new(&handle, PollFlags::IN)];
            while matches!(poll(&mut watched, None), Err(Errno::INTR)) {}
            // Nobody hears it when we end first.
            let _heard = told.send(());
        })
    });
    match watching {
        Some(Ok(_)) => drop(hears.await),
        Some(Err(_)) | None => std::future::pending().await,
    }
}

fn starter() -> Option<OwnedFd> {
    let parent: Pid = rustix::process::getppid()?;
    let handle = rustix::process::pidfd_open(parent, PidfdFlags::empty()).ok()?;
    // It may have ended before the handle was taken, which would then be a stranger's.
    (rustix::process::getppid() == Some(parent)).then_some(handle)
}
