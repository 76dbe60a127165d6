//! The inspector with which people examine MCP servers, on its command line, against `qd mcp` both ways.

use std::path::Path;

use serde_json::{Value, json};
use testkit::vendor::Tool;
use testkit::{TestDaemon, child};

use crate::QD;
use crate::http::{Http, TOKEN};
use crate::proxy::Proxy;

/// Returns the inspector's server argument: a program with its variables, or an address with a header.
fn stdio(daemon: &TestDaemon) -> Vec<String> {
    let mut arguments = vec![QD.to_owned(), "mcp".to_owned()];
    // It gives a server nothing of its own environment.
    for (name, value) in daemon.variables() {
        arguments.extend(["-e".to_owned(), format!("{name}={}", value.display())]);
    }
    arguments
}

/// Calls the inspector once; returns its exit code and its JSON output.
fn inspect(home: &Path, server: &[String], request: &[&str]) -> (i32, Value) {
    let mut inspector = Tool::Inspector.command(home);
    inspector.arg("--cli").args(server).args(request);
    let output = inspector.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let value = serde_json::from_str(&printed).unwrap_or(Value::Null);
    assert!(
        !output.status.success() || value.is_object(),
        "{request:?}: {printed}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code().unwrap(), value)
}

/// Returns the result of a call that must succeed.
fn look(home: &Path, server: &[String], request: &[&str]) -> Value {
    let (code, value) = inspect(home, server, request);
    assert_eq!(code, 0, "{request:?}: {value}");
    value
}

fn count_of_tools(daemon: &TestDaemon) -> usize {
    Proxy::greeted(daemon).request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len()
}

#[test]
fn the_inspector_lists_and_calls_in_both_eras() {
    let daemon = TestDaemon::start(QD);
    let (home, server) = (daemon.root(), stdio(&daemon));
    for era in ["legacy", "modern"] {
        let era = ["--protocol-era", era];
        // Strict: a schema that some client could not read is an error.
        let listed = look(home, &server, &[&era[..], &["--method", "tools/list", "--strict"]].concat());
        assert_eq!(listed["tools"].as_array().unwrap().len(), count_of_tools(&daemon));
        let called =
            look(home, &server, &[&era[..], &["--method", "tools/call", "--tool-name", "whoami"]].concat());
        assert_eq!(called["isError"], json!(false), "{called}");
    }
}

#[test]
fn what_the_inspector_spawns_it_finds_again() {
    let daemon = TestDaemon::start(QD);
    let (home, server) = (daemon.root(), stdio(&daemon));
    let request = json!({"kind": "command", "name": "tide", "argv": child::run_for_ever()}).to_string();
    let call = ["--method", "tools/call", "--tool-name", "spawn_process", "--tool-args-json", &request];
    let spawned = look(home, &server, &call);
    assert_eq!(spawned["structuredContent"]["id"], json!(daemon.process("tide").id), "{spawned}");
    let listed = look(home, &server, &["--method", "resources/list"]);
    let screen = format!("qd://screen/{}", daemon.process("tide").id);
    assert!(
        listed["resources"].as_array().unwrap().iter().any(|one| one["uri"] == json!(screen)),
        "{listed}"
    );
    daemon.wait_pattern("tide", "ready");
    let read = look(home, &server, &["--method", "resources/read", "--uri", &screen]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("ready"), "{read}");
    let prompts = look(home, &server, &["--method", "prompts/list"]);
    assert_eq!(prompts["prompts"][0]["name"], json!("lead_a_team"));
}

#[test]
fn the_inspector_hears_of_a_tool_that_failed() {
    let daemon = TestDaemon::start(QD);
    let request =
        ["--method", "tools/call", "--tool-name", "get_process_status", "--tool-arg", "process=nobody"];
    let (code, told) = inspect(daemon.root(), &stdio(&daemon), &request);
    assert_ne!(code, 0, "{told}");
    assert_eq!(told["isError"], json!(true), "{told}");
    assert!(told["content"][0]["text"].as_str().unwrap().contains("not_found"), "{told}");
}

#[test]
fn b8_the_inspector_gets_in_over_http_only_with_the_token() {
    let daemon = TestDaemon::start(QD);
    let http = Http::start(&daemon);
    let url = format!("http://{}/mcp", http.address);
    let known = [url.clone(), "--header".to_owned(), format!("Authorization: Bearer {TOKEN}")];
    for era in ["legacy", "modern"] {
        let call = ["--protocol-era", era, "--method", "tools/call", "--tool-name", "list_processes"];
        let called = look(daemon.root(), &known, &call);
        assert_eq!(called["structuredContent"]["processes"], json!([]), "{called}");
    }
    let (code, told) = inspect(daemon.root(), &[url], &["--stored-auth-only", "--method", "tools/list"]);
    assert!(code != 0 && told.get("tools").is_none(), "{told}");
}
