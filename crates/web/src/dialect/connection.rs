//! One socket of the dialect: authenticates, opens or finds sessions, and passes frames between them and the client.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use proto::Role;
use proto::request::SizeRequest;
use serde_json::json;

use super::registry;
use super::session::{self, Caller, NotTaken, Order, Session};
use super::wire::{self, DialectError, FromClient, Open};
use crate::api::processes;
use crate::gateway::{Gateway, Shared};
use crate::guest_sockets::GuestPlace;
use crate::identity::{AccessIdentity, IdentityKind};
use crate::problem::Problem;
use crate::request_check;
use crate::socket::{self, Ends, REVOKED};

/// How long a client may take to authenticate.
const AUTHENTICATION: Duration = Duration::from_secs(10);
/// Sessions of one socket.
const MOST_SESSIONS: usize = 16;

/// Who opens a socket.
#[derive(Debug)]
pub(super) enum Opener {
    /// A caller with a ticket or a token.
    Known(AccessIdentity),
    /// A client whose token comes in its first frame.
    Guest(GuestPlace),
}

/// One socket.
#[derive(Debug)]
pub(super) struct Connection {
    caller: Caller,
    sessions: HashMap<String, Session>,
}

impl Connection {
    /// Serves a socket to its end. Its sessions are then detached and run on.
    pub(super) async fn serve(gateway: Shared, opener: Opener, implicit: Option<Open>, socket: WebSocket) {
        gateway.metrics.count_socket();
        let mut ends = socket::split(socket);
        let Some(identity) = authenticate(&gateway, opener, &mut ends).await else { return };
        if let Err(problem) = check_role(&identity) {
            drop(ends.outbox.send(socket::text(&json!({"error": problem.failure.message}))).await);
            return;
        }
        let Some(_permit) = gateway.sockets.permit(&identity) else {
            drop(ends.outbox.send(socket::text(&json!({"error": "too many sockets are open"}))).await);
            return;
        };
        let outbox = ends.outbox.clone();
        let caller = Caller { gateway: gateway.clone(), identity: identity.clone(), outbox: outbox.clone() };
        let mut connection = Self { caller, sessions: HashMap::new() };
        if let Some(open) = implicit {
            connection.open(open).await;
        }
        tokio::select! {
            () = connection.run(&mut ends) => {}
            () = socket::revoked(gateway, identity) => drop(outbox.send(socket::close(REVOKED, "revoked")).await),
        }
    }

    async fn run(&mut self, ends: &mut Ends) {
        while let Some(message) = ends.inbox.next().await {
            let Message::Text(text) = message else { continue };
            match serde_json::from_str(&text) {
                Ok(frame) => self.handle(frame).await,
                Err(error) => {
                    let error =
                        DialectError::new("internal", format!("not a frame of this dialect: {error}"));
                    self.send(error.frame("", "")).await;
                }
            }
        }
    }

    async fn handle(&mut self, frame: FromClient) {
        match frame {
            FromClient::Auth { .. } => self.send(socket::text(&json!({"type": "auth_ack"}))).await,
            FromClient::Open(open) => self.open(open).await,
            FromClient::Attach { session_id, from_offset } => {
                self.attach(session_id, from_offset.unwrap_or(0)).await
            }
            FromClient::Data { session_id, data_b64 } => match wire::decode(&data_b64) {
                Some(bytes) => self.order(&session_id, Order::Input(bytes)).await,
                None => {
                    let error = DialectError::new("internal", "data_b64 is not base64");
                    self.send(error.frame("", &session_id)).await;
                }
            },
            FromClient::Resize { session_id, cols, rows } => {
                self.order(&session_id, Order::Resize(session::size_of(cols, rows))).await;
            }
            FromClient::Close { session_id, reason } => self.close(session_id, &reason).await,
        }
    }

    async fn open(&mut self, open: Open) {
        if let Err(error) = self.start(&open).await {
            self.send(error.frame(&open.request_id, "")).await;
        }
    }

