//! A daemon whose children carry a mark in their environment, so that survivors are found in any session. A
//! test that leaves one running fails.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use client::{ClientError, Connection, Incoming};
use proto::event::Event;
use proto::reply::{Spawned, Wrote};
use proto::request::{Spawn, Target, Trust, TrustWhat, TypedInput, Write};
use proto::{Failure, Kind, Request};

use crate::deadline::readable;
use crate::{DEADLINE, TestDaemon};

/// The variable that marks every child of the daemon.
const MARK: &str = "STAGE_MARK";

/// A daemon for one test, with marked children.
#[derive(Debug)]
pub struct MarkedDaemon {
    daemon: Option<TestDaemon>,
    mark: String,
}

impl MarkedDaemon {
    /// Starts a daemon of the `qd` at `exe`.
    #[must_use]
    pub fn start(exe: impl Into<PathBuf>) -> Self {
        Self::around(TestDaemon::start(exe))
    }

    /// Marks the children of this daemon.
    #[must_use]
    pub fn around(daemon: TestDaemon) -> Self {
        let mark = daemon.root().display().to_string();
        Self { daemon: Some(daemon), mark }
    }

    /// Returns the mark as `K=V`, for `qd spawn --env`.
    #[must_use]
    pub fn mark(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// Returns a spawn of a marked command.
    #[must_use]
    pub fn spec(&self, name: &str, argv: Vec<String>) -> Spawn {
        let env = [(MARK.to_owned(), self.mark.clone())].into();
        let cwd = Some(self.root().display().to_string());
        Spawn { name: Some(name.to_owned()), argv, env, cwd, ..Spawn::default() }
    }

    /// Trusts this agent's manifest in the project of a directory, as a person.
    pub fn trust_agent(&self, name: &str, dir: &Path) {
        let project = Some(dir.display().to_string());
        let (what, path) = (TrustWhat::Agent(name.to_owned()), std::env::var("PATH").ok());
        let trusted = self.client().call(Request::Trust(Trust { project, what, path }));
        drop(trusted.unwrap_or_else(|error| self.fail(&format!("{name} is not trusted: {error}"))));
    }

    /// Starts a marked command in the test's own directory.
    pub fn run(&self, name: &str, argv: Vec<String>) -> Spawned {
        self.spawn_as(self.spec(name, argv))
    }

    /// Starts a marked terminal in the test's own directory.
    pub fn run_terminal(&self, name: &str, argv: Vec<String>) -> Spawned {
        self.spawn_as(Spawn { kind: Kind::Terminal, ..self.spec(name, argv) })
    }

    /// Spawns a process.
    pub fn spawn_as(&self, spawn: Spawn) -> Spawned {
        self.client().spawn(spawn).unwrap_or_else(|error| self.fail(&format!("no spawn: {error}")))
    }

    /// Types a text as it is.
    pub fn type_text(&self, name: &str, text: &str) -> Wrote {
        let write = Write {
            target: name.into(),
            input: TypedInput::Text(text.to_owned()),
            submit: false,
            timeout_ms: Some(millis(DEADLINE)),
            key: None,
        };
        self.client().write(write).unwrap_or_else(|error| self.fail(&format!("not typed: {error}")))
    }

    /// Returns the error of a request; fails when it succeeds.
    pub fn refusal(&self, request: Request) -> Failure {
        let told = format!("{request:?}");
        match self.client().call(request) {
            Err(ClientError::Failed(failure)) => failure,
            other => self.fail(&format!("{told} was not refused but {other:?}")),
        }
    }

    /// Returns the marked processes that live.
    #[must_use]
    pub fn survivors(&self) -> Vec<i32> {
        survivors(&self.mark())
    }

    /// Fails when a marked process lives.
    pub fn assert_nobody_left(&self) {
        let alive = self.survivors();
        if !alive.is_empty() {
            self.fail(&format!("still alive: {}", commands_of(&alive)));
        }
    }

    /// Returns a connection that receives every event from now on.
    #[must_use]
    pub fn subscriber(&self) -> Connection {
        let mut connection = self.client();
        connection.subscribe().unwrap_or_else(|error| self.fail(&format!("no events: {error}")));
        connection
    }

    /// Reads events until one matches `wanted`; returns all events up to it.
    pub fn until_event(&self, subscriber: &mut Connection, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let until = Instant::now() + DEADLINE;
        let mut events = Vec::new();
        loop {
            match subscriber.receive_before(until) {
                Ok(Some(Incoming::Event(event))) => events.push(event.what),
                Ok(Some(_)) => {}
                other => self.fail(&format!("no such event but {events:?} and {other:?}")),
            }
            if events.last().is_some_and(&wanted) {
                return events;
            }
        }
    }

    /// Waits until the view of a process matches.
    pub fn until_view(&self, name: &str, wanted: impl Fn(&proto::ProcessView) -> bool) {
        let mut subscriber = self.subscriber();
        if wanted(&self.process(name)) {
            return;
        }
        self.until_event(
            &mut subscriber,
            |event| matches!(event, Event::Changed(view) if view.name.as_str() == name && wanted(view)),
        );
    }
}

impl Deref for MarkedDaemon {
    type Target = TestDaemon;

    fn deref(&self) -> &TestDaemon {
        self.daemon.as_ref().expect("a stage has its daemon until it is dropped")
    }
}

impl Drop for MarkedDaemon {
    fn drop(&mut self) {
        drop(self.daemon.take());
        if std::thread::panicking() {
            return;
        }
        let alive = survivors(&self.mark());
        assert!(alive.is_empty(), "survived the end of everything: {}", commands_of(&alive));
        let until = Instant::now() + DEADLINE / 3;
        while !open_sockets(&self.mark).is_empty() {
            let open = open_sockets(&self.mark);
            assert!(Instant::now() < until, "a process still listens at {open:?}");
            // No event announces the end of a process that is not ours.
            drop(readable(&[], Instant::now() + Duration::from_millis(10)));
        }
    }
}

/// Sockets below this directory that a process still has open: a holder or a daemon that did not end.
fn open_sockets(root: &str) -> Vec<String> {
    let all = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths = all.lines().filter_map(|line| line.split_whitespace().nth(7));
    paths.filter(|path| path.starts_with(root)).map(str::to_owned).collect()
}

/// Processes that live and have `mark` as a whole entry of their environment.
#[must_use]
pub fn survivors(mark: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| is_marked(*pid, mark) && is_running(*pid)).collect()
}

fn is_marked(pid: i32, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
}

fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn commands_of(pids: &[i32]) -> String {
    let line = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        format!("{pid} ({})", String::from_utf8_lossy(&words).replace('\0', " "))
    };
    pids.iter().map(line).collect::<Vec<_>>().join(", ")
}

/// Returns a count of rounds, multiplied by `QD_TEST_SCALE`.
#[must_use]
pub fn scaled(count: usize) -> usize {
    count * crate::process_scan::scale()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a target by name.
#[must_use]
pub fn target(name: &str) -> Target {
    name.into()
}
