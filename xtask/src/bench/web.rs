//! The web: key echo from socket to socket, alone, beside four busy children and beside a viewer that never reads, twenty
//! viewers that never read during a flood, what `web_ends` takes back, and when Chromium has drawn the page. `web_peers` are measured
//! in the same run.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::busy::{Busy, Load};
use super::contender::{Contender, Place};
use super::pty::{Size, pass};
use super::report::{Report, Unit, percentile};
use super::stalled::{rounds, unwatched_speed};
use super::subprocess::Subprocess;
use super::websocket::{BINARY, TEXT, WebSocket};
use super::{Lab, process_scan, stream, web_ends, web_peers};
use crate::step;

const KEYS: &[u8] = b"#@%&=+";
const VIEWERS: usize = 20;
const READY: Duration = Duration::from_secs(20);
/// How long a terminal is left alone before the first key.
const REST: Duration = Duration::from_millis(300);
const LOAD: Load = Load { number: 4, rate: 10_000_000, timeout: READY };

/// How long a terminal of a peer may take to be there.
pub(crate) const PEER_READY: Duration = READY;

/// Returns the columns of peers that are no contenders elsewhere, if they are measured.
pub(crate) fn columns(families: &[&str]) -> Vec<&'static str> {
    if families.contains(&"web") { web_peers::own_columns() } else { Vec::new() }
}

/// Measures `qd web` and the peers that are there.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let Some(qd) = lab.contenders.iter().find(|contender| contender.name() == "qd") else { return Ok(()) };
    qd.renew()?;
    let keys = lab.sized(500, 100);
    let server = WebServer::start(&qd.place)?;
    let peers = web_peers::present(lab, report);
    // Rounds alternate, so that a slow minute slows all.
    for _ in 0..lab.sized(5, 2) {
        record(report, "web: key echo", "qd", through_qd(lab, qd, &server, keys / 5));
        for peer in &peers {
            record(report, "web: key echo", peer.name, (peer.echo)(lab, keys / 5));
        }
    }
    let file = stream::write(&lab.directory, stream::Kind::Plain, 20_000_000)?;
    let busy = Busy::start(lab, qd, &file, &LOAD)?;
    record(report, "web: key echo, four at 10 MB/s", "qd", through_qd(lab, qd, &server, keys));
    for one in busy {
        let name = one.name.clone();
        drop(one);
        qd.forget(&name);
    }
    let beside = beside_stalled(lab, qd, &server, &file, keys);
    record(report, "web: key echo, one stalled and two more viewers", "qd", beside);
    stalled(lab, qd, &server, &file, report)?;
    web_ends::run(lab, qd, &server, report);
    if let Err(error) = drawn(lab, qd, &server, report) {
        report.note("qd", "web: drawn", &error);
    }
    drop(server);
    qd.stop();
    Ok(())
}

/// Records the median and the 99th of 100.
pub(crate) fn record(report: &mut Report, row: &str, who: &'static str, times: Result<Vec<f64>, String>) {
    match times {
        Ok(times) => {
            report.record(&format!("{row} median"), who, Unit::Time, Ok(percentile(&times, 0.50)));
            report.record(&format!("{row} p99"), who, Unit::Time, Ok(percentile(&times, 0.99)));
        }
        Err(error) => report.note(who, row, &error),
    }
}

/// Floods, with twenty open views whose output nothing reads.
fn stalled(
    lab: &Lab,
    qd: &Contender,
    server: &WebServer,
    file: &Path,
    report: &mut Report,
) -> Result<(), String> {
    let name = lab.fresh_name();
    let count = lab.directory.join(format!("{name}.count"));
    let flood = Subprocess::flood(&lab.directory, &name, file, &count)?;
    qd.create(&name, Size::NORMAL, &flood.argv())?;
    flood.start.open();
    let alone = unwatched_speed(&count);
    let servers = qd.place.servers();
    let before = process_scan::pss(&servers);
    // One identity may have sixteen sockets.
    let tokens = [mint(&qd.place)?, mint(&qd.place)?];
    let viewers = (0..VIEWERS)
        .map(|number| server.view_with(&tokens[number % tokens.len()], &name))
        .collect::<Result<Vec<_>, _>>()?;
    pass(Duration::from_secs(1));
    let (start, begin, mut peak) = (Instant::now(), rounds(&count), before);
    while start.elapsed() < Duration::from_secs(lab.sized(60, 6)) {
        pass(Duration::from_millis(500));
        peak = peak.max(process_scan::pss(&servers));
    }
    let watched = (rounds(&count) - begin) / start.elapsed().as_secs_f64();
    drop((viewers, flood));
    qd.forget(&name);
    if alone <= 0.0 {
        return Err("the child printed nothing".to_owned());
    }
    report.record("web: 20 stalled viewers, speed kept", "qd", Unit::Ratio, Ok(watched / alone));
    report.record(
        "web: 20 stalled viewers, growth",
        "qd",
        Unit::Bytes,
        Ok(peak.saturating_sub(before) as f64),
    );
    Ok(())
}

