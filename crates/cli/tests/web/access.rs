//! Signing in, tokens, links, confirmation and revocation.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::unix::fs::MetadataExt;

use rustix::net;
use serde_json::json;
use testkit::{DEADLINE, child, process_scan};

use crate::QD;
use crate::server::{As, Server, traced_daemon};
use crate::socket::{Frame, Socket};

fn body(value: serde_json::Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

#[test]
fn a_browser_signs_in_by_code_and_works() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let me = server.ask("GET", "/api/v1/me", &page, b"").json();
    assert_eq!((me["role"].as_str(), me["kind"].as_str()), (Some("admin"), Some("device")), "{me}");
    daemon.spawn("cat", child::shell("exec cat"));
    let list = server.ask("GET", "/api/v1/processes", &page, b"").json();
    assert_eq!(list[0]["name"], "cat", "{list}");
    let typed = json!({"input": {"text": "hello web"}, "submit": true});
    let wrote = server.ask("POST", "/api/v1/processes/cat/input", &page, &body(typed));
    assert_eq!(wrote.status, 200, "{wrote:?}");
    daemon.wait_pattern("cat", "hello web");
    let screen = server.ask("GET", "/api/v1/processes/cat/screen", &page, b"").json();
    assert!(screen["text"].as_str().unwrap().contains("hello web"), "{screen}");
    let log = server.ask("GET", "/api/v1/processes/cat/log?from=0", &page, b"");
    assert!(log.body.windows(9).any(|nine| nine == b"hello web"), "{log:?}");
    let missing = server.ask("GET", "/api/v1/processes/ghost/screen", &page, b"");
    assert_eq!((missing.status, missing.json()["error"]["code"].as_str()), (404, Some("not_found")));
}

#[test]
fn w7_a_code_works_once_five_wrong_ones_burn_it_and_no_paired_device_is_locked_out() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let login = |code: &str| {
        server.ask("POST", "/api/v1/login", &As::Page(String::new()), &body(json!({"code": code}))).status
    };
    assert_eq!(login(&server.code), 403, "used");
    let code = daemon.json(&["pair"])["code"].as_str().unwrap().to_owned();
    let wrong = if code.starts_with('0') { "11111111" } else { "00000000" };
    (0..5).for_each(|_| assert_eq!(login(wrong), 403));
    assert_eq!(login(&code), 403, "burnt");
    let guess = As::Token("f".repeat(64));
    (0..1000).for_each(|_| assert_eq!(server.ask("GET", "/api/v1/me", &guess, b"").status, 401));
    assert_eq!(server.ask("GET", "/api/v1/me", &page, b"").status, 200);
}

#[test]
fn w7_a_paired_device_has_the_role_that_the_code_was_made_for() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let code = daemon.json(&["pair", "--role", "view"])["code"].as_str().unwrap().to_owned();
    let page = server.sign_in_by(&format!("{}-{}", &code[..4].to_lowercase(), &code[4..]));
    assert_eq!(server.ask("GET", "/api/v1/me", &page, b"").json()["role"], "view");
    assert_eq!(server.ask("GET", "/api/v1/devices", &page, b"").status, 403);
}

#[test]
fn w8_a_revoked_device_loses_its_cookie_and_its_sockets_at_once() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let token = Server::token(&daemon, "view");
    let mut events = Socket::open(&server, "/ws/events", &token);
    events.until("snapshot", |message| message["type"] == "snapshot");
    let all = server.ask("GET", "/api/v1/devices", &page, b"").json();
    let id = all.as_array().unwrap().iter().find(|one| one["kind"] == "token").unwrap()["id"].clone();
    assert!(!all.to_string().contains("digest"), "{all}");
    daemon.qd(&["access", "revoke", id.as_str().unwrap()]);
    let end = std::iter::repeat_with(|| events.next()).find(|frame| !matches!(frame, Frame::Text(_)));
    assert_eq!(end, Some(Frame::Close(4403)));
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").status, 401);
    assert_eq!(server.ask("POST", "/api/v1/logout", &page, b"").status, 200);
    assert_eq!(server.ask("GET", "/api/v1/me", &page, b"").status, 401);
}

#[test]
fn w9_devices_stay_signed_in_over_a_restart_and_no_file_has_a_secret() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    let As::Token(token) = Server::token(&daemon, "type") else { panic!("no token") };
    let secret = cookie.split('=').nth(1).unwrap().to_owned();
    let (port, code) = (server.host.rsplit(':').next().unwrap().to_owned(), server.code.clone());
    drop(server);
    let server = Server::start_with(&daemon, &["--bind", &format!("127.0.0.1:{port}")]);
    assert_eq!(server.ask("GET", "/api/v1/me", &As::Page(cookie), b"").status, 200);
    for path in process_scan::files(&daemon.dirs().data.join("web")) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        for hidden in [&secret, &token, &code] {
            assert!(!text.contains(hidden.as_str()), "{} has a secret", path.display());
        }
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o077, 0, "{}", path.display());
    }
}

