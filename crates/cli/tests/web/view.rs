//! The data plane: bytes with offsets, acknowledgements, going on after a cut, typing, and who may.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;
use testkit::process_scan::eventually;
use testkit::{ScriptedChild, TestDaemon, child};

use crate::QD;
use crate::server::{As, Server, traced_daemon};
use crate::socket::{Frame, Piece, Socket};

/// Opens a view that types.
fn view(server: &Server, id: &str, query: &str, who: &As) -> Socket {
    Socket::open(server, &format!("/ws/view/{id}?{query}"), who)
}

/// Reads pieces, acknowledging each, until `enough` of the bytes are there.
fn collect(socket: &mut Socket, bytes: &mut Vec<u8>, enough: impl Fn(&[u8]) -> bool) -> u64 {
    let mut end = 0;
    while !enough(bytes) {
        match socket.next() {
            Frame::Binary(frame) => {
                let piece = Piece::of(&frame);
                bytes.extend_from_slice(&piece.bytes);
                end = piece.end;
                socket.send_text(&json!({"type": "credit", "offset": end}));
            }
            Frame::Text(_) => {}
            other => panic!("{other:?} after {} bytes", bytes.len()),
        }
    }
    end
}

fn contains(bytes: &[u8], wanted: &str) -> bool {
    bytes.windows(wanted.len()).any(|part| part == wanted.as_bytes())
}

#[test]
fn w16_typed_keys_come_back_as_output_with_offsets() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    let cat = daemon.spawn("cat", child::shell("stty -echo; echo ready; exec cat"));
    daemon.wait_pattern("cat", "ready");
    let mut socket = view(&server, &cat.id.to_string(), "mode=type", &token);
    let attached = socket.until("attached", |message| message["type"] == "attached");
    assert_eq!((attached["name"].as_str(), attached["cols"].as_u64()), (Some("cat"), Some(80)), "{attached}");
    let Frame::Binary(first) =
        std::iter::repeat_with(|| socket.next()).find(|frame| matches!(frame, Frame::Binary(_))).unwrap()
    else {
        panic!("no drawing")
    };
    assert!(Piece::of(&first).is_repaint);
    socket.type_bytes(b"hello\r");
    let mut bytes = Vec::new();
    collect(&mut socket, &mut bytes, |bytes| contains(bytes, "hello"));
    socket.send_text(&json!({"type": "ping", "id": 7}));
    assert_eq!(socket.until("pong", |message| message["type"] == "pong")["id"], 7);
}

/// How often the connection is cut.
const CUTS: u32 = 100;

#[test]
fn w16_e4_a_view_that_is_cut_at_a_hundred_random_moments_gets_every_byte_once() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "view");
    // A MiB of numbered lines, well below what a log keeps.
    let flood = daemon.spawn(
        "flood",
        child::shell("seq -f 'line %08.0f of the flood' 1 40000; echo all done; exec sleep 1000"),
    );
    let (mut bytes, mut from, mut cut, mut random) = (Vec::new(), 0, 0, 2_463_534_242_u32);
    while !contains(&bytes[bytes.len().saturating_sub(64)..], "all done") || cut < CUTS {
        let mut socket = view(&server, &flood.id.to_string(), &format!("exact=1&from={from}"), &token);
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        cut += 1;
        // Most connections end in the middle of a frame, which is then lost.
        if cut <= CUTS && random >> 16 & 3 != 0 {
            let mut part = vec![0; (random >> 18) as usize % 8192 + 1];
            assert!(socket.stream.read(&mut part).unwrap() > 0);
            continue;
        }
        let is_over = contains(&bytes[bytes.len().saturating_sub(64)..], "all done");
        while let Some(frame) = next_binary(&mut socket, is_over) {
            let piece = Piece::of(&frame);
            assert!(!piece.is_repaint, "nothing is skipped");
            assert_eq!(piece.offset, from, "every byte once");
            bytes.extend_from_slice(&piece.bytes);
            from = piece.end;
            socket.send_text(&json!({"type": "credit", "offset": from}));
            if cut <= CUTS || contains(&bytes[bytes.len().saturating_sub(64)..], "all done") {
                break;
            }
        }
    }
    let mut log = Vec::new();
    while log.len() < bytes.len() {
        let page = server.ask("GET", &format!("/api/v1/processes/flood/log?from={}", log.len()), &token, b"");
        assert_eq!(
            page.header("x-qd-offset"),
            Some(log.len().to_string().as_str()),
            "the log has everything"
        );
        log.extend_from_slice(&page.body);
    }
    assert!(log.len() > 1 << 20 && log == bytes, "{} bytes of {}", bytes.len(), log.len());
}

