//! The peers: the command lines with which each one starts, shows and ends a process. Each runs with its
//! default settings.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::contender::{Dialect, Place, TIMEOUT};
use super::pty::{Size, pass};

/// Returns all peers in the order of the table.
pub(crate) fn all() -> Vec<Box<dyn Dialect>> {
    vec![
        Box::new(Tmux),
        Box::new(Screen),
        Box::new(Dtach),
        Box::new(Abduco),
        Box::new(Zellij),
        Box::new(Herdr),
        Box::new(Shpool),
        Box::new(Tam),
    ]
}

/// Starts a daemon in the background; the sweep ends it.
fn in_background(mut command: Command) -> Result<(), String> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|error| format!("{command:?}: {error}"))
}

fn until_ok(name: &str, mut is_ready: impl FnMut() -> bool) -> Result<(), String> {
    for _ in 0..200 {
        if is_ready() {
            return Ok(());
        }
        pass(Duration::from_millis(20));
    }
    Err(format!("the {name} daemon does not answer"))
}

struct Tmux;

impl Tmux {
    fn command(place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.command();
        command.args(["-L", "bench", "-f", "/dev/null"]).args(arguments);
        command
    }
}

impl Dialect for Tmux {
    fn name(&self) -> &'static str {
        "tmux"
    }

    fn keep_alive(&self, place: &Place) -> Result<(), String> {
        place
            .run(Self::command(place, &["start-server", ";", "set-option", "-g", "exit-empty", "off"]))
            .map(drop)
    }

    fn create(&self, place: &Place, session: &str, size: Size, argv: &[String]) -> Result<(), String> {
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        let mut command =
            Self::command(place, &["new-session", "-d", "-s", session, "-x", &columns, "-y", &rows, "--"]);
        command.args(argv);
        place.run(command).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        Self::command(place, &["attach-session", "-t", &format!("={session}")])
    }

    fn stop(&self, place: &Place) {
        // No server is no error here.
        let _none = place.run(Self::command(place, &["kill-server"]));
    }

    fn list(&self, place: &Place) -> Option<Command> {
        Some(Self::command(place, &["list-sessions"]))
    }

    fn read(&self, place: &Place, session: &str) -> Option<Command> {
        Some(Self::command(place, &["capture-pane", "-p", "-t", session]))
    }
}

struct Screen;

impl Screen {
    fn command(place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.command();
        command.args(["-c", "/dev/null"]).args(arguments);
        command
    }
}

impl Dialect for Screen {
    fn name(&self) -> &'static str {
        "screen"
    }

    fn create(&self, place: &Place, session: &str, _size: Size, argv: &[String]) -> Result<(), String> {
        // Ten thousand lines, as the others keep or as the measurement needs.
        let mut command = Self::command(place, &["-h", "10000", "-dmS", session]);
        command.args(argv);
        place.run(command).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        // Its command line returns before the socket is there, which comes named `pid.session`.
        let is_there = || {
            let entries = std::fs::read_dir(place.root.join("run")).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.file_name())
                .any(|name| name.to_string_lossy().ends_with(&format!(".{session}")))
        };
        // A session that never comes shows as a failed attach.
        let _shown_later = until_ok("screen", is_there);
        Self::command(place, &["-x", session])
    }
}

struct Dtach;

impl Dialect for Dtach {
    fn name(&self) -> &'static str {
        "dtach"
    }

    fn create(&self, place: &Place, session: &str, _size: Size, argv: &[String]) -> Result<(), String> {
        let mut command = place.command();
        command.arg("-n").arg(place.root.join("run").join(session)).args(argv);
        place.run(command).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        let mut command = place.command();
        command.arg("-a").arg(place.root.join("run").join(session)).args(["-E", "-z", "-r", "none"]);
        command
    }

    fn paints(&self) -> bool {
        false
    }
}

struct Abduco;

impl Dialect for Abduco {
    fn name(&self) -> &'static str {
        "abduco"
    }

    fn create(&self, place: &Place, session: &str, _size: Size, argv: &[String]) -> Result<(), String> {
        let mut command = place.command();
        command.args(["-n", session]).args(argv);
        place.run(command).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        let mut command = place.command();
        command.args(["-a", session]);
        command
    }

    fn paints(&self) -> bool {
        false
    }
}