/// Measures when Chromium has drawn the deck with ten processes, and a screen.
fn drawn(lab: &Lab, qd: &Contender, server: &WebServer, report: &mut Report) -> Result<(), String> {
    let names: Vec<String> = (0..10).map(|_| lab.fresh_name()).collect();
    let argv = ["/bin/sh", "-c", "echo ready; exec cat"].map(str::to_owned);
    names.iter().try_for_each(|name| qd.create(name, Size::NORMAL, &argv))?;
    let listed = ask(&qd.place, &["ps", "--json"])?;
    let mut all = listed.as_array().into_iter().flatten();
    let first = all.find(|process| process["name"] == names[0].as_str()).ok_or("no process runs")?;
    let process = first["id"].as_str().unwrap_or_default();
    let pairing = ask(&qd.place, &["pair", "--json"])?;
    let code = pairing["code"].as_str().unwrap_or_default();
    let script = step::root().join("web/page/tests/browser/drawn.mjs");
    let url = format!("http://{}/", server.address);
    let rounds = lab.sized(20, 4).to_string();
    let told = step::output(step::command("node").arg(script).args([url.as_str(), code, process, &rounds]))?;
    let told = parse(&told)?;
    for (row, field) in [
        ("web: deck drawn median", "deck"),
        ("web: screen drawn median", "screen"),
        ("web: deck drawn on a slow device median", "slow"),
    ] {
        let times = told[field].as_array().into_iter().flatten().filter_map(Value::as_f64);
        let times: Vec<f64> = times.map(|milliseconds| milliseconds / 1000.0).collect();
        report.record(row, "qd", Unit::Time, Ok(percentile(&times, 0.50)));
    }
    names.iter().for_each(|name| qd.forget(name));
    Ok(())
}

/// A running `qd web`; it ends when it is dropped.
pub(crate) struct WebServer {
    child: Child,
    address: String,
    token: String,
}

impl WebServer {
    fn start(place: &Place) -> Result<Self, String> {
        let token = mint(place)?;
        let mut command = place.command();
        command.args(["web", "--json", "--bind", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("qd web: {error}"))?;
        let stdout = child.stdout.take().ok_or("qd web has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let mut text = String::new();
        while parse(&text).is_err() {
            let line = lines.next().ok_or_else(|| format!("qd web ended: {text}"))?;
            text.push_str(&line.map_err(|error| error.to_string())?);
        }
        let ready = parse(&text)?;
        let url = ready["url"].as_str().unwrap_or_default();
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, address, token })
    }

    /// Opens a view that may type.
    pub(crate) fn view(&self, session: &str) -> Result<WebSocket, String> {
        self.view_with(&self.token, session)
    }

    pub(crate) fn view_with(&self, token: &str, session: &str) -> Result<WebSocket, String> {
        let line = format!("Authorization: Bearer {token}\r\n");
        WebSocket::open(&self.address, &format!("/ws/view/{session}?mode=type"), &line)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Returns a new token that may type.
fn mint(place: &Place) -> Result<String, String> {
    mint_token(place).map(|(_, secret)| secret)
}

/// Returns the id and the secret of a new token that may type.
pub(crate) fn mint_token(place: &Place) -> Result<(String, String), String> {
    let minted = ask(place, &["access", "token", "bench", "--role", "type", "--json"])?;
    let field = |name: &str| minted[name].as_str().unwrap_or_default().to_owned();
    Ok((field("id"), field("secret")))
}

/// Runs a verb and returns what it printed.
pub(crate) fn ask(place: &Place, words: &[&str]) -> Result<Value, String> {
    let mut command = place.command();
    command.args(words);
    parse(&place.run(command)?)
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))
}

