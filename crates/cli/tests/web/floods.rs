//! Clients that send too much, too slowly or without end: they are refused, no memory is used up, and others are served.

use std::io::{Read, Write};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use testkit::{child, process_scan};
use web::{Access, ROUTES};

use crate::server::{As, Server, traced_daemon};
use crate::socket::{Frame, Socket};

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Returns true once the server has ended a WebSocket.
fn is_ended(socket: &mut Socket) -> bool {
    let mut frames = std::iter::repeat_with(|| socket.next());
    frames.any(|frame| matches!(frame, Frame::Close(_) | Frame::Gone))
}

/// Opens every WebSocket of the table.
fn every_socket(server: &Server, process: &str, token: &As) -> Vec<(&'static str, Socket)> {
    let sockets = ROUTES.iter().filter(|route| route.access == Access::Socket);
    let open = |path: &'static str| {
        let filled = if path.starts_with("/ws/view/") {
            path.replace("{id}", process)
        } else {
            path.replace("{id}", "ghost")
        };
        (path, Socket::open(server, &filled, token))
    };
    sockets.map(|route| open(route.path)).collect()
}

#[test]
fn w14_a10_silent_connections_many_headers_and_giant_frames_are_refused_and_others_are_served() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    let before = process_scan::vitals(server.pid()).rss_kib;
    let slow: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").status, 200, "others are served");
    let mut many = server.connect();
    let lines = "X-A: b\r\n".repeat(10_000);
    drop(many.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n{lines}\r\n", server.host).as_bytes()));
    let mut answer = Vec::new();
    drop(many.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    for (path, mut giant) in every_socket(&server, &cat.id.to_string(), &token) {
        // A frame that says it has a GiB.
        giant.stream.write_all(&[0x82, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        assert!(is_ended(&mut giant), "{path}");
    }
    let headers = [vec![header("Host", &server.host)], server.headers(&token)].concat();
    let long = server.send("POST", "/api/v1/processes/cat/input", &headers, &vec![b' '; 4 << 20]);
    assert_eq!(long.status, 413);
    let after = process_scan::vitals(server.pid()).rss_kib;
    assert!(after < before + (16 << 10), "{before} KiB became {after}");
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").status, 200);
    // A head has ten seconds to arrive; the oldest had to leave before, for new ones.
    for (number, mut stream) in slow.into_iter().enumerate() {
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        assert!(
            !ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock),
            "{number} is still open"
        );
    }
}

#[test]
fn w14_a10_a_message_in_pieces_without_end_is_refused_on_every_socket_and_others_are_served() {
    let daemon = traced_daemon();
    let server = Server::start_with_variable(&daemon, &[], ("QD_LOG", "info"));
    let token = Server::token(&daemon, "type");
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let before = process_scan::vitals(server.pid()).rss_kib;
    for (path, mut socket) in every_socket(&server, &cat.id.to_string(), &token) {
        // The first frame of a message, then frames that go on with it: 1.2 MiB in all, and it does not end.
        let mut piece = vec![0x01, 0x80 | 127];
        piece.extend_from_slice(&(200_u64 << 10).to_be_bytes());
        piece.resize(piece.len() + 4 + (200 << 10), 0);
        for number in 0..6 {
            piece[0] = u8::from(number == 0);
            drop(socket.stream.write_all(&piece));
        }
        assert!(is_ended(&mut socket), "{path}");
    }
    let mut endless = Socket::open(&server, &format!("/ws/view/{}", cat.id), &token);
    // Frames without a byte, which never end a message.
    let empty: Vec<u8> = std::iter::once([0x01_u8, 0x80, 0, 0, 0, 0])
        .chain(std::iter::repeat_n([0x00, 0x80, 0, 0, 0, 0], 100_000))
        .flatten()
        .collect();
    drop(endless.stream.write_all(&empty));
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").status, 200, "others are served");
    let after = process_scan::vitals(server.pid()).rss_kib;
    assert!(after < before + (16 << 10), "{before} KiB became {after}");
}

/// Lets a server have so many descriptors and no more.
fn limit_descriptors(server: &Server, most: u64) {
    let limit = Rlimit { current: Some(most), maximum: Some(most) };
    prlimit(Pid::from_raw(server.pid()), Resource::Nofile, limit).unwrap();
}

#[test]
fn w14_a10_three_hundred_silent_sockets_of_the_dialect_keep_nobody_out() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    let As::Token(secret) = &token else { panic!("no token") };
    limit_descriptors(&server, 200);
    let headers = [header("Host", &server.host)];
    let paths = ["/ws/terminal", "/ws/issues/fix/terminal"];
    let dial = |path: &str| Socket::upgrade(&server, path, &headers).unwrap();
    let mut silent: Vec<Socket> = (0..300).map(|number| dial(paths[number % 2])).collect();
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").status, 200, "others are served");
    let refused = silent[0].until("an error", |frame| frame["error"].is_string());
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("too many clients"), "the oldest leaves for a new one: {why}");
    let mut late = dial(paths[0]);
    late.send_text(&json!({"type": "auth", "payload": {"token": secret}}));
    late.until("auth_ack", |frame| frame["type"] == "auth_ack");
}