struct Zellij;

impl Dialect for Zellij {
    fn name(&self) -> &'static str {
        "zellij"
    }

    fn create(&self, place: &Place, session: &str, _size: Size, argv: &[String]) -> Result<(), String> {
        let quoted: Vec<String> = argv.iter().skip(1).map(|word| format!("{word:?}")).collect();
        let arguments = if quoted.is_empty() { String::new() } else { format!("args {}", quoted.join(" ")) };
        let layout = format!("layout {{ pane command={:?} {{ {arguments} }} }}\n", argv[0]);
        let file = place.root.join("config").join(format!("{session}.kdl"));
        // A layout that cannot be written shows as a failed `create`.
        let _shown_later = std::fs::write(&file, layout);
        let mut command = place.command();
        command.args(["attach", "--create-background", session, "options", "--show-startup-tips", "false"]);
        command.arg("--default-layout").arg(file);
        place.run(command).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        let mut command = place.command();
        command.args(["attach", session]);
        command
    }

    fn forget(&self, place: &Place, session: &str) {
        let mut command = place.command();
        command.args(["delete-session", "--force", session]);
        // Gone already is what we want.
        let _gone = place.run(command);
    }

    fn list(&self, place: &Place) -> Option<Command> {
        let mut command = place.command();
        command.args(["list-sessions", "--short"]);
        Some(command)
    }
}

/// A process is the root pane of a workspace of its own; attaching shows its whole interface with that workspace focused.
struct Herdr;

impl Herdr {
    fn command(place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.command();
        command.env("HERDR_SOCKET_PATH", place.root.join("run/herdr.sock")).args(arguments);
        command
    }

    /// Its answers are one line of JSON each.
    fn ask(place: &Place, arguments: &[&str]) -> Result<Value, String> {
        let printed = place.run(Self::command(place, arguments))?;
        let answer: Value = serde_json::from_str(&printed).map_err(|error| format!("herdr: {error}"))?;
        match answer.get("error") {
            None => Ok(answer),
            Some(error) => Err(format!("herdr: {error}")),
        }
    }

    /// The workspace with this label.
    fn workspace(place: &Place, session: &str) -> Option<String> {
        let listed = Self::ask(place, &["workspace", "list"]).ok()?;
        let all = listed["result"]["workspaces"].as_array()?;
        let own = all.iter().find(|workspace| workspace["label"] == session)?;
        own["workspace_id"].as_str().map(str::to_owned)
    }

    /// The first pane of a workspace.
    fn pane(place: &Place, workspace: &str) -> Option<String> {
        let listed = Self::ask(place, &["pane", "list", "--workspace", workspace]).ok()?;
        listed["result"]["panes"][0]["pane_id"].as_str().map(str::to_owned)
    }
}

impl Dialect for Herdr {
    fn name(&self) -> &'static str {
        "herdr"
    }

    fn prepare(&self, place: &Place) -> Result<(), String> {
        // A first run would show a welcome over everything.
        let directory = place.root.join("config/herdr");
        let written = std::fs::create_dir_all(&directory)
            .and_then(|()| std::fs::write(directory.join("config.toml"), "onboarding = false\n"));
        written.map_err(|error| format!("{}: {error}", directory.display()))?;
        in_background(Self::command(place, &["server"]))?;
        until_ok("herdr", || Self::ask(place, &["workspace", "list"]).is_ok())
    }

    fn create(&self, place: &Place, session: &str, _size: Size, argv: &[String]) -> Result<(), String> {
        Self::ask(place, &["workspace", "create", "--label", session, "--no-focus"])?;
        let workspace = Self::workspace(place, session).ok_or("herdr made no workspace")?;
        let pane = Self::pane(place, &workspace).ok_or("herdr made no pane")?;
        // A pane has a shell, which becomes the program.
        let quoted: Vec<String> =
            argv.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        let line = format!("exec {}", quoted.join(" "));
        place.run(Self::command(place, &["pane", "run", &pane, &line])).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        if let Some(workspace) = Self::workspace(place, session) {
            // A workspace that cannot be focused shows as a failed attach.
            let _shown_later = Self::ask(place, &["workspace", "focus", &workspace]);
        }
        Self::command(place, &[])
    }

    fn forget(&self, place: &Place, session: &str) {
        if let Some(workspace) = Self::workspace(place, session) {
            // Gone already is what we want.
            let _gone = Self::ask(place, &["workspace", "close", &workspace]);
        }
    }

    fn stop(&self, place: &Place) {
        // No server is no error here.
        let _none = place.run(Self::command(place, &["server", "stop"]));
    }

    fn list(&self, place: &Place) -> Option<Command> {
        Some(Self::command(place, &["workspace", "list"]))
    }

    fn read(&self, place: &Place, session: &str) -> Option<Command> {
        let pane = Self::pane(place, &Self::workspace(place, session)?)?;
        Some(Self::command(place, &["pane", "read", &pane, "--source", "visible"]))
    }
}

