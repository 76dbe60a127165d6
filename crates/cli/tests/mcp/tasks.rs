//! Tasks as agents drive them: from a worktree to a landing, within their rights.

use std::path::{Path, PathBuf};
use std::process::Command;

use proto::agent::ItemKind;
use serde_json::{Value, json};
use testkit::FakeAgents;

use crate::lead;

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
    let output = command.current_dir(directory).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Agents whose directory is a repository; the daemon's own files in it are ignored.
fn crew() -> FakeAgents {
    let crew = lead::crew();
    make_repository(crew.root());
    crew
}

fn make_repository(at: &Path) {
    git(at, &["init", "--quiet", "--initial-branch=main"]);
    for (name, value) in [("user.name", "t"), ("user.email", "t@example.com")] {
        git(at, &["config", name, value]);
    }
    std::fs::write(at.join(".gitignore"), "*\n!shared\n!.gitignore\n").unwrap();
    std::fs::write(at.join("shared"), "one\ntwo\nthree\n").unwrap();
    git(at, &["add", "--all"]);
    git(at, &["commit", "--quiet", "--message=first"]);
}

#[test]
fn k8_an_agent_makes_a_task_has_it_worked_on_reviews_lands_and_finishes_it() {
    let crew = crew();
    let mut agent = lead::enlist(&crew, "lead");
    let created = agent.tool("task_create", json!({"name": "fix", "ports": 1}));
    assert_eq!((&created["status"], &created["base"]), (&json!("ready"), &json!("main")), "{created}");
    let directory = PathBuf::from(created["directory"].as_str().unwrap());
    // The trust that the project's agents have holds in the worktree: no person is asked.
    agent.tool("spawn_agent", json!({"agent": "fake", "name": "worker", "task": "fix"}));
    let worker = agent.tool("get_process_status", json!({"process": "worker"}));
    assert_eq!(worker["working_dir"], created["directory"], "{worker}");
    std::fs::write(directory.join("shared"), "one\nTWO\nthree\n").unwrap();
    let early = agent.refusal("task_land", json!({"task": "fix"}));
    assert!(early["message"].as_str().unwrap().contains("not committed"), "{early}");
    git(&directory, &["commit", "--quiet", "--all", "--message=work"]);
    let listed = agent.tool("task_list", json!({}));
    assert_eq!(listed["tasks"][0]["lines"], json!("+1 -1"), "{listed}");
    let diff = agent.tool("task_diff", json!({"task": "fix"}));
    assert!(diff["text"].as_str().unwrap().contains("+TWO"), "{diff}");
    review(&mut agent);
    let land = json!({"task": "fix", "gate": "grep TWO shared"});
    let error = agent.refusal("task_land", land.clone());
    assert_eq!(error["code"], json!("needs_trust"), "{error}");
    assert_eq!(git(crew.root(), &["log", "--format=%s", "main"]), "first\n");
    let item = crew.item_of("lead", ItemKind::Trust);
    assert!(item.body.contains("grep TWO shared"), "{item:?}");
    crew.answer(item.item, "always").unwrap();
    let landed = agent.tool("task_land", land);
    assert_eq!((&landed["status"], &landed["into"]), (&json!("landed"), &json!("main")), "{landed}");
    assert_eq!(git(crew.root(), &["log", "--format=%s", "main"]), "work\nfirst\n");
    let busy = agent.refusal("task_finish", json!({"task": "fix"}));
    assert!(busy["message"].as_str().unwrap().contains("worker"), "{busy}");
    agent.tool("close_process", json!({"process": "worker"}));
    assert_eq!(agent.tool("task_finish", json!({"task": "fix"}))["dropped"], json!(true));
    assert!(!directory.exists());
}

