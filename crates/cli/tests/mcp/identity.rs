//! How the daemon identifies a proxy: as the process that it runs in, whatever it claims.

use serde_json::{Value, json};
use testkit::{MarkedDaemon, child};

use crate::QD;

/// Runs a proxy inside a process of the daemon, with these requests; returns its answers in order.
fn inside(stage: &MarkedDaemon, name: &str, requests: &[Value]) -> Vec<Value> {
    let directory = stage.root().join(name);
    std::fs::create_dir(&directory).unwrap();
    let lines: Vec<String> = requests.iter().map(|request| format!("{request}\n")).collect();
    std::fs::write(directory.join("in"), lines.concat()).unwrap();
    let exports: String = stage
        .variables()
        .iter()
        .map(|(name, value)| format!("export {name}='{}'; ", value.display()))
        .collect();
    // Answers come while the input is still open: it is held until as many lines have come as there were
    // requests.
    let script = format!(
        "{exports}cd '{}'; mkfifo f; '{QD}' mcp < f > out & exec 3> f; cat in >&3; \
         until [ \"$(wc -l < out)\" -ge {} ]; do sleep 0.05; done; exec 3>&-; wait; echo finished; exec sleep 1000",
        directory.display(),
        requests.len()
    );
    stage.run(name, child::shell(&script));
    stage.wait_pattern(name, "finished");
    let out = std::fs::read_to_string(directory.join("out")).unwrap();
    let mut answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn b5_a_proxy_inside_a_process_is_that_process_and_has_only_its_rights() {
    let stage = MarkedDaemon::start(QD);
    let sibling = stage.run("sibling", child::run_for_ever());
    let answers = inside(
        &stage,
        "lead",
        &[
            call(1, "whoami", json!({})),
            call(2, "get_process_output", json!({"process": "sibling"})),
            call(3, "stop_process", json!({"process": "sibling"})),
            call(4, "spawn_process", json!({"kind": "command", "argv": ["sleep", "1000"], "name": "child"})),
            call(5, "list_processes", json!({})),
            call(6, "timer_set", json!({"seconds": 60, "body": "x"})),
        ],
    );
    let lead = stage.process("lead");
    let who = &answers[0]["result"]["structuredContent"];
    assert_eq!((&who["caller"], &who["you"]["id"]), (&json!("process"), &json!(lead.id)), "{who}");
    for refused in &answers[1..3] {
        let text = refused["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("\"not_related\"") && text.contains("process"), "{refused}");
    }
    let text = answers[3]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"needs_trust\"") && text.contains("\"item\""), "{text}");
    let text = answers[5]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"wrong_kind\""), "only agents are woken: {text}");
    assert_eq!(stage.process("sibling").pid, sibling.pid, "the sibling runs on");
}

#[test]
fn b8_the_proxy_cannot_be_read_by_its_siblings() {
    let stage = MarkedDaemon::start(QD);
    let mut proxy = crate::proxy::Proxy::greeted(&stage);
    proxy.tool("help", json!({}));
    // The kernel gives the files of a process that may not be dumped to root; visible only where the tests
    // are not root.
    let owner = std::fs::metadata(format!("/proc/{}/environ", proxy.child.id())).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&owner), 0);
    let words = std::fs::read(format!("/proc/{}/cmdline", proxy.child.id())).unwrap();
    assert!(words.ends_with(b"mcp\0"), "nothing but the verb is on the command line");
}
