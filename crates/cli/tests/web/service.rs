//! What a server says about itself, and the tools for agents on the same server.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::process_scan::eventually;
use testkit::{TestDaemon, child};
use web::ROUTES;

use crate::QD;
use crate::server::{As, Server, traced_daemon};
use crate::socket::{Frame, Piece, Socket};

#[test]
fn the_api_describes_itself_and_counts() {
    let daemon = traced_daemon();
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
fn u17_seen_in_the_browser_is_seen_at_the_desk_and_the_reverse() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let is_unseen = |name: &str| {
        let shown = server.ask("GET", "/api/v1/processes", &page, b"").json();
        let list = shown.as_array().or(shown["processes"].as_array()).unwrap().clone();
        list.iter()
            .any(|process| process["name"] == name && process.get("unseen").is_some_and(|it| !it.is_null()))
    };
    for name in ["one", "two"] {
        daemon.spawn(name, child::print_and_exit("over", 3));
        eventually("its end is unseen", || daemon.process(name).unseen.map(|_| ()));
        assert!(is_unseen(name), "{name}");
    }
    let id = daemon.process("one").id;
    let marked = server.ask("POST", &format!("/api/v1/processes/{id}/see"), &page, b"{}");
    assert_eq!(marked.status, 200, "{marked:?}");
    assert!(daemon.process("one").unseen.is_none());
    assert!(daemon.qd(&["see", "two"]).status.success());
    assert!(!is_unseen("two"));
}

#[test]
fn w2_counters_at_an_address_of_their_own_need_no_token_and_are_all_that_is_there() {
    let daemon = traced_daemon();
    let mut server = Server::start_with(&daemon, &["--metrics-bind", "127.0.0.1:0"]);
    daemon.spawn("a-private-name", child::shell("exec sleep 1000"));
    assert_eq!(server.ask("GET", "/metrics", &As::Nobody, b"").status, 401, "the server's own need one");
    let page = server.sign_in();
    let url = server.ready["metrics"].as_str().unwrap().to_owned();
    // From now on the address of the counters is asked.
    let host = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    server.host = host.to_owned();
    let counters = server.ask("GET", "/metrics", &As::Nobody, b"");
    let text = String::from_utf8_lossy(&counters.body).into_owned();
    assert!(counters.status == 200 && text.contains("\nqd_processes 1\n"), "{counters:?}");
    assert!(!text.contains("private"), "{text}");
    assert_eq!(counters.header("x-content-type-options"), Some("nosniff"));
    for route in ROUTES.iter().filter(|route| route.path != "/metrics") {
        let answer = server.ask(route.method.word(), route.path, &As::Nobody, b"");
        assert_eq!(answer.status, 404, "{route:?}");
    }
    assert_eq!(server.ask("POST", "/metrics", &As::Nobody, b"").status, 405);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let foreign = server.send("GET", "/metrics", &[header("Host", "evil.example")], b"");
    assert_eq!(foreign.status, 403, "a page that rebinds its name");
    assert_eq!(server.ask("GET", "/metrics", &page, b"").status, 403, "no page reads them, not even ours");
}

#[test]
fn w10_counters_at_every_address_of_the_machine_are_refused() {
    let daemon = TestDaemon::without_start(QD);
    let refused = daemon.qd(&["web", "--bind", "127.0.0.1:0", "--metrics-bind", "0.0.0.0:0"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--metrics-bind"), "{said}");
    assert!(!daemon.dirs().socket().exists(), "no daemon was started for it");
}

#[test]
fn a_query_that_cannot_be_read_is_answered_with_an_error_of_the_api() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "type");
    daemon.spawn("cat", child::shell("exec cat"));
    for path in ["log?from=-1", "result?turn=x", "history?since=x", "screen?styles=1&limit=-1"] {
        let answer = server.ask("GET", &format!("/api/v1/processes/cat/{path}"), &token, b"");
        assert_eq!(
            (answer.status, answer.json()["error"]["code"].as_str()),
            (400, Some("invalid_args")),
            "{path}"
        );
    }
}

#[test]
fn the_tools_for_agents_are_there_for_tokens_alone() {
    let daemon = traced_daemon();
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
        (Server::token(&daemon, "view"), 200),
        (limited, 200),
        (server.sign_in(), 403),
        (Server::token(&daemon, "admin"), 200),
    ] {
        let answer = ask(&who);
        assert_eq!(answer.status, status, "{who:?}: {answer:?}");
    }
}

