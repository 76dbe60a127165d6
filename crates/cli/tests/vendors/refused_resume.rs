//! A task's agent is to continue a session that its vendor's program does not have: a new session begins in its place, the
//! prompt of the run reaches the model once, and a person reads what happened.

use proto::agent::ItemKind;
use proto::request::AskResult;
use serde_json::Value;
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::vendor_stage::{FakeAgents, NAME, TIMEOUT};

/// Sessions that no program has, each in the form that its program gives to its own.
const UNKNOWN: &str = "00000000-1111-4222-8333-444444444444";
const UNKNOWN_TO_OPENCODE: &str = "ses_0000000000unknownunknown00";

/// Runs a verb in the agent's working directory, with the environment of its user; it must succeed.
fn qd(crew: &FakeAgents, arguments: &[&str]) -> String {
    let mut command = crew.daemon.command(arguments);
    let output = command.envs(crew.environment()).current_dir(crew.home.workdir()).output().unwrap();
    if !output.status.success() {
        crew.daemon.fail(&format!("qd {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).unwrap()
}

fn begins_a_new_session(vendor: Vendor, unknown: &str) {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    let crew = FakeAgents { daemon: TestDaemon::start_below(QD, home.outside_tmp()), home, server };
    qd(&crew, &["new", NAME, "--agent", vendor.name()]);
    qd(&crew, &["run", NAME, "--detach", "--resume", unknown, "--prompt", "please\n@say fresh-answer"]);
    let is_prompt =
        |request: &testkit::model::ModelRequest| !request.is_side && request.prompt.contains("fresh-answer");
    if crew.server.find_request(is_prompt, TIMEOUT).is_none() {
        crew.fail("the prompt never reached the model");
    }
    let result = crew.wait_turn(1);
    if !result.text.contains("fresh-answer") || crew.server.submissions("fresh-answer") != 1 {
        crew.fail(&format!("the result is {result:?}"));
    }
    let session = crew.view().agent.and_then(|agent| agent.session);
    if session.is_none() || session.as_deref() == Some(unknown) {
        crew.fail(&format!("its session is {session:?}"));
    }
    let inbox = crew.daemon.client().inbox().unwrap();
    let is_told = |title: &str, body: &str| title.contains("resume refused") && body.contains(unknown);
    if !inbox.iter().any(|item| item.kind == ItemKind::Failure && is_told(&item.title, &item.body)) {
        crew.fail(&format!("nobody is told: {inbox:?}"));
    }
    let tasks: Value = serde_json::from_str(&qd(&crew, &["--json", "tasks"])).unwrap();
    let runs = tasks[0]["runs"].as_array().unwrap();
    if runs.last().and_then(|run| run["session"].as_str()) != session.as_deref() {
        crew.fail(&format!("the task continues another session: {runs:?}"));
    }
    let second = crew.daemon.client().result(AskResult { target: NAME.into(), turn: Some(2) });
    assert!(second.is_err(), "there was one prompt: {second:?}");
}

#[test]
fn k7_claude_begins_a_new_session_in_the_place_of_an_unknown_one() {
    begins_a_new_session(Vendor::Claude, UNKNOWN);
}

#[test]
fn k7_codex_begins_a_new_session_in_the_place_of_an_unknown_one() {
    begins_a_new_session(Vendor::Codex, UNKNOWN);
}

#[test]
fn k7_opencode_begins_a_new_session_in_the_place_of_an_unknown_one() {
    begins_a_new_session(Vendor::Opencode, UNKNOWN_TO_OPENCODE);
}

#[test]
fn k7_gemini_begins_a_new_session_in_the_place_of_an_unknown_one() {
    begins_a_new_session(Vendor::Gemini, UNKNOWN);
}