/// Connects to the server from this address of the machine.
fn connect_from(server: &Server, source: Ipv4Addr) -> TcpStream {
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    net::bind(&socket, &SocketAddrV4::new(source, 0)).unwrap();
    net::connect(&socket, &server.host.parse::<SocketAddr>().unwrap()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    assert_eq!(stream.local_addr().unwrap().ip(), source);
    stream
}

#[test]
fn w9_a_device_whose_address_changes_stays_signed_in_and_goes_on_with_what_it_was_doing() {
    let daemon = traced_daemon();
    let mut server = Server::start(&daemon);
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let page = server.sign_in();
    let code = daemon.json(&["pair", "--confirm"])["code"].clone();
    let confirmed = server.ask("POST", "/api/v1/step-up", &page, &body(json!({ "code": code })));
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
    let from = |server: &Server, last: u8, method: &str, path: &str, sent: &[u8]| {
        let headers = [vec![("Host".to_owned(), server.host.clone())], server.headers(&page)].concat();
        server.send_over(connect_from(server, Ipv4Addr::new(127, 0, 0, last)), method, path, &headers, sent)
    };
    let me = from(&server, 2, "GET", "/api/v1/me", b"").json();
    assert_eq!((me["role"].as_str(), me["confirmed"].as_bool()), (Some("admin"), Some(true)), "{me}");
    // A phone that leaves the house between its ticket and its socket.
    let wanted = body(json!({"for": "view", "process": cat.id, "mode": "type"}));
    let ticket = from(&server, 3, "POST", "/api/v1/tickets", &wanted).json();
    let protocols = format!("qd.1, qd.ticket.{}", ticket["ticket"].as_str().unwrap());
    let own = [("Host".to_owned(), server.host.clone()), ("Sec-WebSocket-Protocol".to_owned(), protocols)];
    let headers = [own.to_vec(), server.headers(&page)].concat();
    let stream = connect_from(&server, Ipv4Addr::new(127, 0, 0, 4));
    let mut view =
        Socket::upgrade_over(&server, stream, &format!("/ws/view/{}", cat.id), &headers).ok().unwrap();
    view.type_bytes(b"on the way\r");
    daemon.wait_pattern("cat", "on the way");
    let bind = server.host.clone();
    drop((view, server));
    server = Server::start_with(&daemon, &["--bind", &bind]);
    assert_eq!(from(&server, 5, "GET", "/api/v1/me", b"").status, 200, "a restart as well");
}

#[test]
fn minting_needs_a_confirmation_at_the_machine() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let mint =
        || server.ask("POST", "/api/v1/tokens", &page, &body(json!({"name": "script", "role": "type"})));
    assert_eq!(mint().status, 403);
    let code = daemon.json(&["pair", "--confirm"])["code"].clone();
    let confirmed = server.ask("POST", "/api/v1/step-up", &page, &body(json!({ "code": code })));
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
    let token = As::Token(mint().json()["secret"].as_str().unwrap().to_owned());
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").json()["role"], "type");
    let admin = Server::token(&daemon, "admin");
    assert_eq!(
        server.ask("POST", "/api/v1/tokens", &admin, &body(json!({}))).status,
        403,
        "a token mints nothing"
    );
}

#[test]
fn minting_is_confirmed_by_a_passphrase_as_well_if_there_is_one() {
    use std::io::Write;
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let mint = || server.ask("POST", "/api/v1/tokens", &page, &body(json!({"name": "script"}))).status;
    let confirm = |passphrase: &str| {
        server.ask("POST", "/api/v1/step-up", &page, &body(json!({ "passphrase": passphrase }))).status
    };
    assert_eq!(confirm("four words nobody guesses"), 403, "none is set");
    let features = || server.ask("GET", "/api/v1/me", &page, b"").json()["features"].clone();
    assert_eq!(features(), json!(["files"]));
    let set = |passphrase: &str| {
        let mut child =
            daemon.command(&["access", "passphrase"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{passphrase}").unwrap();
        child.wait().unwrap().code()
    };
    assert_eq!(set("short"), Some(2));
    assert_eq!(set("four words nobody guesses"), Some(0));
    assert_eq!(features(), json!(["files", "passphrase"]));
    assert_eq!((confirm("four words everybody guesses"), mint()), (403, 403));
    assert_eq!((confirm("four words nobody guesses"), mint()), (200, 200));
    daemon.qd(&["access", "passphrase", "--remove"]);
    assert_eq!(features(), json!(["files"]));
}

#[test]
fn w8_a_revoked_token_loses_its_stream_of_the_tools_for_agents_at_once() {
    use std::io::{Read, Write};
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let minted = daemon.json(&["access", "token", "agent", "--role", "admin"]);
    let token = As::Token(minted["secret"].as_str().unwrap().to_owned());
    let mut headers = vec![("Host".to_owned(), server.host.clone())];
    headers.extend(server.headers(&token));
    headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    headers.push(("Accept".to_owned(), "application/json, text/event-stream".to_owned()));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let begun = server.send("POST", "/mcp", &headers, &body(hello));
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let mut stream = server.connect();
    stream
        .write_all(format!("GET /mcp HTTP/1.1\r\n{lines}Mcp-Session-Id: {session}\r\n\r\n").as_bytes())
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&head));
        head.push(byte[0]);
    }
    assert!(
        String::from_utf8_lossy(&head).contains("text/event-stream"),
        "{}",
        String::from_utf8_lossy(&head)
    );
    daemon.qd(&["access", "revoke", minted["id"].as_str().unwrap()]);
    // The last chunk of the answer has no bytes.
    let mut rest = Vec::new();
    while !rest.ends_with(b"0\r\n\r\n") {
        let mut piece = [0; 1024];
        let count = stream
            .read(&mut piece)
            .unwrap_or_else(|_| panic!("the stream goes on: {}", String::from_utf8_lossy(&rest)));
        if count == 0 {
            break;
        }
        rest.extend_from_slice(&piece[..count]);
    }
}

