//! One viewer of one process: attaches for its caller, passes output on while the client keeps up, and types for it.

use std::collections::VecDeque;

use axum::extract::ws::{Message, WebSocket};
use client::{AsyncWriter, ClientError, Incoming};
use proto::frame::{Data, DataKind};
use proto::reply::Attached;
use proto::request::{Attach, Empty, View};
use proto::terminal::Clipboard;
use proto::{ErrorCode, Failure, Notice, Reply, Request, RunNumber, Size, Target};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::credit::Credit;
use super::filter::OutputFilter;
use super::frames::{self, FrameKind};
use super::lease::Lease;
use super::orders::{self, Order, OrderReceiver, OrderSender};
use crate::audit::OpenProcess;
use crate::door::DoorConnection;
use crate::gateway::Shared;
use crate::identity::{AccessIdentity, checks_roles};
use crate::last_orders::LastOrders;
use crate::socket::{self, DAEMON_GONE, REVOKED};

/// Messages that wait for a client that does not read: beyond them, it is not heard.
const MAX_OUTGOING: usize = 16;

/// What a viewer wants.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) process: String,
    pub(super) from: Option<u64>,
    pub(super) run: Option<RunNumber>,
    pub(super) is_exact: bool,
    pub(super) types: bool,
}

/// One viewer.
#[derive(Debug)]
pub(super) struct Session {
    gateway: Shared,
    types: bool,
    filter: OutputFilter,
    credit: Credit,
    /// Messages for the client: those of one thing that the daemon sent, and answers to its own.
    outgoing: VecDeque<Message>,
    orders: OrderSender,
    /// Writes down for how long the client had the process open.
    open: OpenProcess,
    /// The process's size, and the size that the client wants leased or given back.
    size: Size,
    wanted_size: Option<Option<Size>>,
    lease: Option<Lease>,
}

impl Session {
    /// Serves one viewer to its end.
    pub(super) async fn serve(
        gateway: Shared,
        identity: AccessIdentity,
        mut wanted: Wanted,
        socket: WebSocket,
    ) {
        gateway.metrics.count_socket();
        let ends = socket::split(socket);
        let outbox = ends.outbox.clone();
        let last = match attach_at_all(&gateway, &identity, &mut wanted).await {
            Ok((connection, attached, refusal)) => {
                let process = attached.id.to_string();
                let open = OpenProcess::begin(&gateway, &identity, process, json!({"types": wanted.types}));
                let (orders, waiting) = orders::queue();
                let mut session = Self::new(gateway.clone(), &wanted, attached.size, orders, open);
                session.outgoing.push_back(hello(&attached, &wanted));
                if let Some(failure) = refusal {
                    session.send_json(json!({"type": "error", "error": failure}));
                }
                session.run(connection, waiting, &attached, ends, &identity).await
            }
            Err(ClientError::Failed(failure)) => {
                drop(outbox.send(socket::text(&json!({"type": "error", "error": failure}))).await);
                Some(socket::close(4000, "refused"))
            }
            Err(_) => Some(socket::close(DAEMON_GONE, "the daemon is gone")),
        };
        if let Some(last) = last {
            drop(outbox.send(last).await);
        }
    }

    fn new(gateway: Shared, wanted: &Wanted, size: Size, orders: OrderSender, open: OpenProcess) -> Self {
        Self {
            gateway,
            types: wanted.types || !checks_roles(),
            // The page offers a text for the clipboard to a person, who decides.
            filter: OutputFilter::new(wanted.from.unwrap_or(0), Clipboard::Writable),
            credit: Credit::default(),
            outgoing: VecDeque::new(),
            orders,
            open,
            size,
            wanted_size: None,
            lease: None,
        }
    }

    /// Runs until one side ends; returns the last message for the client.
    async fn run(
        &mut self,
        connection: DoorConnection,
        waiting: OrderReceiver,
        attached: &Attached,
        mut ends: socket::Ends,
        identity: &AccessIdentity,
    ) -> Option<Message> {
        // What was typed before the client left is still typed, if the child reads it soon.
        let mut writer = LastOrders::of(tokio::spawn(carry_out(connection.writer, attached.stream, waiting)));
        let (mut reader, process) = (connection.reader, attached.id.to_string());
        let revoked = socket::revoked(self.gateway.clone(), identity.clone());
        tokio::pin!(revoked);
        loop {
            tokio::select! {
                () = &mut revoked => {
                    writer.abandon();
                    break Some(socket::close(REVOKED, "revoked"));
                }
                room = ends.outbox.reserve(), if !self.outgoing.is_empty() => {
                    let (Ok(room), Some(message)) = (room, self.outgoing.pop_front()) else { break None };
                    room.send(message);
                }
                incoming = reader.receive(), if self.reads() => {
                    if let Some(last) = self.received(incoming) {
                        self.flush(&ends.outbox).await;
                        break Some(last);
                    }
                }
                () = self.orders.taken(), if !self.orders.has_room() => {}
                message = ends.inbox.next(), if self.hears() => match message {
                    Some(message) => {
                        self.asked(message);
                        self.change_lease(identity, &process).await;
                    }
                    None => break None,
                },
            }
        }
    }