    /// Starts a terminal, tells the client about it, and begins to pass its output on.
    async fn start(&mut self, open: &Open) -> Result<(), DialectError> {
        let Caller { gateway, identity, .. } = &self.caller;
        if self.sessions.len() >= MOST_SESSIONS {
            return Err(DialectError::new(
                "internal",
                format!("a socket has at most {MOST_SESSIONS} sessions"),
            ));
        }
        let id = session::start(gateway, identity, open).await?.id.to_string();
        registry::watch(gateway.clone(), identity.clone(), id.clone());
        let view = processes::find(gateway, identity, &id).await;
        let size = session::size_of(open.cols, open.rows);
        let (connection, attached) = session::attach(gateway, identity, &id, 0, size).await?;
        let (work_dir, shell) = view.map_or_else(
            |_| (String::new(), String::new()),
            |view| (view.program.cwd, view.program.argv.join(" ")),
        );
        let payload =
            json!({"request_id": open.request_id, "session_id": id, "work_dir": work_dir, "shell": shell});
        // `opened` comes before the first output.
        self.send(wire::frame("terminal.opened", payload)).await;
        let session = Session::begin(&self.caller, connection, &attached, 0);
        self.sessions.insert(id, session);
        Ok(())
    }

    async fn attach(&mut self, id: String, from: u64) {
        let Caller { gateway, identity, .. } = &self.caller;
        // The terminal keeps its size until the client sends another.
        match session::attach(gateway, identity, &id, from, SizeRequest::default()).await {
            Ok((connection, attached)) => {
                let session = Session::begin(&self.caller, connection, &attached, from);
                self.sessions.insert(id, session);
            }
            // A terminal that has just ended is attached to as well: its last bytes come before its exit. This one is gone.
            Err(error) => {
                let end = gateway.sessions.end_of(&identity.id, &id);
                let frame = end.map_or_else(|| error.frame("", &id), |end| end.frame(&id));
                self.send(frame).await;
            }
        }
    }

    async fn order(&mut self, id: &str, order: Order) {
        let typed = match &order {
            Order::Input(bytes) => bytes.len(),
            Order::Resize(_) => 0,
        };
        self.caller.gateway.metrics.count_typed(typed);
        let taken = match self.sessions.get_mut(id) {
            Some(session) => session.carry(order).await,
            None => Err(NotTaken::Over),
        };
        let error = match taken {
            Ok(()) => return,
            Err(NotTaken::Full) => {
                DialectError::new("internal", format!("the program reads nothing: wrote 0 of {typed} bytes"))
            }
            Err(NotTaken::Over) => DialectError::new(
                "session_not_found",
                "this connection is not attached to that session: attach first",
            ),
        };
        self.send(error.frame("", id)).await;
    }

    async fn close(&mut self, id: String, reason: &str) {
        let Caller { gateway, identity, .. } = &self.caller;
        if !wire::detaches(reason)
            && let Err(error) = session::end(gateway, identity, &id).await.map_err(DialectError::from)
        {
            self.send(error.frame("", &id)).await;
        }
        match self.sessions.remove(&id) {
            // The exit comes before the answer to the close.
            Some(session) if !wire::detaches(reason) => session.finish().await,
            _ => {}
        }
        self.send(wire::close(&id, reason)).await;
    }

    async fn send(&self, message: Message) {
        // A client that has gone ends the loop that reads from it.
        drop(self.caller.outbox.send(message).await);
    }
}

/// Returns who the client is: by the header or the ticket of its upgrade, or by a token in its first frame. A guest loses its
/// socket when its place goes to another one.
async fn authenticate(gateway: &Gateway, opener: Opener, ends: &mut Ends) -> Option<AccessIdentity> {
    let place = match opener {
        Opener::Known(identity) => return Some(identity),
        Opener::Guest(place) => place,
    };
    let found = tokio::select! {
        first = tokio::time::timeout(AUTHENTICATION, ends.inbox.next()) => {
            let token = token_of(first.ok().flatten());
            let found = token.and_then(|token| request_check::identity_of(gateway, &token, &[IdentityKind::Token]).ok());
            found.ok_or("the first frame must be {type:\"auth\", payload:{token}} with a valid token")
        }
        () = place.lost() => Err("too many clients have not sent a token yet: connect again"),
    };
    let answer = match &found {
        Ok(_) => json!({"type": "auth_ack"}),
        Err(why) => json!({ "error": why }),
    };
    drop(ends.outbox.send(socket::text(&answer)).await);
    found.ok()
}

/// Returns the token of a first frame.
fn token_of(first: Option<Message>) -> Option<String> {
    let Message::Text(text) = first? else { return None };
    match serde_json::from_str(&text) {
        Ok(FromClient::Auth { token }) => Some(token),
        _ => None,
    }
}

/// Refuses a caller that may only watch: everything that this dialect does needs more.
pub(super) fn check_role(caller: &AccessIdentity) -> Result<(), Problem> {
    match caller.scope.target {
        Some(_) => Err(Problem::denied("a link opens no terminal")),
        None => caller.check_role(Role::Type),
    }
}
