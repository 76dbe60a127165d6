//! Starts the server: its files, its names, its listener, and its end by a signal.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http_server::ConnectionLimits;
use proto::{Dirs, Role};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::access::AccessFile;
use crate::address::PublishedAddress;
use crate::attachments::Attachments;
use crate::audit::AuditFile;
use crate::bind::{Encryption, Exposure, UnsafeBind};
use crate::cookie::CookieSpec;
use crate::dialect::Registry;
use crate::door::Door;
use crate::gateway::{Confirmations, Gateway, Shared, SocketLimits};
use crate::guest_sockets::GuestSockets;
use crate::identity::Scope;
use crate::metrics::Metrics;
use crate::metrics_listener::MetricsListener;
use crate::openapi::ApiDocument;
use crate::pairing::{CodePurpose, Pairing};
use crate::passphrase::PassphraseFile;
use crate::secrets::Secret;
use crate::tickets::Tickets;
use crate::tls::Tls;
use crate::tools::{Tools, ToolsRouter};
use crate::{revocation, routes, tls};

/// How many connections there may be. WebSockets are counted apart, once they are open.
const CONNECTIONS: ConnectionLimits = ConnectionLimits { all: 256, guests: 64 };

/// How long the tasks of a server that was interrupted may take to end.
const LAST_NOTES: Duration = Duration::from_secs(1);

/// What a server needs.
pub struct WebSetup {
    /// The directories of the daemon.
    pub dirs: Dirs,
    /// The program that is started as a daemon when the last one crashed.
    pub exe: PathBuf,
    /// Where it listens and under which names.
    pub exposure: Exposure,
    /// The path below which it is reached, with a slash at both ends.
    pub base: String,
    /// Where the counters are served without a token; nowhere if it is left out.
    pub metrics: Option<SocketAddr>,
    /// A terminal of the `terminal.*` dialect without input, output and viewers ends after this many milliseconds; none ends
    /// by itself if it is left out.
    pub terminal_idle_ms: Option<u64>,
    /// The JSON schemas of what the verbs answer, by name, for the OpenAPI document.
    pub schemas: Value,
    /// Makes the routers of the tools for agents, which are served at `/mcp`.
    pub tools: ToolsRouter,
}

