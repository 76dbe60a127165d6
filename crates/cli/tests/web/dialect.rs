//! The `terminal.*` dialect with clients in other languages, which dial, authenticate and close as existing ones do. Both try
//! the same facts, each on both paths.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{TestDaemon, scaled};

use crate::QD;
use crate::server::{As, Server, traced_daemon};
use crate::socket::Socket;

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

/// Shells that end, for each client and each path: `QD_TEST_SCALE=10` makes it 1,000 in all.
const ROUNDS: usize = 25;

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

/// A client in another language.
#[derive(Clone, Copy)]
struct Client {
    language: &'static str,
    program: &'static str,
}

const PYTHON: Client = Client { language: "python3", program: "facts.py" };
const NODE: Client = Client { language: "node", program: "facts.mjs" };

impl Client {
    /// Tries facts against a server with two tasks: an agent has worked in one, and the directory of the other is gone.
    fn run(self, facts: &[&str], more: &[&str]) {
        let daemon = traced_daemon();
        let server = Server::start_with_variable(&daemon, more, ("SERVER_ONLY", "1"));
        self.run_against(&daemon, &server, facts, json!({}));
    }

    /// Tries facts against this server; the client gets the fields of `also` besides the usual ones.
    fn run_against(self, daemon: &TestDaemon, server: &Server, facts: &[&str], also: Value) {
        let As::Token(token) = Server::token(daemon, "type") else { panic!("no token") };
        server.secrets.add(&token);
        let directory = |name: &str| daemon.root().join(name);
        ["work", "gone"].iter().for_each(|place| std::fs::create_dir(directory(place)).unwrap());
        import_task(daemon, "fix", &directory("work"));
        let made = daemon.command(&["new", "gone"]).current_dir(directory("gone")).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        std::fs::remove_dir(directory("gone")).unwrap();
        let mut setup = json!({"host": server.host, "token": token, "workspace": "local", "task": "fix", "gone": "gone",
            "directory": directory("work"), "rounds": scaled(ROUNDS), "qd": QD, "session": SESSION});
        setup.as_object_mut().unwrap().extend(also.as_object().unwrap().clone());
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/web/dialect").join(self.program);
        let mut client = Command::new(self.language);
        client.arg(file).arg(setup.to_string()).args(facts).envs(daemon.variables());
        let output = client.env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(said.lines().collect::<Vec<_>>(), facts);
    }
}

#[test]
fn w22_t1_t2_t3_t4_t5_t6_t7_t9_t10_t11_t15_h1_h2_h3_h4_h5_h6_h8_h9_h10_the_dialect_works_with_a_plain_python_client()
 {
    PYTHON.run(FACTS, &[]);
}

#[test]
fn w22_t1_t2_t3_t4_t5_t6_t7_t9_t10_t11_t15_h1_h2_h3_h4_h5_h6_h8_h9_h10_the_dialect_works_with_a_plain_node_client()
 {
    NODE.run(FACTS, &[]);
}

#[test]
fn w22_t8_terminals_of_the_dialect_that_are_left_alone_end_together_and_one_that_is_watched_does_not() {
    PYTHON.run(&["idling"], &["--terminal-idle", "0.5"]);
    NODE.run(&["idling"], &["--terminal-idle", "0.5"]);
}

#[test]
fn w22_t11_a_shell_that_cannot_be_started_is_a_failed_start_with_its_cause() {
    for client in [PYTHON, NODE] {
        for (shell, cause) in [("no-such-shell", "not_found"), ("not-executable", "permission")] {
            let daemon = TestDaemon::without_start(QD);
            let shell = daemon.root().join(shell);
            if cause == "permission" {
                std::fs::write(&shell, "#!/bin/sh\n").unwrap();
            }
            let name = shell.to_str().unwrap();
            let server = Server::start_with_variable(&daemon, &[], ("SHELL", name));
            client.run_against(&daemon, &server, &["unstartable"], json!({"shell": shell, "cause": cause}));
        }
    }
}

#[test]
fn w22_w1_a_panel_of_an_allowed_page_works_by_its_token_and_one_of_another_page_is_refused() {
    let daemon = traced_daemon();
    let panel = "https://multica.example";
    let server = Server::start_with(&daemon, &["--allow-origin", panel]);
    let As::Page(cookie) = server.sign_in() else { panic!("no cookie") };
    // The cookie of the server's own page, which a browser may send along, is no authentication.
    let facts = ["authentication", "errors", "closing", "detaching"];
    NODE.run_against(&daemon, &server, &facts, json!({"origin": panel, "cookie": cookie}));
    let closed = Server::start(&daemon);
    for (server, origin) in [(&closed, panel), (&server, "https://multica.example.evil"), (&server, "null")] {
        for path in ["/ws/terminal", "/ws/issues/fix/terminal"] {
            let headers = [("Host", server.host.as_str()), ("Origin", origin), ("Cookie", cookie.as_str())]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(Socket::upgrade(server, path, &headers).err(), Some(403), "{path} from {origin}");
        }
    }
}
