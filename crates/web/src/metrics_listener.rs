//! The counters at an address of their own, for a scraper that has no token: `qd web --metrics-bind ADDRESS`.
//!
//! The address answers `GET /metrics` and nothing else. The answer has numbers: no name, no path and no text of a process.
//! A page in a browser is refused by its host or its origin, as everywhere.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_server::{ConnectionLimits, ServerNames};
use proto::Role;
use tokio::net::TcpListener;

use crate::api::service;
use crate::bind::metrics_names;
use crate::gateway::Shared;
use crate::identity::{AccessIdentity, IdentityKind, Scope};
use crate::problem::Problem;
use crate::request_check;
use crate::serve::WebError;

/// A scraper has one connection.
const CONNECTIONS: ConnectionLimits = ConnectionLimits { all: 16, guests: 8 };

/// A listener for scrapers.
#[derive(Debug)]
pub(crate) struct MetricsListener {
    listener: TcpListener,
    address: SocketAddr,
    names: ServerNames,
}

impl MetricsListener {
    /// Listens at this address; port 0 takes a free one.
    pub(crate) async fn bind(asked: SocketAddr) -> Result<Self, WebError> {
        metrics_names(asked)?;
        let listen = |error| WebError::Listen(asked, error);
        let listener = TcpListener::bind(asked).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self { listener, address, names: metrics_names(address)? })
    }

    /// Returns the URL that a scraper is given.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Serves scrapers.
    pub(crate) async fn serve(self, gateway: Shared) -> io::Result<()> {
        let router = Router::new().route("/metrics", get(page)).fallback(service::nothing_there);
        let router = router.layer(from_fn_with_state(self.names, guard)).with_state(gateway);
        http_server::serve(self.listener, router, CONNECTIONS, |stream| std::future::ready(Ok(stream))).await
    }
}

async fn page(State(gateway): State<Shared>) -> Response {
    service::metrics_page(&gateway, &scraper()).await
}

/// The caller as the daemon knows it: it may look, and asks for counts only.
fn scraper() -> AccessIdentity {
    let scope = Scope { role: Role::View, ..Scope::default() };
    AccessIdentity { id: "metrics".to_owned(), kind: IdentityKind::Token, label: "metrics".to_owned(), scope }
}

/// Refuses foreign hosts and every page, and adds the security headers.
async fn guard(State(names): State<ServerNames>, request: Request, next: Next) -> Response {
    let mut response = match names.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(why) => Problem::denied(why).into_response(),
    };
    request_check::add_headers(response.headers_mut(), "");
    response
}
