//! The real programs against the model backend: each runs headless with a tool, each reaches its prompt in a
//! real terminal, each shows its own form of being new or out of quota. What fails here fails for every test
//! that builds on them.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proto::Size;
use term::{Limits, Screen, Wraps};
use testkit::model::{Api, ModelOutcome, ModelRequest};
use testkit::process_scan::eventually;
use testkit::vendor::{Home, Vendor};
use testkit::{ModelServer, Pty};

/// The slowest of them needs ten seconds to its first prompt on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A program in a terminal that answers, as an emulator does.
struct Window {
    pty: Pty,
    screen: Screen,
}

impl Window {
    fn open(home: &Home, arguments: &[&str]) -> Self {
        let mut pty = Pty::open(Size { cols: 100, rows: 30 });
        // The terminal starts programs in the test's directory; `-C` moves them to theirs.
        let mut argv = vec!["-C".into(), home.workdir().into_os_string()];
        argv.extend(home.argv(arguments).into_iter().skip(1));
        pty.spawn("env".as_ref(), &argv, &[]);
        Self { pty, screen: Screen::new(term::GridSize::clamped(100, 30), Limits { history_lines: 0 }) }
    }

    /// Draws until this is on the screen.
    fn wait_for(&mut self, text: &str) {
        let is_there = self.draw_until(Instant::now() + TIMEOUT, |shown| shown.contains(text));
        assert!(is_there, "no {text:?} on:\n{}", self.text());
    }

    /// Pastes a prompt and submits it: presses Enter once the prompt is on the screen, and once more if that
    /// was too early, because the program takes an Enter within a paste as a line end.
    fn submit(&mut self, server: &ModelServer, prompt: &str) {
        self.pty.type_keys(&term::encode_paste(prompt, self.screen.modes().bracketed_paste));
        self.wait_for(prompt);
        let is_submitted = |_: &str| server.submissions(prompt) == 1;
        self.pty.type_keys(b"\r");
        if !self.draw_until(Instant::now() + Duration::from_secs(5), is_submitted) {
            self.pty.type_keys(b"\r");
        }
        let is_late = !self.draw_until(Instant::now() + TIMEOUT, is_submitted);
        assert!(!is_late, "{prompt:?} was not submitted from:\n{}", self.text());
    }

    /// Presses Escape until the program drops the answer that it is waiting for; one of them needs it twice.
    fn interrupt(&mut self, server: &ModelServer) {
        let has_left = |request: &ModelRequest| request.outcome == Some(ModelOutcome::ClientLeft);
        let is_over = || server.requests().iter().any(has_left);
        self.pty.type_keys(b"\x1b");
        self.draw_until(Instant::now() + TIMEOUT, |shown| is_over() || shown.contains("again to interrupt"));
        if !is_over() {
            self.pty.type_keys(b"\x1b");
        }
        assert!(
            self.draw_until(Instant::now() + TIMEOUT, |_| is_over()),
            "not interrupted:\n{}",
            self.text()
        );
    }

    /// Draws until the condition holds; returns false when the time is over.
    fn draw_until(&mut self, until: Instant, is_so: impl Fn(&str) -> bool) -> bool {
        while !is_so(&self.text()) {
            if Instant::now() > until {
                return false;
            }
            // Not everything that is waited for is drawn, so this returns early to check again.
            let drawn = self.pty.take_drawn(until.min(Instant::now() + Duration::from_millis(50)));
            self.screen.feed(&drawn);
            self.pty.type_keys(&self.screen.take_replies());
        }
        true
    }

    fn text(&self) -> String {
        self.screen.text(Wraps::Keep)
    }
}

/// Runs a program to its end and returns its output.
fn output(mut command: Command) -> String {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Plays a script with one tool that reads a file, and checks that the model got the file's text.
fn reads_a_file(vendor: Vendor, api: Api, arguments: &[&str], call: impl Fn(&str) -> String) {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    let note = home.workdir().join("note.txt");
    std::fs::write(&note, "the tide turns at nine\n").expect("a file can be written");
    let path = note.to_str().expect("a test's directory is UTF-8");
    let prompt = format!("@tool {}\n@say the file was read", call(path));
    let arguments = [arguments, &[prompt.as_str()]].concat();
    let printed = output(home.command(&arguments));
    assert!(printed.contains("the file was read"), "{printed}");
    let turns: Vec<ModelRequest> = server.requests().into_iter().filter(|request| !request.is_side).collect();
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert!(turns.iter().all(|turn| turn.api == api && turn.outcome == Some(ModelOutcome::Answered)));
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
    reads_a_file(Vendor::Gemini, Api::Generate, &["-p"], |path| {
        format!("read_file {{\"file_path\":\"{path}\"}}")
    });
}

/// Starts the program in its terminal, has one prompt answered, one interrupted and one refused for lack of
/// quota, and closes the terminal; then no process is left.
fn works_in_its_terminal(vendor: Vendor, ready: &str, quota: &str) {
    let server = ModelServer::start();
    let home = Home::seeded(vendor, &server);
    let mut window = Window::open(&home, &[]);
    window.wait_for(ready);
    // A script without a step: the answer is not in the prompt, which is on the screen too.
    server.open("dawn");
    window.submit(&server, "@gate dawn");
    window.wait_for("end of script");
    window.submit(&server, "@hang here");
    window.wait_for("hanging");
    window.interrupt(&server);
    window.submit(&server, "@quota 3600");
    window.wait_for(quota);
    for prompt in ["@gate dawn", "@hang here", "@quota 3600"] {
        assert_eq!(server.submissions(prompt), 1, "{prompt}");
    }
    drop(window);
    eventually("all have left", || home.living().is_empty().then_some(()));
}

#[test]
fn claude_works_in_its_terminal() {
    works_in_its_terminal(Vendor::Claude, "manual mode on", "You've hit your 5-hour limit · resets");
}

#[test]
fn codex_works_in_its_terminal() {
    works_in_its_terminal(Vendor::Codex, "Ask Codex to do anything", "You’ve hit your usage limit.");
}

#[test]
fn opencode_works_in_its_terminal() {
    works_in_its_terminal(Vendor::Opencode, "Ask anything", "[retrying in");
}

#[test]
fn gemini_works_in_its_terminal() {
    works_in_its_terminal(Vendor::Gemini, "Type your message", "Access resets at");
}

/// Starts the program in a home that it has never used.
fn is_new_here(vendor: Vendor, greeting: &str) {
    let server = ModelServer::start();
    let home = Home::empty(vendor, &server);
    Window::open(&home, &[]).wait_for(greeting);
    assert!(server.requests().is_empty());
}

#[test]
fn claude_asks_whether_an_unknown_directory_is_trusted() {
    is_new_here(Vendor::Claude, "Yes, I trust this folder");
}

#[test]
fn codex_asks_an_unknown_user_to_sign_in() {
    is_new_here(Vendor::Codex, "Sign in with ChatGPT");
}

#[test]
fn gemini_asks_whether_an_unknown_directory_is_trusted() {
    is_new_here(Vendor::Gemini, "Do you trust the files in this folder?");
}

#[test]
fn every_program_is_the_pinned_version() {
    let server = ModelServer::start();
    for vendor in Vendor::ALL {
        let home = Home::seeded(vendor, &server);
        let told = output(home.command(&["--version"]));
        assert!(told.contains(&vendor.version()), "{told}");
    }
}
