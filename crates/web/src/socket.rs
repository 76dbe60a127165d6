//! What all WebSockets have in common: who opens one, its limits, its writer, and its end when its caller is revoked.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, header};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::gateway::{Gateway, Shared};
use crate::identity::{AccessIdentity, IdentityKind};
use crate::problem::Problem;
use crate::request_check;
use crate::tickets::TicketFor;

/// The longest message that a client may send.
const MAX_MESSAGE: usize = 1 << 20; // 1 MiB
/// The longest frame that a client may send.
const MAX_FRAME: usize = 256 << 10; // 256 KiB
/// How often a client is asked for a sign of life.
const PING: Duration = Duration::from_secs(20);
/// How long a client may be silent, and how long one message may take to leave.
pub(crate) const DEAD: Duration = Duration::from_secs(30);
/// How often an identity is looked up if its file cannot be watched: a revoked caller loses its sockets within a second.
const UNWATCHED: Duration = Duration::from_secs(1);
/// Messages that wait for the network.
const OUTBOX: usize = 8;

/// The subprotocol that the server speaks.
const SUBPROTOCOL: &str = "qd.1";
/// What comes before a ticket among the subprotocols.
const TICKET: &str = "qd.ticket.";

/// The close code for a caller that was revoked.
pub(crate) const REVOKED: u16 = 4403;
/// The close code for a daemon that is gone: the client connects again.
pub(crate) const DAEMON_GONE: u16 = 4503;

/// Returns who opens a WebSocket, and what its ticket is for; none for a client that shows neither a ticket nor a token.
pub(crate) fn opener(
    gateway: &Gateway,
    headers: &HeaderMap,
) -> Result<Option<(AccessIdentity, Option<TicketFor>)>, Problem> {
    let offered =
        headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let mut tickets =
        offered.flat_map(|text| text.split(',')).filter_map(|one| one.trim().strip_prefix(TICKET));
    if let Some(ticket) = tickets.next() {
        let is_its =
            |identity: &AccessIdentity| is_valid(gateway, identity) && is_holder(gateway, headers, identity);
        let found = gateway.tickets.redeem(ticket).filter(|(identity, _)| is_its(identity));
        return found.map(|(identity, what)| Some((identity, Some(what)))).ok_or_else(Problem::unauthorized);
    }
    if headers.contains_key(header::AUTHORIZATION) {
        return request_check::bearer(gateway, headers).map(|identity| Some((identity, None)));
    }
    Ok(None)
}

/// Returns true if the browser that shows a ticket is the one that it was issued to. A program has no cookie.
fn is_holder(gateway: &Gateway, headers: &HeaderMap, identity: &AccessIdentity) -> bool {
    if identity.kind == IdentityKind::Token {
        return true;
    }
    let shown = gateway.cookie.find(headers).and_then(|secret| gateway.access.find(secret).ok().flatten());
    shown.is_some_and(|shown| shown.id == identity.id)
}

/// Applies the limits to an upgrade.
pub(crate) fn limited(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.protocols([SUBPROTOCOL]).max_message_size(MAX_MESSAGE).max_frame_size(MAX_FRAME)
}

fn is_valid(gateway: &Gateway, identity: &AccessIdentity) -> bool {
    gateway.access.is_valid(identity).unwrap_or(false)
}

/// Returns once the identity was revoked or has ended.
pub(crate) async fn revoked(gateway: Shared, identity: AccessIdentity) {
    let mut changes = gateway.revocations.clone();
    loop {
        if !is_valid(&gateway, &identity) {
            return;
        }
        next_check(&mut changes).await;
    }
}

/// Returns when an identity is to be looked up again: its file has changed, or a while is over, because a link ends by time.
async fn next_check(changes: &mut watch::Receiver<u64>) {
    if let Ok(Err(_)) = tokio::time::timeout(DEAD, changes.changed()).await {
        // Nothing watches the file any more.
        tokio::time::sleep(UNWATCHED).await;
    }
}

/// The two directions of a WebSocket.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Messages to the client, bounded.
    pub(crate) outbox: mpsc::Sender<Message>,
    pub(crate) inbox: Inbox,
}

/// Splits a WebSocket; a task of its own writes.
pub(crate) fn split(socket: WebSocket) -> Ends {
    let (sink, stream) = socket.split();
    let (outbox, messages) = mpsc::channel(OUTBOX);
    tokio::spawn(write(sink, messages));
    Ends { outbox, inbox: Inbox { stream, heard: Instant::now() } }
}

/// Writes messages and asks for signs of life, until the outbox is dropped or the network does not take a message.
async fn write(mut sink: SplitSink<WebSocket, Message>, mut messages: mpsc::Receiver<Message>) {
    let mut pings = tokio::time::interval_at(Instant::now() + PING, PING);
    loop {
        let message = tokio::select! {
            message = messages.recv() => match message {
                Some(message) => message,
                None => break,
            },
            _ = pings.tick() => Message::Ping(axum::body::Bytes::new()),
        };
        let is_last = matches!(message, Message::Close(_));
        if !matches!(tokio::time::timeout(DEAD, sink.send(message)).await, Ok(Ok(()))) || is_last {
            break;
        }
    }
    drop(tokio::time::timeout(DEAD, sink.close()).await);
}

/// Messages of the client.
#[derive(Debug)]
pub(crate) struct Inbox {
    stream: SplitStream<WebSocket>,
    heard: Instant,
}

impl Inbox {
    /// Returns the next text or binary message; none when the client has gone or is silent for too long.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            let message = tokio::time::timeout_at(self.heard + DEAD, self.stream.next()).await.ok()??.ok()?;
            self.heard = Instant::now();
            match message {
                Message::Text(_) | Message::Binary(_) => return Some(message),
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) => {}
            }
        }
    }
}

/// Returns a text message with this value.
pub(crate) fn text(value: &Value) -> Message {
    Message::Text(value.to_string().into())
}

/// Returns the answer to a ping. It has the ping's number; anything else in its place could be a MiB long and is not sent back.
pub(crate) fn pong(ping: &Value) -> Value {
    let id = Some(&ping["id"]).filter(|id| id.is_number());
    json!({"type": "pong", "id": id})
}

/// Returns a close message.
pub(crate) fn close(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame { code, reason: reason.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn w8_identities_are_looked_up_although_nothing_watches_their_file_any_more() {
        let (watcher, mut changes) = watch::channel(0);
        drop(watcher);
        for _ in 0..2 {
            let checked = tokio::time::timeout(DEAD, next_check(&mut changes)).await;
            assert!(checked.is_ok(), "the check waits for a change that never comes");
        }
    }
}
