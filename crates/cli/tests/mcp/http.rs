//! The same server over HTTP on the loopback, with requests written by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::process_scan::eventually;
use testkit::{DEADLINE, MarkedDaemon, TestDaemon, child};

use crate::proxy::modern_meta;
use crate::{QD, TOOLS};

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

pub(crate) struct Http {
    child: Option<Child>,
    pub(crate) address: String,
}

impl Http {
    pub(crate) fn start(daemon: &TestDaemon) -> Self {
        let file = daemon.root().join("token");
        std::fs::write(&file, TOKEN).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut command =
            daemon.command(&["mcp", "--http", "127.0.0.1:0", "--token-file", file.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening at http://")
            .unwrap()
            .strip_suffix("/mcp")
            .unwrap()
            .to_owned();
        Self { child: Some(child), address }
    }

    /// Returns a server that another process has started there.
    fn at(address: String) -> Self {
        Self { child: None, address }
    }

    /// Sends one POST; returns the status and all that came after it.
    fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut request =
            "POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n".to_owned();
        request.push_str("Accept: application/json, text/event-stream\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        // A body that is too long may be refused before it was read.
        drop(stream.write_all(body));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status =
            answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{answer}"));
        (status, answer)
    }

    /// Returns the status of a request with this token.
    fn status_with(&self, token: &str) -> u16 {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
        let bearer = format!("Bearer {token}");
        self.post(&[("Host", self.address.as_str()), ("Authorization", bearer.as_str())], body.as_bytes()).0
    }

    /// Sends a request of the newer protocol with the right token and returns its result.
    fn ask(&self, method: &str, mut params: Value) -> Value {
        params["_meta"] = modern_meta(json!({}));
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let bearer = format!("Bearer {TOKEN}");
        let mut headers = vec![
            ("Host", self.address.as_str()),
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        let (status, answer) = self.post(&headers, body.as_bytes());
        assert_eq!(status, 200, "{answer}");
        let mut found = answer.lines().filter_map(|line| {
            let line = line.strip_prefix("data: ").unwrap_or(line);
            serde_json::from_str::<Value>(line).ok().filter(|value| value.get("id").is_some())
        });
        found.next_back().unwrap_or_else(|| panic!("{answer}"))["result"].clone()
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

#[test]
fn the_tools_work_over_http() {
    let daemon = TestDaemon::start(QD);
    let http = Http::start(&daemon);
    assert_eq!(http.ask("tools/list", json!({}))["tools"].as_array().unwrap().len(), TOOLS);
    let listed = http.ask("tools/call", json!({"name": "list_processes", "arguments": {}}));
    assert_eq!(listed["structuredContent"]["processes"], json!([]), "{listed}");
}

#[test]
fn b8_without_the_token_under_another_name_or_from_another_page_nobody_gets_in() {
    let daemon = TestDaemon::without_start(QD);
    let http = Http::start(&daemon);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    let bearer = format!("Bearer {TOKEN}");
    let wrong = format!("Bearer {}", TOKEN.replace('f', "e"));
    let host = http.address.as_str();
    for (headers, status) in [
        (vec![("Host", host)], 401),
        (vec![("Host", host), ("Authorization", "Bearer ")], 401),
        (vec![("Host", host), ("Authorization", wrong.as_str())], 401),
        (vec![("Host", "evil.example"), ("Authorization", bearer.as_str())], 403),
        (vec![("Host", host), ("Authorization", bearer.as_str()), ("Origin", "http://evil.example")], 403),
    ] {
        let (got, answer) = http.post(&headers, body.as_bytes());
        assert_eq!(got, status, "{headers:?}: {answer}");
    }
    assert!(!daemon.dirs().socket().exists());
}

#[test]
fn e8_a_body_has_the_limits_of_a_line() {
    let daemon = TestDaemon::without_start(QD);
    let http = Http::start(&daemon);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("Host", http.address.as_str()), ("Authorization", bearer.as_str())];
    let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
    for body in [&b"garbage"[..], b"\xff\xfe", &deep, b"[]"] {
        assert_eq!(http.post(&headers, body).0, 400);
    }
    assert_eq!(http.post(&headers, &vec![b'x'; 5 << 20]).0, 413);
    assert_eq!(http.ask("tools/list", json!({}))["tools"].as_array().unwrap().len(), TOOLS);
}

#[test]
fn b8_a_token_that_others_can_read_or_an_address_of_the_network_is_refused() {
    let daemon = TestDaemon::without_start(QD);
    let file = daemon.root().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = |arguments: &[&str], why: &str| {
        let output = daemon.qd(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(why) && !told.contains(TOKEN), "{told}");
    };
    refused(&["mcp", "--http", "127.0.0.1:0", "--token-file", file.to_str().unwrap()], "0600");
    refused(&["mcp", "--http", "127.0.0.1:0"], "name its file with --token-file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    refused(&["mcp", "--http", "0.0.0.0:0", "--token-file", file.to_str().unwrap()], "loopback");
}

#[test]
fn m4g_a7_five_wrong_tokens_close_the_gate_for_new_connections_and_it_opens_again() {
    let daemon = TestDaemon::start(QD);
    let http = Http::start(&daemon);
    let right = http.status_with(TOKEN);
    assert_ne!(right, 401);
    let mut known = Known::begin(&http);
    let wrong = TOKEN.replace('f', "e");
    for _ in 0..5 {
        assert_eq!(http.status_with(&wrong), 401);
    }
    for token in [&wrong, TOKEN] {
        let headers = [("Host", http.address.clone()), ("Authorization", format!("Bearer {token}"))];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let (status, answer) = http.post(&headers, b"{}");
        assert_eq!(status, 429, "{answer}");
        assert!(answer.to_ascii_lowercase().contains("retry-after: "), "{answer}");
    }
    assert_ne!(known.ask_again(), 429, "it has shown the right one before");
    assert_eq!(daemon.list(), [], "the daemon's own door is another");
    eventually("the gate to open", || (http.status_with(TOKEN) == right).then_some(()));
}

/// A connection that stays open.
struct Known {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Known {
    fn begin(http: &Http) -> Self {
        let stream = TcpStream::connect(&http.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut known = Self { stream: BufReader::new(stream), address: http.address.clone() };
        assert_eq!(known.ask_again(), 400);
        known
    }

    /// Sends a request that cannot be answered; returns the status.
    fn ask_again(&mut self) -> u16 {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 2\r\n\r\n[]",
            self.address
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            if line.starts_with("HTTP/") {
                status = line.split(' ').nth(1).unwrap().parse().unwrap();
            } else if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            } else if line.trim().is_empty() {
                break;
            }
        }
        self.stream.read_exact(&mut vec![0; length]).unwrap();
        status
    }
}

#[test]
fn m4g_a10_silent_slow_and_long_winded_connections_keep_nobody_out() {
    let daemon = TestDaemon::start(QD);
    let http = Http::start(&daemon);
    let connect = || {
        let stream = TcpStream::connect(&http.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    };
    let silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    assert_eq!(http.ask("tools/list", json!({}))["tools"].as_array().unwrap().len(), TOOLS);
    let mut rest = Vec::new();
    drop((&silent[0]).read_to_end(&mut rest));
    assert_eq!(rest, b"", "the oldest gave way");
    drop(silent);
    let mut slow = connect();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
    let mut long = connect();
    let many: String = (0..10_000).map(|n| format!("X-{n}: {n}\r\n")).collect();
    drop(long.write_all(format!("POST /mcp HTTP/1.1\r\nHost: {}\r\n{many}\r\n", http.address).as_bytes()));
    let mut answer = Vec::new();
    drop(long.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    drop(slow.read_to_end(&mut rest));
    assert!(!String::from_utf8_lossy(&rest).contains(" 200 "), "it was closed without an answer");
    assert_eq!(http.ask("tools/list", json!({}))["tools"].as_array().unwrap().len(), TOOLS);
}

#[test]
fn m4g_there_are_so_many_sessions_and_no_more() {
    let daemon = TestDaemon::start(QD);
    let http = Http::start(&daemon);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                        "clientInfo": {"name": "test", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("Host", http.address.as_str()), ("Authorization", bearer.as_str())];
    let mut ids = Vec::new();
    for _ in 0..64 {
        let (status, answer) = http.post(&headers, body.as_bytes());
        assert_eq!(status, 200, "{answer}");
        let id = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        ids.push(id.unwrap());
    }
    let (status, answer) = http.post(&headers, body.as_bytes());
    assert_eq!(status, 503, "{answer}");
    let mut stream = TcpStream::connect(&http.address).unwrap();
    let end = format!(
        "DELETE /mcp HTTP/1.1\r\nConnection: close\r\nHost: {}\r\nAuthorization: {bearer}\r\nMcp-Session-Id: {}\r\n\r\n",
        http.address, ids[0]
    );
    stream.write_all(end.as_bytes()).unwrap();
    drop(stream.read_to_end(&mut Vec::new()));
    assert_eq!(http.post(&headers, body.as_bytes()).0, 200, "one has ended");
}

#[test]
fn m4g_a1_a3_names_are_checked_on_every_path_before_the_token() {
    let daemon = TestDaemon::without_start(QD);
    let http = Http::start(&daemon);
    let port = http.address.rsplit_once(':').unwrap().1.to_owned();
    let own = http.address.clone();
    let status = |method: &str, path: &str, host: &str, origin: Option<&str>, has_token: bool| {
        let mut stream = TcpStream::connect(&http.address).unwrap();
        let origin = origin.map(|origin| format!("Origin: {origin}\r\n")).unwrap_or_default();
        let token = if has_token { format!("Authorization: Bearer {TOKEN}\r\n") } else { String::new() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\n{origin}{token}Content-Length: 2\r\n\r\n[]"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}")).parse::<u16>().unwrap()
    };
    for (method, path) in
        [("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/"), ("OPTIONS", "/x")]
    {
        for has_token in [true, false] {
            for host in ["evil.example", "localhost", &format!("127.0.0.1.evil:{port}"), "127.0.0.1:1"] {
                assert_eq!(status(method, path, host, None, has_token), 403, "{method} {path} {host}");
            }
            for origin in ["null", "http://evil.example", "http://localhost:1", "http://127.0.0.1"] {
                assert_eq!(
                    status(method, path, &own, Some(origin), has_token),
                    403,
                    "{method} {path} {origin}"
                );
            }
        }
        let own_page = format!("http://localhost:{port}");
        assert_eq!(status(method, path, &own, Some(&own_page), false), 401, "{method} {path}");
        assert_ne!(status(method, path, &own, Some(&own_page), true), 403, "{method} {path}");
    }
    assert!(!daemon.dirs().socket().exists());
}

/// Returns a server inside a run, in the background of a shell that ends on demand.
fn serve_inside(stage: &MarkedDaemon, name: &str) -> Http {
    let file = stage.root().join("token");
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let export =
        |(name, value): &(&str, std::path::PathBuf)| format!("export {name}='{}'; ", value.display());
    let exports: String = stage.variables().iter().map(export).collect();
    let serve = format!("'{QD}' mcp --http 127.0.0.1:0 --token-file '{}'", file.display());
    stage.run(name, child::shell(&format!("{exports}(trap '' HUP; exec {serve}) & read line")));
    stage.wait_pattern(name, "listening at http://.*/mcp");
    let screen = stage.screen(name).replace('\n', "");
    let address = screen.split("http://").nth(1).unwrap().split("/mcp").next().unwrap().to_owned();
    Http::at(address)
}

#[test]
fn m4g_a_token_stands_for_who_started_the_server_and_ends_with_its_run() {
    let stage = MarkedDaemon::start(QD);
    let victim = stage.run("victim", child::run_for_ever());
    let persons = Http::start(&stage);
    let who = |http: &Http| http.ask("tools/call", json!({"name": "whoami", "arguments": {}}));
    assert_eq!(who(&persons)["structuredContent"]["caller"], "human", "{}", who(&persons));
    // The test is a person, but counts as this process as soon as it sends that process's token.
    let inside = serve_inside(&stage, "server");
    let told = who(&inside);
    assert_eq!(told["structuredContent"]["caller"], "process", "{told}");
    let close = json!({"name": "close_process", "arguments": {"process": victim.id}});
    let refused = inside.ask("tools/call", close);
    assert!(refused.to_string().contains("not_related"), "{refused}");
    stage.kill_9();
    // A process inside a run starts no daemon.
    drop(stage.client());
    assert_eq!(who(&inside)["structuredContent"]["caller"], "process", "for the next daemon, too");
    assert!(stage.qd(&["close", "server", "--keep-background"]).status.success());
    let orphan = inside.ask("tools/call", json!({"name": "list_processes", "arguments": {}}));
    assert!(orphan.to_string().contains("unauthorized"), "{orphan}");
    for pid in stage.survivors() {
        if testkit::process_scan::command_line(pid).contains("--http") {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }
    assert!(stage.process("victim").exit.is_none());
}
