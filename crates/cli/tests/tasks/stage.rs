//! A daemon and a repository beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::Value;
use testkit::{DEADLINE, TestDaemon};

pub(crate) const QD: &str = env!("CARGO_BIN_EXE_qd");

pub(crate) struct TaskStage {
    pub(crate) daemon: TestDaemon,
    pub(crate) repository: PathBuf,
    /// The file that tells a daemon where to die.
    pub(crate) order: PathBuf,
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
        let stage = Self { order: root.join("die"), daemon, repository };
        stage.start();
        stage
    }

    /// Starts a daemon that can be told to die.
    pub(crate) fn start(&self) {
        assert!(self.run(&["ps"]).status.success());
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.daemon.command(arguments);
        command.env("QD_TEST_FAILPOINTS", &self.order).current_dir(&self.repository).output().unwrap()
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

    /// Waits until nothing is being done to any task.
    pub(crate) fn wait_finished(&self) {
        let until = Instant::now() + DEADLINE;
        let is_busy =
            |tasks: &Value| tasks.as_array().unwrap().iter().any(|task| !task["operation"].is_null());
        while is_busy(&self.json(&["tasks"])) {
            assert!(Instant::now() < until, "an operation is not finished: {}", self.json(&["tasks"]));
        }
    }
}

/// Everything of a repository that a failed operation may not change.
pub(crate) fn state(repository: &Path) -> Vec<String> {
    let index = std::fs::read(repository.join(".git/index")).unwrap();
    vec![
        git(repository, &["for-each-ref"]),
        git(repository, &["status", "--porcelain"]),
        git(repository, &["worktree", "list", "--porcelain"]),
        std::fs::read_to_string(repository.join(".git/config")).unwrap(),
        std::fs::read_to_string(repository.join("shared")).unwrap(),
        format!("{index:?}"),
    ]
}