#[test]
fn a_log_is_read_by_ranges_and_long_pages_are_compressed_for_clients_that_take_it() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "view");
    daemon.spawn("lines", child::shell("seq -f 'line %06.0f' 1 2000; echo all done; exec sleep 1000"));
    daemon.wait_pattern("lines", "all done");
    let ask = |path: &str, name: &str, value: &str| {
        let mut headers = vec![("Host".to_owned(), server.host.clone()), (name.to_owned(), value.to_owned())];
        headers.extend(server.headers(&token));
        server.send("GET", &format!("/api/v1/processes/lines/{path}"), &headers, b"")
    };
    let whole = server.ask("GET", "/api/v1/processes/lines/log", &token, b"");
    let end = whole.body.len();
    assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
    for (range, expected) in
        [("bytes=5-17", 5..18), ("bytes=20000-", 20_000..end), ("bytes=-9", end - 9..end)]
    {
        let part = ask("log", "Range", range);
        let content = format!("bytes {}-{}/{end}", expected.start, expected.end - 1);
        assert_eq!((part.status, part.header("content-range")), (206, Some(content.as_str())), "{range}");
        assert!(part.body == whole.body[expected], "{range}");
    }
    let beyond = ask("log", "Range", &format!("bytes={end}-"));
    assert_eq!(
        (beyond.status, beyond.header("content-range")),
        (416, Some(format!("bytes */{end}").as_str()))
    );
    for path in ["log", "history?limit=2000"] {
        let packed = ask(path, "Accept-Encoding", "gzip");
        assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")), "{path}");
        let plain = ask(path, "Accept-Encoding", "identity");
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        assert!(packed.body.len() * 3 < plain.body.len(), "{} of {}", packed.body.len(), plain.body.len());
        assert!(unpacked(&packed.body) == plain.body, "{path}");
    }
}

/// Returns bytes that look like chance and are the same in every run; only those for which `is_wanted` holds.
fn noise(length: usize, is_wanted: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut state = 20_261_118_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).to_le_bytes()[0]
    };
    std::iter::repeat_with(next).filter(|byte| is_wanted(*byte)).take(length).collect()
}

#[test]
fn e6_every_byte_that_a_program_prints_is_in_the_log_over_the_web_and_text_of_any_kind_in_an_exact_view() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let token = Server::token(&daemon, "view");
    // What a view removes are sequences and questions; everything else passes as it is.
    let is_text = |byte: u8| byte != 0x1b && byte != 0x05 && !(0x80..0xa0).contains(&byte);
    for (name, bytes) in [("any", noise(300_000, |_| true)), ("text", noise(300_000, is_text))] {
        let file = daemon.root().join(name);
        std::fs::write(&file, &bytes).unwrap();
        let script = format!("stty raw -echo; cat {}; exec sleep 1000", file.display());
        let id = daemon.spawn(name, child::shell(&script)).id;
        let whole = eventually("all of it", || {
            let log = server.ask("GET", &format!("/api/v1/processes/{id}/log"), &token, b"");
            (log.body.len() >= bytes.len()).then_some(log.body)
        });
        assert!(whole == bytes, "{name}: {} bytes", whole.len());
        if name == "any" {
            continue;
        }
        let mut view = Socket::open(&server, &format!("/ws/view/{id}?from=0&exact=1"), &token);
        let mut seen = Vec::new();
        while seen.len() < bytes.len() {
            let frame = match view.next() {
                Frame::Binary(frame) => frame,
                Frame::Text(_) => continue,
                end => panic!("{} of {} bytes, then {end:?}", seen.len(), bytes.len()),
            };
            let piece = Piece::of(&frame);
            assert!(
                !piece.is_repaint && piece.offset <= seen.len() as u64,
                "{} of {}",
                piece.offset,
                seen.len()
            );
            seen.extend_from_slice(&piece.bytes);
            view.send_text(&json!({"type": "credit", "offset": piece.end}));
        }
        assert!(seen == bytes, "{} bytes", seen.len());
    }
}

/// Returns what `gzip -d` makes of these bytes.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut gzip =
        Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = gzip.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes).unwrap());
        gzip.wait_with_output().unwrap().stdout
    })
}