struct Shpool;

impl Shpool {
    fn command(place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.command();
        command.arg("--socket").arg(place.root.join("run/shpool.socket")).args(arguments);
        command
    }
}

impl Dialect for Shpool {
    fn name(&self) -> &'static str {
        "shpool"
    }

    fn prepare(&self, place: &Place) -> Result<(), String> {
        in_background(Self::command(place, &["daemon"]))?;
        until_ok("shpool", || place.run(Self::command(place, &["list"])).is_ok())
    }

    fn create(&self, place: &Place, session: &str, _size: Size, argv: &[String]) -> Result<(), String> {
        let command = Self::command(place, &["attach", "--background", "--cmd", &argv.join(" "), session]);
        place.run(command).map(drop)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        Self::command(place, &["attach", "--force", session])
    }

    fn list(&self, place: &Place) -> Option<Command> {
        Some(Self::command(place, &["list"]))
    }
}

struct Tam;

impl Tam {
    /// Sends one request over a new connection; the answer must name what was spawned.
    fn ask(place: &Place, request: &Value) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("tam socket: {error}");
        let mut stream = UnixStream::connect(place.root.join("run/tam/sock")).map_err(failed)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        stream.write_all(format!("{request}\n").as_bytes()).map_err(failed)?;
        let mut reader = BufReader::new(&stream);
        let mut answer = String::new();
        while !answer.contains("\"spawned\"") {
            answer.clear();
            let count = reader.read_line(&mut answer).map_err(failed)?;
            if count == 0 || answer.contains("\"error\"") {
                return Err(format!("tam: {}", answer.trim()));
            }
        }
        Ok(())
    }

    fn command(place: &Place, arguments: &[&str]) -> Command {
        let mut command = place.command();
        command.args(arguments);
        command
    }
}

impl Dialect for Tam {
    fn name(&self) -> &'static str {
        "tam"
    }

    fn prepare(&self, place: &Place) -> Result<(), String> {
        in_background(Self::command(place, &["daemon"]))?;
        until_ok("tam", || UnixStream::connect(place.root.join("run/tam/sock")).is_ok())
    }

    fn create(&self, place: &Place, session: &str, _size: Size, argv: &[String]) -> Result<(), String> {
        // Its command line starts nothing but the agents it knows; its socket starts any program.
        let directory = place.root.join("home").join(session);
        std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let mut task = Self::command(place, &["new", session, "--no-start"]);
        task.current_dir(&directory);
        place.run(task)?;
        // Its daemon ends when it has been idle.
        if UnixStream::connect(place.root.join("run/tam/sock")).is_err() {
            self.prepare(place)?;
        }
        let request = json!({"type": "spawn", "provider": argv[0], "args": argv[1..], "id": session,
            "dir": directory});
        Self::ask(place, &request)
    }

    fn attach(&self, place: &Place, session: &str) -> Command {
        Self::command(place, &["attach", session])
    }

    fn stop(&self, place: &Place) {
        // No daemon is no error here.
        let _none = place.run(Self::command(place, &["shutdown"]));
    }

    fn list(&self, place: &Place) -> Option<Command> {
        Some(Self::command(place, &["ps", "--json"]))
    }
}
