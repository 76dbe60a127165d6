//! How soon the web takes something back: a revoked caller's sockets, and the size that a viewer has borrowed, for each reason
//! for which a lease ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Lab;
use super::contender::Contender;
use super::pty::Size;
use super::report::Report;
use super::web::{WebServer, ask, mint_token, record};
use super::websocket::{TEXT, WebSocket};

/// How long a client at a desk may take to be quiet.
const QUIET: Duration = Duration::from_millis(200);
/// The size that is borrowed; that of the desk is [`Size::NORMAL`].
const LEASED: (u64, u64) = (44, 20);

/// Why a lease ends. The page gives it back when it is hidden for too long, so there is no fourth reason here.
#[derive(Clone, Copy)]
enum Reason {
    GivenBack,
    ConnectionLost,
    TypedAtTheDesk,
}

/// Measures both.
pub(crate) fn run(lab: &Lab, qd: &Contender, server: &WebServer, report: &mut Report) {
    let rounds = lab.sized(100, 10);
    record(report, "web: revocation to close", "qd", revocations(lab, qd, server, rounds));
    for (row, reason) in [
        ("web: lease to old size, given back", Reason::GivenBack),
        ("web: lease to old size, connection lost", Reason::ConnectionLost),
        ("web: lease to old size, typed at the desk", Reason::TypedAtTheDesk),
    ] {
        record(report, row, "qd", leases(lab, qd, server, reason, rounds));
    }
}

/// Starts a program that reads; returns its name.
fn start_reader(lab: &Lab, qd: &Contender) -> Result<String, String> {
    let name = lab.fresh_name();
    qd.create(&name, Size::NORMAL, &["/bin/sh", "-c", "echo ready; exec cat"].map(str::to_owned))?;
    Ok(name)
}

/// Returns how long it took from the beginning of `qd access revoke` until the socket of the revoked token was closed.
fn revocations(lab: &Lab, qd: &Contender, server: &WebServer, rounds: usize) -> Result<Vec<f64>, String> {
    let name = start_reader(lab, qd)?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let (id, token) = mint_token(&qd.place)?;
        let mut socket = server.view_with(&token, &name)?;
        until(&mut socket, |message| message["type"] == "attached")?;
        let start = Instant::now();
        let closed = std::thread::scope(|scope| {
            let closed = scope.spawn(|| {
                while socket.next().is_ok() {}
                start.elapsed()
            });
            ask(&qd.place, &["access", "revoke", &id, "--json"])?;
            closed.join().map_err(|_| "the reader ended".to_owned())
        })?;
        times.push(closed.as_secs_f64());
    }
    qd.forget(&name);
    Ok(times)
}

/// Returns how long it took until the size of the desk was back.
fn leases(
    lab: &Lab,
    qd: &Contender,
    server: &WebServer,
    reason: Reason,
    rounds: usize,
) -> Result<Vec<f64>, String> {
    let name = start_reader(lab, qd)?;
    let desk = qd.attach(&name, Size::NORMAL)?;
    desk.settle(QUIET)?;
    let mut watcher = server.view(&name)?;
    until(&mut watcher, |message| message["type"] == "attached")?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let mut phone = server.view(&name)?;
        until(&mut phone, |message| message["type"] == "attached")?;
        let (cols, rows) = LEASED;
        send(&mut phone, &json!({"type": "own_size", "size": {"cols": cols, "rows": rows}}))?;
        until(&mut watcher, |message| message["type"] == "resized" && message["cols"] == cols)?;
        let start = Instant::now();
        let kept = match reason {
            Reason::GivenBack => send(&mut phone, &json!({"type": "own_size"})).map(|()| Some(phone))?,
            Reason::ConnectionLost => {
                drop(phone);
                None
            }
            Reason::TypedAtTheDesk => desk.write(b"x").map(|()| Some(phone))?,
        };
        until(&mut watcher, |message| message["type"] == "resized" && message["cols"] != cols)?;
        times.push(start.elapsed().as_secs_f64());
        drop(kept);
        // A desk whose terminal is full would not read its keys.
        desk.settle(Duration::from_millis(1))?;
    }
    drop(desk);
    qd.forget(&name);
    Ok(times)
}

fn send(socket: &mut WebSocket, message: &Value) -> Result<(), String> {
    socket.send(TEXT, message.to_string().as_bytes())
}

/// Reads until a message is like this.
fn until(socket: &mut WebSocket, is_it: impl Fn(&Value) -> bool) -> Result<(), String> {
    loop {
        let (kind, payload) = socket.next()?;
        let message: Value =
            if kind == TEXT { serde_json::from_slice(&payload).unwrap_or_default() } else { Value::Null };
        if is_it(&message) {
            return Ok(());
        }
    }
}
