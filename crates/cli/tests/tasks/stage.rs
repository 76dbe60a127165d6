//! A daemon and a repository beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use testkit::TestDaemon;

pub(crate) const QD: &str = env!("CARGO_BIN_EXE_qd");

pub(crate) struct TaskStage {
    pub(crate) daemon: TestDaemon,
    pub(crate) repository: PathBuf,
    /// The file that tells a daemon where to die.
    pub(crate) order: PathBuf,
    /// Every git process that the daemon starts adds a line to this file, if it counts them.
    calls: Option<PathBuf>,
}

/// Runs git in a directory; it must succeed.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl TaskStage {
    pub(crate) fn new() -> Self {
        Self::made(false)
    }

    /// A stage whose daemon runs git through a script that counts the calls.
    pub(crate) fn counting() -> Self {
        Self::made(true)
    }

    fn made(is_counting: bool) -> Self {
        let daemon = TestDaemon::without_start(QD);
        let root = daemon.root().canonicalize().unwrap();
        let repository = root.join("app repo ä");
        std::fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "--quiet", "--initial-branch=main"]);
        git(&repository, &["config", "user.name", "t"]);
        git(&repository, &["config", "user.email", "t@example.com"]);
        for name in ["shared", "other"] {
            std::fs::write(repository.join(name), "one\ntwo\nthree\n").unwrap();
        }
        git(&repository, &["add", "--all"]);
        git(&repository, &["commit", "--quiet", "--message=first"]);
        let calls = is_counting.then(|| root.join("bin/calls"));
        let stage = Self { order: root.join("die"), daemon, repository, calls };
        stage.write_counting_git();
        stage.start();
        stage
    }

    fn write_counting_git(&self) {
        let Some(calls) = &self.calls else { return };
        std::fs::create_dir(calls.parent().unwrap()).unwrap();
        self.write_git("");
    }

    /// Writes the script that the daemon runs as git: it counts the call and does `line` before it runs the real one.
    fn write_git(&self, line: &str) {
        let calls = self.calls.as_ref().unwrap();
        let (script, new) = (calls.with_file_name("git"), calls.with_file_name("new"));
        let count = format!("echo \"$*\" >>'{}'", calls.display());
        std::fs::write(&new, format!("#!/bin/sh\n{count}\n{line}\nPATH=${{PATH#*:}} exec git \"$@\"\n"))
            .unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(new, script).unwrap();
    }

    /// Lets the next git of the daemon with these words fail with this message. Only for a stage that counts the calls.
    pub(crate) fn fail_next_git(&self, words: &str, message: &str) {
        let armed = self.calls.as_ref().unwrap().with_file_name("armed");
        std::fs::write(&armed, "").unwrap();
        let fail = format!("rm '{}' 2>/dev/null && {{ echo '{message}' >&2; exit 128; }}", armed.display());
        self.write_git(&format!("case \"$*\" in *'{words}'*) {fail};; esac"));
    }

    /// What git was asked for since the last call.
    pub(crate) fn git_calls(&self) -> Vec<String> {
        let calls = self.calls.as_ref().unwrap();
        let text = std::fs::read_to_string(calls).unwrap_or_default();
        std::fs::write(calls, "").unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Starts a daemon that can be told to die.
    pub(crate) fn start(&self) {
        assert!(self.run(&["ps"]).status.success());
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// A `qd` in the repository, not started yet.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.daemon.command(arguments);
        command.env("QD_TEST_FAILPOINTS", &self.order).current_dir(&self.repository);
        if let Some(calls) = &self.calls {
            let own = calls.parent().unwrap().display().to_string();
            command.env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap()));
        }
        command
    }

    /// Runs a verb that must succeed.
    pub(crate) fn qd(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        if !output.status.success() {
            self.daemon.fail(&format!("qd {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a verb that must fail; its exit code and what it said.
    pub(crate) fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(!output.status.success(), "qd {arguments:?} succeeded");
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let with_json: Vec<&str> = ["--json"].iter().chain(arguments).copied().collect();
        serde_json::from_str(&self.qd(&with_json)).unwrap()
    }

    /// What is listed of a task; none if there is none.
    pub(crate) fn task(&self, name: &str) -> Option<Value> {
        let Value::Array(tasks) = self.json(&["tasks"]) else { panic!("a list") };
        tasks.into_iter().find(|task| task["name"] == name)
    }

    pub(crate) fn status(&self, name: &str) -> String {
        let task = self.task(name).unwrap_or_else(|| self.daemon.fail(&format!("no task {name}")));
        task["status"].as_str().unwrap().to_owned()
    }

    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        PathBuf::from(self.task(name).unwrap()["directory"].as_str().unwrap())
    }

    /// Makes a task with a worktree.
    pub(crate) fn new_task(&self, name: &str) -> PathBuf {
        self.qd(&["new", name, "--worktree"]);
        self.directory(name)
    }

    /// Lets a process of the task run a line of shell to its end, and sees it.
    pub(crate) fn work(&self, name: &str, line: &str) {
        self.qd(&["run", name, "--detach", "--", "sh", "-c", line]);
        let waited = self.daemon.wait_exit(name);
        assert_eq!(waited.satisfied[0].exit.unwrap().code, Some(0), "{}", self.daemon.screen(name));
        self.qd(&["close", name]);
    }
}

/// Everything of a repository that a failed operation may not change: every file of the checkout and of git's own directory,
/// byte for byte. Only objects may be added, which nothing refers to.
pub(crate) fn state(repository: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![repository.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            let path = entry.path();
            match entry.file_type().unwrap() {
                _ if path.ends_with(".git/objects") => {}
                kind if kind.is_dir() => {
                    open.push(path.clone());
                    found.insert(path, Vec::new());
                }
                kind if kind.is_symlink() => {
                    let target = std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                    found.insert(path, target);
                }
                _ => drop(found.insert(path.clone(), std::fs::read(path).unwrap())),
            }
        }
    }
    found
}

/// The paths in which two states differ.
pub(crate) fn differences(
    one: &BTreeMap<PathBuf, Vec<u8>>,
    other: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<PathBuf> {
    let all: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    all.into_iter().filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}