/// Returns the next binary message; none if no more of them will come.
fn next_binary(socket: &mut Socket, is_over: bool) -> Option<Vec<u8>> {
    if is_over {
        return None;
    }
    loop {
        match socket.next() {
            Frame::Binary(frame) => return Some(frame),
            Frame::Text(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn w17_a9_beside_a_viewer_that_reads_nothing_three_others_get_every_byte() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "view");
    let mut child = ScriptedChild::new(daemon.root(), "flood");
    daemon.spawn("flood", child.argv());
    let mut stalled = view(&server, "flood", "", &token);
    stalled.until("attached", |message| message["type"] == "attached");
    let mut others: Vec<Socket> = (0..3).map(|_| view(&server, "flood", "exact=1&from=0", &token)).collect();
    let lines: String = (0..40_000).map(|line| format!("line {line:08} of the flood\r\n")).collect();
    let read = |socket: &mut Socket| {
        let mut bytes = Vec::new();
        collect(socket, &mut bytes, |bytes| bytes.ends_with(b"the end\r\n"));
        bytes
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = others.iter_mut().map(|socket| scope.spawn(move || read(socket))).collect();
        child.tell(format!("{lines}the end\r\n").as_bytes());
        for reader in readers {
            let bytes = reader.join().unwrap();
            assert!(bytes.ends_with(format!("{lines}the end\r\n").as_bytes()), "{} bytes", bytes.len());
        }
    });
    drop(stalled);
}

#[test]
fn w17_a8_a_viewer_that_acknowledges_nothing_gets_one_window_and_then_a_repaint() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "view");
    let mut child = ScriptedChild::new(daemon.root(), "flood");
    daemon.spawn("flood", child.argv());
    let mut socket = view(&server, "flood", "", &token);
    socket.until("attached", |message| message["type"] == "attached");
    let line = format!("{}\r\n", "x".repeat(1000));
    child.tell(format!("{}the end\r\n", line.repeat(8192)).as_bytes());
    daemon.wait_pattern("flood", "the end");
    // Nothing was acknowledged: what arrives now was on its way. Then the credit comes back.
    let (mut received, mut last) = (0, 0);
    let mut has_repaint = false;
    while !has_repaint {
        match socket.next() {
            Frame::Binary(frame) => {
                let piece = Piece::of(&frame);
                has_repaint = piece.is_repaint && contains(&piece.bytes, "the end");
                // The window counts whole frames, headers included.
                received += frame.len();
                last = piece.end;
                if received >= 512 << 10 || has_repaint {
                    socket.send_text(&json!({"type": "credit", "offset": last}));
                }
            }
            Frame::Text(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(received < 4 << 20, "{received} bytes were sent to a viewer that did not keep up");
    assert!(last > 0);
}

#[test]
fn w6_a4_a_viewer_without_the_right_types_nothing() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let (viewer, page) = (Server::token(&daemon, "view"), server.sign_in());
    let cat = daemon.spawn("cat", child::shell("stty -echo; echo ready; exec cat"));
    daemon.wait_pattern("cat", "ready");
    let headers = [vec![("Host".to_owned(), server.host.clone())], server.headers(&viewer)].concat();
    let path = format!("/ws/view/{}?mode=type", cat.id);
    assert_eq!(Socket::upgrade(&server, &path, &headers).err(), Some(403), "a token that may only watch");
    let what = json!({"for": "view", "process": cat.id, "mode": "view"}).to_string();
    let ticket = server.ask("POST", "/api/v1/tickets", &page, what.as_bytes()).json()["ticket"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut watching =
        Socket::by_ticket(&server, &format!("/ws/view/{}?mode=type", cat.id), &page, &ticket).unwrap();
    watching.type_bytes(b"smuggled\r");
    let refused = watching.until("an error", |message| message["type"] == "error");
    assert_eq!(refused["error"]["code"], "denied", "{refused}");
    let mut typing = view(&server, &cat.id.to_string(), "mode=type", &Server::token(&daemon, "type"));
    typing.type_bytes(b"allowed\r");
    daemon.wait_pattern("cat", "allowed");
    assert!(!daemon.screen("cat").contains("smuggled"));
}

#[test]
fn w15_a12_a_query_of_the_child_never_reaches_a_browser() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "view");
    let mut child = ScriptedChild::new(daemon.root(), "asks");
    daemon.spawn("asks", child.argv());
    let mut socket = view(&server, "asks", "", &token);
    socket.until("attached", |message| message["type"] == "attached");
    child.tell(b"\x1b[c\x1b[>c\x1b[6n\x1b[5n\x1b[>q\x1b]10;?\x07\x1b]11;?\x07\x1b[?2026$p\x1bP+q544e\x1b\\done asking\r\n");
    let mut bytes = Vec::new();
    collect(&mut socket, &mut bytes, |bytes| contains(bytes, "done asking"));
    for query in ["\x1b[c", "\x1b[>c", "\x1b[6n", "\x1b[5n", "\x1b[>q", ";?", "$p", "+q"] {
        assert!(!contains(&bytes, query), "{query:?} passed: {}", String::from_utf8_lossy(&bytes));
    }
}

