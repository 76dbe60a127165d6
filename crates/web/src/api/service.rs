//! What a server says about itself: health, counters, its own description, and that something is not there.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Extension, Json};
use proto::request::Empty;
use proto::{ErrorCode, Reply, Request};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Shared};
use crate::identity::AccessIdentity;
use crate::metrics::Gauge;
use crate::openapi::ApiDocument;
use crate::problem::Problem;

pub(crate) fn health() -> MethodRouter<Shared> {
    get(|| async { Json(json!({"ok": true})) })
}

pub(crate) fn openapi() -> MethodRouter<Shared> {
    async fn handle(Extension(document): Extension<ApiDocument>) -> Json<Value> {
        Json(document.value().clone())
    }
    get(handle)
}

pub(crate) fn metrics() -> MethodRouter<Shared> {
    async fn handle(State(gateway): State<Shared>, Extension(caller): Extension<AccessIdentity>) -> Response {
        metrics_page(&gateway, &caller).await
    }
    get(handle)
}

/// Returns the counters of this server and of the daemon.
pub(crate) async fn metrics_page(gateway: &Gateway, caller: &AccessIdentity) -> Response {
    let gauge = |name, help, value| Gauge { name, help, value };
    let mut gauges = vec![gauge("qd_web_sockets_open", "WebSockets open", gateway.sockets.open() as u64)];
    let status = gateway.door.ask(caller, Request::Status(Empty {})).await;
    gauges.push(gauge("qd_up", "Whether the daemon answers", u64::from(status.is_ok())));
    if let Ok(Reply::Status(status)) = status {
        gauges.push(gauge("qd_processes", "Entries that the daemon has", u64::from(status.processes)));
        gauges.push(gauge("qd_viewers", "Attached viewers", u64::from(status.viewers)));
        gauges.push(gauge("qd_uptime_seconds", "Seconds since the daemon started", status.uptime_s));
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (kind, gateway.metrics.page(&gauges)).into_response()
}

pub(crate) async fn nothing_there() -> Response {
    Problem::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, "nothing is at this path").into_response()
}
