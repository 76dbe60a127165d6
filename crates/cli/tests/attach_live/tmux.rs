//! tmux as a person's terminal: what of a hostile child reaches it, and that it is restored.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use proto::terminal::answers::QUESTIONS;
use testkit::{DEADLINE, MarkedDaemon};

use super::{sh, stage};

/// What tmux reports about a pane's terminal.
const STATE: &str = "#{pane_title}|#{cursor_flag}|#{cursor_x}|#{insert_flag}|#{keypad_cursor_flag}|#{keypad_flag}|#{mouse_any_flag}|#{mouse_all_flag}|\
                     #{mouse_button_flag}|#{mouse_sgr_flag}|#{mouse_utf8_flag}|#{origin_flag}|#{wrap_flag}|#{alternate_on}|\
                     #{scroll_region_upper}|#{scroll_region_lower}|#{pane_fg}|#{pane_bg}|#{pane_tabs}";

/// A tmux server of its own, which ends with the test.
pub(super) struct Tmux {
    socket: PathBuf,
    piped: PathBuf,
}

impl Tmux {
    /// Returns a session in which a shell runs `script`, with everything allowed that tmux forbids by
    /// default.
    pub(super) fn start(stage: &MarkedDaemon, script: &str) -> Self {
        let (socket, piped) = (stage.root().join("host.tmux"), stage.root().join("host.bytes"));
        let tmux = Self { socket, piped };
        tmux.call(&[
            "start-server",
            ";",
            "set",
            "-s",
            "set-clipboard",
            "on",
            ";",
            "set",
            "-g",
            "allow-passthrough",
            "on",
            ";",
            "set",
            "-g",
            "status",
            "off",
            ";",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "cat",
        ]);
        tmux.call(&["pipe-pane", "-o", &format!("cat >> {}", tmux.piped.display())]);
        let mut respawn = vec!["respawn-pane".to_owned(), "-k".to_owned()];
        for (name, value) in stage.variables() {
            respawn.extend(["-e".to_owned(), format!("{name}={}", value.to_string_lossy())]);
        }
        respawn.extend(["sh", "-c", script, env!("CARGO_BIN_EXE_qd")].map(str::to_owned));
        tmux.call(&respawn.iter().map(String::as_str).collect::<Vec<_>>());
        tmux
    }

