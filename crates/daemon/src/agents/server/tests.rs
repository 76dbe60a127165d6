//! Following a server and delivering to it, with a fake one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use agents::Manifest;
use agents::server::{PendingRequest, ServerEvent, ServerReader, ServerSpec};
use proto::agent::{AgentState, BlockedKind, TurnEnd};
use tokio::time::timeout;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(10);

const MANIFEST: &str = r#"
[server]
user = "u"
events = "/events"
type_at = "/type"
session_at = "/session"
[[server.look]]
id = "status"
path = "/status"
reads_as = "status"
item_at = "/status"
otherwise = "idle"
[[server.event]]
id = "session"
type = "begun"
begins = { session = "/session", parent = "/parent" }
[[server.event]]
id = "busy"
type = "status"
when = { "/status" = "busy" }
state = "working"
[[server.event]]
id = "idle"
type = "status"
when = { "/status" = "idle" }
state = "idle"
end = "done"
[server.begin]
request = { path = "/begin", body = {} }
session = "/id"
[[server.prompt]]
id = "show"
path = "/show"
is_for_show = true
[[server.prompt]]
id = "say"
path = "/say/{/session}"
body = { text = "{/text}" }
[[server.answer]]
id = "allow"
kind = "permission"
names = ["allow"]
request = { path = "/reply/{/id}" }
"#;

fn manifest() -> Manifest {
    toml::from_str(MANIFEST).unwrap()
}

fn spec() -> ServerSpec {
    manifest().server.unwrap()
}

/// A request as the fake server read it.
#[derive(Debug)]
struct PlayedRequest {
    first: String,
    head: String,
    body: String,
}

/// A fake server: `play` answers each connection. Ends when it is dropped.
struct Stage {
    port: u16,
    heard: Receiver<PlayedRequest>,
    thread: Option<JoinHandle<()>>,
}

impl Stage {
    fn new(play: impl FnMut(&PlayedRequest, &mut TcpStream) + Send + 'static) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").unwrap(), play)
    }

