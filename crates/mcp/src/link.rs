//! Calls the daemon over pooled connections; every call can be cancelled at any moment.
//!
//! It bridges async tasks and the blocking client, reconnects with back-off, and decides what may be
//! repeated. It connects only at the first real request: a client that only probes this server must not start
//! a daemon.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client::{ClientError, Connection, DaemonAddress};
use proto::reply::Welcome;
use proto::{Dirs, ErrorCode, Failure};
use tokio::sync::Semaphore;

use crate::failure::ToolFailure;

/// The most calls at once; each uses a thread while it waits.
pub(crate) const MAX_CALLS: usize = 48;
/// Connections kept for the next call.
const MAX_IDLE: usize = 4;
/// How long to try to reach a daemon that went away.
const PATIENCE: Duration = Duration::from_secs(15);
/// The first pause between two attempts; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long an ordinary call may take before the daemon counts as stuck; the shortest client limit is 60 s.
const CALL_LIMIT: Duration = Duration::from_secs(45);

/// How a call is treated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPolicy {
    /// The call may be repeated without harm.
    is_repeatable: bool,
    /// The call changes something, so a missing answer leaves its effect unknown.
    is_deed: bool,
    /// The connection can be used again afterwards.
    is_reusable: bool,
    /// How long the answer may take.
    limit: Duration,
    /// The call may start a daemon and wait for one that went away.
    is_worth_waking: bool,
}

/// When a daemon is started for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Whenever no daemon listens.
    Always,
    /// When the last one crashed. A daemon that was ended on purpose removed its socket, and is not started
    /// again.
    AfterCrash,
    /// Never.
    Never,
}

impl CallPolicy {
    /// A call that only reads.
    pub(crate) const QUESTION: Self = Self {
        is_repeatable: true,
        is_deed: false,
        is_reusable: true,
        limit: CALL_LIMIT,
        is_worth_waking: true,
    };
    /// A call that changes something and must not be repeated.
    pub(crate) const DEED: Self = Self { is_repeatable: false, is_deed: true, ..Self::QUESTION };
    /// A call that changes something under an idempotency key: the daemon does it once, however often it is
    /// sent.
    pub(crate) const KEYED: Self = Self { is_deed: true, ..Self::QUESTION };
    /// A stream: it uses the connection up.
    pub(crate) const STREAM: Self = Self { is_reusable: false, ..Self::QUESTION };
    /// A call that clients make by habit: it is not worth starting a daemon.
    pub(crate) const OPTIONAL: Self = Self { is_worth_waking: false, ..Self::QUESTION };

    /// Adds the time that the answer may take by design.
    pub(crate) fn lasting(self, length: Duration) -> Self {
        Self { limit: length.saturating_add(CALL_LIMIT), ..self }
    }
}

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The daemon answered with an error.
    Refused(Failure),
    /// No daemon could be reached.
    Unreachable(String),
    /// The daemon went away during a call that changes something.
    UnknownOutcome,
    /// Too many calls at once.
    Busy,
}

impl CallError {
    /// Returns the error of a tool; `fields` as in [`ToolFailure::refusal`].
    pub(crate) fn to_failure(&self, fields: &[(&str, &str)]) -> ToolFailure {
        match self {
            Self::Refused(failure) => ToolFailure::refusal(failure, fields),
            Self::Unreachable(why) => ToolFailure::new("unreachable", why.as_str())
                .hint("try again in a moment; a person can run `qd doctor`"),
            Self::UnknownOutcome => {
                let hint = "look whether it happened (list_processes, scratchpad_list) before you repeat it";
                ToolFailure::unknown_outcome(request_id(), hint)
            }
            Self::Busy => {
                ToolFailure::new("busy", format!("{MAX_CALLS} calls are under way, the most there may be"))
                    .hint("wait for one of them; wait_for_state takes several processes at once")
            }
        }
    }
}

/// Returns an id for one call, to find it again in the daemon's log and the client's transcript.
fn request_id() -> String {
    let mut random = [0; 8];
    // It is only a label: without entropy it is constant.
    let _filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    format!("r_{:016x}", u64::from_le_bytes(random))
}

