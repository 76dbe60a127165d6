//! The way to the daemon: calls on pooled connections, each of which can be cut at any moment.
//!
//! Owns the bridge between tasks and a client that blocks, reconnecting with back-off, and the rule for what may be
//! asked twice. Refuses connecting before the first real request: a client that only looks whether this server lives
//! must not wake a daemon, and one that starts and drops us at once must leave no trace.

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

/// Most calls at once; each costs a thread while it waits.
pub(crate) const MAX_CALLS: usize = 48;
/// Connections kept for the next call.
const MAX_IDLE: usize = 4;
/// How long a daemon that went away is looked for.
const PATIENCE: Duration = Duration::from_secs(15);
/// The first pause between two looks; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long an ordinary call may take before the daemon counts as stuck; the shortest client limit is 60 s.
const CALL_LIMIT: Duration = Duration::from_secs(45);

/// How a call may be treated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPolicy {
    /// Asking twice is as good as asking once.
    is_repeatable: bool,
    /// Something changes by it, so that an answer that never came leaves a doubt.
    is_deed: bool,
    /// The connection is as good as new afterwards.
    is_reusable: bool,
    /// How long the answer may take.
    limit: Duration,
    /// Whether it is worth starting a daemon, and waiting for one that went away.
    is_worth_waking: bool,
}

/// When a daemon is started for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Whenever nobody listens.
    Always,
    /// When the last one crashed. One that was ended on purpose took its socket along, and stays ended.
    AfterCrash,
    /// Never.
    Never,
}

impl CallPolicy {
    /// A question: nothing changes by it.
    pub(crate) const QUESTION: Self = Self {
        is_repeatable: true,
        is_deed: false,
        is_reusable: true,
        limit: CALL_LIMIT,
        is_worth_waking: true,
    };
    /// A deed: done twice is done twice.
    pub(crate) const DEED: Self = Self { is_repeatable: false, is_deed: true, ..Self::QUESTION };
    /// A deed under a key of its own: the daemon does it once, however often it is asked.
    pub(crate) const KEYED: Self = Self { is_deed: true, ..Self::QUESTION };
    /// A stream: the connection is used up by it.
    pub(crate) const STREAM: Self = Self { is_reusable: false, ..Self::QUESTION };
    /// A question that a client asks by habit and not because anybody wants to know.
    pub(crate) const OPTIONAL: Self = Self { is_worth_waking: false, ..Self::QUESTION };

    /// A question whose answer may take this long by itself.
    pub(crate) fn lasting(self, length: Duration) -> Self {
        Self { limit: length.saturating_add(CALL_LIMIT), ..self }
    }
}

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The daemon answered, and the answer is no.
    Refused(Failure),
    /// Nobody could be reached.
    Unreachable(String),
    /// The daemon went away in the middle of a deed.
    UnknownOutcome,
    /// Too many calls at once.
    Busy,
}

impl CallError {
    /// In the words of a tool; `fields` as in [`ToolFailure::refusal`].
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

/// A name for one call, to be found again in the daemon's records and the client's transcript.
fn request_id() -> String {
    let mut random = [0; 8];
    // Only a label: without entropy it is a constant one.
    let _filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    format!("r_{:016x}", u64::from_le_bytes(random))
}

/// A key for one deed that nobody else uses. Without entropy there is none, and a deed without a key could be done twice.
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
    /// The way to a daemon that is there.
    way: DaemonAddress,
    /// Starts a daemon when nobody listens. Locked for as long as that takes: one start is enough.
    address: Mutex<DaemonAddress>,
    idle: Mutex<Vec<Connection>>,
    room: Arc<Semaphore>,
}

/// What cuts a conversation from outside: shutting the socket down wakes whoever blocks on it, and the daemon forgets
/// what was asked.
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

    /// Ties the cord to a connection; false when it was cut already.
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
            // A socket that is gone already is as good as cut.
            drop(std::os::unix::net::UnixStream::from(socket).shutdown(Shutdown::Both));
        }
    }
}

/// Cuts its cord when dropped: a call nobody waits for any more ends at once.
pub(crate) struct CancelOnDrop(pub(crate) Arc<CancelHandle>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cut();
    }
}

impl Link {
    /// The daemon of `places`; `exe` is started as one when nobody listens.
    pub(crate) fn new(places: Dirs, exe: PathBuf) -> Self {
        let way = DaemonAddress::without_start(places.clone());
        let address = Mutex::new(DaemonAddress::new(places, exe));
        let room = Arc::new(Semaphore::new(MAX_CALLS));
        Self(Arc::new(Inner { way, address, idle: Mutex::default(), room }))
    }

    /// Has `work` done on a connection. Dropping the future cuts the connection.
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
                // A daemon that ends refuses everything, and one that is full refuses newcomers: both pass.
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

    /// One attempt, in a thread of its own.
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

    /// Whom the daemon takes this process for, and who the daemon is.
    pub(crate) async fn welcome(&self) -> Result<Welcome, CallError> {
        let inner = Arc::clone(&self.0);
        // A connection says hello once, so this needs one of its own; the pooled one has made sure of a daemon.
        let fresh = move |_: &mut Connection| inner.way.open().map_err(ClientError::Broken)?.hello();
        self.ask(CallPolicy::QUESTION, fresh).await
    }

    /// A connection of one's own to a daemon that listens, tied to `cancel`; blocks. For streams that outlive a call.
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

    /// A kept connection that still lives. One whose daemon went away since is readable: its end.
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
    Err(ClientError::Broken(std::io::Error::new(ErrorKind::Interrupted, "nobody waits for this any more")))
}
