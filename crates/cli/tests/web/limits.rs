//! What the daemon itself refuses to callers of `qd web`: with the server's own checks of roles switched off a viewer still
//! changes nothing on any channel, and a token of one workspace knows of no other.

use proto::Role;
use serde_json::{Value, json};
use testkit::process_scan::eventually;
use testkit::{TestDaemon, child};
use web::{Access, HttpMethod, ROUTES, Route};

use crate::server::{Answer, As, Server, traced_daemon};
use crate::socket::{Frame, Socket};

fn secret(minted: &Value) -> As {
    As::Token(minted["secret"].as_str().unwrap().to_owned())
}

/// Calls a tool over MCP; the answer of the server.
fn tool(server: &Server, who: &As, name: &str, arguments: &Value) -> Answer {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": meta}});
    let mut headers = vec![("Host".to_owned(), server.host.clone())];
    headers.extend(server.headers(who));
    for (header, value) in [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", name),
    ] {
        headers.push((header.to_owned(), value.to_owned()));
    }
    server.send("POST", "/mcp", &headers, call.to_string().as_bytes())
}

fn text(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// Returns what a viewer sends to a route that does more than looking. A new route of that kind needs a line here.
fn bodies(route: &Route) -> Vec<Value> {
    match (route.method, route.path.strip_prefix("/api/v1/").unwrap()) {
        (HttpMethod::Post, "processes/{id}/input") => vec![
            json!({"input": {"text": "smuggled"}, "submit": true}),
            json!({"input": {"paste": "smuggled"}}),
            json!({"input": {"keys": ["s", "enter"]}}),
        ],
        (HttpMethod::Post, "processes/{id}/kill") => vec![json!({}), json!({"signal": 2})],
        (HttpMethod::Post, "processes/{id}/resize") => vec![json!({"size": {"cols": 33, "rows": 11}})],
        (HttpMethod::Post, "processes/{id}/rename") => vec![json!({"name": "other"})],
        (HttpMethod::Post, "processes/{id}/tell") => vec![json!({"text": "smuggled"})],
        (HttpMethod::Post, "processes") => vec![json!({"argv": ["true"]})],
        (HttpMethod::Post, "inbox/{item}/answer") => vec![json!({"choice": "1"})],
        (HttpMethod::Put, "pads/{name}") => vec![json!({"content": "smuggled"})],
        (HttpMethod::Post, "tasks") => vec![json!({"name": "x", "directory": "/"})],
        (HttpMethod::Post, "tasks/{task}/review") => vec![
            json!({"add": {"file": "a.txt", "first": 1, "last": 1, "text": "smuggled"}}),
            json!({"send": {}}),
        ],
        (
            HttpMethod::Post,
            "processes/{id}/restart" | "processes/{id}/resume" | "processes/{id}/interrupt",
        )
        | (HttpMethod::Post, "processes/{id}/see" | "tasks/{task}/restore" | "tasks/{task}/land")
        | (HttpMethod::Delete, "processes/{id}" | "receipts/{mail}" | "pads/{name}" | "tasks/{task}") => {
            vec![json!({})]
        }
        _ => panic!("{route:?} changes something: what does a viewer send to it?"),
    }
}

fn needs_more_than_view(route: &Route) -> bool {
    match route.access {
        Access::Role(role) => role > Role::View,
        Access::Confirmed => true,
        Access::Public | Access::SignIn | Access::Bearer | Access::Socket => false,
    }
}

/// Returns the path of a route about a process.
fn path_of(route: &Route, id: &str) -> String {
    let named = [("{id}", id), ("{task}", "fix"), ("{item}", "1"), ("{mail}", "1"), ("{name}", "notes")];
    named.iter().fold(route.path.to_owned(), |path, (name, value)| path.replace(name, value))
}

/// Routes that need more than to view and that the server answers by itself, so that no daemon checks the role again.
const SERVERS_OWN: &[&str] = &[
    "/metrics",
    "/api/v1/step-up",
    "/api/v1/devices",
    "/api/v1/devices/{id}",
    "/api/v1/tokens",
    "/api/v1/links",
    "/api/v1/processes/{id}/files",
];

/// Signs a browser in that may watch only, and confirms it at the machine, as no server with its checks on would.
fn confirmed_viewer(daemon: &TestDaemon, server: &Server) -> As {
    let page = server.sign_in_by(daemon.json(&["pair", "--role", "view"])["code"].as_str().unwrap());
    let code = json!({"code": daemon.json(&["pair", "--confirm"])["code"]}).to_string();
    assert_eq!(server.ask("POST", "/api/v1/step-up", &page, code.as_bytes()).status, 200);
    page
}

/// Asks every route that is a verb and does more than looking, as a viewer; each is refused by the daemon.
fn try_every_verb(daemon: &TestDaemon, server: &Server, viewer: &As, id: &str) {
    let page = confirmed_viewer(daemon, server);
    let mut own = Vec::new();
    for route in ROUTES.iter().filter(|route| needs_more_than_view(route)) {
        if route.verb().is_none() {
            own.push(route.path);
            continue;
        }
        let who = if route.access == Access::Confirmed { &page } else { viewer };
        for sent in bodies(route) {
            let sent = sent.to_string();
            let answer = server.ask(route.method.word(), &path_of(route, id), who, sent.as_bytes());
            let is_refused = answer.status == 403 && is_the_daemons(&answer.json()["error"]);
            assert!(is_refused, "{route:?} {sent}: {answer:?}");
        }
    }
    assert_eq!(own, SERVERS_OWN);
}

/// Tries to type through one view; it is over when the daemon has read everything that was sent.
fn try_view(server: &Server, daemon: &TestDaemon, path: &str, who: &As) {
    let mut view = Socket::open(server, path, who);
    let attached = view.until("attached", |message| message["type"] == "attached");
    assert_eq!(attached["types"], false, "{path}: {attached}");
    view.type_bytes(b"smuggled\r");
    view.send_text(&json!({"type": "own_size", "size": {"cols": 33, "rows": 11}}));
    view.until("a refusal of the size", |message| {
        message["type"] == "error" && is_the_daemons(&message["error"])
    });
    drop(view);
    eventually("the view is gone", || (daemon.process("cat").terminal.viewers == 0).then_some(()));
}

/// Returns true if the daemon said it, not the server.
fn is_the_daemons(error: &Value) -> bool {
    let message = error["message"].as_str().unwrap_or_default();
    error["code"] == "denied" && message.contains("this connection is limited to view")
}

#[test]
fn w6_a4_with_the_servers_checks_off_the_daemon_refuses_a_viewer_on_every_channel() {
    let daemon = traced_daemon();
    let server = Server::start_unchecked(&daemon);
    let cat = daemon.spawn("cat", child::shell("stty -echo; echo ready; exec cat"));
    daemon.wait_pattern("cat", "ready");
    let (before, screen) = (daemon.process("cat"), daemon.screen("cat"));
    let (viewer, id) = (Server::token(&daemon, "view"), cat.id.to_string());
    try_every_verb(&daemon, &server, &viewer, &id);
    try_view(&server, &daemon, &format!("/ws/view/{id}?mode=type"), &viewer);
    try_view(&server, &daemon, &format!("/ws/view/{id}"), &viewer);
    let mut dialect = Socket::open(&server, "/ws/terminal", &viewer);
    let payload =
        json!({"session_id": id, "data_b64": "c211Z2dsZWQN", "cols": 33, "rows": 11, "reason": "done"});
    for kind in ["terminal.open", "terminal.attach", "terminal.data", "terminal.resize", "terminal.close"] {
        dialect.send_text(&json!({"type": kind, "payload": payload}));
        dialect.until(kind, |frame| frame["type"] == "terminal.error");
    }
    let mut implicit = Socket::open(&server, "/ws/issues/fix/terminal", &viewer);
    implicit.until("an error", |frame| frame["type"] == "terminal.error");
    for (name, arguments) in [
        ("send_input", json!({"process": "cat", "kind": "text", "text": "smuggled", "submit": true})),
        ("spawn_process", json!({"kind": "command", "argv": ["true"]})),
        ("stop_process", json!({"process": "cat"})),
        ("close_process", json!({"process": "cat"})),
    ] {
        let said = text(&tool(&server, &viewer, name, &arguments));
        assert!(said.contains("this connection is limited to view"), "{name}: {said}");
    }
    let after = daemon.process("cat");
    assert_eq!((after.pid, after.run, after.terminal.size), (before.pid, before.run, before.terminal.size));
    assert_eq!(
        (daemon.screen("cat"), daemon.list().len()),
        (screen, 1),
        "not a byte arrived, nothing started"
    );
    let typed = json!({"input": {"text": "allowed"}, "submit": true}).to_string();
    let typing = Server::token(&daemon, "type");
    let wrote = server.ask("POST", &format!("/api/v1/processes/{id}/input"), &typing, typed.as_bytes());
    assert_eq!(wrote.status, 200, "{wrote:?}");
    daemon.wait_pattern("cat", "allowed");
    assert!(!daemon.screen("cat").contains("smuggled"));
}

#[test]
fn w6_n5_t3_a_token_of_one_workspace_knows_of_no_other_on_any_channel() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    daemon.json(&["workspace", "new", "phone"]);
    let desk = daemon.spawn("desk", child::shell("exec cat"));
    let work = daemon.root().join("work");
    std::fs::create_dir(&work).unwrap();
    let made = daemon.command(&["new", "fix"]).current_dir(&work).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let page = server.sign_in();
    let token = secret(&daemon.json(&["workspace", "token", "new", "phone", "ci", "--role", "admin"]));
    let mut events = Socket::open(&server, "/ws/events", &token);
    let snapshot = events.until("snapshot", |message| message["type"] == "snapshot");
    assert_eq!(snapshot["processes"], json!([]), "{snapshot}");
    let ask = |method: &str, path: &str, sent: Value| {
        let answer = server.ask(method, path, &token, sent.to_string().as_bytes());
        (answer.status, answer.json())
    };
    for path in ["processes", "tasks", "inbox", "viewers"] {
        assert_eq!(ask("GET", &format!("/api/v1/{path}"), json!({})), (200, json!([])), "{path}");
    }
    for path in [format!("processes/{}/screen", desk.id), "processes/desk".to_owned(), "tasks/fix".to_owned()]
    {
        assert_eq!(ask("GET", &format!("/api/v1/{path}"), json!({})).0, 404, "{path}");
    }
    let (_, own) = ask("GET", "/api/v1/devices", json!({}));
    assert_eq!((own[0]["label"].as_str(), own.as_array().map(Vec::len)), (Some("ci"), Some(1)), "{own}");
    for record in daemon.json(&["access", "list"]).as_array().unwrap() {
        let path = format!("/api/v1/devices/{}", record["id"].as_str().unwrap());
        if record["workspace"] != "phone" {
            assert_eq!(ask("DELETE", &path, json!({})).0, 404, "{record}");
        }
    }
    assert_eq!(
        server.ask("GET", "/api/v1/me", &page, b"").status,
        200,
        "the administrator is still signed in"
    );
    let mut view = Socket::open(&server, &format!("/ws/view/{}", desk.id), &token);
    let refused = view.until("an error", |message| message["type"] == "error");
    assert_eq!(refused["error"]["code"], "not_found", "{refused}");
    for spawn in [json!({"argv": ["true"], "workspace": "local"}), json!({"argv": ["true"], "task": "fix"})] {
        let (status, answer) = ask("POST", "/api/v1/processes", spawn);
        assert_eq!((status, answer["error"]["code"].as_str()), (403, Some("workspace_mismatch")), "{answer}");
    }
    let elsewhere = json!({"name": "x", "directory": work, "workspace": "local"});
    // No process of its workspace works in that project, which is refused first.
    assert_eq!(ask("POST", "/api/v1/tasks", elsewhere).1["error"]["code"], "denied");
    let mut dialect = Socket::open(&server, "/ws/terminal", &token);
    for payload in [json!({"task_id": "fix"}), json!({"workspace_id": "local"})] {
        dialect.send_text(&json!({"type": "terminal.open", "payload": payload}));
        let error = dialect.until("an error", |frame| frame["type"] == "terminal.error");
        assert_eq!(error["payload"]["code"], "workspace_mismatch", "{error}");
    }
    let mut implicit = Socket::open(&server, "/ws/issues/fix/terminal?workspace_id=phone", &token);
    let error = implicit.until("an error", |frame| frame["type"] == "terminal.error");
    assert_eq!(error["payload"]["code"], "workspace_mismatch", "{error}");
    let tasks = text(&tool(&server, &token, "task_list", &json!({})));
    assert!(!tasks.contains("fix"), "{tasks}");
    let listed = text(&tool(&server, &token, "list_processes", &json!({})));
    assert!(!listed.contains("desk"), "{listed}");
    assert_eq!(daemon.list().len(), 1, "nothing was started");
    let (status, own) = ask("POST", "/api/v1/processes", json!({"argv": ["sleep", "1000"], "name": "mine"}));
    assert_eq!(status, 200, "{own}");
    let event = events.until("an event", |message| message["type"] == "event");
    assert_eq!(event["what"]["changed"]["name"], "mine", "{event}");
    assert_eq!(daemon.process("mine").workspace, "phone");
}

