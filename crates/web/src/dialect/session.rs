//! One terminal of a socket: started or found for its caller, attached byte by byte, typed into, resized, ended.

use std::time::Duration;

use axum::extract::ws::Message;
use client::{AsyncReader, AsyncWriter, CallError, Incoming};
use proto::frame::{Data, DataKind};
use proto::inherited_variables::{Variables, is_allowed};
use proto::reply::{Attached, Spawned};
use proto::request::{Attach, Close, SizeRequest, Spawn, View};
use proto::terminal::Clipboard;
use proto::{Exit, Kind, Notice, Reply, Request, Size, Stop, Target};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::{SendError, SendTimeoutError};
use tokio::task::JoinHandle;

use super::registry::SessionEnd;
use super::wire::{self, DialectError, Open};
use crate::audit::OpenProcess;
use crate::door::DoorConnection;
use crate::gateway::Shared;
use crate::identity::AccessIdentity;
use crate::last_orders::LastOrders;
use crate::view::OutputFilter;

/// Bytes of output in one frame.
const PIECE: usize = 48 << 10; // 48 KiB
/// Orders that wait for the daemon.
const ORDERS: usize = 8;

/// How long a program that reads nothing may hold up its client.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How long the last output may take to reach a client after its terminal was ended.
const LAST_OUTPUT: Duration = Duration::from_secs(20);

/// What a client wants of its session.
#[derive(Debug)]
pub(super) enum Order {
    Input(Vec<u8>),
    Resize(SizeRequest),
}

/// Starts a terminal in a task's directory.
pub(super) async fn start(
    gateway: &Shared,
    caller: &AccessIdentity,
    open: &Open,
) -> Result<Spawned, DialectError> {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    // Its clients are other programs: their terminals get the harmless part of the server's environment, whatever its limit.
    let harmless = Variables::of(std::env::vars_os(), is_allowed);
    let spawn = Spawn {
        kind: Kind::Terminal,
        base_env: Some(harmless.text),
        task: given(&open.task_id),
        workspace: given(&open.workspace_id),
        size: size_of(open.cols, open.rows),
        idle_timeout_ms: gateway.terminal_idle_ms,
        // A shell for a person, but not one whose programs act with the rights of the person at the machine.
        as_me: Some(false),
        ..Spawn::default()
    };
    match gateway.door.ask(caller, Request::Spawn(Box::new(spawn))).await? {
        Reply::Spawned(spawned) => Ok(spawned),
        _ => Err(DialectError::new("internal", "spawn was answered with something else")),
    }
}

/// Returns a size; zero means the usual one.
pub(super) fn size_of(cols: u32, rows: u32) -> SizeRequest {
    let or = |given: u32, usual: u16| if given == 0 { u32::from(usual) } else { given };
    SizeRequest { cols: Some(or(cols, Size::DEFAULT.cols)), rows: Some(or(rows, Size::DEFAULT.rows)) }
}

/// Attaches to every byte from `from` on.
pub(super) async fn attach(
    gateway: &Shared,
    caller: &AccessIdentity,
    session: &str,
    from: u64,
    size: SizeRequest,
) -> Result<(DoorConnection, Attached), DialectError> {
    let mut connection = gateway.door.connect(caller).await?;
    let attach = Attach {
        target: Target(session.to_owned()),
        size,
        from: Some(from),
        exact: true,
        ..Attach::default()
    };
    match connection.call(Request::Attach(attach)).await? {
        Reply::Attached(attached) => Ok((connection, attached)),
        _ => Err(DialectError::new("internal", "attach was answered with something else")),
    }
}

/// Ends a session's terminal.
pub(super) async fn end(gateway: &Shared, caller: &AccessIdentity, session: &str) -> Result<(), CallError> {
    let close = Close { target: Target(session.to_owned()), keep_background: false, stop: Stop::default() };
    gateway.door.ask(caller, Request::Close(close)).await.map(drop)
}

/// An attached session; dropping it detaches.
#[derive(Debug)]
pub(super) struct Session {
    orders: mpsc::Sender<Order>,
    /// The terminal did not take an order in time; it is not waited for again until it takes one.
    is_stuck: bool,
    reading: JoinHandle<()>,
    /// Writes down for how long the client had the terminal open.
    open: OpenProcess,
    /// Ends when every order was carried out, or with the session's drop a while later.
    _writing: LastOrders,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Why an order was not carried out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// The program reads nothing, and everything between is full.
    Full,
    /// The session is over.
    Over,
}

