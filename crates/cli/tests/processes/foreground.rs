//! `qd exec` on a terminal: attached like a command of the shell itself.

use proto::Status;
use serde_json::json;
use testkit::{DEADLINE, MarkedDaemon, Pty};

use crate::{on_terminal, stage};

const SCRIPT: &str = "stty size; read line; echo \"got:$line\"; exit 3";

/// Runs the script by `qd exec` on a terminal of its own.
fn exec(stage: &MarkedDaemon) -> Pty {
    let mut terminal = on_terminal(stage, &["exec", "--name", "x", "--", "sh", "-c", SCRIPT]);
    terminal.expect(b"31 97");
    terminal
}

#[test]
fn m14_exec_on_a_terminal_has_its_size_and_keys_returns_the_exit_code_and_leaves_no_entry() {
    let stage = stage();
    let mut terminal = exec(&stage);
    assert_eq!(stage.process("x").terminal.viewers, 1);
    terminal.type_keys(b"hello\r");
    terminal.expect(b"got:hello");
    assert_eq!(terminal.wait_exit(DEADLINE).code(), Some(3));
    assert!(!terminal.is_raw(), "the terminal is as it was");
    assert_eq!(stage.json(&["ps"]), json!([]));
    stage.assert_nobody_left();
}

#[test]
fn m14_detaching_from_exec_leaves_its_command_running_and_its_entry_there() {
    let stage = stage();
    let mut terminal = exec(&stage);
    terminal.type_keys(b"\x1cd");
    assert_eq!(terminal.wait_exit(DEADLINE).code(), Some(0));
    assert!(!terminal.is_raw(), "the terminal is as it was");
    assert_eq!(stage.process("x").status, Status::Running);
    stage.type_text("x", "later\n");
    stage.wait_pattern("x", "got:later");
    assert_eq!(stage.wait_exit("x").satisfied[0].exit.unwrap().code, Some(3));
}
