//! The real programs of four vendors as clients of `qd mcp`: each is configured in its own way and reports
//! itself whether it is connected. No model is used. A program that is not installed fails here; `cargo xtask
//! setup` installs them.

use std::process::{Command, Stdio};

use serde_json::json;
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::proxy::Proxy;

/// A vendor's program in a home of its own, and a daemon for its server.
struct Client {
    daemon: TestDaemon,
    home: Home,
    model: ModelServer,
}

impl Client {
    /// Returns a client whose user has added the server with the program's own command: `before` comes before
    /// the variables, `after` before the command line.
    fn with_server(vendor: Vendor, before: &[&str], variable: &str, after: &[&str]) -> Self {
        let daemon = TestDaemon::start(QD);
        let model = ModelServer::start();
        let home = Home::seeded(vendor, &model);
        let mut arguments: Vec<String> =
            ["mcp", "add"].iter().chain(before).map(|&word| word.to_owned()).collect();
        for (name, value) in daemon.variables() {
            arguments.extend([variable.to_owned(), format!("{name}={}", value.display())]);
        }
        arguments.extend(after.iter().chain(&[QD, "mcp"]).map(|&word| word.to_owned()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        told(home.command(&arguments));
        Self { daemon, home, model }
    }

    /// Returns the output of its list of servers.
    fn list(&self) -> String {
        told(self.home.command(&["mcp", "list"]))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.model.requests().is_empty(), "a list asked a model");
        }
    }
}

/// Runs a program to its end; returns its whole output of both streams.
fn told(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn claude_lists_the_server_as_connected() {
    let client = Client::with_server(Vendor::Claude, &["--scope", "user", "qd"], "-e", &["--"]);
    let said = client.list();
    assert!(said.lines().any(|line| line.starts_with("qd: ") && line.ends_with("✔ Connected")), "{said}");
}

#[test]
fn gemini_lists_the_server_as_connected() {
    let client = Client::with_server(Vendor::Gemini, &["--scope", "user"], "-e", &["qd"]);
    let said = client.list();
    assert!(said.lines().any(|line| line.contains("✓ qd: ") && line.ends_with("- Connected")), "{said}");
}

#[test]
fn opencode_lists_the_server_as_connected() {
    let client = Client::with_server(Vendor::Opencode, &["qd"], "--env", &["--"]);
    let said = client.list();
    assert!(said.lines().any(|line| line.contains("✓ qd") && line.contains("connected")), "{said}");
}

/// Its own list only repeats the settings; the server for its editors' extensions connects.
#[test]
fn codex_tells_its_editors_that_the_server_is_connected() {
    let client = Client::with_server(Vendor::Codex, &["qd"], "--env", &["--"]);
    let mut command = client.home.command(&["app-server"]);
    // It complains about what the system lacks for its sandbox, which is not used here.
    command.stderr(Stdio::null());
    let mut editor = Proxy::run(command);
    editor.request("initialize", json!({"clientInfo": {"name": "test", "version": "1"}}));
    editor.send(&json!({"jsonrpc": "2.0", "method": "initialized"}));
    let status = editor.request("mcpServerStatus/list", json!({}));
    let server = &status["result"]["data"][0];
    assert_eq!(server["name"], json!("qd"), "{status}");
    assert_eq!(server["serverInfo"]["name"], json!("quarterdeck"), "{status}");
    let tools = Proxy::greeted(&client.daemon).request("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(server["tools"].as_object().unwrap().len(), tools.as_array().unwrap().len());
}
