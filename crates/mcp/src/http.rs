//! `qd mcp --http`: the same server for clients that speak HTTP, on the loopback, behind a bearer token.
//!
//! Owns the token and the checks before the protocol sees a byte: who asks, under which host and origin, how long and how
//! deep. Refuses other addresses: whoever wants the network wants the web face, with its tickets and its own process.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::framing::{self, MAX_LINE};
use crate::link::Link;
use crate::server::Server;
use crate::stdio::{Setup, secluded};
use crate::tools::Bench;

/// Shortest token that is taken: 128 bits in hexadecimal.
const MIN_TOKEN: usize = 32;
/// Longest token that is taken.
const MAX_TOKEN: u64 = 1024;
/// Where pages that may talk to us come from.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// Why there is no HTTP server.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not of this machine alone.
    #[error("{0} is not a loopback address: use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The token cannot be used.
    #[error("the token cannot be used: {0}")]
    Token(String),
    /// The system said no.
    #[error("the server cannot listen at {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
}

/// What a client must show. Never printed.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A token from the environment or another place only its owner sees.
    pub fn new(text: &str) -> Result<Self, HttpError> {
        let text = text.trim();
        if text.len() < MIN_TOKEN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let why = format!("it must have at least {MIN_TOKEN} visible ASCII characters");
            return Err(HttpError::Token(why));
        }
        Ok(Self(text.into()))
    }

    /// A token from a file that nobody else can read.
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

    /// Whether this is it, in a time that does not tell how much of it was right.
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

/// Serves clients at `address` until a signal ends it; `ready` is told the address once somebody can connect.
pub fn serve_http(
    setup: Setup,
    address: SocketAddr,
    token: Token,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), HttpError> {
    if !address.ip().is_loopback() {
        return Err(HttpError::NotLoopback(address));
    }
    secluded();
    let listen = |error| HttpError::Listen(address, error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(listen)?;
    let ended = runtime.block_on(serve(setup, address, token, ready)).map_err(listen);
    runtime.shutdown_background();
    ended
}

async fn serve(
    setup: Setup,
    address: SocketAddr,
    token: Token,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (_present, gone) = watch::channel(false);
    let server = Server::new(Bench::new(Link::new(setup.places, setup.exe), setup.here, setup.settled), gone);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(ORIGINS)
        .with_max_request_body_bytes(MAX_LINE);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.for_another()), sessions, config);
    let router = axum::Router::new().route_service("/mcp", service).layer(from_fn_with_state(token, guard));
    let listener = tokio::net::TcpListener::bind(address).await?;
    ready(listener.local_addr()?);
    tokio::select! {
        ended = axum::serve(listener, router) => ended,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

/// Before the protocol: the token, then the same limits that lines have.
async fn guard(State(token): State<Token>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown =
        shown.and_then(|value| value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ")));
    if !shown.is_some_and(|shown| token.is(shown)) {
        let told =
            json!({"error": {"code": "unauthorized", "message": "authorization: a bearer token is needed"}});
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], told.to_string())
            .into_response();
    }
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_LINE).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "body: at most 4 MiB").into_response();
    };
    if let Err(fault) = framing::examine(&bytes) {
        let kind = [(header::CONTENT_TYPE, "application/json")];
        let status = if fault.is_unknown_method() { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
        return (status, kind, fault.answer().to_string()).into_response();
    }
    next.run(Request::from_parts(head, Body::from(bytes))).await
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
        let places = proto::Places::below(Path::new("/nowhere"));
        let setup = Setup { places, exe: "/nowhere/qd".into(), here: "/".into(), settled: || {} };
        let token = Token::new(&"a".repeat(32)).expect("long enough");
        let address = "0.0.0.0:0".parse().expect("an address");
        assert!(matches!(serve_http(setup, address, token, |_| {}), Err(HttpError::NotLoopback(_))));
    }
}
