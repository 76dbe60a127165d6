//! Lifecycle events: accepted from inside an agent, refused from anywhere else, and never blocking the agent.

use std::io::Write;
use std::process::Stdio;

use proto::agent::{Delivery, ItemKind};
use proto::request::{AgentRequest, Hook, PermissionWait, Spawn, Until};
use proto::{AgentState, ErrorCode, Request};

use crate::crew;

#[test]
fn a_hook_tells_the_turn_and_its_result() {
    let crew = crew();
    crew.enlist_hooked("a", &[]);
    let turn = crew.submit("a", "work 50\nsay the answer");
    let result = crew.result("a", turn);
    assert_eq!((result.text.as_str(), result.from.as_str()), ("the answer", "hook"));
}

#[test]
fn a_busy_agent_is_given_its_mail_at_the_end_of_its_turn() {
    let crew = crew();
    crew.enlist_hooked("a", &[]);
    crew.submit("a", "work 700");
    let receipt = crew.tell("a", "say handed over");
    assert!(
        matches!(receipt.delivery, Delivery::Submitted { .. } | Delivery::Delivered { .. }),
        "{:?}",
        receipt.delivery
    );
    crew.until_state("a", AgentState::Idle);
    assert_eq!(crew.prompts("a"), ["work 700", "say handed over"]);
}

#[test]
fn b10_a_hook_from_outside_of_every_agent_is_refused() {
    let crew = crew();
    crew.enlist_hooked("a", &[]);
    let payload = serde_json::json!({ "hook_event_name": "Stop", "session_id": "x" });
    let failure = crew.refusal(Request::Hook(Hook { payload, event: None }));
    assert_eq!(failure.code, ErrorCode::Denied);
    let log = std::fs::read_to_string(crew.dirs().daemon_log()).unwrap();
    assert!(log.contains("a hook from outside of every agent was refused"), "{log}");
}

#[test]
fn a_hook_inside_a_process_that_is_no_agent_is_refused_and_silent() {
    let crew = crew();
    let qd = env!("CARGO_BIN_EXE_qd");
    let dirs = crew.dirs();
    let script = format!(
        "echo '{{\"hook_event_name\":\"Stop\"}}' | QD_RUNTIME_DIR={} QD_DATA_DIR={} QD_CONFIG_DIR={} {qd} hook; echo code=$?",
        dirs.runtime.display(),
        dirs.data.display(),
        dirs.config.display()
    );
    crew.run("shell", testkit::child::shell(&script));
    crew.wait_exit("shell");
    assert_eq!(crew.screen("shell").trim(), "code=0");
}

#[test]
fn d7_a_hook_without_a_daemon_succeeds_at_once_and_says_nothing() {
    let daemon = testkit::TestDaemon::without_start(env!("CARGO_BIN_EXE_qd"));
    for payload in ["{\"hook_event_name\":\"Stop\"}", "not json", ""] {
        let mut child = daemon
            .command(&["hook"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }
    assert!(!daemon.dirs().socket().exists(), "a hook starts no daemon");
}

#[test]
fn a_request_for_permission_waits_in_the_inbox_and_gets_its_answer() {
    let crew = crew();
    let permissions = Some(PermissionWait { timeout_ms: 60_000, on_timeout: Default::default() });
    let agent = AgentRequest { permissions, ..AgentRequest::default() };
    crew.spawn_as(Spawn { agent, ..crew.agent_spec("hooked", "a", &[]) });
    crew.until_state("a", AgentState::Idle);
    for (choice, expected) in [("allow", "allow"), ("deny", "deny")] {
        let turn = crew.submit("a", "permit rm -rf /");
        let item = crew.item_of("a", ItemKind::Permission);
        assert_eq!(item.title, "Bash");
        assert_eq!(item.body, "rm -rf /");
        crew.answer(item.item, choice).unwrap();
        crew.wait_until("a", Until::Turn(turn));
        let answers: Vec<_> =
            crew.log("a").into_iter().filter_map(|line| line.get("permission").cloned()).collect();
        assert_eq!(answers.last().and_then(|answer| answer.as_str()), Some(expected));
    }
    assert!(crew.inbox().is_empty());
}

#[test]
fn m20f_a_subagents_request_for_permission_waits_in_the_inbox_and_gets_its_answer() {
    let crew = crew();
    let permissions = Some(PermissionWait { timeout_ms: 60_000, on_timeout: Default::default() });
    let agent = AgentRequest { permissions, ..AgentRequest::default() };
    crew.spawn_as(Spawn { agent, ..crew.agent_spec("hooked", "a", &[]) });
    crew.until_state("a", AgentState::Idle);
    let turn = crew.submit("a", "child-permit git push");
    let item = crew.item_of("a", ItemKind::Permission);
    assert_eq!((item.title.as_str(), item.body.as_str()), ("Bash", "git push"));
    crew.answer(item.item, "deny").unwrap();
    crew.wait_until("a", Until::Turn(turn));
    let answers: Vec<_> =
        crew.log("a").into_iter().filter_map(|line| line.get("permission").cloned()).collect();
    assert_eq!(answers, ["deny"]);
}

#[test]
fn m23_a_built_in_manifest_can_be_shown_checked_and_tried() {
    let daemon = testkit::TestDaemon::start(env!("CARGO_BIN_EXE_qd"));
    let shown = daemon.qd(&["agents", "show", "generic"]);
    assert!(shown.status.success());
    let file = daemon.root().join("generic.toml");
    std::fs::write(&file, &shown.stdout).unwrap();
    let checked = daemon.qd(&["agents", "check", file.to_str().unwrap()]);
    assert!(checked.status.success(), "{checked:?}");
    let recording = daemon.root().join("blank.sample");
    let text = "+++\nmanifest = \"generic\"\nsize = [20, 2]\norigin = \"synthetic\"\n\n[expect]\nstate = \"working\"\n+++\n\n";
    std::fs::write(&recording, text).unwrap();
    let tried = daemon.qd(&["agents", "check", file.to_str().unwrap(), recording.to_str().unwrap()]);
    let said = String::from_utf8(tried.stdout).unwrap();
    assert_eq!(tried.status.code(), Some(1), "{said}");
    assert!(said.contains("blank.sample: it expects working"), "{said}");
    assert!(said.contains("decided none of these recordings"), "{said}");
    let missing = daemon.qd(&["agents", "show", "nobody"]);
    assert_eq!(missing.status.code(), Some(3));
}
