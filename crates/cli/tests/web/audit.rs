//! The audit log: who opened what and for how long, and who gave and took access, at the machine or from a device.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::process_scan::eventually;
use testkit::{TestDaemon, child};

use crate::server::{As, Server, traced_daemon};
use crate::socket::Socket;

/// The audit log of a daemon's server.
struct AuditLog(PathBuf);

impl AuditLog {
    fn of(daemon: &TestDaemon) -> Self {
        Self(daemon.dirs().data.join("web/audit.jsonl"))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }

    /// Returns the lines about one kind of fact.
    fn of_kind(&self, what: &str) -> Vec<Value> {
        let lines: Vec<Value> = self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.into_iter().filter(|line| line["what"] == what).collect()
    }

    /// Returns the lines about one kind of fact once there are so many.
    fn wait(&self, what: &str, count: usize) -> Vec<Value> {
        eventually(what, || Some(self.of_kind(what)).filter(|lines| lines.len() == count))
    }
}

#[test]
fn the_audit_log_says_who_opened_what_and_never_what_was_typed() {
    let daemon = traced_daemon();
    let (server, log) = (Server::start(&daemon), AuditLog::of(&daemon));
    let token = Server::token(&daemon, "type");
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let mut view = Socket::open(&server, &format!("/ws/view/{}?mode=type", cat.id), &token);
    view.until("attached", |message| message["type"] == "attached");
    view.type_bytes(b"a secret word\r");
    daemon.wait_pattern("cat", "a secret word");
    drop(view);
    let left = log.wait("left", 1).remove(0);
    assert_eq!(log.wait("opened", 1)[0]["process"], json!(cat.id));
    assert_eq!((left["typed"].as_u64(), left["label"].as_str()), (Some(14), Some("test")));
    assert!(left["seconds"].is_u64() && left["process"] == json!(cat.id), "{left}");
    assert!(!log.text().contains("secret word"));
}

#[test]
fn the_audit_log_says_how_long_a_terminal_of_the_dialect_was_open_however_it_was_left() {
    let daemon = traced_daemon();
    let (server, log) = (Server::start(&daemon), AuditLog::of(&daemon));
    let token = Server::token(&daemon, "type");
    let open = |socket: &mut Socket, kind: &str, session: &Value| {
        let payload = json!({"request_id": "1", "workspace_id": "local", "cols": 80, "rows": 24, "session_id": session});
        socket.send_text(&json!({"type": kind, "payload": payload}));
    };
    let type_text = |socket: &mut Socket, session: &Value| {
        // "echo secret-word" and a carriage return: 17 bytes.
        let payload = json!({"session_id": session, "data_b64": "ZWNobyBzZWNyZXQtd29yZA0="});
        socket.send_text(&json!({"type": "terminal.data", "payload": payload}));
    };
    let mut first = Socket::open(&server, "/ws/terminal", &token);
    open(&mut first, "terminal.open", &json!(""));
    let opened = first.until("opened", |frame| frame["type"] == "terminal.opened");
    let session = opened["payload"]["session_id"].clone();
    type_text(&mut first, &session);
    daemon.wait_pattern(session.as_str().unwrap(), "secret-word");
    drop(first);
    let left = log.wait("left", 1).remove(0);
    assert_eq!((&left["process"], left["typed"].as_u64()), (&session, Some(17)), "{left}");
    assert!(left["seconds"].is_u64() && left["label"] == "test", "{left}");
    // Coming back is opening again; a close that detaches is leaving.
    let mut second = Socket::open(&server, "/ws/terminal", &token);
    open(&mut second, "terminal.attach", &session);
    log.wait("opened", 2);
    let close = json!({"session_id": session, "reason": "panel_unmount"});
    second.send_text(&json!({"type": "terminal.close", "payload": close}));
    let left = log.wait("left", 2).remove(1);
    assert_eq!((&left["process"], left["typed"].as_u64()), (&session, Some(0)), "{left}");
    // A server that is interrupted writes down what was open.
    open(&mut second, "terminal.attach", &session);
    let mut view = Socket::open(&server, &format!("/ws/view/{}", session.as_str().unwrap()), &token);
    view.until("attached", |message| message["type"] == "attached");
    log.wait("opened", 4);
    kill_process(Pid::from_raw(server.pid()).unwrap(), Signal::TERM).unwrap();
    log.wait("left", 4);
    assert!(!log.text().contains("secret-word"));
}

#[test]
fn the_audit_log_has_what_a_person_gave_and_took_at_the_machine() {
    let daemon = traced_daemon();
    let (server, log) = (Server::start(&daemon), AuditLog::of(&daemon));
    assert_eq!(log.wait("code_shown", 1)[0]["role_given"], "admin", "the code that `qd web` prints");
    daemon.json(&["pair", "--role", "view"]);
    daemon.json(&["pair", "--confirm"]);
    let codes = log.wait("code_shown", 3);
    assert_eq!((&codes[1]["to"], &codes[1]["role_given"]), (&json!("pair"), &json!("view")));
    assert_eq!(codes[2]["to"], "confirm");
    daemon.spawn("cat", child::shell("exec cat"));
    daemon.json(&["workspace", "new", "phone"]);
    let given = [
        daemon.json(&["access", "token", "robot", "--role", "type"]),
        daemon.json(&["access", "link", "cat"]),
        daemon.json(&["workspace", "token", "new", "phone", "ci"]),
        daemon.json(&["access", "token", "ci", "--workspace", "phone"]),
    ];
    let minted = log.wait("minted", given.len());
    for (line, made) in minted.iter().zip(&given) {
        assert_eq!((&line["who"], &line["id"]), (&json!("desk"), &made["id"]), "{line}");
        assert_eq!((&line["kind"], &line["role_given"]), (&made["kind"], &made["role"]), "{line}");
        assert_eq!((&line["workspace"], &line["target"]), (&made["workspace"], &made["target"]), "{line}");
        assert!(line["at"].is_u64(), "{line}");
        server.secrets.add(made["secret"].as_str().unwrap());
    }
    let id = |made: &Value| made["id"].as_str().unwrap().to_owned();
    daemon.json(&["access", "revoke", &id(&given[0])]);
    daemon.json(&["workspace", "token", "revoke", &id(&given[2])]);
    daemon.json(&["workspace", "remove", "phone"]);
    let revoked = log.wait("revoked", 3);
    assert_eq!((&revoked[0]["id"], &revoked[1]["id"]), (&given[0]["id"], &given[2]["id"]));
    assert_eq!((&revoked[2]["workspace"], &revoked[2]["count"]), (&json!("phone"), &json!(1)));
    // A device that mints is named as well.
    let page = server.sign_in_by(daemon.json(&["pair", "--role", "admin"])["code"].as_str().unwrap());
    let code = daemon.json(&["pair", "--confirm"])["code"].clone();
    let ask = |path: &str, body: Value| server.ask("POST", path, &page, body.to_string().as_bytes());
    assert_eq!(ask("/api/v1/step-up", json!({ "code": code })).status, 200);
    let token = ask("/api/v1/tokens", json!({"name": "from the page", "role": "view"})).json();
    let last = log.wait("minted", given.len() + 1).remove(given.len());
    assert_eq!((&last["id"], last["label"].as_str()), (&token["id"], Some("test")));
    assert!(matches!(page, As::Page(_)) && last["who"] != "desk", "{last}");
}
