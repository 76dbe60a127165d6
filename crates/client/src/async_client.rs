//! Calls and events of a server (an MCP proxy, a web page) across the ends of daemons, as the
//! [policy](crate::reconnect_policy) says.
//!
//! A request that may start something brings the environment of this process along, as every person's does.
//!
//! A call uses one pooled connection at a time. A call whose future is dropped closes its connection, and the
//! daemon drops the request. Nothing connects before the first call: a client that only probes a server must
//! not start a daemon.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use proto::event::Announcement;
use proto::inherited_variables::{Variables, is_allowed, is_inheritable};
use proto::reply::{Subscribed, Welcome};
use proto::request::Empty;
use proto::{Dirs, Event, Reply, Request, VerbSpec, verb};
use tokio::sync::Semaphore;

use crate::connect_or_start::has_closed;
use crate::protocol::hello_for;
use crate::reconnect_policy::{Attempts, CallAttempts, RetryLimit};
use crate::verbs::unexpected;
use crate::{AsyncConnection, CallError, ClientError, DaemonAddress, DaemonStart, Incoming, RemotePerson};

/// Connections kept for the next call.
const MAX_IDLE: usize = 4;
/// How long an ordinary call may take before the daemon counts as stuck; the shortest client limit is 60 s.
const CALL_LIMIT: Duration = Duration::from_secs(45);

/// The most daemons that are greeted for one connection.
const MAX_GREETED: usize = 5;

/// How a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOptions {
    /// Whether a daemon is started for it.
    pub start: DaemonStart,
    /// How long the daemon may be away.
    pub retry_limit: RetryLimit,
    /// How long one attempt may take.
    pub limit: Duration,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self { start: DaemonStart::Always, retry_limit: RetryLimit::Call, limit: CALL_LIMIT }
    }
}

impl CallOptions {
    /// A call that clients make by habit: it is not worth starting a daemon or waiting for one.
    #[must_use]
    pub fn optional() -> Self {
        Self { start: DaemonStart::Never, retry_limit: RetryLimit::None, ..Self::default() }
    }

    /// Adds the time that the answer may take by design.
    #[must_use]
    pub fn lasting(self, length: Duration) -> Self {
        Self { limit: length.saturating_add(CALL_LIMIT), ..self }
    }
}

/// The daemon as the tasks of a server see it; cheap to clone.
#[derive(Clone, Debug)]
pub struct AsyncClient(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    addresses: Arc<Addresses>,
    /// Whom the connections are for; none: this process itself.
    person: Option<RemotePerson>,
    /// The environment that requests of a person bring along.
    own: Variables,
    idle: Mutex<Vec<AsyncConnection>>,
    max_calls: usize,
    /// One permit per call.
    room: Semaphore,
}

/// Where the daemon is found.
#[derive(Debug)]
struct Addresses {
    /// Connects to a daemon that runs.
    running: DaemonAddress,
    /// Starts a daemon when none listens. The lock is held for as long as that takes, because one start is
    /// enough; only threads that may block take it.
    starting: Mutex<DaemonAddress>,
}

impl AsyncClient {
    /// Creates a client of the daemon of `dirs` for at most `max_calls` calls at once; starts `exe` as a
    /// daemon when none listens.
    #[must_use]
    pub fn new(dirs: Dirs, exe: PathBuf, max_calls: usize) -> Self {
        let running = DaemonAddress::without_start(dirs.clone());
        let starting = Mutex::new(DaemonAddress::new(dirs, exe));
        let own = Variables::of(std::env::vars_os(), is_inheritable);
        Self::with(Arc::new(Addresses { running, starting }), None, own, max_calls)
    }

    fn with(
        addresses: Arc<Addresses>,
        person: Option<RemotePerson>,
        own: Variables,
        max_calls: usize,
    ) -> Self {
        let (idle, room) = (Mutex::default(), Semaphore::new(max_calls));
        Self(Arc::new(Inner { addresses, person, own, idle, max_calls, room }))
    }