/// Attaches a desk of this size to a process.
fn desk_at(daemon: &TestDaemon, name: &str, size: proto::Size) -> testkit::Pty {
    let mut desk = testkit::Pty::open(size);
    let variables = daemon.variables();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    desk.spawn(QD.as_ref(), &["attach", name], &variables);
    eventually("the desk's size", || (daemon.process(name).terminal.size == size).then_some(()));
    desk
}

#[test]
fn w21_a_browser_beside_a_desk_never_changes_the_size_and_hears_of_every_change() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    // Says for each line how often its size has changed until then.
    let script = "n=0; trap 'n=$((n+1))' WINCH; while :; do read -r line && echo \"$line after $n\"; done";
    let cat = daemon.spawn("cat", child::shell(script));
    let desk = desk_at(&daemon, "cat", proto::Size { cols: 120, rows: 40 });
    let mut socket = view(&server, &cat.id.to_string(), "mode=type", &token);
    socket.until("attached", |message| message["type"] == "attached");
    socket.type_bytes(b"from the phone\r");
    daemon.wait_pattern("cat", "from the phone after 1");
    assert_eq!(daemon.process("cat").terminal.size.cols, 120, "attaching and typing leave it alone");
    daemon.qd(&["resize", "cat", "100x30"]);
    let resized = socket.until("resized", |message| message["type"] == "resized" && message["cols"] == 100);
    assert_eq!(resized["rows"], 30);
    drop(desk.hang_up());
}

#[test]
fn w21_a_leased_size_returns_when_the_viewer_gives_it_back_leaves_or_somebody_types_elsewhere() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let usual = daemon.process("cat").terminal.size;
    let lease = |socket: &mut Socket| {
        socket.send_text(&json!({"type": "own_size", "size": {"cols": 44, "rows": 20}}));
        socket.until("resized", |message| message["type"] == "resized" && message["cols"] == 44);
    };
    let mut phone = view(&server, &cat.id.to_string(), "mode=type", &token);
    lease(&mut phone);
    phone.send_text(&json!({"type": "own_size"}));
    phone.until("resized", |message| message["type"] == "resized" && message["cols"] == usual.cols);
    lease(&mut phone);
    drop(phone);
    eventually("the old size", || (daemon.process("cat").terminal.size == usual).then_some(()));
    // Somebody at a desk of 100 columns types: the lease is over, and the desk has its size.
    let desk = desk_at(&daemon, "cat", proto::Size { cols: 100, rows: 30 });
    let mut phone = view(&server, &cat.id.to_string(), "mode=type", &token);
    lease(&mut phone);
    desk.type_keys(b"desk\r");
    phone.until("the end of the lease", |message| message["type"] == "lease" && message["held"] == false);
    assert_eq!(daemon.process("cat").terminal.size.cols, 100);
    drop(desk.hang_up());
}

#[test]
fn a_view_says_how_its_run_ended_and_closes() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    daemon.spawn("brief", child::shell("read -r line; exit 7"));
    let mut socket = view(&server, "brief", "mode=type", &token);
    socket.until("attached", |message| message["type"] == "attached");
    socket.type_bytes(b"\r");
    let exit = socket.until("exit", |message| message["type"] == "exit");
    assert_eq!(exit["exit"]["code"], 7, "{exit}");
    socket.until("end", |message| message["type"] == "end");
    assert_eq!(socket.next(), Frame::Close(1000));
    eventually("the viewer to leave", || daemon.client().viewers().unwrap().is_empty().then_some(()));
}

