//! Starts the server: its files, its names, its listener, and its end by a signal.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use http_server::{ConnectionLimits, ServerNames};
use proto::Dirs;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::access::AccessFile;
use crate::audit::AuditFile;
use crate::bind::{Exposure, UnsafeBind};
use crate::cookie::CookieSpec;
use crate::dialect::Registry;
use crate::door::Door;
use crate::gateway::{Confirmations, Gateway, SocketLimits};
use crate::identity::{AccessRole, Scope};
use crate::metrics::Metrics;
use crate::pairing::{CodePurpose, Pairing};
use crate::secrets::Secret;
use crate::tickets::Tickets;
use crate::{revocation, routes};

/// How many connections there may be. WebSockets are counted apart, once they are open.
const CONNECTIONS: ConnectionLimits = ConnectionLimits { all: 256, guests: 64 };

/// What a server needs.
pub struct WebSetup {
    /// The directories of the daemon.
    pub places: Dirs,
    /// The program that is started as a daemon when the last one crashed.
    pub exe: PathBuf,
    /// Where it listens and under which names.
    pub exposure: Exposure,
    /// The path below which it is reached, with a slash at both ends.
    pub base: String,
    /// Makes the router of the tools for agents, which is served at `/mcp` under these names.
    pub mcp: McpRouter,
}

/// Makes a router for a server with these names.
pub type McpRouter = Box<dyn FnOnce(&ServerNames) -> Router + Send>;

/// A server that listens.
#[derive(Debug)]
pub struct ServerReady {
    /// The URL for people.
    pub url: String,
    /// The code with which the first browser signs in.
    pub code: Secret,
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
    Listen(std::net::SocketAddr, #[source] io::Error),
    /// Its files cannot be used.
    #[error("the server's files cannot be used: {0}")]
    Files(#[source] io::Error),
}

/// Returns the directory of the server's files.
#[must_use]
pub fn web_directory(places: &Dirs) -> PathBuf {
    places.data.join("web")
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
    runtime.shutdown_background();
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
    let mut exposure = setup.exposure.clone();
    exposure.address = listener.local_addr().map_err(listen)?;
    let gateway = Arc::new(gateway(&setup, &exposure)?);
    let scope = Scope { role: AccessRole::Admin, ..Scope::default() };
    let code = gateway.pairing.issue(CodePurpose::Pair(scope)).map_err(WebError::Files)?;
    let router = routes::router(&gateway, &(setup.mcp)(&gateway.names));
    ready(&ServerReady { url: format!("{}{}", exposure.url(), setup.base), code });
    tokio::select! {
        ended = http_server::serve(listener, router, CONNECTIONS, |stream| std::future::ready(Ok(stream))) => {
            ended.map_err(listen)
        }
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

fn gateway(setup: &WebSetup, exposure: &Exposure) -> Result<Gateway, WebError> {
    let directory = web_directory(&setup.places);
    let access = AccessFile::open(&directory).map_err(WebError::Files)?;
    Ok(Gateway {
        door: Door::new(setup.places.clone(), setup.exe.clone()),
        names: exposure.names()?,
        access,
        pairing: Pairing::open(&directory),
        tickets: Tickets::default(),
        cookie: CookieSpec::new(exposure.is_secure(), exposure.address.port()),
        base: setup.base.clone(),
        confirmations: Confirmations::default(),
        sockets: SocketLimits::default(),
        revocations: revocation::watch(&directory).map_err(WebError::Files)?,
        metrics: Metrics::default(),
        audit: AuditFile::open(&directory),
        sessions: Registry::default(),
    })
}
