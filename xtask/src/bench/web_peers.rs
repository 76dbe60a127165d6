//! Other terminals in a browser, measured over the sockets that their own pages open: wetty, ttyd and zellij's web client.
//! One that is not on PATH gets one line.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Lab;
use super::contender::{Contender, Place};
use super::pty::{Size, pass};
use super::report::Report;
use super::subprocess::Subprocess;
use super::web::{PEER_READY, time_keys};
use super::websocket::{BINARY, TEXT, WebSocket};
use crate::step;

/// A peer of `qd web`.
pub(crate) struct WebPeer {
    pub(crate) name: &'static str,
    /// Types keys and returns how long each took to come back.
    pub(crate) echo: fn(&Lab, usize) -> Result<Vec<f64>, String>,
}

/// zellij has a column of its own in the whole table, because it is a contender.
const PEERS: [WebPeer; 3] = [
    WebPeer { name: "wetty", echo: through_wetty },
    WebPeer { name: "ttyd", echo: through_ttyd },
    WebPeer { name: ZELLIJ, echo: through_zellij },
];
const ZELLIJ: &str = "zellij";

/// Returns the peers that only this family measures and that are on PATH.
pub(crate) fn own_columns() -> Vec<&'static str> {
    let own = PEERS.iter().map(|peer| peer.name).filter(|name| *name != ZELLIJ);
    own.filter(|name| step::find_program(name).is_some()).collect()
}

/// Returns the peers that can be measured; the others are noted.
pub(crate) fn present(lab: &Lab, report: &mut Report) -> Vec<WebPeer> {
    let is_here =
        |name: &str| if name == ZELLIJ { contender(lab).is_ok() } else { step::find_program(name).is_some() };
    let (here, absent): (Vec<_>, Vec<_>) = PEERS.into_iter().partition(|peer| is_here(peer.name));
    for peer in absent {
        report.note(peer.name, "web: key echo", "not on PATH, so not compared");
    }
    here
}

fn contender(lab: &Lab) -> Result<&Contender, String> {
    let found = lab.contenders.iter().find(|contender| contender.name() == ZELLIJ);
    found.ok_or_else(|| "zellij is not measured".to_owned())
}

/// A peer's server, which ends when it is dropped.
struct PeerServer {
    child: Child,
    address: String,
}

impl PeerServer {
    fn start(place: &Place, mut command: Command, port: u16) -> Result<Self, String> {
        place.furnish(&mut command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self { child, address: format!("127.0.0.1:{port}") })
    }

