//! Callers inside a process: a shell there that runs what the test types, and a client there that may send
//! anything. They are real descendants of a real holder.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use proto::agent::ItemKind;
use proto::request::{Empty, GiveAnswer, Spawn};
use proto::{Dirs, Kind, Reply, Request};
use serde_json::{Value, json};
use testkit::{MarkedDaemon, TestDaemon, child};

use crate::QD;

/// Each line typed is a command; its output and its code are written to files, the code last.
const SHELL: &str = "stty -echo; cd \"$1\"; n=0; echo ready; while IFS= read -r line; do \
    sh -c \"$line\" > $n.out 2>&1; echo $? > $n.code; echo \"done $n\"; n=$((n+1)); done";

/// Sends the lines of a file one by one and keeps the line that comes back for each.
const RAW: &str = r#"use Socket;
my ($path, $in, $out) = @ARGV;
socket(S, AF_UNIX, SOCK_STREAM, 0) or die "no socket";
connect(S, sockaddr_un($path)) or die "no connection";
open(I, "<", $in) or die "nothing to say";
my @asked = <I>;
open(O, ">", "$out.new") or die "nowhere to write";
for my $line (@asked) {
    syswrite(S, $line) == length($line) or die "not taken";
    my $answer = <S>;
    defined $answer or die "the daemon closed the connection";
    print O $answer;
}
close(O);
rename("$out.new", $out);
"#;

/// A process in which the test runs commands as a shell there would.
pub(crate) struct Inside<'a> {
    daemon: &'a TestDaemon,
    pub(crate) directory: PathBuf,
    next: u32,
}

/// Waits until a process has asked to start something, and approves it once.
pub(crate) fn allow(daemon: &TestDaemon) {
    let item = testkit::process_scan::eventually("somebody to ask for permission", || {
        let Ok(Reply::Inbox(items)) = daemon.client().call(Request::Inbox(Empty {})) else { return None };
        items.into_iter().find(|item| item.kind == ItemKind::Trust)
    });
    let choice = "allow_once".to_owned();
    daemon
        .client()
        .call(Request::Answer(GiveAnswer { item: item.item, choice, ..GiveAnswer::default() }))
        .unwrap();
}

/// Returns a daemon, not started yet, with an agent called `shell`: its program is a shell that runs what is
/// typed.
pub(crate) fn with_shell_agents() -> MarkedDaemon {
    let daemon = TestDaemon::without_start(QD);
    add_shell_agent(&daemon.dirs());
    MarkedDaemon::around(daemon)
}

/// Adds that agent's manifest there.
pub(crate) fn add_shell_agent(dirs: &Dirs) {
    let agents = dirs.config.join("agents");
    DirBuilder::new().recursive(true).mode(0o700).create(&agents).unwrap();
    std::fs::write(
        agents.join("shell.toml"),
        format!("argv = [\"sh\", \"-c\", {}, \"shell\"]\n", json!(SHELL)),
    )
    .unwrap();
}

impl<'a> Inside<'a> {
    /// Returns a terminal that a person opened, with the variables that it gets by default.
    pub(crate) fn terminal(stage: &'a MarkedDaemon, name: &str) -> Self {
        Self::begin(stage, name, |directory| {
            let mut argv = child::shell(SHELL);
            argv.extend(["sh".to_owned(), directory]);
            Spawn { kind: Kind::Terminal, ..stage.spec(name, argv) }
        })
    }

    /// Returns a command that acts for the person who starts it.
    pub(crate) fn command_as_me(stage: &'a MarkedDaemon, name: &str) -> Self {
        Self::begin(stage, name, |directory| {
            let mut argv = child::shell(SHELL);
            argv.extend(["sh".to_owned(), directory]);
            Spawn { as_me: Some(true), ..stage.spec(name, argv) }
        })
    }

    /// Returns a command, with the variables that make a `qd` use this daemon.
    pub(crate) fn command(stage: &'a MarkedDaemon, name: &str) -> Self {
        let exports: String = stage
            .variables()
            .iter()
            .map(|(name, value)| format!("export {name}='{}'; ", value.display()))
            .collect();
        Self::begin(stage, name, |directory| {
            let mut argv = child::shell(&format!("{exports}{SHELL}"));
            argv.extend(["sh".to_owned(), directory]);
            stage.spec(name, argv)
        })
    }