    /// Returns a client of the same daemon for a remote person: each of its connections says the person's label and limit
    /// in its hello, and the daemon lets it do no more. It shares no connection with another client. What a person who is
    /// limited to a workspace starts gets the allow-listed part of this process's environment.
    #[must_use]
    pub fn for_remote(&self, person: RemotePerson) -> Self {
        let mut own = self.0.own.clone();
        if person.limit.workspace.is_some() {
            own.text.retain(|name, _| is_allowed(name));
            own.hex.clear();
        }
        Self::with(Arc::clone(&self.0.addresses), Some(person), own, self.0.max_calls)
    }

    /// Asks for any verb and returns its reply. Dropping the future cancels it.
    pub async fn ask(&self, options: CallOptions, request: Request) -> Result<Reply, CallError> {
        let (connection, reply) = self.call(options, request, Pool::Used).await?;
        self.put_back(connection);
        Ok(reply)
    }

    /// Asks for a verb. Dropping the future cancels it.
    pub async fn request<V: VerbSpec>(&self, arguments: V::Arguments) -> Result<V::Reply, CallError> {
        self.request_with::<V>(CallOptions::default(), arguments).await
    }

    /// Like [`AsyncClient::request`], with options.
    pub async fn request_with<V: VerbSpec>(
        &self,
        options: CallOptions,
        arguments: V::Arguments,
    ) -> Result<V::Reply, CallError> {
        let (connection, reply) = self.call(options, V::request(arguments), Pool::Used).await?;
        self.put_back(connection);
        result::<V>(reply)
    }

    /// Asks for a verb that begins a stream (`attach`, `follow`, `subscribe`), on a connection of its own.
    /// Once it has begun, the caller decides how it goes on after the end of a daemon.
    pub async fn open<V: VerbSpec>(
        &self,
        options: CallOptions,
        arguments: V::Arguments,
    ) -> Result<(AsyncConnection, V::Reply), CallError> {
        let (connection, reply) = self.call(options, V::request(arguments), Pool::Unused).await?;
        Ok((connection, result::<V>(reply)?))
    }

