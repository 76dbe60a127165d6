//! What the command line prints about failures and hostile strings: causes, lost runs, nothing that controls
//! a terminal.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use proto::{Printable, Size};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::process_scan::parent;
use testkit::{MarkedDaemon, Pty, child};

use super::{stage, text};

/// Runs `qd` in a terminal of its own; returns everything that was drawn, and the exit code.
fn in_a_terminal(
    stage: &MarkedDaemon,
    words: &[&str],
    meanwhile: impl FnOnce(&mut Pty),
) -> (Vec<u8>, Option<i32>) {
    let mut pty = Pty::open(Size { cols: 500, rows: 50 });
    let dirs = stage.variables();
    let variables: Vec<_> = dirs.iter().map(|(name, path)| (*name, path.as_os_str())).collect();
    pty.spawn(env!("CARGO_BIN_EXE_qd").as_ref(), words, &variables);
    meanwhile(&mut pty);
    let status = pty.wait_exit(Duration::from_secs(30));
    (pty.seen().to_vec(), status.code())
}

#[test]
fn t11_a_program_that_cannot_be_started_says_why() {
    let stage = stage();
    let plain = stage.root().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o600)).unwrap();
    for (program, cause) in [("/no/such/program", "not_found"), (plain.to_str().unwrap(), "permission")] {
        let output = stage.qd(&["spawn", "--json", "--", program]);
        let told: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert_eq!(
            (&told["error"]["code"], &told["error"]["cause"]),
            (&json!("spawn_failed"), &json!(cause)),
            "{told}"
        );
    }
}

#[test]
fn a_viewer_of_a_run_that_is_lost_fails_and_says_so() {
    let stage = stage();
    let spawned = stage.run("x", child::shell("echo ready; exec sleep 1000000"));
    let holder = Pid::from_raw(parent(spawned.pid.unwrap())).unwrap();
    let (drawn, code) = in_a_terminal(&stage, &["attach", "x"], |pty| {
        pty.expect(b"ready");
        kill_process(holder, Signal::KILL).unwrap();
        pty.expect(b"[x was lost: how it ended is not known]");
    });
    assert_eq!(code, Some(1), "{}", text(&drawn));
}

#[test]
fn c7_json_on_a_terminal_drives_nothing() {
    let stage = stage();
    let hostile = "\u{1b}]0;x\u{7}\u{9b}2J\u{85}\u{7f}\u{202e}evil\u{2066}\u{200b}\u{feff}";
    let argv = vec!["/bin/sh".to_owned(), "-c".to_owned(), "sleep 1000000".to_owned(), hostile.to_owned()];
    stage.run("x", argv);
    let (drawn, code) = in_a_terminal(&stage, &["ps", "--json"], |_| {});
    assert_eq!(code, Some(0));
    let drawn = String::from_utf8(drawn).unwrap();
    let line = drawn.trim_end_matches("\r\n");
    assert_eq!(Printable(line).to_text(), line, "{line:?}");
    let list: Value = serde_json::from_str(line).unwrap();
    assert_eq!(list[0]["argv"][3], json!(hostile), "programs read what it is");
}
