//! `qd mcp --http`: the same server for clients that use HTTP, on the loopback, behind a bearer token.
//!
//! The token stands for the person or process that started the server: the daemon identifies this server by
//! its own lineage, whichever client shows the token. When the run in which it was started ends, the daemon
//! refuses it.
//!
//! Before the protocol sees a byte, `http_server` checks names and limits
//! numbers and times, `lock_out` counts wrong tokens, this file checks the token, and `service` length and
//! depth. Addresses of the network are refused.

mod lock_out;
mod service;

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http_server::{BadOrigin, ConnectionLimits, HttpPeer, ServerNames};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use self::lock_out::LockOut;
pub use self::service::http_router;
use crate::stdio::{Setup, secluded};

/// The shortest token that is accepted: 128 bits in hexadecimal.
const MIN_TOKEN: usize = 32;
/// The longest token that is accepted.
const MAX_TOKEN: u64 = 1024;
/// How many connections there may be.
const CONNECTIONS: ConnectionLimits = ConnectionLimits { all: 64, guests: 32 };

/// Why there is no HTTP server.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not a loopback address.
    #[error("{0} is not a loopback address: use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// A page's origin that no browser can send.
    #[error(transparent)]
    Origin(#[from] BadOrigin),
    /// The token cannot be used.
    #[error("the token cannot be used: {0}")]
    Token(String),
    /// The system refused to listen.
    #[error("the server cannot listen at {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
}

/// The token that a client must show. It is never printed.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Creates a token from the environment or another place only its owner sees.
    pub fn new(text: &str) -> Result<Self, HttpError> {
        let text = text.trim();
        if text.len() < MIN_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let why = format!("it must have at least {MIN_TOKEN} visible ASCII characters");
            return Err(HttpError::Token(why));
        }
        Ok(Self(text.into()))
    }

    /// Reads a token from a file that no other user can read.
    pub fn from_file(path: &Path) -> Result<Self, HttpError> {
        let refused = |why: &str| HttpError::Token(format!("{} {why}", path.display()));
        let file = File::open(path).map_err(|error| refused(&format!("cannot be read: {error}")))?;
        let known = file.metadata().map_err(|error| refused(&format!("cannot be read: {error}")))?;
        if !known.is_file() || known.uid() != rustix::process::getuid().as_raw() {
            return Err(refused("is not a file of yours"));
        }
        if known.mode() & 0o077 != 0 {
            return Err(refused("can be read by others: make its mode 0600"));
        }
        let mut text = String::new();
        file.take(MAX_TOKEN).read_to_string(&mut text).map_err(|error| refused(&error.to_string()))?;
        Self::new(&text)
    }

    /// Compares in constant time, so that the time does not reveal how much was right.
    fn is(&self, shown: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), shown.as_bytes());
        let differing = ours.iter().zip(theirs).fold(0, |differing, (a, b)| differing | (a ^ b));
        ours.len() == theirs.len() && differing == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Serves clients at `address` until a signal ends it; calls `ready` with the address once clients can
/// connect.
pub fn serve_http(
    setup: Setup,
    address: SocketAddr,
    token: Token,
    origins: &[String],
    ready: impl FnOnce(SocketAddr),
) -> Result<(), HttpError> {
    if !address.ip().is_loopback() {
        return Err(HttpError::NotLoopback(address));
    }
    // Wrong names are reported before a client can connect.
    ServerNames::new(address, origins)?;
    secluded();
    let listen = |error| HttpError::Listen(address, error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(listen)?;
    let bound = runtime.block_on(TcpListener::bind(address)).map_err(listen)?;
    let names = ServerNames::new(bound.local_addr().map_err(listen)?, origins)?;
    let ended = runtime.block_on(serve(setup, bound, token, names, ready)).map_err(listen);
    runtime.shutdown_background();
    ended
}

async fn serve(
    setup: Setup,
    listener: TcpListener,
    token: Token,
    names: ServerNames,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let gate = Gate { token, names: names.clone(), lock_out: Mutex::default() };
    let router = http_router(setup, &names, None).fallback(nothing_there);
    let router = router.layer(from_fn_with_state(Arc::new(gate), guard));
    ready(listener.local_addr()?);
    tokio::select! {
        ended = http_server::serve(listener, router, CONNECTIONS, |stream| std::future::ready(Ok(stream))) => ended,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

/// The checks before the protocol.
struct Gate {
    token: Token,
    names: ServerNames,
    /// A std mutex, held only for short lookups.
    lock_out: Mutex<LockOut>,
}

impl Gate {
    /// Returns the refusal for a request without the right token. A missing token does not count as a wrong
    /// one.
    fn refuse_token(&self, request: &Request, peer: &HttpPeer) -> Option<Response> {
        let now = Instant::now();
        let mut lock_out = self.lock_out.lock().unwrap_or_else(PoisonError::into_inner);
        if !peer.is_known()
            && let Some(closed) = lock_out.closed_for(peer.address(), now)
        {
            return Some(locked_out(closed));
        }
        let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown =
            shown.and_then(|value| value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ")));
        match shown {
            Some(shown) if self.token.is(shown) => {
                lock_out.right(peer.address());
                peer.know();
                return None;
            }
            Some(_) => lock_out.wrong(peer.address(), now),
            None => {}
        }
        let words = refusal("unauthorized", "authorization: a bearer token is needed");
        Some((StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], words).into_response())
    }
}

fn refusal(code: &str, message: &str) -> String {
    json!({"error": {"code": code, "message": message}}).to_string()
}

fn locked_out(closed: Duration) -> Response {
    let seconds = closed.as_secs() + 1;
    let words = refusal("busy", &format!("too many wrong tokens: try again in {seconds} s"));
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds.to_string())], words).into_response()
}

async fn nothing_there() -> StatusCode {
    StatusCode::NOT_FOUND
}

/// Checks names and the token.
async fn guard(
    State(gate): State<Arc<Gate>>,
    Extension(peer): Extension<HttpPeer>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(why) = gate.names.check(request.uri(), request.headers()) {
        return (StatusCode::FORBIDDEN, refusal("denied", why)).into_response();
    }
    if let Some(refused) = gate.refuse_token(&request, &peer) {
        return refused;
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b8_a_short_token_is_no_token() {
        assert!(Token::new("short").is_err());
        assert!(Token::new(&"x ".repeat(32)).is_err());
        let token = Token::new(&format!("{}\n", "a".repeat(32))).expect("long enough");
        assert!(token.is(&"a".repeat(32)) && !token.is(&"a".repeat(33)) && !token.is(""));
        assert!(!format!("{token:?}").contains("aaa"));
    }

    #[test]
    fn an_address_of_the_network_is_refused() {
        let dirs = proto::Dirs::below(Path::new("/nowhere"));
        let setup = Setup { dirs, exe: "/nowhere/qd".into(), here: "/".into(), on_first_call: || {} };
        let token = Token::new(&"a".repeat(32)).expect("long enough");
        let address = "0.0.0.0:0".parse().expect("an address");
        assert!(matches!(serve_http(setup, address, token, &[], |_| {}), Err(HttpError::NotLoopback(_))));
    }
}
