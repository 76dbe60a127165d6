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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Connections at once.
const MOST: usize = 64;
/// The most connections that have not shown the right token.
const MOST_GUESTS: usize = 32;
/// How long a request's head, and its body, may take.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest head of a request, and most headers in it.
const MAX_HEAD: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// How long closing a guest may take.
const LEAVING: Duration = Duration::from_millis(200);
/// The pause in accepting when the system has no descriptor left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    address: IpAddr,
    is_known: Arc<AtomicBool>,
}

impl Peer {
    pub(super) fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns true once it has shown the right token over this connection.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Relaxed)
    }

    pub(super) fn know(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }
}

/// Connections that have not shown the right token, oldest first.
#[derive(Debug, Default)]
struct Guests(VecDeque<(Peer, AbortHandle)>);

impl Guests {
    /// Adds a guest; closes the oldest one when there are too many.
    fn add(&mut self, peer: Peer, task: AbortHandle) {
        self.forget_others();
        if self.0.len() >= MOST_GUESTS {
            self.end_oldest();
        }
        self.0.push_back((peer, task));
    }

    /// Removes connections that have ended or have shown the token.
    fn forget_others(&mut self) {
        self.0.retain(|(peer, task)| !peer.is_known() && !task.is_finished());
    }

    fn end_oldest(&mut self) {
        if let Some((_, oldest)) = self.0.pop_front() {
            oldest.abort();
        }
    }
}

/// Serves all connections.
pub(super) async fn serve(listener: TcpListener, router: Router) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MOST));
    let mut guests = Guests::default();
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) if is_peers_own(&error) => continue,
            Err(_) => {
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
                continue;
            }
        };
        let free = Arc::clone(&places);
        let place = match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                guests.forget_others();
                guests.end_oldest();
                // A closed guest's place is free in a moment. If known connections have all places, the new
                // one is refused.
                let Ok(Ok(place)) = tokio::time::timeout(LEAVING, free.acquire_owned()).await else {
                    continue;
                };
                place
            }
        };
        let peer = Peer { address: SocketAddr::ip(&address), is_known: Arc::default() };
        let router = router.clone().layer(Extension(peer.clone()));
        let task = tokio::spawn(async move {
            connection(stream, router).await;
            drop(place);
        });
        guests.add(peer, task.abort_handle());
    }
}

/// Returns true if accepting failed because the client has gone.
fn is_peers_own(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset)
}

/// Serves one connection to its end; the result does not matter.
async fn connection(stream: TcpStream, router: Router) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .keep_alive(true);
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    drop(served.await);
}
