//! The tools for agents over HTTP: each token has a router of its own, whose connections to the daemon carry the token's
//! label, workspace and role.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::any_service;
use axum::{Extension, Router};
use client::RemotePerson;
use http_server::ServerNames;

use crate::gateway::Shared;
use crate::identity::AccessIdentity;
use crate::socket;

/// Makes the router of the tools for one person, called under these names.
pub type ToolsRouter = Box<dyn Fn(&ServerNames, RemotePerson) -> Router + Send + Sync>;

/// The routers of the tokens that have called.
pub(crate) struct Tools {
    make: ToolsRouter,
    routers: Mutex<HashMap<String, Router>>,
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tools")
    }
}

impl Tools {
    pub(crate) fn new(make: ToolsRouter) -> Self {
        Self { make, routers: Mutex::default() }
    }

    /// Returns the router of a token. It goes when the token is revoked, and its sessions with it.
    fn router(gateway: &Shared, token: &AccessIdentity) -> Router {
        let mut routers = gateway.tools.routers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = routers.get(&token.id) {
            return known.clone();
        }
        let router = (gateway.tools.make)(&gateway.names, token.person());
        routers.insert(token.id.clone(), router.clone());
        tokio::spawn(forget_revoked(gateway.clone(), token.clone()));
        router
    }
}

async fn forget_revoked(gateway: Shared, token: AccessIdentity) {
    socket::revoked(gateway.clone(), token.clone()).await;
    gateway.tools.routers.lock().unwrap_or_else(PoisonError::into_inner).remove(&token.id);
}

/// Serves a request for the tools.
pub(crate) async fn handle(
    State(gateway): State<Shared>,
    Extension(token): Extension<AccessIdentity>,
    request: Request,
) -> Response {
    let router = Tools::router(&gateway, &token);
    any_service(router).call(request, gateway).await
}
