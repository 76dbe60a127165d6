//! The daemon's side of the Unix socket, through which every client comes: accepting, identifying callers,
//! and the limits. Other users are refused before a byte is read.

mod agents;
mod attach;
mod audit;
mod caller_limits;
mod connection;
mod dispatch;
mod follow;
mod listing;
mod pads;
mod ports;
mod read;
mod shell_command;
mod spawn;
mod tasks;
mod trust;
mod viewer_limits;
mod write;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::ViewerId;
use holder::Launcher;
use holder::origin::Ancestors;
use proto::{Dirs, ErrorCode, Failure, ProcessId};
use rustix::net::RecvFlags;
use store::Pads;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, Semaphore, broadcast, watch};

use self::caller_limits::{CONNECTIONS, Quotas};
pub(crate) use self::tasks::resume_tasks;
pub(crate) use self::viewer_limits::{ViewerLimits, ViewerPermit};
use crate::agents::Agents;
use crate::caller;
use crate::engine_task::EngineHandle;
use crate::records::Records;
use crate::screens::Screens;
use crate::tasks::TaskRunner;
use crate::warnings::Warnings;

/// How long an ending daemon waits for clients to read their last answers.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The pause before accepting again on a system without descriptors.
const BREATHE: Duration = Duration::from_millis(100);

/// The most processes whose connections are to close and have not noticed yet; one that missed some closes too.
const SEVERED: usize = 16;

/// What every connection needs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) engine: EngineHandle,
    pub(crate) screens: Screens,
    pub(crate) agents: Agents,
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) records: Records,
    pub(crate) warnings: Warnings,
    pub(crate) pads: Arc<Pads>,
    pub(crate) tasks: TaskRunner,
    pub(crate) started: Instant,
    viewers: Arc<AtomicU64>,
    pub(crate) viewer_limits: ViewerLimits,
    pub(crate) dirs: Arc<Dirs>,
    /// Becomes true when the engine task has ended: connections send their pending answers and close.
    closing: watch::Sender<bool>,
    /// Names each process that a person has taken a right from: its connections close, and with them what it reads.
    severed: broadcast::Sender<ProcessId>,
    room: Arc<Semaphore>,
    quotas: Quotas,
    /// One permit: to parse a line that is not a person's.
    parsing: Arc<Semaphore>,
    /// The ancestors of earlier callers.
    ancestors: Arc<Ancestors>,
}

/// The parts of the daemon that a server passes calls on to.
pub(crate) struct ServerParts {
    pub(crate) engine: EngineHandle,
    pub(crate) screens: Screens,
    pub(crate) agents: Agents,
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) records: Records,
    pub(crate) warnings: Warnings,
    pub(crate) dirs: Arc<Dirs>,
}

impl Server {
    pub(crate) fn new(parts: ServerParts) -> Self {
        let ServerParts { engine, screens, agents, launcher, records, warnings, dirs } = parts;
        let pads = crate::pads::open(&dirs, &engine.facts);
        let tasks = TaskRunner::new(engine.clone(), &dirs);
        Self {
            engine,
            screens,
            agents,
            launcher,
            records,
            warnings,
            pads,
            tasks,
            started: Instant::now(),
            viewers: Arc::new(AtomicU64::new(1)),
            viewer_limits: ViewerLimits::default(),
            dirs,
            closing: watch::Sender::new(false),
            severed: broadcast::Sender::new(SEVERED),
            room: Arc::new(Semaphore::new(CONNECTIONS)),
            quotas: Quotas::default(),
            parsing: Arc::new(Semaphore::new(1)),
            ancestors: Arc::default(),
        }
    }

    /// Waits a moment until every connection has its answers.
    pub(crate) async fn close(&self) {
        self.closing.send_replace(true);
        let all = u32::try_from(CONNECTIONS).unwrap_or(u32::MAX);
        if tokio::time::timeout(CLOSE_TIMEOUT, self.room.acquire_many(all)).await.is_err() {
            tracing::debug!("some connections were closed before they had read everything");
        }
    }

    /// Becomes true when the daemon is about to end.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Closes the connections of a process. It may connect again, with the rights that it has then.
    fn sever(&self, process: ProcessId) {
        // No receiver: the process has no connection, and no other connection listens either.
        let _unheard = self.severed.send(process);
    }

    /// The next viewer's id.
    pub(crate) fn next_viewer(&self) -> ViewerId {
        ViewerId(self.viewers.fetch_add(1, Ordering::Relaxed))
    }

    /// Accepts until the daemon ends. Notifies `detour` of every client that comes.
    pub(crate) async fn serve(self, listener: UnixListener, detour: Option<Arc<Notify>>) {
        let mut spare = File::open("/dev/null").ok();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    self.welcome(stream);
                    if let Some(detour) = &detour {
                        detour.notify_one();
                    }
                    // Identifying a caller costs more than anything else before the engine, and nobody knows yet whose
                    // connection it is: the connections that are there go on before the next one comes in.
                    tokio::task::yield_now().await;
                }
                Err(error) if is_out_of_descriptors(&error) => {
                    // Accepting needs a descriptor: the spare one is closed to accept and refuse with a
                    // reason, then opened again.
                    drop(spare.take());
                    self.ancestors.clear();
                    if let Ok((stream, _)) = listener.accept().await {
                        refuse(
                            &stream,
                            "the daemon has no free file descriptors",
                            "end some processes, or raise the limit of open files",
                        );
                    }
                    spare = File::open("/dev/null").ok();
                    tokio::time::sleep(BREATHE).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATHE).await;
                }
            }
        }
    }

    fn welcome(&self, stream: UnixStream) {
        if !caller::is_same_user(&stream) {
            tracing::warn!(socket = %self.dirs.socket().display(), "a connection of another user was closed");
            return;
        }
        // Before anything that costs: a program may connect and leave as fast as it can.
        if has_left(&stream) {
            return;
        }
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            return self.turn_away(&stream);
        };
        let door = self.clone();
        drop(tokio::spawn(async move {
            connection::serve(door, stream).await;
            drop(permit);
        }));
    }
}

impl Server {
    /// Refuses a connection because the limit is reached, or because the daemon ends.
    fn turn_away(&self, stream: &UnixStream) {
        if *self.closing.borrow() {
            let failure = Failure::new(ErrorCode::ShuttingDown, "Quarterdeck is shutting down");
            let _unheard = stream.try_write(&connection::failure_line(0, failure));
        } else {
            let why = format!("{CONNECTIONS} connections are open, which is the limit");
            refuse(stream, &why, "end some of the programs that hold them");
        }
    }
}

/// Returns true if a peer has left without a word.
fn has_left(stream: &UnixStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    matches!(rustix::net::recv(stream, &mut [0_u8; 1][..], flags), Ok((0, _)))
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(
        rustix::io::Errno::from_io_error(error),
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE)
    )
}

/// Says why and lets go, without waiting for the peer.
fn refuse(stream: &UnixStream, why: &str, next_step: &str) {
    let failure = Failure::new(ErrorCode::Limit, why).hint(next_step);
    let _unheard = stream.try_write(&connection::failure_line(0, failure));
}
