//! What a server says about itself, its audit log, and the tools for agents on the same server.

use serde_json::{Value, json};
use testkit::{TestDaemon, child};
use web::ROUTES;

use crate::QD;
use crate::server::{As, Server};
use crate::socket::Socket;

#[test]
fn the_api_describes_itself_and_counts() {
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let admin = Server::token(&daemon, "admin");
    let document = server.ask("GET", "/openapi.json", &admin, b"").json();
    let paths = document["paths"].as_object().unwrap();
    let operations: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
    assert_eq!(operations, ROUTES.len());
    assert_eq!(document["paths"]["/api/v1/processes/{id}/input"]["post"]["x-qd-access"], "type");
    daemon.spawn("one", child::shell("exec sleep 1000"));
    let page = server.ask("GET", "/metrics", &admin, b"");
    let text = String::from_utf8_lossy(&page.body).into_owned();
    for line in ["qd_up 1", "qd_processes 1", "qd_web_sockets_open 0", "# TYPE qd_web_requests_total counter"]
    {
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
    }
}

#[test]
fn the_tools_for_agents_are_there_for_an_administrators_token_alone() {
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let ask = |who: &As| {
        let mut headers = vec![("Host".to_owned(), server.host.clone())];
        headers.extend(server.headers(who));
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        headers.push(("Accept".to_owned(), "application/json, text/event-stream".to_owned()));
        server.send("POST", "/mcp", &headers, message.to_string().as_bytes())
    };
    let limited = daemon.json(&["access", "token", "limited", "--role", "admin", "--workspace", "local"]);
    let limited = As::Token(limited["secret"].as_str().unwrap().to_owned());
    for (who, status) in [
        (As::Nobody, 401),
        (Server::token(&daemon, "type"), 403),
        (limited, 403),
        (server.sign_in(), 403),
        (Server::token(&daemon, "admin"), 200),
    ] {
        let answer = ask(&who);
        assert_eq!(answer.status, status, "{who:?}: {answer:?}");
    }
}

#[test]
fn the_audit_log_says_who_opened_what_and_never_what_was_typed() {
    let daemon = TestDaemon::start(QD);
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let mut view = Socket::open(&server, &format!("/ws/view/{}?mode=type", cat.id), &token);
    view.until("attached", |message| message["type"] == "attached");
    view.type_bytes(b"a secret word\r");
    daemon.wait_pattern("cat", "a secret word");
    drop(view);
    let path = daemon.places().data.join("web/audit.jsonl");
    let read = || std::fs::read_to_string(&path).unwrap_or_default();
    testkit::process_scan::eventually("the end of the view", || read().contains("\"left\"").then_some(()));
    let lines: Vec<Value> = read().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |what: &str| lines.iter().find(|line| line["what"] == what).unwrap();
    assert_eq!(of("opened")["process"], json!(cat.id));
    assert_eq!((of("left")["typed"].as_u64(), of("left")["label"].as_str()), (Some(14), Some("test")));
    assert!(!read().contains("secret word"));
}
