//! A command in the foreground outlives the daemon that was to start it. Places that only a debug build has.

use std::io::Write as _;
use std::process::Stdio;

use daemon::Failpoint;
use testkit::TestDaemon;
use testkit::process_scan::eventually;

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

#[test]
fn m7d_exec_passes_its_input_once_and_whole_although_the_daemon_dies_in_the_middle() {
    let daemon = TestDaemon::without_start(QD);
    let (order, copy) = (daemon.root().join("die"), daemon.root().join("copy"));
    let started = daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", &order).output().unwrap();
    assert!(started.status.success());
    let lines: String = (0..2_000).map(|line| format!("line {line} of the input\n")).collect();
    for place in [Failpoint::InputQueued, Failpoint::InputTyped, Failpoint::FactReceived] {
        let script = format!("cat > '{}'; echo done; exit 3", copy.display());
        let mut exec = daemon.command(&["exec", "--", "sh", "-c", &script]);
        exec.env("QD_TEST_FAILPOINTS", &order);
        let mut exec =
            exec.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = exec.stdin.take().unwrap();
        let (first, rest) = lines.split_at(lines.len() / 3);
        stdin.write_all(first.as_bytes()).unwrap();
        let has_begun = || std::fs::metadata(&copy).is_ok_and(|copy| copy.len() > 0);
        eventually("the input arrives", || has_begun().then_some(()));
        std::fs::write(&order, place.name()).unwrap();
        stdin.write_all(rest.as_bytes()).unwrap();
        drop(stdin);
        let output = exec.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!order.exists(), "{place:?}: the daemon died");
        assert_eq!((output.status.code(), &*output.stdout), (Some(3), &b"done\n"[..]), "{place:?}: {told}");
        assert!(std::fs::read_to_string(&copy).unwrap() == lines, "{place:?}: the input is another one");
        std::fs::remove_file(&copy).unwrap();
    }
}
