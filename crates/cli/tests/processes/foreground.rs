//! `qd exec` on a terminal: attached like a command of the shell itself.

use std::ffi::OsStr;
use std::path::Path;

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

#[test]
fn m14_exec_with_a_pipe_on_one_side_has_the_size_of_the_terminal_on_the_other() {
    let stage = stage();
    let qd = env!("CARGO_BIN_EXE_qd");
    let variables = stage.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    for script in ["printf x | {qd} exec -- stty size", "{qd} exec -- stty size | cat"] {
        let mut terminal = Pty::open(proto::Size { cols: 97, rows: 31 });
        terminal.spawn(OsStr::new("/bin/sh"), &["-c", &script.replace("{qd}", qd)], &variables);
        terminal.expect(b"31 97");
        assert_eq!(terminal.wait_exit(DEADLINE).code(), Some(0), "{script}");
    }
}

#[test]
fn m14_the_first_lines_of_the_readme_work_as_they_stand_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let lines: Vec<&str> = readme.split("```").nth(1).unwrap().trim().lines().collect();
    let [install, first] = lines[..] else { panic!("{lines:?}") };
    // Installing takes minutes: here it is only what it would install that counts.
    assert!(install.starts_with("cargo install --locked --path crates/cli "), "{install}");
    assert!(root.join("crates/cli/Cargo.toml").exists());
    let stage = stage();
    let bin = Path::new(env!("CARGO_BIN_EXE_qd")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let owned = stage.variables();
    let mut variables: Vec<(&str, &OsStr)> =
        owned.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    variables.extend([
        ("PATH", OsStr::new(&path)),
        ("SHELL", OsStr::new("/bin/sh")),
        ("PS1", OsStr::new("ready> ")),
    ]);
    let mut terminal = Pty::open(proto::Size { cols: 97, rows: 31 });
    terminal.spawn(OsStr::new("/bin/sh"), &["-c", &format!("{first}\nqd attach hello")], &variables);
    terminal.expect(b"ready>");
    terminal.type_keys(b"qd whoami --json | grep -q hum''an && echo first''ly\r");
    terminal.expect(b"firstly");
    terminal.type_keys(b"\x1cd");
    terminal.expect(b"firstly");
    terminal.type_keys(b"exit\r");
    assert_eq!(terminal.wait_exit(DEADLINE).code(), Some(0));
}
