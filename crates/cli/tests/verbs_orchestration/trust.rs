//! `qd presets`, `qd trust` and the questions that a process's spawn causes.

use serde_json::{Value, json};
use testkit::MarkedDaemon;

use crate::{Inside, QD, text, told};

/// Returns a project with a preset in the test's own directory.
fn stage() -> MarkedDaemon {
    let stage = MarkedDaemon::start(QD);
    let preset = "[preset.dev]\nargv = [\"sleep\", \"1000\"]\n";
    std::fs::write(stage.root().join(".quarterdeck.toml"), preset).unwrap();
    stage
}

fn qd(stage: &MarkedDaemon, words: &[&str]) -> Value {
    let output = stage.command(&["--json"]).args(words).current_dir(stage.root()).output().unwrap();
    serde_json::from_str(told(&output)).unwrap()
}

/// Returns the error of a spawn inside.
fn refused(lead: &Inside, words: &str) -> Value {
    let (code, error) = lead.qd(&format!("spawn --json {words}")).error();
    assert_eq!(code, 4, "{error}");
    error
}

#[test]
fn b7_a_preset_is_trusted_started_and_trusted_no_longer() {
    let stage = stage();
    let list = qd(&stage, &["presets"]);
    assert_eq!(
        (&list["presets"][0]["name"], &list["presets"][0]["trusted"]),
        (&json!("dev"), &json!(false)),
        "{list}"
    );
    let lead = Inside::start(&stage, "lead");
    assert_eq!(refused(&lead, "--preset dev --name one")["code"], "needs_trust");
    let trusted = qd(&stage, &["trust", "preset", "dev"]);
    assert!(trusted["command"].as_str().unwrap().contains("sleep 1000"), "{trusted}");
    assert_eq!(qd(&stage, &["presets"])["presets"][0]["trusted"], true);
    assert_eq!(lead.qd("spawn --preset dev --name two --json").json()["name"], "two");
    assert_eq!(stage.process("two").program.preset.as_deref(), Some("dev"));
    let here = stage.root().to_str().unwrap();
    assert_eq!(qd(&stage, &["trust", "--project", here])[0]["digest"], trusted["digest"]);
    assert_eq!(qd(&stage, &["trust", "list", "--project", "/"]), json!([]));
    let digest = trusted["digest"].as_str().unwrap();
    qd(&stage, &["trust", "rm", &digest[..12]]);
    assert_eq!(qd(&stage, &["trust"]), json!([]));
    told(&stage.qd(&["close", "two"]));
    let error = refused(&lead, "--preset dev --name three");
    assert_eq!(error["code"], "needs_trust", "{error}");
}

#[test]
fn b7_a_free_command_is_asked_about_whole_and_allowed_once() {
    let stage = stage();
    let lead = Inside::start(&stage, "lead");
    let command = "--name job -- sh -c 'sleep 1000; printf \"\\033[2J\"' second-word";
    let error = refused(&lead, command);
    assert_eq!(error["code"], "needs_trust", "{error}");
    let item = error["item"].to_string();
    assert_eq!(refused(&lead, command)["item"], error["item"], "asked once");
    let inbox = stage.qd(&["inbox"]);
    let shown = told(&inbox);
    assert!(shown.contains("sleep 1000; printf") && shown.contains("second-word"), "{shown}");
    assert!(shown.contains("allow_once") && shown.contains("always") && shown.contains("deny"), "{shown}");
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    told(&stage.qd(&["answer", &item, "allow_once"]));
    assert_eq!(lead.qd(&format!("spawn --json {command}")).json()["name"], "job");
    told(&stage.qd(&["close", "job"]));
    assert_eq!(refused(&lead, command)["code"], "needs_trust", "once is once");
}

#[test]
fn b7_always_is_in_the_ledger_and_deny_is_a_persons_no() {
    let stage = stage();
    let lead = Inside::start(&stage, "lead");
    let item = refused(&lead, "--name job -- sleep 1000")["item"].to_string();
    told(&stage.qd(&["answer", &item, "always"]));
    assert_eq!(qd(&stage, &["trust"]).as_array().map(Vec::len), Some(1));
    assert_eq!(lead.qd("spawn --json --name job -- sleep 1000").json()["name"], "job");
    let item = refused(&lead, "--name other -- sleep 2000")["item"].to_string();
    told(&stage.qd(&["answer", &item, "deny"]));
    assert_eq!(refused(&lead, "--name other -- sleep 2000")["code"], "denied");
}

#[test]
fn a_process_cannot_trust_itself() {
    let stage = stage();
    let lead = Inside::start(&stage, "lead");
    let (code, error) = lead.qd("trust preset dev --json").error();
    assert_eq!(code, 4, "{error}");
    let item = refused(&lead, "--preset dev")["item"].to_string();
    assert_eq!(lead.qd(&format!("answer {item} always --json")).error().0, 4);
    assert_eq!(qd(&stage, &["trust"]), json!([]));
}

#[test]
fn a_policy_is_trusted_as_it_stands() {
    let stage = stage();
    let policy = "[policy]\nfree = \"allow\"\nallow = [[\"sleep\", \"3000\"]]\n";
    std::fs::write(stage.root().join(".quarterdeck.toml"), policy).unwrap();
    let lead = Inside::start(&stage, "lead");
    assert_eq!(refused(&lead, "--name a -- sleep 3000")["code"], "needs_trust");
    let output = stage.command(&["trust", "policy"]).current_dir(stage.root()).output().unwrap();
    assert!(
        told(&output).starts_with("the policy of ") && told(&output).contains("sleep 3000"),
        "{}",
        told(&output)
    );
    assert_eq!(lead.qd("spawn --json --name b -- sleep 3000").json()["name"], "b");
}

#[test]
fn faults_of_a_file_are_shown_with_the_list() {
    let stage = stage();
    std::fs::write(stage.root().join(".quarterdeck.toml"), "[preset.dev]\nargw = [\"x\"]\n").unwrap();
    let output = stage.command(&["presets"]).current_dir(stage.root()).output().unwrap();
    assert!(
        told(&output).contains("fault: ") && told(&output).contains(".quarterdeck.toml"),
        "{}",
        told(&output)
    );
    let unknown = stage.command(&["trust", "preset", "nope"]).current_dir(stage.root()).output().unwrap();
    assert_eq!(unknown.status.code(), Some(3), "{}", text(&unknown.stderr));
}