fn through_qd(lab: &Lab, qd: &Contender, server: &WebServer, keys: usize) -> Result<Vec<f64>, String> {
    let name = lab.fresh_name();
    let subprocess = Subprocess::echo(&lab.directory, &name)?;
    qd.create(&name, Size::NORMAL, &subprocess.argv())?;
    subprocess.done.wait(READY)?;
    let mut socket = server.view(&name)?;
    let times = time_keys(&mut socket, keys, send_qd, read_qd);
    drop(subprocess);
    qd.forget(&name);
    times
}

fn send_qd(socket: &mut WebSocket, key: u8) -> Result<(), String> {
    let mut frame = vec![1, 3];
    frame.resize(24, 0);
    frame.push(key);
    socket.send(BINARY, &frame)
}

/// Returns true once the key has come back; what comes is acknowledged as a browser does.
fn read_qd(socket: &mut WebSocket, key: u8) -> Result<bool, String> {
    Ok(next_output(socket)?.contains(&key))
}

/// Returns the output in the next message, acknowledged; nothing if it is another message, a repaint among them.
fn next_output(socket: &mut WebSocket) -> Result<Vec<u8>, String> {
    let (is_output, drawn) = next_drawn(socket)?;
    Ok(if is_output { drawn } else { Vec::new() })
}

/// Returns what the next message draws, acknowledged, and whether it is output and no repaint.
fn next_drawn(socket: &mut WebSocket) -> Result<(bool, Vec<u8>), String> {
    let (kind, mut payload) = socket.next()?;
    if kind != BINARY || payload.len() < 24 {
        return Ok((false, Vec::new()));
    }
    let end = u64::from_le_bytes(payload[16..24].try_into().map_err(|_| "a short frame")?);
    socket.send(TEXT, format!("{{\"type\":\"credit\",\"offset\":{end}}}").as_bytes())?;
    Ok((payload[1] == 1, payload.split_off(24)))
}

/// Echo for one of three viewers that read, of a process whose fourth viewer never does and has a flood before it.
fn beside_stalled(
    lab: &Lab,
    qd: &Contender,
    server: &WebServer,
    file: &Path,
    keys: usize,
) -> Result<Vec<f64>, String> {
    let name = lab.fresh_name();
    let subprocess = Subprocess::echo(&lab.directory, &name)?;
    let script = format!("read go; cat '{}'; printf '{FLOODED}'; exec \"$@\"", file.display());
    let mut argv = ["/bin/sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    argv.extend(subprocess.argv());
    qd.create(&name, Size::NORMAL, &argv)?;
    let stalled = server.view(&name)?;
    let mut typist = server.view(&name)?;
    let readers = [server.view(&name)?, server.view(&name)?].map(|mut socket| {
        // They end when the process is forgotten.
        std::thread::spawn(move || while read_qd(&mut socket, 0).is_ok() {})
    });
    send_qd(&mut typist, b'\r')?;
    let mut tail = Vec::new();
    while !tail.windows(FLOODED.len()).any(|part| part == FLOODED.as_bytes()) {
        let keep = tail.len().saturating_sub(FLOODED.len());
        tail.drain(..keep);
        // A viewer that a flood has overrun gets a repaint.
        tail.extend(next_drawn(&mut typist)?.1);
    }
    subprocess.done.wait(READY)?;
    let times = time_keys(&mut typist, keys, send_qd, read_qd);
    drop((stalled, subprocess));
    qd.forget(&name);
    for reader in readers {
        let _ended = reader.join();
    }
    times
}

/// What a flooding child prints last.
const FLOODED: &str = "flood-is-over";

/// Types keys one after the other; returns how long each took to come back.
pub(crate) fn time_keys(
    socket: &mut WebSocket,
    count: usize,
    send: fn(&mut WebSocket, u8) -> Result<(), String>,
    is_back: fn(&mut WebSocket, u8) -> Result<bool, String>,
) -> Result<Vec<f64>, String> {
    pass(REST);
    let mut times = Vec::new();
    // The first keys pay for pages and caches that a person's second key finds warm.
    for (index, key) in KEYS.iter().cycle().take(KEYS.len() + count).enumerate() {
        let start = Instant::now();
        send(socket, *key)?;
        while !is_back(socket, *key)? {}
        if index >= KEYS.len() {
            times.push(start.elapsed().as_secs_f64());
        }
    }
    Ok(times)
}