#[test]
fn w6_the_dialect_is_closed_to_callers_that_may_watch_and_to_other_workspaces() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let cat = daemon.spawn("cat", child::shell("stty -echo; echo ready; exec cat"));
    daemon.wait_pattern("cat", "ready");
    let viewer = Server::token(&daemon, "view");
    let headers = [vec![("Host".to_owned(), server.host.clone())], server.headers(&viewer)].concat();
    assert_eq!(Socket::upgrade(&server, "/ws/terminal", &headers).err(), Some(403));
    assert_eq!(Socket::upgrade(&server, "/ws/issues/x/terminal", &headers).err(), Some(403));
    let As::Token(secret) = &viewer else { panic!("no token") };
    let mut first = Socket::upgrade(&server, "/ws/terminal", &headers[..1]).unwrap();
    first.send_text(&json!({"type": "auth", "payload": {"token": secret}}));
    first.until("an error", |frame| frame["error"].is_string());
    first.send_text(&json!({"type": "terminal.attach", "payload": {"session_id": cat.id}}));
    first.send_text(
        &json!({"type": "terminal.data", "payload": {"session_id": cat.id, "data_b64": "c211Z2dsZWQN"}}),
    );
    let end = std::iter::repeat_with(|| first.next()).find(|frame| !matches!(frame, Frame::Text(_)));
    assert!(matches!(end, Some(Frame::Close(_) | Frame::Gone)), "{end:?}");
    daemon.json(&["workspace", "new", "other"]);
    let minted = daemon.json(&["access", "token", "other", "--role", "type", "--workspace", "other"]);
    let other = As::Token(minted["secret"].as_str().unwrap().to_owned());
    let mut socket = Socket::open(&server, "/ws/terminal", &other);
    for kind in ["terminal.attach", "terminal.close"] {
        socket.send_text(&json!({"type": kind, "payload": {"session_id": cat.id, "reason": "done"}}));
        let error = socket.until("an error", |frame| frame["type"] == "terminal.error");
        assert_eq!(error["payload"]["code"], "session_not_found", "{kind}: {error}");
    }
    let mut typing =
        Socket::open(&server, &format!("/ws/view/{}?mode=type", cat.id), &Server::token(&daemon, "type"));
    typing.type_bytes(b"allowed\r");
    daemon.wait_pattern("cat", "allowed");
    assert!(!daemon.screen("cat").contains("smuggled"));
}

#[test]
fn w9_a_browser_keeps_its_cookie_for_as_long_as_it_is_used() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    let me = server.ask("GET", "/api/v1/me", &As::Page(cookie.clone()), b"");
    let renewed = me.header("set-cookie").unwrap();
    assert!(renewed.starts_with(&format!("{cookie};")) && renewed.contains("Max-Age=2592000"), "{renewed}");
    let by_token = server.ask("GET", "/api/v1/me", &Server::token(&daemon, "admin"), b"");
    assert_eq!(by_token.header("set-cookie"), None, "a program has none");
}

#[test]
fn what_agents_may_start_from_now_on_is_decided_after_a_confirmation_at_the_machine() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let asks = format!("{QD} spawn --name wanted -- sleep 1000; exec sleep 1000");
    daemon.spawn("asker", child::shell(&asks));
    let item = process_scan::eventually("the question", || {
        let items = server.ask("GET", "/api/v1/inbox", &page, b"").json();
        items.as_array()?.iter().find(|item| item["kind"] == "trust").map(|item| item["item"].clone())
    });
    let path = format!("/api/v1/inbox/{item}/answer");
    let answer = |who: &As| server.ask("POST", &path, who, &body(json!({"choice": "1"})));
    let hint = answer(&page).json()["error"]["hint"].to_string();
    assert!(hint.contains("step-up"), "{hint}");
    for (role, why) in [("type", "the role admin"), ("admin", "only a paired device")] {
        let refused = answer(&Server::token(&daemon, role));
        let said = refused.json()["error"]["message"].to_string();
        assert!(refused.status == 403 && said.contains(why), "{role}: {said}");
    }
    let code = daemon.json(&["pair", "--confirm"])["code"].clone();
    assert_eq!(server.ask("POST", "/api/v1/step-up", &page, &body(json!({ "code": code }))).status, 200);
    let given = answer(&page);
    assert_eq!(given.status, 200, "{given:?}");
    assert_eq!(server.ask("GET", "/api/v1/inbox", &page, b"").json(), json!([]));
}