/// Returns the most memory that a process has had, in KiB.
fn peak_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Writes until everything is written or the server takes no more; returns how much it took.
fn write_unread(stream: &TcpStream, bytes: &[u8]) -> usize {
    let mut sent = 0;
    stream.set_nonblocking(true).unwrap();
    while sent < bytes.len() {
        match (&*stream).write(&bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                let wait = rustix::event::Timespec { tv_sec: 2, tv_nsec: 0 };
                let mut polled = [PollFd::new(stream, PollFlags::OUT)];
                if poll(&mut polled, Some(&wait)).unwrap() == 0 {
                    break;
                }
            }
        }
    }
    stream.set_nonblocking(false).unwrap();
    sent
}

#[test]
fn w17_a8_a_viewer_that_asks_and_reads_nothing_costs_no_memory_and_gets_every_answer_later() {
    const QUESTIONS: usize = 300_000;
    let daemon = traced_daemon();
    let server = Server::start_with_variable(&daemon, &[], ("QD_LOG", "info"));
    let token = Server::token(&daemon, "view");
    daemon.spawn("cat", child::shell("exec cat"));
    let mut socket = view(&server, "cat", "", &token);
    socket.until("attached", |message| message["type"] == "attached");
    let before = peak_kib(server.pid());
    // An empty object in a frame with a mask of zeros; its answer is ten times as long.
    let questions = [0x81, 0x82, 0, 0, 0, 0, b'{', b'}'].repeat(QUESTIONS);
    let sent = write_unread(&socket.stream, &questions);
    std::thread::scope(|scope| {
        let mut rest = socket.stream.try_clone().unwrap();
        scope.spawn(move || rest.write_all(&questions[sent..]).unwrap());
        for _ in 0..QUESTIONS {
            socket.until("a refusal", |message| message["error"]["code"] == "invalid_args");
        }
    });
    let after = peak_kib(server.pid());
    assert!(after < before + (16 << 10), "{before} KiB became {after}");
    // A name in place of a number would be sent back, however long it is.
    socket.send_text(&json!({"type": "ping", "id": "x".repeat(100_000)}));
    assert!(socket.until("pong", |message| message["type"] == "pong")["id"].is_null());
}

#[test]
fn w20_a_paste_into_a_program_that_reads_nothing_leaves_its_view_alive_and_is_typed_later() {
    const PASTE: usize = 1_000_000;
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    let (go, sent) = (daemon.root().join("go"), daemon.root().join("sent"));
    let script = format!(
        "stty raw -echo; echo ready; until test -e {}; do sleep 0.05; done; head -c {PASTE} | cmp - {} && echo all the same; exec sleep 1000",
        go.display(),
        sent.display()
    );
    let deaf = daemon.spawn("deaf", child::shell(&script));
    daemon.wait_pattern("deaf", "ready");
    let mut socket = view(&server, &deaf.id.to_string(), "mode=type", &token);
    socket.until("attached", |message| message["type"] == "attached");
    let paste: Vec<u8> = (0..PASTE).map(|number| b'a' + u8::try_from(number % 23).unwrap()).collect();
    std::fs::write(sent, &paste).unwrap();
    paste.chunks(64 << 10).for_each(|piece| socket.type_bytes(piece));
    socket.send_text(&json!({"type": "ping", "id": 7}));
    let mut typed = 0;
    socket.until("pong", |message| {
        typed = message["bytes"].as_u64().unwrap_or(typed);
        message["type"] == "pong"
    });
    assert!(typed < PASTE as u64, "{typed} bytes were typed into a program that reads nothing");
    std::fs::write(go, "").unwrap();
    socket.until("the receipt", |message| message["type"] == "typed" && message["bytes"] == PASTE);
    daemon.wait_pattern("deaf", "all the same");
}

#[test]
fn w13_a_text_for_the_clipboard_reaches_a_view_and_a_question_about_it_does_not() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "view");
    let mut child = ScriptedChild::new(daemon.root(), "offers");
    daemon.spawn("offers", child.argv());
    let mut socket = view(&server, "offers", "", &token);
    socket.until("attached", |message| message["type"] == "attached");
    child.tell(b"\x1b]52;c;?\x07\x1b]52;c;aHR0cHM6Ly9sb2dpbg==\x07offered\r\n");
    let mut bytes = Vec::new();
    collect(&mut socket, &mut bytes, |bytes| contains(bytes, "offered"));
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    assert!(shown.contains("\x1b]52;c;aHR0cHM6Ly9sb2dpbg==") && !shown.contains("]52;c;?"), "{shown:?}");
}