    fn at(
        listener: TcpListener,
        mut play: impl FnMut(&PlayedRequest, &mut TcpStream) + Send + 'static,
    ) -> Self {
        let port = listener.local_addr().unwrap().port();
        let (told, heard) = sync_channel(100);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = hear(&mut stream);
                if request.first.starts_with("QUIT") {
                    return;
                }
                play(&request, &mut stream);
                told.send(request).unwrap();
            }
        });
        Self { port, heard, thread: Some(thread) }
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.port, Some("u"), "p")
    }

    fn hears(&self) -> PlayedRequest {
        self.heard.recv_timeout(TIMEOUT).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _asked = TcpStream::connect(("127.0.0.1", self.port))
            .and_then(|mut stream| stream.write_all(b"QUIT\r\n\r\n"));
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn hear(stream: &mut TcpStream) -> PlayedRequest {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let length =
        lines.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    PlayedRequest {
        first: lines.first().cloned().unwrap_or_default(),
        head: lines.join("\n"),
        body: String::from_utf8(body).unwrap(),
    }
}

fn reply(stream: &mut TcpStream, status: &str, body: &str) {
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
}

/// Sends bytes in chunks whose borders match nothing.
fn chunked(stream: &mut TcpStream, text: &str, size: usize) {
    stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    for piece in text.as_bytes().chunks(size) {
        write!(stream, "{:x};x=1\r\n", piece.len()).unwrap();
        stream.write_all(piece).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
}

const EVENTS: &str = "data: {\"type\":\"begun\",\"session\":\"s1\"}\n\n: a comment\n\nevent: x\ndata: {\"type\":\"status\",\
                      \ndata: \"session\":\"s1\",\"status\":\"busy\"}\r\n\r\ndata: no json\n\n\
                      data: {\"type\":\"status\",\"session\":\"s1\",\"status\":\"idle\"}\n\n";

/// Follows in a task; returns its news, and the task.
fn following(endpoint: Endpoint) -> (mpsc::Receiver<ServerEvent>, tokio::task::JoinHandle<()>) {
    let (sender, news) = mpsc::channel(100);
    let reader = Arc::new(Mutex::new(ServerReader::new(&manifest(), None).unwrap()));
    let task = tokio::spawn(async move { follow(&endpoint, "/events", &reader, sender).await });
    (news, task)
}

async fn receive(news: &mut mpsc::Receiver<ServerEvent>, count: usize) -> Vec<ServerEvent> {
    let mut received = Vec::new();
    for _ in 0..count {
        received.push(timeout(TIMEOUT, news.recv()).await.unwrap().unwrap());
    }
    received
}

fn assert_played(news: &[ServerEvent]) {
    assert_eq!(news.first(), Some(&ServerEvent::Session("s1".into())));
    assert!(
        matches!(news.get(1), Some(ServerEvent::Evidence(said)) if said.state == Some(AgentState::Working))
    );
    assert_eq!(news.get(2), Some(&ServerEvent::TurnEnded { end: TurnEnd::Done, text: String::new() }));
    assert!(matches!(news.get(3), Some(ServerEvent::Evidence(said)) if said.state == Some(AgentState::Idle)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_in_any_chunks_are_read_and_a_broken_stream_is_opened_again() {
    let mut size = 0;
    let stage = Stage::new(move |heard, stream| match heard.first.as_str() {
        "GET /events HTTP/1.1" => {
            size += 3;
            chunked(stream, EVENTS, size);
        }
        "GET /status HTTP/1.1" => reply(stream, "200 OK", "{}"),
        other => panic!("{other}"),
    });
    let (mut news, task) = following(stage.endpoint());
    assert_played(&receive(&mut news, 4).await);
    // The stream broke: its evidence is withdrawn, and the status of the known session is requested.
    let again = receive(&mut news, 2).await;
    assert!(matches!(again.as_slice(), [ServerEvent::Withdrawn(_), ServerEvent::Evidence(_)]), "{again:?}");
    task.abort();
    assert!(stage.hears().head.contains("authorization: Basic dTpw"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_listens_late_is_waited_for() {
    let reserved = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    let (mut news, task) = following(Endpoint::new(address.port(), None, ""));
    assert!(timeout(Duration::from_millis(200), news.recv()).await.is_err());
    let mut open = Vec::new();
    let _stage = Stage::at(TcpListener::bind(address).unwrap(), move |heard, stream| {
        if heard.first.contains("/events") {
            chunked(stream, EVENTS, 50);
            open.push(stream.try_clone().unwrap());
        } else {
            reply(stream, "200 OK", "{}");
        }
    });
    assert_played(&receive(&mut news, 4).await);
    task.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_stream_ends_at_once_when_it_is_stopped() {
    let (done, ended) = sync_channel(1);
    let stage = Stage::new(move |heard, stream| {
        if heard.first.contains("/events") {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\ndata: {}\n\n").unwrap();
            let (mut open, done) = (stream.try_clone().unwrap(), done.clone());
            std::thread::spawn(move || {
                // Ends with the connection.
                let _read = open.read_to_end(&mut Vec::new());
                let _sent = done.send(());
            });
        } else {
            reply(stream, "200 OK", "{}");
        }
    });
    let (_news, task) = following(stage.endpoint());
    assert!(stage.hears().first.contains("/events"));
    assert!(stage.hears().first.contains("/status"));
    task.abort();
    assert!(timeout(TIMEOUT, task).await.unwrap().unwrap_err().is_cancelled());
    // The server sees the end of the connection: its task has gone with the stream.
    ended.recv_timeout(TIMEOUT).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_without_a_session_begins_one() {
    let stage = Stage::new(|heard, stream| match heard.first.as_str() {
        "POST /begin HTTP/1.1" => chunked(stream, "{\"id\":\"s7\"}", 2),
        "POST /show HTTP/1.1" => reply(stream, "500 No", "nobody looks"),
        "POST /say/s7 HTTP/1.1" => stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap(),
        other => panic!("{other}"),
    });
    let handed = hand_over(&stage.endpoint(), &spec(), None, "two\n\"lines\"").await;
    // The first answer lacks its last chunk: it is incomplete, and nothing was delivered.
    assert!(matches!(handed, ServerOutcome::NotAccepted(_)), "{handed:?}");
    let handed = hand_over(&stage.endpoint(), &spec(), Some("s7"), "two\n\"lines\"").await;
    assert_eq!(handed, ServerOutcome::Accepted(Some("s7".into())));
    let said: Vec<PlayedRequest> = (0..3).map(|_| stage.hears()).collect();
    assert_eq!(said.last().unwrap().body, r#"{"text":"two\n\"lines\""}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_begun_session_takes_the_prompt() {
    let stage = Stage::new(|heard, stream| match heard.first.as_str() {
        "POST /begin HTTP/1.1" => reply(stream, "200 OK", "{\"id\":\"s7\"}"),
        _ => reply(stream, "200 OK", "true"),
    });
    let handed = hand_over(&stage.endpoint(), &spec(), None, "hi").await;
    assert_eq!(handed, ServerOutcome::Accepted(Some("s7".into())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_taken_and_what_nobody_knows_are_told_apart() {
    let stage = Stage::new(|heard, stream| match heard.first.as_str() {
        "POST /say/gone HTTP/1.1" => reply(stream, "404 Not Found", "{}"),
        "POST /say/silent HTTP/1.1" | "POST /show HTTP/1.1" => {}
        other => panic!("{other}"),
    });
    let spec = spec();
    let hand =
        async |endpoint: &Endpoint, session: &str| hand_over(endpoint, &spec, Some(session), "hi").await;
    assert!(matches!(hand(&stage.endpoint(), "gone").await, ServerOutcome::NotAccepted(_)));
    assert!(matches!(hand(&stage.endpoint(), "silent").await, ServerOutcome::Unknown(_)));
    assert!(matches!(hand(&stage.endpoint(), "../x").await, ServerOutcome::NotAccepted(_)));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(matches!(hand(&Endpoint::new(port, None, ""), "s").await, ServerOutcome::NotAccepted(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_answered_by_its_id() {
    let stage = Stage::new(|_, stream| reply(stream, "200 OK", "true"));
    let ask = PendingRequest {
        id: "r1".into(),
        rule: "permission".into(),
        kind: BlockedKind::Permission,
        title: String::new(),
        body: String::new(),
        options: Vec::new(),
    };
    assert_eq!(answer(&stage.endpoint(), &spec(), &ask, "allow", "").await, ServerOutcome::Accepted(None));
    assert_eq!(stage.hears().first, "POST /reply/r1 HTTP/1.1");
    assert!(matches!(
        answer(&stage.endpoint(), &spec(), &ask, "never", "").await,
        ServerOutcome::NotAccepted(_)
    ));
}
