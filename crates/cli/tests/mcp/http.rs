//! The same server over HTTP on the loopback, spoken by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use testkit::{DEADLINE, TestDaemon};

use crate::proxy::modern_meta;
use crate::{QD, TOOLS};

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

pub(crate) struct Http {
    child: Child,
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
        Self { child, address }
    }

    /// One POST; its status line and all that came after it.
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

    /// A request of the newer era with the right token; its result.
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
        drop(self.child.kill());
        drop(self.child.wait());
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
    assert!(!daemon.places().socket().exists());
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
    refused(&["mcp", "--http", "127.0.0.1:0"], "at least 32");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    refused(&["mcp", "--http", "0.0.0.0:0", "--token-file", file.to_str().unwrap()], "loopback");
}