    /// Tries until the server is there.
    fn until<T>(&self, mut attempt: impl FnMut(&str) -> Result<T, String>) -> Result<T, String> {
        let start = Instant::now();
        loop {
            match attempt(&self.address) {
                Ok(done) => return Ok(done),
                Err(error) if start.elapsed() > PEER_READY => return Err(error),
                Err(_) => pass(Duration::from_millis(100)),
            }
        }
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
}

/// Echo through wetty, which starts the child itself for each socket: Socket.IO over a WebSocket.
fn through_wetty(lab: &Lab, keys: usize) -> Result<Vec<f64>, String> {
    let subprocess = Subprocess::echo(&lab.directory, &lab.fresh_name())?;
    let port = free_port()?;
    let mut command = Command::new("wetty");
    command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--base", "/", "--command"]);
    command.arg(subprocess.argv().join(" "));
    let server = PeerServer::start(&lab.bare, command, port)?;
    let mut socket =
        server.until(|address| WebSocket::open(address, "/socket.io/?EIO=4&transport=websocket", ""))?;
    socket.next()?;
    socket.send(TEXT, b"40")?;
    subprocess.done.wait(PEER_READY)?;
    time_keys(&mut socket, keys, send_wetty, read_wetty)
}

fn send_wetty(socket: &mut WebSocket, key: u8) -> Result<(), String> {
    socket.send(TEXT, format!("42[\"input\",\"{}\"]", char::from(key)).as_bytes())
}

fn read_wetty(socket: &mut WebSocket, key: u8) -> Result<bool, String> {
    let (_, payload) = socket.next()?;
    if payload == b"2" {
        socket.send(TEXT, b"3")?;
    }
    Ok(payload.starts_with(b"42[\"data\"") && payload.contains(&key))
}

/// Echo through ttyd, which starts the child itself for each socket. Its first message has the size; input and output begin
/// with a zero digit.
fn through_ttyd(lab: &Lab, keys: usize) -> Result<Vec<f64>, String> {
    let subprocess = Subprocess::echo(&lab.directory, &lab.fresh_name())?;
    let port = free_port()?;
    let mut command = Command::new("ttyd");
    command.args(["--interface", "lo", "--port", &port.to_string()]);
    // Versions without this option let every client type.
    if step::output(Command::new("ttyd").arg("--help")).is_ok_and(|help| help.contains("--writable")) {
        command.arg("--writable");
    }
    command.args(subprocess.argv());
    let server = PeerServer::start(&lab.bare, command, port)?;
    let mut socket =
        server.until(|address| WebSocket::open(address, "/ws", "Sec-WebSocket-Protocol: tty\r\n"))?;
    socket.send(BINARY, br#"{"AuthToken":"","columns":80,"rows":24}"#)?;
    subprocess.done.wait(PEER_READY)?;
    time_keys(&mut socket, keys, send_ttyd, read_ttyd)
}

fn send_ttyd(socket: &mut WebSocket, key: u8) -> Result<(), String> {
    socket.send(BINARY, &[b'0', key])
}

fn read_ttyd(socket: &mut WebSocket, key: u8) -> Result<bool, String> {
    let (_, payload) = socket.next()?;
    Ok(payload.first() == Some(&b'0') && payload[1..].contains(&key))
}

/// Echo through zellij's web client: a token is exchanged for a cookie, the cookie for a client's id, and with both the page
/// opens one socket for the screen and one for its size.
fn through_zellij(lab: &Lab, keys: usize) -> Result<Vec<f64>, String> {
    let zellij = contender(lab)?;
    zellij.renew()?;
    let config = zellij.place.root.join("config").join(ZELLIJ);
    std::fs::create_dir_all(&config).map_err(|error| error.to_string())?;
    let lines = "web_sharing \"on\"\nshow_startup_tips false\nshow_release_notes false\n";
    std::fs::write(config.join("config.kdl"), lines).map_err(|error| error.to_string())?;
    let name = lab.fresh_name();
    let subprocess = Subprocess::echo(&lab.directory, &name)?;
    zellij.create(&name, Size::NORMAL, &subprocess.argv())?;
    let port = free_port()?;
    let mut command = zellij.place.command();
    command.args(["web", "--start", "--ip", "127.0.0.1", "--port", &port.to_string()]);
    let server = PeerServer::start(&zellij.place, command, port)?;
    let times = zellij_sockets(zellij, &server, &name).and_then(|(mut screen, _size)| {
        subprocess.done.wait(PEER_READY)?;
        time_keys(&mut screen, keys, send_zellij, read_zellij)
    });
    drop((server, subprocess));
    zellij.stop();
    times
}

/// Opens the socket of the screen and that of the size.
fn zellij_sockets(
    zellij: &Contender,
    server: &PeerServer,
    name: &str,
) -> Result<(WebSocket, WebSocket), String> {
    let mut create = zellij.place.command();
    create.args(["web", "--create-token"]);
    let said = zellij.place.run(create)?;
    let token =
        said.lines().filter_map(|line| line.rsplit_once(": ")).map(|(_, token)| token.trim()).next_back();
    let token = token.ok_or_else(|| format!("no token: {said}"))?;
    let login = json!({"auth_token": token, "remember_me": true});
    let (head, _) = server.until(|address| post(address, "/command/login", "", &login))?;
    let cookie =
        head.lines().find_map(|line| line.to_lowercase().starts_with("set-cookie:").then(|| &line[11..]));
    let cookie =
        cookie.and_then(|value| value.split(';').next()).ok_or_else(|| format!("no cookie: {head}"))?;
    let line = format!("Cookie: {}\r\n", cookie.trim());
    let (_, body) = post(&server.address, "/session", &line, &json!({}))?;
    let id = body["web_client_id"].as_str().ok_or_else(|| format!("no client: {body}"))?;
    let mut screen =
        WebSocket::open(&server.address, &format!("/ws/terminal/{name}?web_client_id={id}"), &line)?;
    screen.next()?;
    let mut size = WebSocket::open(&server.address, "/ws/control", &line)?;
    let resize = json!({"web_client_id": id, "payload": {"type": "TerminalResize", "rows": 24, "cols": 80}});
    size.send(TEXT, resize.to_string().as_bytes())?;
    Ok((screen, size))
}

/// Sends a JSON body; returns the head of a successful answer and its body.
fn post(address: &str, path: &str, lines: &str, body: &Value) -> Result<(String, Value), String> {
    let failed = |error: std::io::Error| format!("{address}{path}: {error}");
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n{lines}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("{address}{path}: {answer}"))?;
    if head.split(' ').nth(1) != Some("200") {
        return Err(format!("{address}{path}: {answer}"));
    }
    Ok((head.to_owned(), serde_json::from_str(body).unwrap_or_default()))
}

fn send_zellij(socket: &mut WebSocket, key: u8) -> Result<(), String> {
    socket.send(TEXT, &[key])
}

fn read_zellij(socket: &mut WebSocket, key: u8) -> Result<bool, String> {
    let (_, payload) = socket.next()?;
    Ok(payload.contains(&key))
}