/// A server that listens.
#[derive(Debug)]
pub struct ServerReady {
    /// The URL for people.
    pub url: String,
    /// The code with which the first browser signs in.
    pub code: Secret,
    /// The fingerprint of a certificate that the server signed itself.
    pub fingerprint: Option<String>,
    /// The URL of the counters that need no token.
    pub metrics: Option<String>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// It may not listen there.
    #[error(transparent)]
    Bind(#[from] UnsafeBind),
    /// The base is not a path.
    #[error("{0} is not a path with a slash at both ends, such as /qd/")]
    Base(String),
    /// The system refused to listen.
    #[error("the server cannot listen at {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// Its certificate cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Certificate(#[source] io::Error),
    /// Its files cannot be used.
    #[error("the server's files cannot be used: {0}")]
    Files(#[source] io::Error),
}

/// Returns the directory of the server's files.
#[must_use]
pub fn web_directory(dirs: &Dirs) -> PathBuf {
    dirs.data.join("web")
}

/// Serves until a signal ends it; calls `ready` once clients can connect.
pub fn serve(setup: WebSetup, ready: impl FnOnce(&ServerReady)) -> Result<(), WebError> {
    setup.exposure.names()?;
    check_base(&setup.base)?;
    let address = setup.exposure.address;
    let listen = |error| WebError::Listen(address, error);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(listen)?;
    let ended = runtime.block_on(run(setup, ready));
    // What callers have open is written down when its task ends.
    runtime.shutdown_timeout(LAST_NOTES);
    ended
}

fn check_base(base: &str) -> Result<(), WebError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_path = base.starts_with('/') && base.ends_with('/') && base.chars().all(is_plain);
    if is_path && !base.contains("//") && !base.contains("..") {
        Ok(())
    } else {
        Err(WebError::Base(base.to_owned()))
    }
}

async fn run(setup: WebSetup, ready: impl FnOnce(&ServerReady)) -> Result<(), WebError> {
    let asked = setup.exposure.address;
    let listen = |error| WebError::Listen(asked, error);
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt()).map_err(listen)?, signal(SignalKind::terminate()).map_err(listen)?);
    let listener = TcpListener::bind(asked).await.map_err(listen)?;
    let metrics = match setup.metrics {
        Some(address) => Some(MetricsListener::bind(address).await?),
        None => None,
    };
    let mut exposure = setup.exposure.clone();
    exposure.address = listener.local_addr().map_err(listen)?;
    let (base, document) = (setup.base.clone(), ApiDocument::new(&setup.schemas));
    let gateway = Arc::new(gateway(setup, &exposure)?);
    let tls = tls_of(&exposure, &gateway)?;
    let scope = Scope { role: Role::Admin, ..Scope::default() };
    let code = gateway.pairing.issue(CodePurpose::Pair(scope)).map_err(WebError::Files)?;
    gateway.audit.note_desk("code_shown", json!({"to": "pair", "role_given": Role::Admin}));
    #[cfg(feature = "push")]
    crate::push::start(&gateway);
    let router = routes::router(&gateway, document);
    let fingerprint = tls.as_ref().and_then(|tls| tls.fingerprint.clone());
    let metrics_url = metrics.as_ref().map(MetricsListener::url);
    let url = format!("{}{base}", exposure.url());
    let _published = PublishedAddress::publish(gateway.access.directory(), &url).map_err(WebError::Files)?;
    tracing::info!(url, "listening");
    ready(&ServerReady { url, code, fingerprint, metrics: metrics_url });
    tokio::select! {
        ended = accept(listener, router, tls) => ended.map_err(listen),
        ended = serve_metrics(metrics, gateway) => ended.map_err(listen),
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

/// Serves the counters, if there is an address for them.
async fn serve_metrics(listener: Option<MetricsListener>, gateway: Shared) -> io::Result<()> {
    match listener {
        Some(listener) => listener.serve(gateway).await,
        None => std::future::pending().await,
    }
}

/// Returns the certificate of a server that encrypts by itself.
fn tls_of(exposure: &Exposure, gateway: &Gateway) -> Result<Option<Tls>, WebError> {
    let Encryption::Own { certificate, .. } = &exposure.encryption else { return Ok(None) };
    let loaded = tls::load(certificate, &gateway.names, gateway.access.directory());
    loaded.map(Some).map_err(WebError::Certificate)
}

/// Serves connections, encrypted if there is a certificate.
async fn accept(listener: TcpListener, router: Router, tls: Option<Tls>) -> io::Result<()> {
    match tls {
        Some(tls) => {
            let acceptor = TlsAcceptor::from(tls.config);
            let handshake = move |stream| {
                let accepted = acceptor.accept(stream);
                async move { accepted.await.inspect_err(|error| tracing::debug!(%error, "a handshake failed")) }
            };
            http_server::serve(listener, router, CONNECTIONS, handshake).await
        }
        None => {
            http_server::serve(listener, router, CONNECTIONS, |stream| std::future::ready(Ok(stream))).await
        }
    }
}

fn gateway(setup: WebSetup, exposure: &Exposure) -> Result<Gateway, WebError> {
    let directory = web_directory(&setup.dirs);
    let access = AccessFile::open(&directory).map_err(WebError::Files)?;
    Ok(Gateway {
        door: Door::new(setup.dirs, setup.exe),
        names: exposure.names()?,
        access,
        pairing: Pairing::open(&directory),
        tickets: Tickets::default(),
        cookie: CookieSpec::new(exposure.is_secure(), exposure.address.port()),
        strict_host: exposure.strict_host(),
        base: setup.base,
        confirmations: Confirmations::default(),
        sockets: SocketLimits::default(),
        guests: GuestSockets::default(),
        revocations: revocation::watch(&directory).map_err(WebError::Files)?,
        metrics: Metrics::default(),
        audit: AuditFile::open(&directory),
        sessions: Registry::default(),
        terminal_idle_ms: setup.terminal_idle_ms,
        tools: Tools::new(setup.tools),
        attachments: Attachments::open(&directory),
        passphrase: PassphraseFile::open(&directory),
        #[cfg(feature = "push")]
        push: crate::push::Push::open(&directory, exposure.url()).map_err(WebError::Files)?,
    })
}
