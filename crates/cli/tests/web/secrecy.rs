//! No log has a secret, even where everything is logged. Every test of this suite checks it when its server ends
//! (`shown_secrets`); here are the ways that no other test goes, and that the check finds what it looks for.

use std::panic::AssertUnwindSafe;
use std::process::Stdio;

use serde_json::json;
use testkit::{TestDaemon, child};

use crate::server::{As, Server, traced_daemon};
use crate::socket::Socket;

#[test]
fn w11_a_run_that_logs_everything_leaves_no_token_code_ticket_cookie_or_passphrase_in_any_file() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let page = server.sign_in();
    let token = Server::token(&daemon, "type");
    let link = daemon.json(&["access", "link", "cat"])["secret"].as_str().unwrap().to_owned();
    let sign_in = json!({ "link": link }).to_string();
    assert_eq!(server.ask("POST", "/api/v1/login", &As::Page(String::new()), sign_in.as_bytes()).status, 200);
    confirm(&daemon, &server, &page);
    let wanted = json!({"for": "view", "process": cat.id, "mode": "type"}).to_string();
    let ticket = server.ask("POST", "/api/v1/tickets", &page, wanted.as_bytes()).json();
    let ticket = ticket["ticket"].as_str().unwrap().to_owned();
    let mut view = Socket::by_ticket(&server, &format!("/ws/view/{}", cat.id), &page, &ticket).unwrap();
    view.type_bytes(b"seen\r");
    daemon.wait_pattern("cat", "seen");
    let As::Token(secret) = &token else { panic!("no token") };
    dialect(&server, secret);
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").status, 200);
    // Refused ones are secrets as well: a person may have mistyped a right one.
    assert_eq!(server.ask("GET", "/api/v1/me", &As::Token("f00d".repeat(16)), b"").status, 401);
    let log = server.secrets.log_text();
    for line in [
        "TRACE web::tickets: a ticket is issued",
        "TRACE web::pairing: a code was shown",
        "DEBUG web::request_check",
    ] {
        assert!(log.contains(line), "the log says less than everything: {log}");
    }
    // Dropping it searches every file.
    drop((view, server));
}

#[test]
fn w11_a_secret_in_a_log_is_found_when_the_server_ends() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    let leak = daemon.root().join("leak.log");
    std::fs::write(&leak, format!("TRACE a careless line: {cookie}\n")).unwrap();
    let found = std::panic::catch_unwind(AssertUnwindSafe(|| drop(server))).unwrap_err();
    assert!(found.downcast_ref::<String>().unwrap().contains("leak.log"));
}

/// Confirms the page's device by a passphrase.
fn confirm(daemon: &TestDaemon, server: &Server, page: &As) {
    use std::io::Write;
    let passphrase = "four words nobody guesses";
    let mut set = daemon
        .command(&["access", "passphrase"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(set.stdin.take().unwrap(), "{passphrase}").unwrap();
    assert!(set.wait().unwrap().success());
    let proof = json!({ "passphrase": passphrase }).to_string();
    assert_eq!(server.ask("POST", "/api/v1/step-up", page, proof.as_bytes()).status, 200);
}

/// Authenticates in the first frame, as clients of the dialect do.
fn dialect(server: &Server, token: &str) {
    let headers = [("Host".to_owned(), server.host.clone())];
    let mut socket = Socket::upgrade(server, "/ws/terminal", &headers).unwrap();
    socket.send_text(&json!({"type": "auth", "payload": {"token": token}}));
    socket.until("auth_ack", |frame| frame["type"] == "auth_ack");
}