#[test]
fn m11_what_a_browser_starts_gets_the_environment_of_the_server_and_a_workspaces_caller_its_harmless_part() {
    let daemon = traced_daemon();
    let bin = daemon.root().join("own-bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("only-here");
    std::fs::write(&program, "#!/bin/sh\necho \"url=$DATABASE_URL.\"\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = daemon.command(&["--json", "web", "--bind", "127.0.0.1:0"]);
    command.env("DATABASE_URL", "postgres://x").env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let server = Server::launch(&daemon, command);
    let minted = daemon.json(&["access", "token", "t", "--role", "type", "--workspace", "local"]);
    let limited = As::Token(minted["secret"].as_str().unwrap().to_owned());
    for (name, who, url) in [("mine", server.sign_in(), "url=postgres://x."), ("limited", limited, "url=.")] {
        let body = json!({"name": name, "argv": ["only-here"], "cwd": "/"}).to_string();
        let spawned = server.ask("POST", "/api/v1/processes", &who, body.as_bytes());
        assert_eq!(spawned.status, 200, "{spawned:?}");
        daemon.wait_exit(name);
        let log = String::from_utf8(daemon.qd(&["logs", name]).stdout).unwrap();
        assert!(log.contains(url), "{name}: {log}");
    }
}

#[test]
fn m7d_what_is_typed_through_the_api_across_a_killed_daemon_is_typed_once() {
    let daemon = TestDaemon::without_start(QD);
    let order = daemon.root().join("die");
    let mut start = daemon.command(&["ps"]);
    assert!(
        start.env("QD_TEST_FAILPOINTS", &order).env("QD_LOG", "trace").output().unwrap().status.success()
    );
    daemon.spawn("echo", child::repeat_lines());
    daemon.wait_pattern("echo", "ready");
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let id = daemon.process("echo").id;
    let type_text = |text: &str| {
        let body = json!({"input": {"text": text}}).to_string();
        server.ask("POST", &format!("/api/v1/processes/{id}/input"), &page, body.as_bytes())
    };
    std::fs::write(&order, daemon::Failpoint::InputTyped.name()).unwrap();
    let typed = type_text("word\n");
    assert!(!order.exists(), "the daemon died");
    assert_eq!((typed.status, &typed.json()["written"]), (200, &json!(5)), "{typed:?}");
    type_text("fence\n");
    daemon.wait_pattern("echo", "got:fence");
    let log = String::from_utf8(daemon.qd(&["logs", "echo"]).stdout).unwrap();
    assert_eq!(log.matches("got:word").count(), 1, "{log}");
}

#[test]
fn m7d_an_answer_that_was_lost_is_an_unknown_outcome_and_no_reason_to_try_again() {
    let daemon = TestDaemon::without_start(QD);
    let order = daemon.root().join("die");
    let mut start = daemon.command(&["ps"]);
    assert!(
        start.env("QD_TEST_FAILPOINTS", &order).env("QD_LOG", "trace").output().unwrap().status.success()
    );
    daemon.spawn("x", child::run_for_ever());
    let server = Server::start(&daemon);
    let page = server.sign_in();
    let id = daemon.process("x").id;
    std::fs::write(&order, daemon::Failpoint::Recorded.name()).unwrap();
    let restarted = server.ask("POST", &format!("/api/v1/processes/{id}/restart"), &page, b"{}");
    assert!(!order.exists(), "the daemon died");
    let error = &restarted.json()["error"];
    assert_eq!(error["code"], "unknown_outcome", "{restarted:?}");
    assert!(error["hint"].as_str().unwrap().contains("look whether"), "{restarted:?}");
}

#[test]
fn m13_the_api_gives_the_output_of_an_earlier_run() {
    let daemon = traced_daemon();
    let server = Server::start(&daemon);
    let page = server.sign_in();
    daemon.spawn("x", child::print_and_exit("first words", 3));
    daemon.wait_exit("x");
    let id = daemon.process("x").id;
    assert!(daemon.qd(&["restart", "x"]).status.success());
    daemon.wait_exit("x");
    for run in ["previous", "1"] {
        let read = |what: &str| {
            let path = format!("/api/v1/processes/{id}/{what}?run={run}");
            String::from_utf8(server.ask("GET", &path, &page, b"").body).unwrap()
        };
        assert!(read("log").contains("first words") && read("history").contains("first words"), "{run}");
    }
    let missing = server.ask("GET", &format!("/api/v1/processes/{id}/log?run=99"), &page, b"");
    assert_eq!(missing.status, 404, "{missing:?}");
}