#[test]
fn w8_a_revoked_workspace_token_loses_its_socket_and_its_request_at_once() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    daemon.json(&["workspace", "new", "phone"]);
    let minted = daemon.json(&["workspace", "token", "new", "phone", "ci", "--role", "type"]);
    let token = secret(&minted);
    let (status, id) = {
        let sent = json!({"argv": ["sleep", "1000"], "name": "mine"}).to_string();
        let answer = server.ask("POST", "/api/v1/processes", &token, sent.as_bytes());
        (answer.status, minted["id"].as_str().unwrap().to_owned())
    };
    assert_eq!(status, 200);
    let mut events = Socket::open(&server, "/ws/events", &token);
    events.until("snapshot", |message| message["type"] == "snapshot");
    let listed = daemon.json(&["workspace", "token", "list", "phone"]);
    assert_eq!(
        (listed[0]["id"].as_str(), listed[0]["workspace"].as_str()),
        (Some(id.as_str()), Some("phone"))
    );
    let waits = json!({"processes": ["mine"], "states": ["exited"], "timeout_seconds": 40});
    std::thread::scope(|scope| {
        // However far it has come, it ends without a result.
        let waiting = scope.spawn(|| tool(&server, &token, "wait_for_state", &waits));
        daemon.json(&["workspace", "token", "revoke", &id]);
        let answer = waiting.join().unwrap();
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(answer.status == 401 || !said.contains("\"result\""), "{answer:?}");
    });
    let end = std::iter::repeat_with(|| events.next()).find(|frame| !matches!(frame, Frame::Text(_)));
    assert_eq!(end, Some(Frame::Close(4403)));
    assert_eq!(server.ask("GET", "/api/v1/me", &token, b"").status, 401);
}

#[test]
fn w6_n5_a_device_without_all_rights_watches_a_terminal_of_the_desk() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let opened = daemon.qd(&[
        "spawn",
        "--kind",
        "terminal",
        "--name",
        "desk",
        "--",
        "sh",
        "-c",
        "stty -echo; echo ready; exec cat",
    ]);
    assert!(opened.status.success(), "{opened:?}");
    daemon.wait_pattern("desk", "ready");
    let phone = Server::token(&daemon, "type");
    let mut view = Socket::open(&server, "/ws/view/desk?mode=type", &phone);
    let attached = view.until("attached", |message| message["type"] == "attached");
    assert_eq!(attached["types"], false, "{attached}");
    let why = view.until("the reason", |message| message["type"] == "error");
    assert!(why["error"]["message"].as_str().unwrap().contains("acts for the person"), "{why}");
    let page = server.sign_in();
    let typed = json!({"input": {"text": "from an administrator"}, "submit": true}).to_string();
    assert_eq!(server.ask("POST", "/api/v1/processes/desk/input", &page, typed.as_bytes()).status, 200);
    daemon.wait_pattern("desk", "from an administrator");
}
