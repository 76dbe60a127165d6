//! Command lines that are wrong, or more than was meant: the whole error is printed, and nothing that runs is
//! touched.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::process::Output;

use testkit::{MarkedDaemon, TestDaemon, child};

const QD: &str = env!("CARGO_BIN_EXE_qd");

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_private_daemon_is_never_the_one_that_is_there() {
    let stage = MarkedDaemon::start(QD);
    stage.run("kept", child::repeat_lines());
    let before = (stage.pid(), stage.process("kept").pid);
    for words in [&["shutdown", "--kill"][..], &["shutdown"], &["status"], &["doctor"]] {
        let output = stage.qd(&[&["--ephemeral"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", told(&output));
        assert!(told(&output).contains("--ephemeral"), "{}", told(&output));
    }
    assert_eq!((stage.pid(), stage.process("kept").pid), before);
}

#[test]
fn every_entry_that_could_not_be_closed_is_told() {
    let stage = MarkedDaemon::start(QD);
    stage.run("there", child::repeat_lines());
    let output = stage.qd(&["close", "none1", "there", "none2"]);
    assert_eq!(output.status.code(), Some(3));
    let told = told(&output);
    assert!(told.contains("none1") && told.contains("none2") && !told.contains("there"), "{told}");
    assert!(stage.client().list().unwrap().is_empty());
}

#[test]
fn a_missing_word_is_named_on_one_line_and_in_json() {
    let stage = MarkedDaemon::start(QD);
    let text = told(&stage.qd(&["key", "x"]));
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("qd: ") && line.contains("<KEY>")), "{text}");
    assert!(lines.next().is_some_and(|line| line.starts_with("hint: ")), "{text}");
    assert_eq!(lines.next(), None, "{text}");
    let json: serde_json::Value = serde_json::from_slice(&stage.qd(&["--json", "key", "x"]).stderr).unwrap();
    assert!(json["error"]["message"].as_str().unwrap().contains("<KEY>"), "{json}");
}

#[test]
fn settings_that_do_not_read_are_a_warning_from_the_start() {
    let daemon = TestDaemon::without_start(QD);
    let dirs = daemon.dirs();
    DirBuilder::new().recursive(true).mode(0o700).create(&dirs.config).unwrap();
    std::fs::write(dirs.config.join("config.toml"), "bogus = [").unwrap();
    assert_eq!(daemon.json(&["ps"]), serde_json::json!([]));
    let warnings = daemon.json(&["status"])["warnings"].clone();
    let is_named =
        |warning: &serde_json::Value| warning.as_str().is_some_and(|text| text.contains("config.toml"));
    assert!(warnings.as_array().unwrap().iter().any(is_named), "{warnings}");
}