    pub(super) fn call(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output =
            command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn until_shows(&self, text: &str) {
        let until = Instant::now() + DEADLINE;
        while !self.call(&["capture-pane", "-p", "-J"]).contains(text) {
            assert!(Instant::now() < until, "never `{text}`:\n{}", self.call(&["capture-pane", "-p", "-J"]));
        }
    }

    /// Waits until something was copied.
    pub(super) fn until_has_buffer(&self) {
        let until = Instant::now() + DEADLINE;
        while self.call(&["list-buffers"]).is_empty() {
            assert!(Instant::now() < until, "nothing was copied");
        }
    }

    pub(super) fn state(&self) -> String {
        self.call(&["display-message", "-p", STATE])
    }

    pub(super) fn type_keys(&self, keys: &[&str]) {
        self.call(&[&["send-keys"], keys].concat());
    }

    /// Returns everything that was written to the pane's terminal.
    fn written(&self) -> Vec<u8> {
        std::fs::read(&self.piped).unwrap_or_default()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        drop(Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output());
    }
}

/// What no person's terminal may get from a child, each with its effect.
pub(super) const HOSTILE: &[&str] = &[
    // The clipboard, with control characters inside the number, and in C1 form.
    "\\033]52;c;b3duZWQ=\\007",
    "\\033]5\\0002;c;b3duZWQ=\\007",
    "\\033]5\\0012;c;b3duZWQ=\\007",
    "\\033]5\\1772;c;b3duZWQ=\\007",
    "\\033\\n]52;c;b3duZWQ=\\007",
    "\\302\\23552;c;b3duZWQ=\\302\\234",
    "\\23552;c;b3duZWQ=\\234",
    // Commands of single vendors: copying, reporting, setting variables, the clipboard again.
    "\\033]1337;CopyToClipboard=\\007owned\\033]1337;EndCopy\\007",
    "\\033]1337;Copy=:b3duZWQ=\\007",
    "\\033]1337;ReportCellSize\\007",
    "\\033]5522;type=write:mime=dGV4dA==;b3duZWQ=\\033\\\\",
    // Pictures from files, keys, what tmux passes on to the outer terminal.
    "\\033_Gt=f,f=100;L2V0Yy9wYXNzd2Q=\\033\\\\",
    "\\033_Gt=t,f=100,a=T;L3RtcC94\\033\\\\",
    "\\033P1;1|17/6f776e6564\\033\\\\",
    "\\033Ptmux;\\033\\033]52;c;b3duZWQ=\\007\\033\\\\",
    "\\302\\220tmux;x\\302\\234",
    // Titles and other things that a terminal would type.
    "\\033[21t\\033[20t\\033[5n\\033[6n\\033[c\\033[>c\\033[>q\\033]11;?\\007\\033P$qm\\033\\\\\\033[?6n\\005",
    "\\302\\2336n\\2336n",
];

/// What must not be among the bytes for a terminal.
const FORBIDDEN: &[&[u8]] = &[
    b"]52",
    b"]5\x00",
    b"]5\x01",
    b"]5\x7f",
    b"]1337",
    b"]5522",
    b"\x1b_",
    b"\x1bP",
    b"\x1b[21t",
    b"\x1b[20t",
    b"\x1b[5n",
    b"\x1b[6n",
    b"\x1b[c",
    b"\x1b[>c",
    b"\x1b[>q",
    b"\x1b[?6n",
    b"\x05",
    b"\xc2\x90",
    b"\xc2\x9b",
    b"\xc2\x9d",
    b"\x9d",
    b"\x9b",
    b"]11;?",
];

/// Shows a child that prints all of it in tmux by this command; nothing of it reaches tmux, and tmux types
/// nothing.
fn nothing_reaches_tmux(command: &str, leave: &[&str]) {
    let stage = stage();
    let hostile = HOSTILE.concat();
    let script = format!(
        "stty raw -echo; printf '{hostile}ready'; head -c 1 >/dev/null; printf '{hostile}again'; exec cat -v"
    );
    stage.run("x", sh(&script));
    stage.wait_pattern("x", "ready");
    let tmux = Tmux::start(
        &stage,
        &format!("trap : INT; echo before; {command}; echo after; read -r line; exec cat"),
    );
    tmux.until_shows("ready");
    stage.type_text("x", "g");
    tmux.until_shows("again");
    // Whatever tmux has answered was typed before this.
    stage.type_text("x", "END");
    stage.wait_pattern("x", "END");
    leave.iter().for_each(|key| tmux.type_keys(&[key]));
    tmux.until_shows("after");
    let mut written = tmux.written();
    if let Some(at) = written.windows(QUESTIONS.len()).position(|window| window == QUESTIONS) {
        written.drain(at..at + QUESTIONS.len());
    }
    for bad in FORBIDDEN {
        let found = written.windows(bad.len()).position(|window| window == *bad);
        assert_eq!(found, None, "{command}: {} in {}", bad.escape_ascii(), written.escape_ascii());
    }
    assert_eq!(tmux.call(&["list-buffers"]), "", "{command}");
    // The child got the daemon's answers, once each, and none of tmux, which identifies itself as 1;2.
    let screen = stage.screen("x");
    assert!(!screen.contains("[?1;2c") && !screen.contains("^[]"), "{screen}");
    assert_eq!(screen.matches("^[[0n").count(), 1, "{screen}");
}

#[test]
fn m6d_nothing_forbidden_reaches_tmux_from_attach() {
    nothing_reaches_tmux("\"$0\" attach x", &["C-\\", "d"]);
    nothing_reaches_tmux("\"$0\" attach x </dev/tty", &["C-\\", "d"]);
}

#[test]
fn m6d_nothing_forbidden_reaches_tmux_from_a_log_or_a_recording() {
    nothing_reaches_tmux("\"$0\" logs x -f", &["C-c"]);
    nothing_reaches_tmux("\"$0\" record x - --from-start", &["C-c"]);
}

#[test]
fn m9e_tmux_is_left_as_it_was() {
    for command in ["\"$0\" attach x", "\"$0\" attach x </dev/tty"] {
        for (alternate, end) in [("", &["C-\\", "d"][..]), ("\\033[?1049h", &["C-\\", "d"]), ("", &["q"])] {
            let stage = stage();
            let wreck = "\\033]2;child\\033\\\\\\033]11;rgb:ff/00/00\\033\\\\\\033]10;rgb:00/ff/00\\033\\\\\\033[3 q\\033[?5h\\033[?25l\\033[?1003;1006h\
                         \\033=\\033[?1h\\033[?6h\\033[5;10r\\033[?7l\\033[4h";
            let script =
                format!("stty raw -echo; printf '{alternate}{wreck}ready'; head -c 1 >/dev/null; exit 3");
            stage.run("x", sh(&script));
            stage.wait_pattern("x", "ready");
            let script = format!(
                "printf '\\033]2;mine\\033\\\\'; echo before; read -r line; {command}; echo after; read -r line; exec cat"
            );
            let tmux = Tmux::start(&stage, &script);
            tmux.until_shows("before");
            let before = tmux.state();
            assert!(before.starts_with("mine|"), "{before}");
            tmux.type_keys(&["Enter"]);
            tmux.until_shows("ready");
            for key in end {
                tmux.type_keys(&[key]);
            }
            tmux.until_shows("after");
            assert_eq!(tmux.state(), before, "{command} {alternate} {end:?}");
        }
    }
}
