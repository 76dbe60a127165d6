//! Pastes that try to break out of their brackets, into real shells.

use std::io::Write as _;
use std::process::Stdio;

use proto::request::Spawn;
use proto::{Kind, Status};
use testkit::{Stage, Tail};

use super::{argv, stage};

/// A program asks for brackets.
const BRACKETS: &[u8] = b"\x1b[?2004h";
/// What ends a bracketed paste, when it is not neutralised.
const BREAKOUT: &str = "\u{1b}[201~";

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// A shell and what is pasted into it.
struct Shell<'s> {
    words: &'s [&'s str],
    /// Drawn when it is ready for a paste.
    ready: &'s [u8],
    /// Creates `pwned` if any of it is run.
    payload: String,
}

/// Waits until the shell has taken all of it in: it shows the end, and nothing follows. Nothing is typed behind it, because
/// an Enter of ours would run what lies in its line.
fn settle(stage: &Stage) {
    stage.wait_pattern("shell", "pwned");
    stage.json(&["wait", "shell", "--silence", "700", "--timeout", "30"]);
}

fn survives_a_breakout(shell: Shell<'_>) {
    let Shell { words, ready, payload } = shell;
    if !is_installed(words[0]) {
        return;
    }
    let stage = stage();
    let mut spawn = stage.spec("shell", argv(words));
    spawn.env.insert("HOME".to_owned(), stage.root().display().to_string());
    stage.spawn_as(Spawn { kind: Kind::Terminal, ..spawn });
    let mut tail = Tail::live(&stage, "shell");
    tail.until(ready);
    // A program that asked for no brackets is given lines as if they were typed, so it is given none.
    let is_bracketed = tail.bytes.windows(BRACKETS.len()).any(|window| window == BRACKETS);
    let payload = if is_bracketed { payload } else { payload.replace(['\r', '\n'], "") };
    let mut paste = stage.command(&["paste", "shell", "-"]);
    let mut paste = paste.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    paste.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    assert!(paste.wait_with_output().unwrap().status.success());
    settle(&stage);
    assert!(!stage.root().join("pwned").exists(), "it was run:\n{}", stage.screen("shell"));
    assert_eq!(stage.process("shell").status, Status::Running);
}

fn shell_payload() -> String {
    format!("echo a{BREAKOUT}\ntouch pwned\n\rtouch pwned\r{BREAKOUT}; touch pwned\n")
}

#[test]
fn c1_bash_runs_nothing_of_a_paste() {
    survives_a_breakout(Shell {
        words: &["bash", "--norc", "--noprofile", "-i"],
        ready: BRACKETS,
        payload: shell_payload(),
    });
}

#[test]
fn c1_zsh_runs_nothing_of_a_paste() {
    survives_a_breakout(Shell { words: &["zsh", "-f", "-i"], ready: BRACKETS, payload: shell_payload() });
}

#[test]
fn c1_fish_runs_nothing_of_a_paste() {
    survives_a_breakout(Shell {
        words: &["fish", "--private", "-i"],
        ready: BRACKETS,
        payload: shell_payload(),
    });
}

#[test]
fn c1_python_runs_nothing_of_a_paste() {
    survives_a_breakout(Shell {
        words: &["python3", "-q", "-i"],
        ready: b">>> ",
        payload: format!("1{BREAKOUT}\nopen('pwned','w')\n\ropen('pwned','w')\r{BREAKOUT}\n"),
    });
}

#[test]
fn c1_the_same_bytes_as_they_are_would_have_been_run() {
    let stage = stage();
    stage.run_terminal("shell", argv(&["bash", "--norc", "--noprofile", "-i"]));
    let mut tail = Tail::live(&stage, "shell");
    tail.until(BRACKETS);
    // In two halves: whole, it may stand in the one encoder only.
    let opening = concat!("\u{1b}[20", "0~");
    stage.type_text("shell", &format!("{opening}{}", shell_payload()));
    settle(&stage);
    assert!(stage.root().join("pwned").exists(), "the payload of the other tests is harmless");
}
