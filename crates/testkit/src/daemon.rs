//! A real daemon in a directory of its own: starting it, killing it, and checking that nothing of it is left.
//! It shares nothing with the user's own daemon.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use client::{Connection, DaemonAddress};
use proto::reply::{Spawned, Text, Waited};
use proto::request::{Empty, Read, ReadMode, Shutdown, Spawn, Target, Until, Wait};
use proto::{Dirs, ProcessView};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;

use crate::deadline::{DEADLINE, readable};

/// A daemon for one test.
#[derive(Debug)]
pub struct TestDaemon {
    root: tempfile::TempDir,
    exe: PathBuf,
    door: Mutex<DaemonAddress>,
}

impl TestDaemon {
    /// Starts the daemon of the `qd` at `exe`: `TestDaemon::start(env!("CARGO_BIN_EXE_qd"))`.
    #[must_use]
    pub fn start(exe: impl Into<PathBuf>) -> Self {
        let daemon = Self::without_start(exe);
        drop(daemon.client());
        daemon
    }

    /// Starts one whose directories are below this one instead of the temporary one.
    #[must_use]
    pub fn start_below(exe: impl Into<PathBuf>, directory: &Path) -> Self {
        let daemon = Self::placed_below(exe, directory);
        drop(daemon.client());
        daemon
    }

    /// Returns the same directories without a running daemon.
    #[must_use]
    pub fn without_start(exe: impl Into<PathBuf>) -> Self {
        Self::placed_below(exe, &std::env::temp_dir())
    }

    fn placed_below(exe: impl Into<PathBuf>, directory: &Path) -> Self {
        let exe = exe.into();
        let root =
            tempfile::Builder::new().prefix("qdt").tempdir_in(directory).expect("a directory can be made");
        let door = Mutex::new(DaemonAddress::new(Dirs::below(root.path()), exe.clone()));
        Self { root, exe, door }
    }

    /// Returns a directory of this test, outside the daemon's own.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns its directories.
    #[must_use]
    pub fn dirs(&self) -> Dirs {
        Dirs::below(self.root.path())
    }

    /// Returns a new connection; starts the daemon again when it was killed.
    #[must_use]
    pub fn client(&self) -> Connection {
        let mut door = self.door.lock().expect("no test panics while it connects");
        door.connect().unwrap_or_else(|error| self.fail(&format!("no connection: {error}")))
    }

    /// Returns the daemon's pid.
    #[must_use]
    pub fn pid(&self) -> i32 {
        let door = DaemonAddress::without_start(self.dirs());
        let status = door.connect_if_running().and_then(|mut connection| connection.status());
        let status = status.unwrap_or_else(|error| self.fail(&format!("no status: {error}")));
        i32::try_from(status.pid).expect("a pid fits")
    }

    /// Kills the daemon with SIGKILL and waits until it is gone.
    pub fn kill_9(&self) {
        let pid = Pid::from_raw(self.pid()).expect("a pid is positive");
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("a running daemon has a pidfd");
        kill_process(pid, Signal::KILL).expect("our own daemon can be killed");
        assert!(readable(&[pidfd.as_fd()], Instant::now() + DEADLINE)[0], "the daemon did not die");
    }