    /// Returns true if the daemon's next output may be read: the client keeps up.
    fn reads(&self) -> bool {
        self.outgoing.is_empty() && self.credit.is_open()
    }

    /// Returns true if the client's next message may be read: it takes what it is sent, and there is room for what it types.
    fn hears(&self) -> bool {
        self.outgoing.len() < MAX_OUTGOING && self.orders.has_room()
    }

    async fn flush(&mut self, outbox: &mpsc::Sender<Message>) {
        while let Some(message) = self.outgoing.pop_front() {
            if outbox.send(message).await.is_err() {
                return;
            }
        }
    }

    /// Passes on what the daemon sent; returns the last message when the stream is over.
    fn received(&mut self, incoming: Result<Option<Incoming>, ClientError>) -> Option<Message> {
        match incoming {
            Ok(Some(Incoming::Data(data))) => self.show(&data),
            Ok(Some(Incoming::Notice(Notice::End { reason, .. }))) => {
                self.send_json(json!({"type": "end", "reason": reason}));
                return Some(socket::close(1000, "over"));
            }
            Ok(Some(Incoming::Notice(notice))) => self.note(&notice),
            Ok(Some(Incoming::Answer(_) | Incoming::Event(_))) => {}
            Ok(None) | Err(_) => return Some(socket::close(DAEMON_GONE, "the daemon is gone")),
        }
        None
    }

    fn show(&mut self, data: &Data) {
        let frame = match data.kind {
            DataKind::Output => {
                let shown = self.filter.output(data.offset, &data.bytes);
                self.credit.sent(shown.end, frames::HEADER + shown.bytes.len());
                frames::encode(FrameKind::Output, shown.begin, shown.end, &shown.bytes)
            }
            DataKind::Repaint => {
                let shown = self.filter.repaint(data.offset, &data.bytes);
                self.credit.sent(data.offset, frames::HEADER + shown.len());
                frames::encode(FrameKind::Repaint, data.offset, data.offset, &shown)
            }
            DataKind::Input => return,
        };
        self.gateway.metrics.count_sent(frame.len());
        self.outgoing.push_back(Message::Binary(frame.into()));
    }

    fn note(&mut self, notice: &Notice) {
        match notice {
            Notice::Gap { from, to, .. } => self.send_json(json!({"type": "gap", "from": from, "to": to})),
            Notice::Resized { size, .. } => {
                self.size = *size;
                if self.lease.as_mut().is_some_and(|lease| lease.is_lost(*size)) {
                    self.lease.take().into_iter().for_each(Lease::forfeit);
                    self.send_json(json!({"type": "lease", "held": false}));
                }
                self.send_json(json!({"type": "resized", "cols": size.cols, "rows": size.rows}));
            }
            Notice::Exit { exit, offset, .. } => {
                self.send_json(json!({"type": "exit", "exit": exit, "offset": offset}))
            }
            Notice::Typed { bytes, .. } => self.send_json(json!({"type": "typed", "bytes": bytes})),
            Notice::Screen { .. } | Notice::Answered { .. } | Notice::Time { .. } | Notice::End { .. } => {}
        }
    }

    fn send_json(&mut self, value: Value) {
        self.outgoing.push_back(socket::text(&value));
    }

