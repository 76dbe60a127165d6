//! The protocol over HTTP as a router, behind the limits that lines have. Whoever serves it checks names and callers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use client::{AsyncClient, RemotePerson};
use http_server::{HANDSHAKE, ServerNames};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{Semaphore, watch};

use super::refusal;
use crate::failure::MAX_CALLS;
use crate::framing::{self, MAX_LINE};
use crate::server::Server;
use crate::stdio::Setup;
use crate::tools::ToolContext;

/// The most sessions at once; the newer protocol needs none.
const MOST_SESSIONS: usize = 64;
/// How long a session may take to begin.
const SESSION_START: Duration = Duration::from_secs(10);

/// What limits the sessions.
struct Sessions {
    all: Arc<LocalSessionManager>,
    /// Sessions begin one after the other, so that their number is exact.
    beginning: Semaphore,
    /// Says to every session that the server is there, for as long as the router lives.
    _present: watch::Sender<bool>,
}

/// Returns a router that has the protocol at `/mcp`, called under these names. Without a remote person the tools act for
/// the process itself that serves them.
pub fn http_router(setup: Setup, names: &ServerNames, person: Option<RemotePerson>) -> Router {
    let (present, gone) = watch::channel(false);
    let daemon = AsyncClient::new(setup.dirs, setup.exe, MAX_CALLS);
    let daemon = person.map_or(daemon.clone(), |person| daemon.for_remote(person));
    let context = ToolContext::new(daemon, setup.here, setup.on_first_call);
    let server = Server::new(context, gone);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names.hosts())
        .with_allowed_origins(names.origins())
        .with_max_request_body_bytes(MAX_LINE);
    let mut manager = LocalSessionManager::default();
    manager.session_config.init_timeout = Some(SESSION_START);
    let all = Arc::new(manager);
    let sessions = Sessions { all: Arc::clone(&all), beginning: Semaphore::new(1), _present: present };
    let service = StreamableHttpService::new(move || Ok(server.for_another()), all, config);
    let router = Router::new().route_service("/mcp", service);
    router.layer(from_fn_with_state(Arc::new(sessions), limit))
}

/// Applies the limits that lines have to a body, and the limit on the number of sessions.
async fn limit(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let bytes = match tokio::time::timeout(HANDSHAKE, to_bytes(body, MAX_LINE)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return (StatusCode::PAYLOAD_TOO_LARGE, "body: at most 4 MiB").into_response(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "body: it took too long").into_response(),
    };
    if let Err(fault) = framing::examine(&bytes) {
        let kind = [(header::CONTENT_TYPE, "application/json")];
        let status = if fault.is_unknown_method() { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
        return (status, kind, fault.answer().to_string()).into_response();
    }
    let begins = begins_session(&bytes);
    let request = Request::from_parts(head, Body::from(bytes));
    if !begins {
        return next.run(request).await;
    }
    // This semaphore is never closed.
    let _alone = sessions.beginning.acquire().await;
    if sessions.all.sessions.read().await.len() >= MOST_SESSIONS {
        let words = refusal("busy", &format!("there are {MOST_SESSIONS} sessions, which is the limit"));
        return (StatusCode::SERVICE_UNAVAILABLE, words).into_response();
    }
    next.run(request).await
}

/// Returns true if a message begins a session.
fn begins_session(bytes: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Method<'a> {
        #[serde(borrow)]
        method: Option<std::borrow::Cow<'a, str>>,
    }
    let method = serde_json::from_slice::<Method<'_>>(bytes).ok().and_then(|message| message.method);
    method.is_some_and(|method| method == "initialize")
}