#[test]
fn k8_the_init_commands_of_a_task_that_an_agent_makes_need_trust_and_run_once_they_have_it() {
    let crew = crew();
    let mut agent = lead::enlist(&crew, "lead");
    let init = "include = ['.env']\ncommands = ['cat .env > prepared']\n";
    std::fs::write(crew.root().join(".worktree-init.toml"), init).unwrap();
    std::fs::write(crew.root().join(".env"), "SECRET=1\n").unwrap();
    let created = agent.tool("task_create", json!({"name": "fix"}));
    let failure = created["failure"].as_str().unwrap_or_default();
    assert!(
        failure.contains("cat .env > prepared") && failure.contains("a person must allow this first"),
        "{created}"
    );
    let directory = PathBuf::from(created["directory"].as_str().unwrap());
    assert!(
        directory.join("shared").exists() && !directory.join("prepared").exists(),
        "it stays, unprepared"
    );
    let item = crew.item_of("lead", ItemKind::Trust);
    assert!(item.body.contains("cat .env > prepared"), "{item:?}");
    crew.answer(item.item, "always").unwrap();
    // What a person trusted once holds in the next worktree of the repository.
    let created = agent.tool("task_create", json!({"name": "more"}));
    assert!(created["failure"].is_null(), "{created}");
    let directory = PathBuf::from(created["directory"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(directory.join("prepared")).unwrap(), "SECRET=1\n");
}

fn review(agent: &mut crate::proxy::Proxy) {
    let add = json!({"task": "fix", "action": "add", "file": "shared", "first_line": 2, "text": "why?"});
    agent.tool("task_review", add);
    let missing = agent.refusal("task_review", json!({"task": "fix", "action": "resolve"}));
    assert_eq!(missing["field"], json!("number"), "{missing}");
    let sent = agent.tool("task_review", json!({"task": "fix", "action": "send"}));
    assert_eq!(sent["comments"][0]["status"], json!("sent"), "{sent}");
    let receipt = agent.tool("get_messages", json!({"message_id": sent["message_id"]}));
    assert_eq!(receipt["messages"][0]["message_id"], sent["message_id"], "{receipt}");
}

#[test]
fn k5_an_agent_does_nothing_to_a_task_that_is_not_its_own() {
    let crew = crew();
    let mut agent = lead::enlist(&crew, "lead");
    let made = crew.command(&["new", "theirs", "--worktree"]).current_dir(crew.root()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    assert_eq!(agent.tool("task_list", json!({}))["tasks"][0]["task"], json!("theirs"));
    let add = json!({"task": "theirs", "action": "add", "file": "shared", "first_line": 1, "text": "x"});
    for (tool, arguments) in [
        ("task_diff", json!({"task": "theirs"})),
        ("task_review", add),
        ("task_land", json!({"task": "theirs"})),
        ("task_finish", json!({"task": "theirs"})),
        ("spawn_agent", json!({"agent": "fake", "task": "theirs"})),
    ] {
        let error = agent.refusal(tool, arguments);
        assert_eq!(error["code"], json!("not_related"), "{tool}: {error}");
    }
    let elsewhere = crew.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    make_repository(&elsewhere);
    let error: Value = agent.refusal("task_create", json!({"name": "x", "working_dir": elsewhere}));
    assert_eq!(error["code"], json!("not_related"), "another project: {error}");
    let unknown = agent.refusal("task_status", json!({"task": "nothing"}));
    assert_eq!(
        (&unknown["code"], &unknown["field"]),
        (&json!("task_not_found"), &json!("task")),
        "{unknown}"
    );
}

#[test]
fn k8_an_agent_gets_a_message_when_its_branch_would_conflict_with_another_tasks() {
    let crew = crew();
    crew.trust_agents();
    for (task, word) in [("left", "LEFT"), ("right", "RIGHT")] {
        let made =
            crew.command(&["--json", "new", task, "--worktree"]).current_dir(crew.root()).output().unwrap();
        let made: Value = serde_json::from_slice(&made.stdout).unwrap();
        let directory = PathBuf::from(made["task"]["directory"].as_str().unwrap());
        std::fs::write(directory.join("shared"), format!("one\n{word}\nthree\n")).unwrap();
        git(&directory, &["commit", "--quiet", "--all", "--message=work"]);
    }
    let mut spec = crew.agent_spec("fake", "worker", &[]);
    spec.task = Some("left".to_owned());
    crew.spawn_as(spec);
    crew.until_state("worker", proto::AgentState::Idle);
    crew.submit("worker", "are you there?");
    crew.wait_until("worker", proto::request::Until::Turn(2));
    let prompts = crew.prompts("worker");
    assert!(prompts[1].contains("task right: shared"), "{prompts:?}");
}