    /// Returns an agent of a daemon [`with_shell_agents`].
    pub(crate) fn agent(stage: &'a MarkedDaemon, name: &str) -> Self {
        Self::begin(stage, name, |directory| {
            let spec = stage.spec(name, vec!["shell".to_owned(), directory]);
            Spawn { kind: Kind::Agent, ..spec }
        })
    }

    fn begin(stage: &'a MarkedDaemon, name: &str, spec: impl FnOnce(String) -> Spawn) -> Self {
        let directory = stage.root().join(name);
        std::fs::create_dir(&directory).unwrap();
        stage.spawn_as(spec(directory.display().to_string()));
        stage.wait_pattern(name, "ready");
        Self { daemon: stage, directory, next: 0 }
    }

    /// Returns its process's name.
    pub(crate) fn name(&self) -> &str {
        self.directory.file_name().unwrap().to_str().unwrap()
    }

    /// Writes the files again after its program was restarted.
    pub(crate) fn restarted(&mut self) {
        self.next = 0;
        self.daemon.wait_pattern(self.name(), "ready");
    }

    /// Runs a command there; returns its exit code and output.
    pub(crate) fn run(&mut self, command: &str) -> (i32, String) {
        let n = self.next;
        self.next += 1;
        let name = self.name().to_owned();
        assert!(self.daemon.qd(&["send", &name, command]).status.success());
        self.daemon.wait_pattern(&name, &format!("done {n}\\b"));
        let read = |end: &str| std::fs::read_to_string(self.directory.join(format!("{n}.{end}"))).unwrap();
        (read("code").trim().parse().unwrap(), read("out"))
    }

    /// Runs `qd --json` there, which must succeed.
    pub(crate) fn json(&mut self, arguments: &str) -> Value {
        let (code, out) = self.run(&format!("'{QD}' --json {arguments}"));
        assert_eq!(code, 0, "{out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Leaves a job behind that runs this once there is a file `go`. It has left the terminal's session by
    /// then, so the end of the program no longer hangs it up.
    pub(crate) fn stay_behind(&mut self, command: &str) {
        let job = format!("touch begun; until [ -e go ]; do sleep 0.01; done; {command}");
        let (code, out) = self.run(&format!(
            "setsid sh -c \"{job}\" > /dev/null 2>&1 & until [ -e begun ]; do sleep 0.01; done"
        ));
        assert_eq!(code, 0, "{out}");
    }

    /// Starts something from there, which a person approves.
    pub(crate) fn spawn(&mut self, arguments: &str) -> Value {
        let (code, out) = self.run(&format!("'{QD}' spawn {arguments}"));
        assert_ne!(code, 0, "no person has approved it yet: {out}");
        allow(self.daemon);
        self.json(&format!("spawn {arguments}"))
    }

    /// Sends these lines on one connection from there; returns the answers in order.
    pub(crate) fn say(&mut self, lines: &[Value]) -> Vec<Value> {
        let command = self.saying(lines);
        let (code, out) = self.run(&command);
        assert_eq!(code, 0, "{out}");
        self.answers()
    }

    /// Returns a command that sends these lines and writes the answers to a file.
    pub(crate) fn saying(&self, lines: &[Value]) -> String {
        let (script, asked) = (self.directory.join("raw.pl"), self.directory.join("asked"));
        std::fs::write(&script, RAW).unwrap();
        std::fs::write(&asked, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        let socket = Dirs::below(self.daemon.root()).socket();
        let words = [&script, &socket, &asked, &self.directory.join("answers")]
            .map(|path| format!(" '{}'", path.display()));
        format!("perl{}", words.concat())
    }

    /// Returns the answers of such a command.
    pub(crate) fn answers(&self) -> Vec<Value> {
        let path = self.directory.join("answers");
        let text = testkit::process_scan::eventually("the answers", || std::fs::read_to_string(&path).ok());
        std::fs::remove_file(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the file with its token and the token itself.
    pub(crate) fn token(&self) -> (PathBuf, String) {
        let process = self.daemon.process(self.name());
        let launches = self.daemon.dirs().launches();
        let path = launches.join(format!("{}.{}", process.id, process.run)).join("token");
        let token = std::fs::read_to_string(&path).unwrap();
        (path, token)
    }
}
