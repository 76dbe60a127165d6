//! `/ws/events`: the processes, then every event. A client that falls behind gets `resync` from the daemon and the list
//! anew from here.

use axum::extract::State;
use axum::extract::ws::{WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use client::{AsyncReader, Incoming};
use proto::request::Empty;
use proto::{Reply, Request};
use serde_json::json;

use crate::door::DoorConnection;
use crate::gateway::{Shared, SocketPermit};
use crate::identity::AccessIdentity;
use crate::problem::Problem;
use crate::socket::{self, DAEMON_GONE, Ends, REVOKED};
use crate::tickets::TicketFor;

pub(crate) fn route() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        headers: HeaderMap,
        upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    ) -> Result<Response, Problem> {
        let (identity, what) = socket::opener(&gateway, &headers)?.ok_or_else(Problem::unauthorized)?;
        if what.is_some_and(|what| what != TicketFor::Events) || identity.scope.target.is_some() {
            return Err(Problem::denied("this ticket opens something else"));
        }
        let permit =
            gateway.sockets.permit(&identity).ok_or_else(|| Problem::busy("too many sockets are open"))?;
        Ok(match upgrade {
            Ok(upgrade) => {
                socket::limited(upgrade).on_upgrade(move |socket| serve(gateway, identity, permit, socket))
            }
            Err(rejection) => rejection.into_response(),
        })
    }
    get(handle)
}

async fn serve(gateway: Shared, identity: AccessIdentity, _permit: SocketPermit, socket: WebSocket) {
    gateway.metrics.count_socket();
    let mut ends = socket::split(socket);
    let begun = begin(&gateway, &identity).await;
    let Some((mut connection, snapshot)) = begun else {
        drop(ends.outbox.send(socket::close(DAEMON_GONE, "the daemon is gone")).await);
        return;
    };
    if ends.outbox.send(socket::text(&snapshot)).await.is_err() {
        return;
    }
    let last = tokio::select! {
        last = pump(&mut connection.reader, &mut ends) => last,
        () = socket::revoked(gateway.clone(), identity) => Some(socket::close(REVOKED, "revoked")),
    };
    if let Some(last) = last {
        drop(ends.outbox.send(last).await);
    }
}

/// Subscribes; returns the connection, both halves of which must stay open, and the first message.
async fn begin(gateway: &Shared, identity: &AccessIdentity) -> Option<(DoorConnection, serde_json::Value)> {
    let mut connection = gateway.door.connect(identity).await.ok()?;
    match connection.call(Request::Subscribe(Empty {})).await.ok()? {
        Reply::Subscribed(subscribed) => {
            let first = json!({"type": "snapshot", "revision": subscribed.revision, "processes": subscribed.processes});
            Some((connection, first))
        }
        _ => None,
    }
}

/// Passes events on until one side ends; returns the last message for the client.
async fn pump(reader: &mut AsyncReader, ends: &mut Ends) -> Option<axum::extract::ws::Message> {
    loop {
        tokio::select! {
            incoming = reader.receive() => match incoming {
                Ok(Some(Incoming::Event(event))) => {
                    let message = json!({"type": "event", "revision": event.revision, "what": event.what});
                    ends.outbox.send(socket::text(&message)).await.ok()?;
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Some(socket::close(DAEMON_GONE, "the daemon is gone")),
            },
            message = ends.inbox.next() => {
                let asked = message?.into_text().ok()?;
                let asked: serde_json::Value = serde_json::from_str(&asked).unwrap_or_default();
                if asked["type"] == "ping" {
                    ends.outbox.send(socket::text(&socket::pong(&asked))).await.ok()?;
                }
            }
        }
    }
}