impl Session {
    /// Begins to pass on output to `outbox`, and orders to the daemon.
    pub(super) fn begin(caller: &Caller, connection: DoorConnection, attached: &Attached, from: u64) -> Self {
        let (orders, waiting) = mpsc::channel(ORDERS);
        let writing = tokio::spawn(carry_out(connection.writer, attached.stream, waiting));
        let Caller { gateway, identity, .. } = caller;
        let open = OpenProcess::begin(gateway, identity, attached.id.to_string(), json!({"dialect": true}));
        let (session, filter) = (attached.id.to_string(), OutputFilter::new(from, Clipboard::Refused));
        let pump = Pump { caller: caller.clone(), session, filter };
        let reading = tokio::spawn(pump.run(connection.reader));
        Self { orders, is_stuck: false, reading, open, _writing: LastOrders::of(writing) }
    }

    /// Passes an order on to the daemon. A program that reads nothing holds up its own client for a while, once: then the
    /// client's next frames, its close among them, must be heard.
    pub(super) async fn carry(&mut self, order: Order) -> Result<(), NotTaken> {
        let timeout = if self.is_stuck { Duration::ZERO } else { TIMEOUT };
        let typed = match &order {
            Order::Input(bytes) => bytes.len(),
            Order::Resize(_) => 0,
        };
        let taken = self.orders.send_timeout(order, timeout).await;
        if taken.is_ok() {
            self.open.count_typed(typed);
        }
        self.is_stuck = matches!(taken, Err(SendTimeoutError::Timeout(_)));
        taken.map_err(|error| match error {
            SendTimeoutError::Timeout(_) => NotTaken::Full,
            SendTimeoutError::Closed(_) => NotTaken::Over,
        })
    }

    /// Waits until everything that the terminal printed, and its exit, were passed on.
    pub(super) async fn finish(mut self) {
        drop(tokio::time::timeout(LAST_OUTPUT, &mut self.reading).await);
    }
}

/// The client of a session.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) gateway: Shared,
    pub(super) identity: AccessIdentity,
    pub(super) outbox: mpsc::Sender<Message>,
}

/// Passes output on to the client.
struct Pump {
    caller: Caller,
    session: String,
    filter: OutputFilter,
}

impl Pump {
    async fn run(mut self, mut reader: AsyncReader) {
        let mut exit = None;
        loop {
            match reader.receive().await {
                Ok(Some(Incoming::Data(data))) => {
                    if self.show(&data).await.is_err() {
                        return;
                    }
                }
                Ok(Some(Incoming::Notice(Notice::Exit { exit: how, .. }))) => exit = Some(how),
                Ok(Some(Incoming::Notice(Notice::End { reason, .. }))) => {
                    return self.over(exit, &reason).await;
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => {
                    let error = DialectError::new("internal", "the daemon is gone: attach again");
                    return drop(self.caller.outbox.send(error.frame("", &self.session)).await);
                }
            }
        }
    }

    async fn show(&mut self, data: &Data) -> Result<(), SendError<Message>> {
        if data.kind != DataKind::Output {
            let shown = self.filter.repaint(data.offset, &data.bytes);
            let frame = wire::data(&self.session, data.offset, data.offset, &shown);
            return self.caller.outbox.send(frame).await;
        }
        let mut offset = data.offset;
        for piece in data.bytes.chunks(PIECE) {
            let shown = self.filter.output(offset, piece);
            if !shown.bytes.is_empty() {
                let frame = wire::data(&self.session, shown.begin, shown.end, &shown.bytes);
                self.caller.outbox.send(frame).await?;
            }
            offset += piece.len() as u64;
        }
        Ok(())
    }

    async fn over(self, exit: Option<Exit>, reason: &str) {
        if let Some(exit) = exit {
            let end = SessionEnd::Exited(exit);
            self.caller.gateway.sessions.keep(&self.caller.identity.id, &self.session, end);
            drop(self.caller.outbox.send(exit_frame(&self.session, exit)).await);
        } else {
            drop(self.caller.outbox.send(wire::close(&self.session, reason)).await);
        }
    }
}

/// Returns the frame about an exit.
pub(super) fn exit_frame(session: &str, exit: Exit) -> Message {
    let payload =
        json!({"session_id": session, "exit_code": exit.shell_code(), "reason": exit.reason.to_string()});
    wire::frame("terminal.exit", payload)
}

async fn carry_out(mut writer: AsyncWriter, stream: u32, mut orders: mpsc::Receiver<Order>) {
    while let Some(order) = orders.recv().await {
        let sent = match order {
            Order::Input(bytes) => writer.send_input(stream, &bytes).await,
            Order::Resize(size) => writer.send(Request::View(View::Size(size))).await.map(drop),
        };
        if sent.is_err() {
            return;
        }
    }
}
