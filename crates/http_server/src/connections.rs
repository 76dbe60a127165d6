//! Limits the connections of the HTTP server: how many there are, and how long a request may take to arrive.
//!
//! A connection that has not shown the right token yet is a guest. There are few places for guests, and the
//! oldest one is closed for a new one, so that silent connections keep no client out.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// How many connections a server has.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once.
    pub all: usize,
    /// The most connections that have not shown the right token.
    pub guests: usize,
}

/// How long a request's head, and its body, may take.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest head of a request, and most headers in it.
const MAX_HEAD: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// How long closing a guest may take.
const LEAVING: Duration = Duration::from_millis(200);
/// The pause in accepting when the system has no descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);

/// The other end of a connection.
#[derive(Clone, Debug)]
pub struct HttpPeer {
    address: IpAddr,
    is_known: Arc<AtomicBool>,
}

impl HttpPeer {
    /// Its address.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns true once it has shown the right token over this connection.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    /// Records that it has shown the right token.
    pub fn know(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }
}

/// Connections that have not shown the right token, oldest first.
#[derive(Debug)]
struct Guests {
    waiting: VecDeque<(HttpPeer, AbortHandle)>,
    most: usize,
}

impl Guests {
    /// Adds a guest; closes the oldest one when there are too many.
    fn add(&mut self, peer: HttpPeer, task: AbortHandle) {
        self.forget_others();
        if self.waiting.len() >= self.most {
            self.end_oldest();
        }
        self.waiting.push_back((peer, task));
    }

    /// Removes connections that have ended or have shown the token.
    fn forget_others(&mut self) {
        self.waiting.retain(|(peer, task)| !peer.is_known() && !task.is_finished());
    }

    fn end_oldest(&mut self) {
        if let Some((_, oldest)) = self.waiting.pop_front() {
            oldest.abort();
        }
    }
}

/// Serves all connections. `wrap` turns a connection into the stream that carries HTTP: itself, or TLS over it; it has
/// [`HANDSHAKE`] to do so.
pub async fn serve<S, F>(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    wrap: impl Fn(TcpStream) -> F,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(limits.all));
    let mut guests = Guests { waiting: VecDeque::new(), most: limits.guests };
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) if is_peers_own(&error) => continue,
            Err(_) => {
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
                continue;
            }
        };
        let Some(permit) = permit_for(&permits, &mut guests).await else { continue };
        let peer = HttpPeer { address: SocketAddr::ip(&address), is_known: Arc::default() };
        let router = router.clone().layer(Extension(peer.clone()));
        let wrapped = wrap(stream);
        let task = tokio::spawn(async move {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, wrapped).await {
                connection(stream, router).await;
            }
            drop(permit);
        });
        guests.add(peer, task.abort_handle());
    }
}

/// Returns a permit for one more connection. When none is left, the oldest guest is closed, and its permit is free in a
/// moment; if known connections have all of them, the new one is refused.
async fn permit_for(permits: &Arc<Semaphore>, guests: &mut Guests) -> Option<OwnedSemaphorePermit> {
    if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
        return Some(permit);
    }
    guests.forget_others();
    guests.end_oldest();
    tokio::time::timeout(LEAVING, Arc::clone(permits).acquire_owned()).await.ok()?.ok()
}

/// Returns true if accepting failed because the client has gone.
fn is_peers_own(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset)
}

/// Serves one connection to its end; the result does not matter.
async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .keep_alive(true);
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    drop(served.with_upgrades().await);
}
