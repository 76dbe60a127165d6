//! Signing in, tokens, links, confirmation and revocation.

use std::os::unix::fs::MetadataExt;

use serde_json::json;
use testkit::{TestDaemon, child, process_scan};

use crate::QD;
use crate::server::{As, Server};
use crate::socket::{Frame, Socket};

fn body(value: serde_json::Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

#[test]
fn a_browser_signs_in_by_code_and_works() {
    let daemon = TestDaemon::start(QD);
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
    let daemon = TestDaemon::start(QD);
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
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let code = daemon.json(&["pair", "--role", "view"])["code"].as_str().unwrap().to_owned();
    let page = server.sign_in_by(&format!("{}-{}", &code[..4].to_lowercase(), &code[4..]));
    assert_eq!(server.ask("GET", "/api/v1/me", &page, b"").json()["role"], "view");
    assert_eq!(server.ask("GET", "/api/v1/devices", &page, b"").status, 403);
}

#[test]
fn w8_a_revoked_device_loses_its_cookie_and_its_sockets_at_once() {
    let daemon = TestDaemon::start(QD);
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
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    let As::Token(token) = Server::token(&daemon, "type") else { panic!("no token") };
    let secret = cookie.split('=').nth(1).unwrap().to_owned();
    let (port, code) = (server.host.rsplit(':').next().unwrap().to_owned(), server.code.clone());
    drop(server);
    let server = Server::start_with(&daemon, &["--bind", &format!("127.0.0.1:{port}")]);
    assert_eq!(server.ask("GET", "/api/v1/me", &As::Page(cookie), b"").status, 200);
    for path in process_scan::files(&daemon.places().data.join("web")) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        for hidden in [&secret, &token, &code] {
            assert!(!text.contains(hidden.as_str()), "{} has a secret", path.display());
        }
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn minting_needs_a_confirmation_at_the_machine() {
    let daemon = TestDaemon::start(QD);
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
fn w6_a_link_shows_one_process_and_types_nothing() {
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let other = daemon.spawn("other", child::shell("exec cat"));
    let link = daemon.json(&["access", "link", "cat"])["secret"].clone();
    let answer =
        server.ask("POST", "/api/v1/login", &As::Page(String::new()), &body(json!({ "link": link })));
    let cookie = As::Page(answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned());
    let status = |method: &str, path: &str, sent: serde_json::Value| {
        server.ask(method, path, &cookie, &body(sent)).status
    };
    assert_eq!(status("GET", &format!("/api/v1/processes/{}/screen", cat.id), json!({})), 200);
    assert_eq!(status("GET", &format!("/api/v1/processes/{}/screen", other.id), json!({})), 403);
    assert_eq!(status("GET", "/api/v1/processes", json!({})), 403);
    assert_eq!(status("GET", "/api/v1/inbox", json!({})), 403);
    let input = json!({"input": {"text": "x"}});
    assert_eq!(status("POST", &format!("/api/v1/processes/{}/input", cat.id), input), 403);
    let ticket = |process: String, mode: &str| {
        status("POST", "/api/v1/tickets", json!({"for": "view", "process": process, "mode": mode}))
    };
    assert_eq!(ticket(cat.id.to_string(), "view"), 200);
    assert_eq!(ticket(cat.id.to_string(), "type"), 403);
    assert_eq!(ticket(other.id.to_string(), "view"), 403);
}
