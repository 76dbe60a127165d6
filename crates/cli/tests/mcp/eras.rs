//! The handshakes of both protocol generations, by hand.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::TestDaemon;

use crate::proxy::{Proxy, modern_meta, with_tasks};
use crate::{QD, TOOLS};

#[test]
fn every_version_of_the_older_era_is_agreed_to() {
    let daemon = TestDaemon::without_start(QD);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut proxy = Proxy::start(&daemon);
        let agreed = proxy.initialize(version);
        assert_eq!(agreed["protocolVersion"], json!(version));
        assert_eq!(agreed["serverInfo"]["name"], json!("quarterdeck"));
        assert!(agreed["instructions"].as_str().unwrap().contains("whoami"));
        let tools = proxy.request("tools/list", json!({}));
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), TOOLS);
        assert!(tools["result"].get("resultType").is_none(), "a word of the newer era");
        assert_eq!(proxy.request("ping", json!({}))["result"], json!({}));
        proxy.end();
    }
}

#[test]
fn a_version_nobody_knows_is_answered_with_one_that_works() {
    let daemon = TestDaemon::without_start(QD);
    let agreed = Proxy::start(&daemon).initialize("1999-01-01");
    assert!(agreed["protocolVersion"].as_str().unwrap() >= "2024-11-05", "{agreed}");
}

#[test]
fn the_newer_era_is_discovered_and_speaks_without_a_session() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::start(&daemon);
    let params = json!({"_meta": modern_meta(with_tasks())});
    proxy.send(&json!({"jsonrpc": "2.0", "id": "server-discover-probe-1", "method": "server/discover", "params": params}));
    let found = proxy.line();
    assert_eq!(found["id"], json!("server-discover-probe-1"));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    assert!(found["result"]["capabilities"]["extensions"].get("io.modelcontextprotocol/tasks").is_some());
    drop(proxy);
    let mut proxy = Proxy::modern(&daemon, json!({}));
    let tools = proxy.request("tools/list", json!({}));
    assert_eq!(tools["result"]["resultType"], json!("complete"));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), TOOLS);
    proxy.end();
}

#[test]
fn a_client_may_discover_and_then_initialize_on_one_connection() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::start(&daemon);
    proxy.request("server/discover", json!({"_meta": modern_meta(json!({}))}));
    proxy.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert_eq!(proxy.initialize("2025-11-25")["protocolVersion"], json!("2025-11-25"));
    assert_eq!(proxy.tool("help", json!({}))["topic"], json!("topics"));
}

#[test]
fn the_first_answer_costs_little_processor_time_and_wakes_no_daemon() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::start(&daemon);
    proxy.initialize("2025-06-18");
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        assert!(proxy.request(method, json!({})).get("result").is_some(), "{method}");
    }
    // Processor time and not the clock: other tests keep the machine busy. The bench has the tighter bound.
    let spent = proxy.processor_time();
    assert!(spent < Duration::from_millis(200), "{spent:?}");
    assert!(!daemon.dirs().socket().exists(), "a handshake started a daemon");
}

#[test]
fn help_needs_no_daemon_and_has_every_topic() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::greeted(&daemon);
    let topics = "topics spawning inspection io coordination scratchpads timers tasks readiness permissions lifecycle conventions";
    for topic in topics.split(' ') {
        let told = proxy.tool("help", json!({"topic": topic}));
        assert!(told["text"].as_str().unwrap().len() > 100, "{topic}");
    }
    assert!(!daemon.dirs().socket().exists());
}

#[test]
fn the_tools_and_the_instructions_cost_at_most_nine_thousand_tokens() {
    let daemon = TestDaemon::without_start(QD);
    let mut proxy = Proxy::start(&daemon);
    let instructions = proxy.initialize("2025-11-25")["instructions"].as_str().unwrap().len();
    let tools: Value = proxy.request("tools/list", json!({}))["result"]["tools"].clone();
    let tokens = (tools.to_string().len() + instructions) / 4;
    assert!(tokens <= 9_000, "{tokens}");
}
