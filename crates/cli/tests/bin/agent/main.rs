//! A program that behaves like an agent's terminal program, for tests: raw mode, bracketed paste, an Enter
//! that is swallowed right after a paste, dialogs that accept single keys. The prompt is the script.
//!
//! A line of a prompt may be `work MS`, `until FILE` (it works until that exists), `ask TITLE`, `permit
//! COMMAND`, `child-permit COMMAND` (a subagent asks), `say TEXT`, `secret`, `shells N`, `fail TEXT`, `exit
//! CODE`. Every prompt, answer and stray key is a line of JSON in the log, written before anything is shown.

mod files;
mod screen;
mod script;

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use files::Files;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use screen::{Dialog, Screen};
use script::{Input, Keys, Step};
use serde_json::{Value, json};

/// How often it checks whether a file exists.
const LOOK: Duration = Duration::from_millis(10);

/// What it was started with.
#[derive(Default)]
struct Options {
    log: Option<PathBuf>,
    paste_window: Duration,
    has_status: bool,
    hooks: Value,
    session: String,
    asks_trust: bool,
}

struct Agent {
    options: Options,
    screen: Screen,
    files: Files,
    keys: Keys,
    pasted_at: Option<Instant>,
    steps: VecDeque<Step>,
    /// The present step ends then.
    until: Option<Instant>,
    is_busy: bool,
    reply: String,
    last_prompt: String,
    end: Option<u8>,
}

fn main() -> ExitCode {
    let options = Options::parse(std::env::args().skip(1));
    let Some(options) = options else {
        let _told = writeln!(std::io::stdout(), "fake-agent 1.2.3");
        return ExitCode::SUCCESS;
    };
    if !make_raw() {
        return ExitCode::from(3);
    }
    let mut agent = Agent::new(options);
    agent.begin();
    ExitCode::from(agent.live())
}

impl Options {
    /// Parses the arguments. Returns `None` if only the version is wanted.
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self { paste_window: Duration::from_millis(50), ..Self::default() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--version" => return None,
                "--log" => options.log = words.next().map(PathBuf::from),
                "--paste-window" => {
                    let window = words.next().and_then(|window| window.parse().ok()).unwrap_or(50);
                    options.paste_window = Duration::from_millis(window);
                }
                "--status" => options.has_status = true,
                "--ask-trust" => options.asks_trust = true,
                "--session-id" | "--resume" => options.session = words.next().unwrap_or_default(),
                other => {
                    if let Some(file) = other.strip_prefix("--settings=") {
                        let text = std::fs::read_to_string(file).unwrap_or_default();
                        options.hooks = serde_json::from_str(&text).unwrap_or(Value::Null);
                    }
                }
            }
        }
        Some(options)
    }
}

fn make_raw() -> bool {
    let stdin = std::io::stdin();
    let Ok(mut modes) = tcgetattr(&stdin) else { return false };
    modes.make_raw();
    tcsetattr(&stdin, OptionalActions::Now, &modes).is_ok()
}

/// Reads whole lines without echo, like a program that asks for a password.
fn hide_input(is_hidden: bool) {
    let stdin = std::io::stdin();
    let Ok(mut modes) = tcgetattr(&stdin) else { return };
    if is_hidden {
        modes.local_modes |= LocalModes::ICANON;
        modes.local_modes -= LocalModes::ECHO;
    } else {
        modes.make_raw();
    }
    let _set = tcsetattr(&stdin, OptionalActions::Now, &modes);
}

impl Agent {
    fn new(options: Options) -> Self {
        let files = Files::new(&options.session);
        Self {
            options,
            screen: Screen::default(),
            files,
            keys: Keys::default(),
            pasted_at: None,
            steps: VecDeque::new(),
            until: None,
            is_busy: false,
            reply: String::new(),
            last_prompt: String::new(),
            end: None,
        }
    }

    fn begin(&mut self) {
        self.screen.begin();
        self.hook("SessionStart", json!({}));
        if self.options.asks_trust {
            self.screen.dialog = Some(Dialog::new("Do you trust this folder?"));
            self.status("blocked:kind=question");
        } else {
            self.status("idle");
        }
        self.screen.draw(self.is_busy);
    }

