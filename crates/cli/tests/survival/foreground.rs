//! A command in the foreground outlives the daemon that was to start it. Places that only a debug build has.

use std::process::Stdio;

use testkit::TestDaemon;

use crate::QD;

#[test]
fn s1_exec_returns_output_and_exit_code_although_the_daemon_dies_while_the_command_starts() {
    let daemon = TestDaemon::without_start(QD);
    let order = daemon.root().join("die");
    let run = |words: &[&str]| {
        let mut command = daemon.command(words);
        command.env("QD_TEST_FAILPOINTS", &order).stdin(Stdio::null()).output().unwrap()
    };
    assert!(run(&["ps"]).status.success());
    for place in ["recorded", "holder-started", "effect-done"] {
        std::fs::write(&order, place).unwrap();
        let output = run(&["exec", "--", "sh", "-c", "echo out; exit 3"]);
        let told = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(!order.exists(), "{place}: the daemon died");
        assert_eq!((output.status.code(), &*printed), (Some(3), "out\n"), "{place}: {told}");
    }
    assert_eq!(daemon.json(&["ps"]), serde_json::json!([]));
}
