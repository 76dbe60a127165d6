//! Links: each shows one process or one task, changes nothing, ends by time or when it is revoked.

use std::path::{Path, PathBuf};
use std::process::Command;

use proto::Role;
use serde_json::{Value, json};
use testkit::process_scan::eventually;
use testkit::{TestDaemon, child};
use web::{Access, ROUTES, Route};

use crate::server::{As, Server, traced_daemon};
use crate::socket::{Frame, Socket};

fn body(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Signs a browser in by a link.
fn follow(server: &Server, link: &Value) -> As {
    let sent = body(&json!({ "link": link["secret"] }));
    let answer = server.ask("POST", "/api/v1/login", &As::Page(String::new()), &sent);
    assert_eq!(answer.status, 200, "{answer:?}");
    As::Page(answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned())
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
    let output = command.current_dir(directory).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a task with a changed file and a process in it; returns the task's directory.
fn make_task(daemon: &TestDaemon, name: &str) -> PathBuf {
    let repository = daemon.root().join("repository");
    if !repository.exists() {
        std::fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(repository.join("a.txt"), "one\ntwo\n").unwrap();
        git(&repository, &["add", "--all"]);
        git(&repository, &["commit", "--quiet", "--message=first"]);
    }
    let made = daemon.command(&["new", name, "--worktree"]).current_dir(&repository).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let shown = daemon.json(&["tasks"]);
    let task = shown.as_array().unwrap().iter().find(|task| task["name"] == name).unwrap();
    let directory = PathBuf::from(task["directory"].as_str().unwrap());
    std::fs::write(directory.join("a.txt"), format!("one\n{name}\n")).unwrap();
    directory
}

fn spawn_in(daemon: &TestDaemon, task: &str, name: &str) -> String {
    let script = "stty -echo; echo ready; exec cat";
    let spawned = daemon.json(&["spawn", "--name", name, "--task", task, "--", "sh", "-c", script]);
    daemon.wait_pattern(name, "ready");
    spawned["id"].as_str().unwrap().to_owned()
}

fn fill(route: &Route, id: &str, task: &str) -> String {
    route
        .path
        .replace("{id}", id)
        .replace("{task}", task)
        .replace("{item}", "1")
        .replace("{mail}", "1")
        .replace("{name}", "notes")
}

/// Asks for every route of the API about a process and a task that a link does not show; returns how many it was refused.
fn count_refused(server: &Server, link: &As, id: &str, task: &str) -> usize {
    let mut refused = 0;
    for route in ROUTES.iter().filter(|route| route.path.starts_with("/api/v1/") || route.path == "/metrics")
    {
        // These four are the link's own, and the lists have nothing but its processes.
        let own = ["/api/v1/me", "/api/v1/login", "/api/v1/logout", "/api/v1/tickets"];
        let is_list = matches!(route.path, "/api/v1/processes" | "/api/v1/inbox")
            && route.access == Access::Role(Role::View);
        if own.contains(&route.path) || is_list {
            continue;
        }
        let answer = server.ask(route.method.word(), &fill(route, id, task), link, b"{}");
        assert_eq!(answer.status, 403, "{route:?}: {answer:?}");
        refused += 1;
    }
    refused
}

#[test]
fn w6_a_link_shows_one_process_and_types_nothing() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let other = daemon.spawn("other", child::shell("exec cat"));
    make_task(&daemon, "fix");
    let link = follow(&server, &daemon.json(&["access", "link", "cat"]));
    let ask = |method: &str, path: &str, sent: Value| server.ask(method, path, &link, &body(&sent));
    let own = cat.id.to_string();
    assert_eq!(ask("GET", &format!("/api/v1/processes/{own}/screen"), json!({})).status, 200);
    let listed = ask("GET", "/api/v1/processes", json!({})).json();
    assert_eq!((listed[0]["name"].as_str(), listed[1].is_null()), (Some("cat"), true), "{listed}");
    assert_eq!(ask("GET", "/api/v1/inbox", json!({})).json(), json!([]));
    assert!(count_refused(&server, &link, &other.id.to_string(), "fix") > 40);
    assert_eq!(
        ask("GET", "/api/v1/processes/cat/screen", json!({})).status,
        403,
        "a name may become another's"
    );
    let input = json!({"input": {"text": "x"}});
    assert_eq!(ask("POST", &format!("/api/v1/processes/{own}/input"), input).status, 403);
    let ticket = |process: &str, mode: &str| {
        ask("POST", "/api/v1/tickets", json!({"for": "view", "process": process, "mode": mode})).status
    };
    assert_eq!((ticket(&own, "view"), ticket(&own, "type")), (200, 403));
    assert_eq!(ticket(&other.id.to_string(), "view"), 403);
}

#[test]
fn w6_a_link_to_a_task_shows_its_changes_its_review_and_its_screens_and_nothing_else() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    for task in ["fix", "secret"] {
        make_task(&daemon, task);
    }
    let (own, other) = (spawn_in(&daemon, "fix", "worker"), spawn_in(&daemon, "secret", "hidden"));
    let reviewed = daemon.qd(&["review", "fix", "add", "a.txt:2", "why?"]);
    assert!(reviewed.status.success(), "{reviewed:?}");
    let link = follow(&server, &daemon.json(&["access", "link", "--task", "fix"]));
    let get = |path: &str| server.ask("GET", path, &link, b"");
    let me = get("/api/v1/me").json();
    assert_eq!((me["role"].as_str(), me["target"]["task"].as_str()), (Some("view"), Some("fix")), "{me}");
    assert_eq!(get("/api/v1/tasks/fix").json()["processes"][0]["name"], "worker");
    assert!(get("/api/v1/tasks/fix/diff").json()["text"].as_str().unwrap().contains("+fix"));
    assert_eq!(get("/api/v1/tasks/fix/review").json()["comments"][0]["text"], "why?");
    let screen = get(&format!("/api/v1/processes/{own}/screen")).json();
    assert!(screen["text"].as_str().unwrap().contains("ready"), "{screen}");
    let listed = get("/api/v1/processes").json();
    assert_eq!((listed[0]["id"].as_str(), listed[1].is_null()), (Some(own.as_str()), true), "{listed}");
    assert!(count_refused(&server, &link, &other, "secret") > 40);
    let sent = |process: &str| body(&json!({"for": "view", "process": process}));
    assert_eq!(server.ask("POST", "/api/v1/tickets", &link, &sent(&other)).status, 403);
    let ticket = server.ask("POST", "/api/v1/tickets", &link, &sent(&own)).json()["ticket"].clone();
    let path = format!("/ws/view/{own}");
    let mut view = Socket::by_ticket(&server, &path, &link, ticket.as_str().unwrap()).unwrap();
    let attached = view.until("attached", |message| message["type"] == "attached");
    assert_eq!(attached["types"], false, "{attached}");
    let dialect = body(&json!({"for": "dialect"}));
    let events = body(&json!({"for": "events"}));
    assert_eq!(server.ask("POST", "/api/v1/tickets", &link, &dialect).status, 403);
    assert_eq!(server.ask("POST", "/api/v1/tickets", &link, &events).status, 403);
}