    fn live(&mut self) -> u8 {
        let stdin = std::io::stdin();
        let mut buffer = [0; 4096];
        while self.end.is_none() {
            let wait = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            let wait = wait.map(|wait| Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) });
            let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
            let _interrupted = poll(&mut watched, wait.as_ref());
            if !watched[0].revents().is_empty() {
                match rustix::io::read(&stdin, &mut buffer) {
                    Ok(0) | Err(_) => return 0,
                    Ok(count) => self.hear(&buffer[..count]),
                }
            }
            if self.until.is_some_and(|until| until <= Instant::now()) {
                self.until = None;
                self.next_step();
            }
            if self.end.is_none() {
                self.screen.draw(self.is_busy);
            }
        }
        self.end.unwrap_or_default()
    }

    fn hear(&mut self, bytes: &[u8]) {
        if self.screen.is_secret {
            self.note(&json!({ "secret": String::from_utf8_lossy(bytes).trim_end() }));
            self.screen.is_secret = false;
            hide_input(false);
            return self.next_step();
        }
        for input in self.keys.read(bytes) {
            match input {
                Input::Paste(text) => {
                    self.pasted_at = Some(Instant::now());
                    self.put(&text);
                }
                Input::Text(text) => self.put(&text),
                Input::Enter => self.enter(),
                Input::Erase => drop(self.screen.composer.pop()),
                Input::EraseAll => self.screen.composer.clear(),
                Input::Interrupt => self.interrupt(),
                Input::Search => {
                    self.screen.is_searching = !self.screen.is_searching;
                    self.screen.composer.clear();
                }
                Input::Quit => self.end = Some(0),
            }
        }
    }

    fn put(&mut self, text: &str) {
        if self.screen.dialog.is_none() {
            return self.screen.composer.push_str(text);
        }
        match text {
            "1" | "2" | "3" => self.answer(text),
            stray => self.note(&json!({ "stray": stray })),
        }
    }

    fn enter(&mut self) {
        let is_swallowed = self.pasted_at.is_some_and(|at| at.elapsed() < self.options.paste_window);
        if is_swallowed {
            return self.note(&json!({ "swallowed": true }));
        }
        if self.screen.dialog.is_some() {
            return self.answer("1");
        }
        let text = std::mem::take(&mut self.screen.composer);
        if std::mem::take(&mut self.screen.is_searching) {
            let old = std::mem::take(&mut self.last_prompt);
            return self.submit(&old);
        }
        if let Some(command) = text.strip_prefix('!') {
            return self.note(&json!({ "shell": command }));
        }
        if !text.is_empty() {
            self.submit(&text);
        }
    }

    fn submit(&mut self, text: &str) {
        self.note(&json!({ "prompt": text, "busy": self.is_busy }));
        text.clone_into(&mut self.last_prompt);
        self.screen.say(&format!("you: {}", text.lines().next().unwrap_or_default()));
        self.is_busy = true;
        self.reply = "done".to_owned();
        self.steps = script::steps(text);
        self.files.prompted();
        self.status("working");
        self.hook("UserPromptSubmit", json!({ "prompt": text }));
        self.next_step();
    }

    fn next_step(&mut self) {
        match self.steps.pop_front() {
            Some(Step::Work(time)) => self.until = Some(Instant::now() + time),
            Some(Step::WorkUntil(file)) => {
                if !file.exists() {
                    self.steps.push_front(Step::WorkUntil(file));
                }
                self.until = Some(Instant::now() + LOOK);
            }
            Some(Step::Ask(title)) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
                self.note(&json!({ "asked": title, "at": u64::try_from(now).unwrap_or(0) }));
                self.screen.dialog = Some(Dialog::new(&title));
                self.status("blocked:kind=permission");
            }
            Some(Step::Permit(command)) => self.ask_leave(&command, json!({})),
            Some(Step::ChildPermit(command)) => {
                self.ask_leave(&command, json!({ "agent_id": "subagent-1" }));
            }
            Some(Step::Say(text)) => {
                self.reply = text;
                self.next_step();
            }
            Some(Step::Secret) => {
                self.screen.is_secret = true;
                hide_input(true);
            }
            Some(Step::Shells(count)) => {
                self.screen.shells = count;
                self.next_step();
            }
            Some(Step::Fail(text)) => {
                self.reply = format!("Error: {text}");
                self.next_step();
            }
            Some(Step::Exit(code)) => self.end = Some(code),
            None if self.is_busy => self.finish(),
            None => {}
        }
    }

    /// Asks its hook for permission; without an answer it asks on the screen.
    fn ask_leave(&mut self, command: &str, mut more: Value) {
        more["tool_name"] = json!("Bash");
        more["tool_input"] = json!({ "command": command });
        let answer = self.hook("PermissionRequest", more);
        if answer.is_null() {
            self.screen.dialog = Some(Dialog::new(command));
            return self.status("blocked:kind=permission");
        }
        self.note(&json!({ "permission": answer["decision"], "reason": answer["reason"] }));
        self.next_step();
    }

    fn answer(&mut self, choice: &str) {
        self.note(
            &json!({ "answer": choice, "to": self.screen.dialog.as_ref().map(|dialog| &dialog.title) }),
        );
        self.screen.dialog = None;
        self.status(if self.is_busy { "working" } else { "idle" });
        self.next_step();
    }

    /// Ends the turn, unless its hook continues it.
    fn finish(&mut self) {
        let reply = std::mem::take(&mut self.reply);
        self.screen.say(&reply);
        self.files.answered(&reply);
        let answer = self.hook("Stop", json!({ "last_assistant_message": reply }));
        self.is_busy = false;
        self.status("done");
        if answer["decision"] == "block"
            && let Some(text) = answer["reason"].as_str()
        {
            self.submit(text);
        }
    }

    fn interrupt(&mut self) {
        if self.screen.dialog.take().is_some() || self.is_busy {
            self.steps.clear();
            self.until = None;
            self.is_busy = false;
            self.screen.say("interrupted");
            self.status("idle");
        }
    }

    fn status(&self, state: &str) {
        self.files.status(state.split(':').next().unwrap_or(state));
        if self.options.has_status {
            self.screen.status(state);
        }
    }

    fn note(&self, line: &Value) {
        let Some(path) = &self.options.log else { return };
        let file = OpenOptions::new().append(true).create(true).open(path);
        // One write per line, so that a reader never sees half of one.
        let _lost = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

    /// Runs the commands of an event and returns the last one's answer.
    fn hook(&self, event: &str, more: Value) -> Value {
        let mut answer = Value::Null;
        let entries = self.options.hooks["hooks"][event].as_array().cloned().unwrap_or_default();
        let hooks = entries.iter().flat_map(|entry| entry["hooks"].as_array().cloned().unwrap_or_default());
        for hook in hooks {
            let mut payload = json!({ "hook_event_name": event, "session_id": self.options.session });
            if let (Some(all), Value::Object(more)) = (payload.as_object_mut(), more.clone()) {
                all.extend(more);
            }
            let command = hook["command"].as_str().unwrap_or("true");
            answer = ask(command, &payload).unwrap_or(Value::Null);
        }
        answer
    }
}

fn ask(command: &str, payload: &Value) -> Option<Value> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(payload.to_string().as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}
