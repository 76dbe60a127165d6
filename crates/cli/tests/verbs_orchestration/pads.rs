//! `qd pads`: a project's notes, as a person and as a process of it.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use testkit::MarkedDaemon;

use crate::{Inside, QD, text, told};

fn qd(stage: &MarkedDaemon, words: &[&str]) -> Output {
    stage.command(words).current_dir(stage.root()).output().unwrap()
}

fn qd_with_input(stage: &MarkedDaemon, words: &[&str], input: &[u8]) -> Output {
    let mut command = stage.command(words);
    command.current_dir(stage.root()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(told(output)).unwrap()
}

#[test]
fn a_scratchpad_lives_from_its_first_write_to_its_removal() {
    let stage = MarkedDaemon::start(QD);
    let written =
        json(&qd_with_input(&stage, &["pads", "write", "notes", "-", "--expect", "0", "--json"], b"a\nb"));
    assert_eq!(written, json!({"name": "notes", "revision": 1}));
    assert_eq!(told(&qd(&stage, &["pads", "show", "notes"])), "a\nb", "to the byte");
    let appended = json(&qd(&stage, &["pads", "append", "notes", "c", "--json"]));
    assert_eq!(appended["revision"], 2);
    let shown = json(&qd(&stage, &["pads", "show", "notes", "--json"]));
    assert_eq!((&shown["content"], &shown["author"]), (&json!("a\nb\nc\n"), &json!("human")));
    assert_eq!(told(&qd(&stage, &["pads", "show", "notes", "--revision", "1"])), "a\nb");
    let history = json(&qd(&stage, &["pads", "history", "notes", "--json"]));
    let revisions: Vec<_> =
        history.as_array().unwrap().iter().map(|entry| entry["revision"].clone()).collect();
    assert_eq!(revisions, [1, 2]);
    assert_eq!(told(&qd(&stage, &["pads", "mv", "notes", "plan"])).lines().count(), 1);
    let listed = json(&qd(&stage, &["pads", "--json"]));
    assert_eq!((listed[0]["name"].as_str(), listed.as_array().unwrap().len()), (Some("plan"), 1));
    assert_eq!(told(&qd(&stage, &["pads", "rm", "plan"])), "plan is removed; its history stays\n");
    assert_eq!(qd(&stage, &["pads", "show", "plan"]).status.code(), Some(3));
}

#[test]
fn a_write_that_has_not_seen_the_newest_is_a_conflict_that_names_it() {
    let stage = MarkedDaemon::start(QD);
    told(&qd(&stage, &["pads", "write", "notes", "one"]));
    told(&qd(&stage, &["pads", "write", "notes", "two"]));
    let output = qd(&stage, &["pads", "write", "notes", "mine", "--expect", "1", "--json"]);
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), &error["error"]["revision"]), (Some(7), &json!(2)), "{error}");
    assert_eq!(told(&qd(&stage, &["pads", "show", "notes"])), "two");
}

#[test]
fn bad_names_and_texts_change_nothing() {
    let stage = MarkedDaemon::start(QD);
    for name in ["../x", "a/b", "A", ".x", "", &"x".repeat(65)] {
        let output = qd(&stage, &["pads", "write", name, "text"]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("name"), "{}", text(&output.stderr));
    }
    let large = vec![b'x'; (1 << 20) + 1];
    assert_eq!(qd_with_input(&stage, &["pads", "write", "notes", "-"], &large).status.code(), Some(2));
    assert_eq!(qd_with_input(&stage, &["pads", "write", "notes", "-"], b"\xff").status.code(), Some(1));
    assert_eq!(told(&qd(&stage, &["pads"])), "there is no scratchpad yet\n");
    let exact = vec![b'x'; 1 << 20];
    told(&qd_with_input(&stage, &["pads", "write", "notes", "-"], &exact));
    assert_eq!(told(&qd(&stage, &["pads", "show", "notes"])).len(), 1 << 20);
}

#[test]
fn the_file_of_a_scratchpad_is_the_scratchpad() {
    let stage = MarkedDaemon::start(QD);
    assert_eq!(qd(&stage, &["pads", "path", "notes"]).status.code(), Some(3));
    told(&qd(&stage, &["pads", "write", "notes", "one"]));
    let output = qd(&stage, &["pads", "path", "notes"]);
    let path = Path::new(told(&output).trim_end()).to_owned();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
    std::fs::write(&path, "by hand").unwrap();
    assert_eq!(told(&qd(&stage, &["pads", "show", "notes"])), "by hand");
    assert_eq!(json(&qd(&stage, &["pads", "path", "notes", "--json"]))["path"], path.to_str().unwrap());
}

#[test]
fn each_project_has_its_own_and_a_process_only_that_of_its_project() {
    let stage = MarkedDaemon::start(QD);
    let other = stage.root().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join(".quarterdeck.toml"), "").unwrap();
    let other = other.to_str().unwrap();
    told(&qd(&stage, &["pads", "write", "notes", "theirs", "--project", other]));
    assert_eq!(told(&qd(&stage, &["pads"])), "there is no scratchpad yet\n");
    let lead = Inside::start(&stage, "lead");
    assert_eq!(lead.qd("pads append log found --json").json()["revision"], 1);
    let shown = json(&qd(&stage, &["pads", "show", "log", "--json"]));
    assert_eq!((&shown["author"], &shown["content"]), (&json!("lead"), &json!("found\n")));
    let (code, error) = lead.qd(&format!("pads show notes --project '{other}' --json")).error();
    assert_eq!((code, &error["code"]), (4, &json!("not_related")), "{error}");
}