#[test]
fn w6_a4_with_the_servers_checks_off_a_link_to_a_task_still_changes_nothing() {
    let daemon = traced_daemon();
    let server = Server::start_unchecked(&daemon);
    let directory = make_task(&daemon, "fix");
    let id = spawn_in(&daemon, "fix", "worker");
    let (before, screen) = (daemon.process("worker"), daemon.screen("worker"));
    let link = follow(&server, &daemon.json(&["access", "link", "--task", "fix"]));
    let of = |verb: &str| format!("/api/v1/processes/{id}/{verb}");
    for (method, path, sent) in [
        ("POST", of("input"), json!({"input": {"text": "smuggled"}, "submit": true})),
        ("POST", of("resize"), json!({"size": {"cols": 33, "rows": 11}})),
        ("POST", of("kill"), json!({})),
        ("POST", of("restart"), json!({})),
        ("POST", of("rename"), json!({"name": "other"})),
        ("POST", of("tell"), json!({"text": "smuggled"})),
        ("POST", of("see"), json!({})),
        ("DELETE", format!("/api/v1/processes/{id}"), json!({})),
        ("DELETE", "/api/v1/tasks/fix".to_owned(), json!({})),
        ("POST", "/api/v1/tasks/fix/restore".to_owned(), json!({})),
        (
            "POST",
            "/api/v1/tasks/fix/review".to_owned(),
            json!({"add": {"file": "a.txt", "first": 1, "last": 1, "text": "smuggled"}}),
        ),
        ("POST", "/api/v1/tasks/fix/review".to_owned(), json!({"send": {}})),
    ] {
        let answer = server.ask(method, &path, &link, &body(&sent));
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.status, 403, "{method} {path} {sent}: {answer:?}");
        assert!(message.contains("this connection is limited to view"), "{method} {path} {sent}: {message}");
    }
    let land = server.ask("POST", "/api/v1/tasks/fix/land", &link, b"{}");
    assert_eq!(land.status, 403, "only a confirmed device lands: {land:?}");
    let after = daemon.process("worker");
    assert_eq!((after.pid, after.run, after.terminal.size), (before.pid, before.run, before.terminal.size));
    assert_eq!(daemon.screen("worker"), screen);
    assert!(directory.join("a.txt").exists());
}