    /// Returns a `qd` command for this daemon, not started yet.
    #[must_use]
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(&self.exe);
        // A run gets the environment of its caller, and with this variable some agents take no input.
        command.args(arguments).stdin(Stdio::null()).env_remove("CI");
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        command
    }

    /// Returns the variables that make a `qd` use this daemon.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let dirs = self.dirs();
        vec![
            ("QD_RUNTIME_DIR", dirs.runtime),
            ("QD_DATA_DIR", dirs.data),
            ("QD_CONFIG_DIR", dirs.config),
            ("HOME", self.root.path().to_owned()),
        ]
    }

    /// Runs `qd` with these arguments to its end.
    pub fn qd<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        self.command(arguments).output().expect("qd starts")
    }

    /// Runs `qd --json` with these arguments, which must succeed, and returns its output.
    pub fn json<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Value {
        let output = self.command(&["--json"]).args(arguments).output().expect("qd starts");
        let told = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            self.fail(&format!("{}: {told}", output.status));
        }
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| self.fail(&format!("not JSON: {error}")))
    }

    /// Starts a command with this name.
    pub fn spawn(&self, name: &str, argv: Vec<String>) -> Spawned {
        let spawn = Spawn { name: Some(name.to_owned()), argv, ..Spawn::default() };
        self.client().spawn(spawn).unwrap_or_else(|error| self.fail(&format!("no spawn: {error}")))
    }

    /// Returns this process's view; fails when there is none.
    #[must_use]
    pub fn process(&self, name: &str) -> ProcessView {
        let found = self.list().into_iter().find(|process| process.name.as_str() == name);
        found.unwrap_or_else(|| self.fail(&format!("there is no {name}")))
    }

    /// Returns all processes.
    #[must_use]
    pub fn list(&self) -> Vec<ProcessView> {
        self.client().list().unwrap_or_else(|error| self.fail(&format!("no list: {error}")))
    }

    /// Waits until this process has ended.
    pub fn wait_exit(&self, name: &str) -> Waited {
        self.wait(name, Until::Exit(Empty {}), None)
    }

    /// Waits until this process has printed the pattern, from the start of its log on.
    pub fn wait_pattern(&self, name: &str, pattern: &str) -> Waited {
        self.wait(name, Until::Pattern(pattern.to_owned()), Some(0))
    }

    fn wait(&self, name: &str, until: Until, since: Option<u64>) -> Waited {
        let timeout_ms = u64::try_from(DEADLINE.as_millis()).ok();
        let targets = vec![Target::from(name)];
        let wait = Wait { since, timeout_ms, ..Wait::until(targets, until) };
        self.client().wait(wait).unwrap_or_else(|error| {
            self.fail(&format!("{name}: {error}; its screen is:\n{}", self.screen(name)))
        })
    }

    /// Returns the text of a process's screen.
    #[must_use]
    pub fn screen(&self, name: &str) -> String {
        self.read(name, ReadMode::Screen).text
    }

    /// Returns the reply to `read` in this mode.
    #[must_use]
    pub fn read(&self, name: &str, mode: ReadMode) -> Text {
        let read = Read { target: name.into(), mode, ..Read::default() };
        self.client().read(read).unwrap_or_else(|error| self.fail(&format!("no text: {error}")))
    }

    /// Fails the test with the daemon's own log.
    pub fn fail(&self, what: &str) -> ! {
        panic!("{what}\n--- the daemon's log ---\n{}", self.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dirs().daemon_log()).unwrap_or_else(|error| format!("(none: {error})"))
    }

    /// Ends everything; returns the pids of children that were running before.
    fn end_everything(&self) -> Vec<i32> {
        let Ok(mut connection) = DaemonAddress::without_start(self.dirs()).connect_if_running() else {
            return Vec::new();
        };
        let pids = match connection.hello().and_then(|_| connection.list()) {
            Ok(processes) => processes.iter().filter_map(|process| process.pid).collect(),
            Err(_) => Vec::new(),
        };
        // If a daemon refuses or hangs, the later check that it no longer answers fails.
        drop(connection.shutdown(Shutdown { kill: true, stop: proto::Stop::NOW }, Instant::now() + DEADLINE));
        pids
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        // Only a new daemon can reach the holders that a killed one left.
        let has_holders = std::fs::read_dir(self.dirs().holders()).is_ok_and(|mut dir| dir.next().is_some());
        if has_holders && let Ok(mut door) = self.door.lock() {
            drop(door.connect());
        }
        let pids = self.end_everything();
        if std::thread::panicking() {
            return;
        }
        let alive: Vec<_> = pids.into_iter().filter(|pid| is_alive(*pid)).collect();
        if !alive.is_empty() {
            self.fail(&format!("children survived the end of their daemon: {alive:?}"));
        }
        if DaemonAddress::without_start(self.dirs()).connect_if_running().is_ok() {
            self.fail("the daemon survived its shutdown");
        }
    }
}

/// Returns true if a process runs; a zombie does not.
fn is_alive(pid: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    state.is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z')))
}