/// Returns a unique idempotency key for one call. Without entropy this fails, because a call without a key
/// could have its effect twice.
pub(crate) fn fresh_key() -> Result<String, ToolFailure> {
    let mut random = [0; 16];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| ToolFailure::new("internal", format!("no random numbers: {errno}")))?;
    Ok(format!("mcp-{:032x}", u128::from_le_bytes(random)))
}

/// The daemon as the tools see it; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Link(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Connects to a daemon that runs.
    way: DaemonAddress,
    /// Starts a daemon when none listens. The lock is held for as long as that takes, because one start is
    /// enough.
    address: Mutex<DaemonAddress>,
    idle: Mutex<Vec<Connection>>,
    room: Arc<Semaphore>,
}

/// Cancels a call from outside: shutting the socket down wakes the thread that blocks on it, and the daemon
/// drops the request.
#[derive(Debug, Default)]
pub(crate) struct CancelHandle(Mutex<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    is_cut: bool,
    socket: Option<OwnedFd>,
}

impl CancelHandle {
    fn lock(&self) -> MutexGuard<'_, CancelState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches the handle to a connection; returns false when it was cancelled already.
    fn tie(&self, connection: &Connection) -> bool {
        let mut state = self.lock();
        state.socket = connection.as_fd().try_clone_to_owned().ok();
        !state.is_cut && state.socket.is_some()
    }

    fn untie(&self) {
        self.lock().socket = None;
    }

    fn cut(&self) {
        let mut state = self.lock();
        state.is_cut = true;
        if let Some(socket) = state.socket.take() {
            // A socket that is gone already needs no shutdown.
            drop(std::os::unix::net::UnixStream::from(socket).shutdown(Shutdown::Both));
        }
    }
}

/// Cancels its call when dropped: a call whose caller is gone ends at once.
pub(crate) struct CancelOnDrop(pub(crate) Arc<CancelHandle>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cut();
    }
}

impl Link {
    /// Creates a link to the daemon of `places`; starts `exe` as a daemon when none listens.
    pub(crate) fn new(places: Dirs, exe: PathBuf) -> Self {
        let way = DaemonAddress::without_start(places.clone());
        let address = Mutex::new(DaemonAddress::new(places, exe));
        let room = Arc::new(Semaphore::new(MAX_CALLS));
        Self(Arc::new(Inner { way, address, idle: Mutex::default(), room }))
    }

