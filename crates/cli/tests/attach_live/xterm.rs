//! xterm as a person's terminal, with everything allowed that it forbids by default: what a hostile child
//! prints has no effect on its clipboard and its title, and xterm answers none of it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use testkit::MarkedDaemon;
use testkit::process_scan::eventually;

use super::tmux::HOSTILE;
use super::{sh, stage};

/// Asks the terminal for clipboard, title and a mode, which no child asks for; what it has typed up to the last answer goes to a file.
const ASKER: &str = r#"
import os, sys, termios, tty
terminal = os.open('/dev/tty', os.O_RDWR)
tty.setraw(terminal, termios.TCSANOW)
os.write(terminal, b'\x1b]52;c;?\x07\x1b[21t\x1b[?7$p')
typed = b''
while not typed.endswith(b'$y'):
    typed += os.read(terminal, 4096)
with open(sys.argv[1] + '.part', 'wb') as report:
    report.write(typed)
os.rename(sys.argv[1] + '.part', sys.argv[1])
"#;

/// Clipboard, title and mode as they were before the command.
const UNTOUCHED: &[u8] = b"\x1b]52;c;bWluZQ==\x07\x1b]lmine\x1b\\\x1b[?7;1$y";

/// An X server without a screen and an xterm on it; both end with the test.
struct Xterm {
    server: Child,
    terminal: Child,
}

impl Xterm {
    /// Starts an xterm that sets clipboard and title, runs `script`, and reports what became of them.
    fn start(stage: &MarkedDaemon, encoding: &str, script: &str) -> Self {
        let server = ["-displayfd", "1", "-screen", "0", "640x480x8", "-nolisten", "tcp"];
        let mut server =
            Command::new("Xvfb").args(server).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let (asker, report) = (stage.root().join("ask.py"), stage.root().join("report"));
        std::fs::write(&asker, ASKER).unwrap();
        let script = format!(
            "printf '\\033]52;c;bWluZQ==\\007\\033]2;mine\\007'; {script}; python3 {} {}",
            asker.display(),
            report.display()
        );
        let mut terminal = Command::new("xterm");
        terminal.args(["-display", &format!(":{}", number.trim()), encoding]);
        for allowed in ["Window", "Title", "Font", "Tcap", "Color", "Mouse"] {
            terminal.args(["-xrm", &format!("*allow{allowed}Ops: true")]);
        }
        terminal.args(["-e", "sh", "-c", &script, env!("CARGO_BIN_EXE_qd")]).envs(stage.variables());
        let terminal = terminal.stderr(Stdio::null()).spawn().unwrap();
        Self { server, terminal }
    }

    /// Returns what xterm has typed after the command.
    fn report(&self, stage: &MarkedDaemon) -> Vec<u8> {
        eventually("the report of xterm", || std::fs::read(stage.root().join("report")).ok())
    }
}

impl Drop for Xterm {
    fn drop(&mut self) {
        for process in [&mut self.terminal, &mut self.server] {
            drop(process.kill());
            drop(process.wait());
        }
    }
}

/// A letter whose second byte begins a string in a terminal that does not read UTF-8.
const LETTER: &str = "\\303\\23552;c;b3duZWQ=\\007";

/// A child that prints everything hostile, and again when it is told to.
fn hostile(stage: &MarkedDaemon) -> String {
    let hostile = format!("{}{LETTER}", HOSTILE.concat());
    stage.run(
        "x",
        sh(&format!(
            "stty raw -echo; printf '{hostile}ready'; head -c 1 >/dev/null; printf '{hostile}again'; exec cat -v"
        )),
    );
    stage.wait_pattern("x", "ready");
    hostile
}

#[test]
fn m6e_nothing_that_a_hostile_child_prints_has_an_effect_on_xterm_from_attach() {
    for command in ["\"$0\" attach x", "\"$0\" attach x </dev/tty"] {
        for encoding in ["-u8", "+u8"] {
            let stage = stage();
            hostile(&stage);
            let xterm = Xterm::start(&stage, encoding, command);
            stage.until_view("x", |view| view.terminal.viewers == 1);
            stage.type_text("x", "g");
            stage.wait_pattern("x", "again");
            stage.type_text("x", "END");
            stage.wait_pattern("x", "END");
            let screen = stage.screen("x");
            // The daemon has answered once; xterm, whose kind is 64, has not.
            assert_eq!(screen.matches("^[[0n").count(), 1, "{command} {encoding}: {screen}");
            assert!(!screen.contains("[?64;"), "{command} {encoding}: {screen}");
            assert!(stage.qd(&["detach", "x"]).status.success());
            let report = xterm.report(&stage);
            assert_eq!(
                report.escape_ascii().to_string(),
                UNTOUCHED.escape_ascii().to_string(),
                "{command} {encoding}"
            );
        }
    }
}

#[test]
fn m6e_nothing_that_a_hostile_child_has_printed_has_an_effect_on_xterm_from_a_log() {
    for encoding in ["-u8", "+u8"] {
        let stage = stage();
        hostile(&stage);
        let xterm = Xterm::start(&stage, encoding, "\"$0\" logs x || exit");
        let report = xterm.report(&stage);
        assert_eq!(report.escape_ascii().to_string(), UNTOUCHED.escape_ascii().to_string(), "{encoding}");
    }
}

#[test]
fn m6e_without_the_filter_the_same_bytes_have_their_effect_on_xterm() {
    let stage = stage();
    let hostile = hostile(&stage);
    let xterm = Xterm::start(&stage, "-u8", &format!("printf '{hostile}'"));
    let report = String::from_utf8_lossy(&xterm.report(&stage)).into_owned();
    assert!(report.contains("]52;c;b3duZWQ="), "the clipboard is what the child wrote: {report:?}");
    assert!(report.contains("[?64;"), "xterm has answered: {report:?}");
}