    /// Does what the client asked for.
    fn asked(&mut self, message: Message) {
        match message {
            Message::Binary(frame) => match frames::decode_input(&frame) {
                Some(_) if !self.types => self.refuse("denied", "you may watch, not type"),
                Some(bytes) => {
                    self.open.count_typed(bytes.len());
                    self.gateway.metrics.count_typed(bytes.len());
                    self.orders.add_input(bytes);
                }
                None => self.refuse("protocol", "this is not an input frame"),
            },
            Message::Text(text) => {
                let asked: Value = serde_json::from_str(&text).unwrap_or_default();
                self.controlled(&asked);
            }
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
    }

    fn controlled(&mut self, asked: &Value) {
        match asked["type"].as_str() {
            Some("credit") => self.credit.acknowledge(asked["offset"].as_u64().unwrap_or(0)),
            Some("ping") => self.send_json(socket::pong(asked)),
            Some("repaint") => self.orders.add_repaint(),
            Some("own_size") if !self.types => self.refuse("denied", "you may watch, not change the size"),
            Some("own_size") => {
                let side =
                    |name: &str| asked["size"][name].as_u64().map(|n| u16::try_from(n).unwrap_or(u16::MAX));
                let size = side("cols").zip(side("rows")).map(|(cols, rows)| Size { cols, rows }.clamped());
                self.wanted_size = Some(size);
            }
            _ => self.refuse("invalid_args", "type: credit, ping, repaint or own_size"),
        }
    }

    /// Begins or ends the lease of the size, as the client asked.
    async fn change_lease(&mut self, identity: &AccessIdentity, process: &str) {
        let Some(wanted) = self.wanted_size.take() else { return };
        let before = self.lease.as_ref().map_or(self.size, Lease::before);
        let Some(size) = wanted else {
            self.lease = None;
            return self.send_json(json!({"type": "lease", "held": false}));
        };
        self.lease.take().into_iter().for_each(Lease::forfeit);
        match Lease::begin(self.gateway.clone(), identity.clone(), process.to_owned(), size, before).await {
            Ok(lease) => {
                self.lease = Some(lease);
                self.send_json(json!({"type": "lease", "held": true}));
            }
            Err(ClientError::Failed(failure)) => self.send_json(json!({"type": "error", "error": failure})),
            Err(_) => self.refuse("shutting_down", "the daemon is gone"),
        }
    }

    fn refuse(&mut self, code: &str, message: &str) {
        self.send_json(json!({"type": "error", "error": {"code": code, "message": message}}));
    }
}

/// Attaches; a caller that the daemon does not let type watches, and gets to know why.
async fn attach_at_all(
    gateway: &Shared,
    identity: &AccessIdentity,
    wanted: &mut Wanted,
) -> Result<(DoorConnection, Attached, Option<Failure>), ClientError> {
    let refusal = match attach(gateway, identity, wanted).await {
        Ok((connection, attached)) => return Ok((connection, attached, None)),
        Err(ClientError::Failed(failure)) if wanted.types && failure.code == ErrorCode::Denied => failure,
        Err(error) => return Err(error),
    };
    wanted.types = false;
    let (connection, attached) = attach(gateway, identity, wanted).await?;
    Ok((connection, attached, Some(refusal)))
}

/// Attaches as a mirror of the process's size: a browser never decides it.
async fn attach(
    gateway: &Shared,
    identity: &AccessIdentity,
    wanted: &Wanted,
) -> Result<(DoorConnection, Attached), ClientError> {
    let mut connection = gateway.door.connect(identity).await?;
    let attach = Attach {
        target: Target(wanted.process.clone()),
        read_only: !wanted.types,
        from: wanted.from,
        run: wanted.run,
        exact: wanted.is_exact,
        mirror: true,
        receipts: wanted.types,
        ..Attach::default()
    };
    match connection.call(Request::Attach(attach)).await? {
        Reply::Attached(attached) => Ok((connection, attached)),
        _ => Err(ClientError::Broken(std::io::Error::other("attach was answered with something else"))),
    }
}

/// Returns the first message of a viewer.
fn hello(attached: &Attached, wanted: &Wanted) -> Message {
    socket::text(&json!({
        "type": "attached",
        "id": attached.id,
        "name": attached.name,
        "run": attached.run,
        "cols": attached.size.cols,
        "rows": attached.size.rows,
        "types": wanted.types,
        "lease": wanted.types,
        "exact": wanted.is_exact,
    }))
}

/// Sends orders to the daemon, one after the other; a child that does not read delays only its own viewer's keys.
async fn carry_out(mut writer: AsyncWriter, stream: u32, mut orders: OrderReceiver) {
    while let Some(order) = orders.next().await {
        let sent = match order {
            Order::Input(bytes) => writer.send_input(stream, &bytes).await,
            Order::Repaint => writer.send(Request::View(View::Repaint(Empty {}))).await.map(drop),
        };
        if sent.is_err() {
            return;
        }
    }
}