    /// Runs `work` on a connection. Dropping the future cancels it.
    pub(crate) async fn ask<T, W>(&self, policy: CallPolicy, work: W) -> Result<T, CallError>
    where
        T: Send + 'static,
        W: Fn(&mut Connection) -> Result<T, ClientError> + Send + Sync + 'static,
    {
        let work = Arc::new(work);
        let patience = if policy.is_worth_waking { PATIENCE } else { Duration::ZERO };
        let give_up = Instant::now() + patience;
        let mut pause = FIRST_PAUSE;
        let mut wake = if policy.is_worth_waking { Wake::Always } else { Wake::Never };
        let mut is_in_doubt = false;
        loop {
            let was_asked = Arc::new(AtomicBool::new(false));
            let answer = self.once((policy, wake), Arc::clone(&work), Arc::clone(&was_asked)).await?;
            let was_asked = was_asked.load(Ordering::Acquire);
            is_in_doubt |= was_asked && policy.is_deed;
            let is_open = was_asked && !policy.is_repeatable;
            let error = match answer {
                Ok(value) => return Ok(value),
                // A daemon that ends refuses everything, and one that is full refuses new connections; both
                // pass, so the call is tried again.
                Err(ClientError::Failed(failure))
                    if failure.code == ErrorCode::ShuttingDown && !is_open || !was_asked =>
                {
                    ClientError::Unreachable(failure.message)
                }
                Err(ClientError::Failed(failure)) => return Err(CallError::Refused(failure)),
                Err(error) => error,
            };
            match error {
                ClientError::Broken(_) if is_open => return Err(CallError::UnknownOutcome),
                ClientError::Version { .. } => return Err(CallError::Unreachable(error.to_string())),
                _ if Instant::now() + pause > give_up => {
                    return Err(if is_in_doubt {
                        CallError::UnknownOutcome
                    } else {
                        CallError::Unreachable(error.to_string())
                    });
                }
                _ => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            wake = if wake == Wake::Always { Wake::AfterCrash } else { wake };
        }
    }

    /// Makes one attempt, in a thread of its own.
    async fn once<T, W>(
        &self,
        (policy, wake): (CallPolicy, Wake),
        work: Arc<W>,
        was_asked: Arc<AtomicBool>,
    ) -> Result<Result<T, ClientError>, CallError>
    where
        T: Send + 'static,
        W: Fn(&mut Connection) -> Result<T, ClientError> + Send + Sync + 'static,
    {
        let permit = Arc::clone(&self.0.room).try_acquire_owned().map_err(|_| CallError::Busy)?;
        let cancel = Arc::new(CancelHandle::default());
        let cancel_on_drop = CancelOnDrop(Arc::clone(&cancel));
        let inner = Arc::clone(&self.0);
        let asked = Arc::clone(&was_asked);
        let thread = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            inner.converse((policy, wake), &cancel, &asked, &*work)
        });
        let answer = tokio::time::timeout(policy.limit, thread).await;
        drop(cancel_on_drop);
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(CallError::Unreachable(error.to_string())),
            Err(_) if was_asked.load(Ordering::Acquire) && policy.is_deed => Err(CallError::UnknownOutcome),
            Err(_) => Err(CallError::Unreachable("the daemon does not answer".to_owned())),
        }
    }

    /// Returns how the daemon identifies this process, and the daemon's own data.
    pub(crate) async fn welcome(&self) -> Result<Welcome, CallError> {
        let inner = Arc::clone(&self.0);
        // A connection greets once, so this needs a new one; the pooled one has made sure that a daemon runs.
        let fresh = move |_: &mut Connection| inner.way.open().map_err(ClientError::Broken)?.hello();
        self.ask(CallPolicy::QUESTION, fresh).await
    }

    /// Opens a connection of its own to a running daemon, with a cancel handle; blocks. For streams that
    /// outlive a call.
    pub(crate) fn open(&self, cancel: &CancelHandle) -> Result<Connection, ClientError> {
        self.0.connect(cancel, Wake::Never)
    }
}

impl Inner {
    fn converse<T>(
        &self,
        (policy, wake): (CallPolicy, Wake),
        cancel: &CancelHandle,
        was_asked: &AtomicBool,
        work: &dyn Fn(&mut Connection) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let mut connection = match self.pooled(cancel) {
            Some(connection) => connection,
            None => self.connect(cancel, wake)?,
        };
        was_asked.store(true, Ordering::Release);
        let answer = work(&mut connection);
        cancel.untie();
        let is_sound = matches!(answer, Ok(_) | Err(ClientError::Failed(_)));
        if is_sound && policy.is_reusable && !cancel.lock().is_cut {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MAX_IDLE {
                idle.push(connection);
            }
        }
        answer
    }

    /// Returns a pooled connection that still works. One whose daemon went away is readable: it has the end
    /// of the stream.
    fn pooled(&self, cancel: &CancelHandle) -> Option<Connection> {
        loop {
            let mut connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if matches!(connection.receive_before(Instant::now()), Ok(None)) && cancel.tie(&connection) {
                return Some(connection);
            }
        }
    }

    fn connect(&self, cancel: &CancelHandle, wake: Wake) -> Result<Connection, ClientError> {
        let error = match self.way.open() {
            Ok(mut connection) => {
                tied(cancel, &connection)?;
                return connection.hello().map(|_| connection);
            }
            Err(error) => error,
        };
        let has_crashed = error.kind() == ErrorKind::ConnectionRefused;
        if wake == Wake::Never || (wake == Wake::AfterCrash && !has_crashed) {
            return Err(ClientError::Unreachable(format!(
                "{}: {error}",
                self.way.places().socket().display()
            )));
        }
        let connection = self.address.lock().unwrap_or_else(PoisonError::into_inner).connect()?;
        tied(cancel, &connection).map(|()| connection)
    }
}

fn tied(cancel: &CancelHandle, connection: &Connection) -> Result<(), ClientError> {
    if cancel.tie(connection) {
        return Ok(());
    }
    Err(ClientError::Broken(std::io::Error::new(
        ErrorKind::Interrupted,
        "the caller no longer waits for this",
    )))
}