    /// Makes one call, with as many attempts as the policy allows.
    async fn call(
        &self,
        options: CallOptions,
        mut request: Request,
        pool: Pool,
    ) -> Result<(AsyncConnection, Reply), CallError> {
        let _permit = self.0.room.try_acquire().map_err(|_| CallError::Busy)?;
        // The daemon ignores it from a process.
        request.offer(&self.0.own);
        let mut attempts =
            CallAttempts::new(&mut request, options.retry_limit, options.start, Instant::now());
        loop {
            let mut was_sent = false;
            let attempt = self.attempt(attempts.start(), request.clone(), pool, &mut was_sent);
            let error = match tokio::time::timeout(options.limit, attempt).await {
                Ok(Ok(answered)) => return Ok(answered),
                Ok(Err(error)) => error,
                Err(_) => return Err(attempts.unanswered(was_sent)),
            };
            let pause = attempts.pause_after(error, was_sent, Instant::now())?;
            if was_sent {
                request.mark_sent();
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(
        &self,
        start: DaemonStart,
        request: Request,
        pool: Pool,
        was_sent: &mut bool,
    ) -> Result<(AsyncConnection, Reply), ClientError> {
        let mut connection = match (pool == Pool::Used).then(|| self.pooled()).flatten() {
            Some(connection) => connection,
            None => self.connect(start).await?.0,
        };
        *was_sent = true;
        let id = connection.queue(request)?;
        match connection.answer(id).await {
            Ok(reply) => Ok((connection, reply)),
            Err(error) => {
                if matches!(error, ClientError::Failed(_)) {
                    self.put_back(connection);
                }
                Err(error)
            }
        }
    }

    /// Returns a pooled connection whose daemon is still there.
    fn pooled(&self) -> Option<AsyncConnection> {
        loop {
            let connection = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if connection.is_quiet() {
                return Some(connection);
            }
        }
    }

    fn put_back(&self, connection: AsyncConnection) {
        let mut idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    /// Returns how the daemon identifies this process, and the daemon's own data.
    pub async fn welcome(&self) -> Result<Welcome, CallError> {
        // A connection greets once, so this needs a new one; the call makes sure that a daemon runs.
        self.request::<verb::Status>(Empty {}).await?;
        match self.connect(DaemonStart::Always).await {
            Ok((_, welcome)) => Ok(welcome),
            Err(ClientError::Failed(failure)) => Err(CallError::Refused(failure)),
            Err(error) => Err(CallError::Unreachable(error.to_string())),
        }
    }

    /// Opens a connection of its own, on which hello was said. Only hello was sent when a daemon is gone before its
    /// answer, so the next daemon is greeted instead.
    pub async fn connect(&self, start: DaemonStart) -> Result<(AsyncConnection, Welcome), ClientError> {
        for _ in 1..MAX_GREETED {
            match self.greet(start).await {
                Err(ClientError::Broken(error)) if has_closed(&error) => {}
                other => return other,
            }
        }
        self.greet(start).await
    }

    async fn greet(&self, start: DaemonStart) -> Result<(AsyncConnection, Welcome), ClientError> {
        let addresses = Arc::clone(&self.0.addresses);
        // Connecting waits for a daemon that is full, and a start takes its time: not in a task.
        let opened = tokio::task::spawn_blocking(move || addresses.open(start)).await;
        let opened = opened.map_err(|error| ClientError::Unreachable(error.to_string()))??;
        let mut connection = AsyncConnection::new(opened).map_err(ClientError::Broken)?;
        let welcome = match &self.0.person {
            Some(person) => connection.hello_as(hello_for(person)).await?,
            None => connection.hello().await?,
        };
        Ok((connection, welcome))
    }

    /// Begins to listen to events.
    #[must_use]
    pub fn events(&self) -> AsyncEvents {
        let attempts = Attempts::new(RetryLimit::Endless, Instant::now());
        AsyncEvents { client: self.clone(), connection: None, began: None, attempts }
    }
}

/// Returns a verb's result from the reply.
fn result<V: VerbSpec>(reply: Reply) -> Result<V::Reply, CallError> {
    V::result(reply).map_err(|other| CallError::Unreachable(unexpected(V::WORD, &other).to_string()))
}

/// Whether a call may use a pooled connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pool {
    Used,
    Unused,
}

impl Addresses {
    fn open(&self, start: DaemonStart) -> Result<crate::Connection, ClientError> {
        match self.running.open() {
            Err(error) if start.is_due(error.kind()) => {
                let mut starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
                starting.open_or_start(start, Instant::now() + CALL_LIMIT)
            }
            Ok(connection) => Ok(connection),
            Err(error) => Err(self.running.unreachable(error)),
        }
    }
}

/// An ongoing `subscribe` that survives the end of a daemon. It waits for daemons and never starts one.
#[derive(Debug)]
pub struct AsyncEvents {
    client: AsyncClient,
    connection: Option<AsyncConnection>,
    began: Option<Subscribed>,
    attempts: Attempts,
}

impl AsyncEvents {
    /// Returns the processes when it began, or began again after the newest `resync`.
    #[must_use]
    pub fn began(&self) -> Option<&Subscribed> {
        self.began.as_ref()
    }

    /// Returns the next event. The first one, and the first after the end of a daemon, is `resync`. The
    /// future may be dropped at any moment.
    pub async fn next(&mut self) -> Result<Announcement, ClientError> {
        loop {
            let Some(connection) = &mut self.connection else {
                return self.begin().await;
            };
            match connection.receive().await {
                Ok(Some(Incoming::Event(event))) => return Ok(event),
                Ok(Some(Incoming::Answer(_) | Incoming::Notice(_) | Incoming::Data(_))) => {}
                Ok(None) => self.connection = None,
                Err(error) if error.is_leaving() => self.connection = None,
                Err(error) => return Err(error),
            }
        }
    }

    async fn begin(&mut self) -> Result<Announcement, ClientError> {
        loop {
            let begun = async {
                let (mut connection, _) = self.client.connect(DaemonStart::Never).await?;
                let began = connection.request::<verb::Subscribe>(Empty {}).await?;
                Ok((connection, began))
            };
            match begun.await {
                Ok((connection, began)) => {
                    let revision = began.revision;
                    (self.connection, self.began) = (Some(connection), Some(began));
                    self.attempts = Attempts::new(RetryLimit::Endless, Instant::now());
                    return Ok(Announcement { revision, what: Event::Resync {} });
                }
                Err(error) => match self.attempts.pause_after(&error, Instant::now()) {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(error),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests;
