//! The `terminal.*` dialect with clients in other languages, which dial, authenticate and close as existing ones do. Both try
//! the same facts, each on both paths.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use testkit::{TestDaemon, scaled};

use crate::QD;
use crate::server::{As, Server, traced_daemon};

/// Every fact but that about idle terminals, which needs a server of its own. The last one ends the daemon.
const FACTS: &[&str] = &[
    "authentication",
    "errors",
    "sizes",
    "resizing",
    "exact_bytes",
    "closing",
    "ends",
    "detaching",
    "late",
    "full_buffers",
    "environment",
    "queries",
    "survival",
    "shutdown",
];

/// The vendor's session of an agent that worked in the task before.
const SESSION: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/// Makes a task in which an agent has worked, out of a ledger that says so.
fn import_task(daemon: &TestDaemon, name: &str, directory: &Path) {
    let events = [
        json!({"type": "task_created", "name": name, "dir": directory, "owned": false, "timestamp": 1_700_000_000}),
        json!({"type": "agent_run_started", "task": name, "provider": "agent", "session_id": SESSION,
            "timestamp": 1_700_000_100}),
        json!({"type": "agent_run_ended", "task": name, "exit_code": 0, "timestamp": 1_700_000_200}),
    ];
    let ledger = daemon.root().join(".local/share/tam/ledger.jsonl");
    std::fs::create_dir_all(ledger.parent().unwrap()).unwrap();
    std::fs::write(ledger, events.map(|event| format!("{event}\n")).concat()).unwrap();
    let mut import = daemon.command(&["import", "tam", "--apply"]);
    let imported = import.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").output().unwrap();
    assert!(imported.status.success(), "{imported:?}");
    let task = &daemon.json(&["tasks"])[0];
    assert_eq!(
        (task["name"].as_str(), task["runs"][0]["session"].as_str()),
        (Some(name), Some(SESSION)),
        "{task}"
    );
}

/// Runs a client against a server with two tasks: an agent has worked in one, and the directory of the other is gone.
fn run(language: &str, program: &str, facts: &[&str], more: &[&str]) {
    let daemon = traced_daemon();
    let server = Server::start_with_variable(&daemon, more, ("SERVER_ONLY", "1"));
    let As::Token(token) = Server::token(&daemon, "type") else { panic!("no token") };
    server.secrets.add(&token);
    let directory = |name: &str| daemon.root().join(name);
    ["work", "gone"].iter().for_each(|place| std::fs::create_dir(directory(place)).unwrap());
    import_task(&daemon, "fix", &directory("work"));
    let made = daemon.command(&["new", "gone"]).current_dir(directory("gone")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    std::fs::remove_dir(directory("gone")).unwrap();
    let setup = json!({"host": server.host, "token": token, "workspace": "local", "task": "fix", "gone": "gone",
        "directory": directory("work"), "rounds": scaled(10), "qd": QD,
        "session": SESSION});
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/web/dialect").join(program);
    let mut client = Command::new(language);
    client.arg(file).arg(setup.to_string()).args(facts).envs(daemon.variables());
    let output = client.env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().collect::<Vec<_>>(), facts);
}

#[test]
fn w22_t1_t2_t3_t4_t5_t6_t7_t9_t10_t11_t15_h1_h2_h3_h4_h5_h6_h8_h9_h10_the_dialect_works_with_a_plain_python_client()
 {
    run("python3", "facts.py", FACTS, &[]);
}

#[test]
fn w22_t1_t2_t3_t4_t5_t6_t7_t9_t10_t11_t15_h1_h2_h3_h4_h5_h6_h8_h9_h10_the_dialect_works_with_a_plain_node_client()
 {
    run("node", "facts.mjs", FACTS, &[]);
}

#[test]
fn w22_t8_a_terminal_of_the_dialect_that_is_left_alone_ends_and_one_that_is_watched_does_not() {
    run("python3", "facts.py", &["idling"], &["--terminal-idle", "0.5"]);
    run("node", "facts.mjs", &["idling"], &["--terminal-idle", "0.5"]);
}