#[test]
fn w8_a_link_to_a_task_ends_when_it_is_revoked_and_with_its_task_whose_name_another_one_may_get() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let work = daemon.root().join("work");
    std::fs::create_dir(&work).unwrap();
    let make = || daemon.command(&["new", "fix"]).current_dir(&work).output().unwrap();
    assert!(make().status.success());
    let id = spawn_in(&daemon, "fix", "worker");
    let minted = daemon.json(&["access", "link", "--task", "fix", "--hours", "1"]);
    let listed = daemon.json(&["access", "list"]);
    let left = listed[0]["expires"].as_u64().unwrap() - listed[0]["created"].as_u64().unwrap();
    assert_eq!(left, 3_600_000, "{listed}");
    let link = follow(&server, &minted);
    let again = follow(&server, &daemon.json(&["access", "link", "--task", "fix"]));
    let sent = body(&json!({"for": "view", "process": id}));
    let ticket = server.ask("POST", "/api/v1/tickets", &link, &sent).json()["ticket"].clone();
    let path = format!("/ws/view/{id}");
    let mut view = Socket::by_ticket(&server, &path, &link, ticket.as_str().unwrap()).unwrap();
    view.until("attached", |message| message["type"] == "attached");
    daemon.qd(&["access", "revoke", minted["id"].as_str().unwrap()]);
    let is_end = |frame: &Frame| matches!(frame, Frame::Close(_) | Frame::Gone);
    let end = std::iter::repeat_with(|| view.next()).find(is_end);
    assert_eq!(end, Some(Frame::Close(4403)));
    assert_eq!(server.ask("GET", "/api/v1/tasks/fix", &link, b"").status, 401);
    assert_eq!(server.ask("GET", "/api/v1/tasks/fix", &again, b"").status, 200);
    let closed = daemon.qd(&["close", "worker"]);
    assert!(closed.status.success(), "{closed:?}");
    eventually("the worker is gone", || daemon.list().is_empty().then_some(()));
    let dropped = daemon.qd(&["drop", "fix"]);
    assert!(dropped.status.success(), "{dropped:?}");
    assert!(make().status.success());
    let later = spawn_in(&daemon, "fix", "later");
    for path in ["tasks/fix".to_owned(), "tasks/fix/review".to_owned(), format!("processes/{later}/screen")] {
        let answer = server.ask("GET", &format!("/api/v1/{path}"), &again, b"");
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
}

#[test]
fn w8_a_paired_browser_that_opens_a_link_stays_signed_in() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let cat = daemon.spawn("cat", child::shell("exec cat"));
    let page = server.sign_in();
    let sent = body(&json!({ "link": daemon.json(&["access", "link", "cat"])["secret"] }));
    let answer = server.ask("POST", "/api/v1/login", &page, &sent);
    assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{answer:?}");
    assert_eq!(answer.json()["target"], json!(cat.id), "the page goes there");
    assert_eq!(server.ask("GET", "/api/v1/me", &page, b"").json()["kind"], "device");
    let unknown = As::Page(page_cookie(&page).replace('=', "=0"));
    let answer = server.ask("POST", "/api/v1/login", &unknown, &sent);
    assert!(answer.header("set-cookie").is_some(), "a cookie that counts for nothing is replaced");
}

fn page_cookie(page: &As) -> &str {
    let As::Page(cookie) = page else { panic!("no cookie") };
    cookie
}
