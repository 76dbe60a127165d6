//! A person's day with five tasks: real programs of two vendors commit side by side in worktrees of one repository, and every
//! verb of the day is the one that a person types. The daemon is killed in each phase of new, land, drop and restore.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use daemon::TaskFailpoint;
use proto::AgentState;
use proto::request::{Until, Wait};
use serde_json::Value;
use testkit::vendor::{Vendor, VendorHomes};
use testkit::{ModelServer, TestDaemon};

use crate::QD;
use crate::vendor_stage::{TIMEOUT, shell_script};

/// The tasks, their agents and what each does: `left` and `right` change the same line.
const TASKS: [(&str, Vendor, &str); 5] = [
    ("first", Vendor::Claude, "echo first > first.txt"),
    ("second", Vendor::Codex, "echo second > second.txt"),
    ("left", Vendor::Claude, "sed -i s/two/LEFT/ shared"),
    ("right", Vendor::Codex, "sed -i s/two/RIGHT/ shared"),
    ("squashed", Vendor::Claude, "echo squashed > squashed.txt"),
];

struct Day {
    // Dropped in this order: the daemon ends its agents before their home and their model are removed.
    daemon: TestDaemon,
    homes: VendorHomes,
    server: ModelServer,
}

impl Day {
    /// A repository whose agents may run shell commands without asking.
    fn begin() -> Self {
        let server = ModelServer::start();
        let homes = VendorHomes::seeded(&server);
        let settings = homes.home().join(".codex/config.toml");
        let codex = std::fs::read_to_string(&settings).unwrap();
        let freedom = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n";
        std::fs::write(&settings, format!("{freedom}{codex}")).unwrap();
        let day = Self { daemon: TestDaemon::without_start(QD), homes, server };
        let repository = day.repository();
        day.git(&["init", "--quiet", "--initial-branch=main"]);
        day.git(&["config", "user.name", "t"]);
        day.git(&["config", "user.email", "t@example.com"]);
        std::fs::create_dir(repository.join(".claude")).unwrap();
        let allowed = "{\"permissions\": {\"allow\": [\"Bash\"]}}";
        std::fs::write(repository.join(".claude/settings.json"), allowed).unwrap();
        std::fs::write(repository.join("shared"), "one\ntwo\nthree\n").unwrap();
        // A command that prepares each worktree: the daemon is killed while it runs, too.
        std::fs::write(repository.join(".worktree-init.toml"), "commands = ['true']\n").unwrap();
        day.git(&["add", "--all"]);
        day.git(&["commit", "--quiet", "--message=first"]);
        day
    }

    fn repository(&self) -> PathBuf {
        self.homes.workdir()
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.repository(), arguments)
    }

    fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git").args(arguments).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.daemon.command(arguments);
        command.env("QD_TEST_FAILPOINTS", self.order());
        command.envs(self.homes.env()).current_dir(self.repository()).output().unwrap()
    }

    /// The file that tells a daemon where to die.
    fn order(&self) -> PathBuf {
        self.daemon.root().join("die")
    }

    /// Lets the daemon die at a step of a verb, which must succeed all the same.
    fn dies_at(&self, step: TaskFailpoint, verb: &[&str]) -> String {
        let new = self.order().with_extension("new");
        std::fs::write(&new, step.name()).unwrap();
        std::fs::rename(new, self.order()).unwrap();
        let told = self.qd(verb);
        assert!(!self.order().exists(), "the daemon does not pass {step:?}");
        told
    }

    /// Runs a verb that must succeed.
    fn qd(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        if !output.status.success() {
            self.fail(&format!("qd {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a verb that must be refused as a conflict; returns what it said.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(7), "qd {arguments:?}: {told}");
        told
    }

    fn tasks(&self) -> BTreeMap<String, Value> {
        let tasks: Vec<Value> = serde_json::from_str(&self.qd(&["--json", "tasks"])).unwrap();
        tasks.into_iter().map(|task| (task["name"].as_str().unwrap().to_owned(), task)).collect()
    }

    fn directory(&self, name: &str) -> PathBuf {
        PathBuf::from(self.tasks()[name]["directory"].as_str().unwrap())
    }

    /// Checks where every task stands.
    fn statuses(&self, step: &str, expected: [&str; 5]) {
        let tasks = self.tasks();
        for ((name, ..), status) in TASKS.iter().zip(expected) {
            if tasks[*name]["status"] != status {
                self.fail(&format!("{step}: {name} is not {status}: {}", tasks[*name]));
            }
        }
    }

    fn wait(&self, name: &str, until: Until) {
        let told = format!("{name}: {until:?}");
        let timeout_ms = u64::try_from(TIMEOUT.as_millis()).ok();
        let wait = Wait { timeout_ms, ..Wait::until(vec![name.into()], until) };
        if let Err(error) = self.daemon.client().wait(wait) {
            self.fail(&format!("{told}: {error}"));
        }
    }

    /// Every file of the checkout and of git's own directory, byte for byte, without git's objects: a refused landing may
    /// not change one of them.
    fn state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = contents(&self.repository());
        files.extend(contents(&self.repository().join(".git")));
        files
    }

    fn fail(&self, what: &str) -> ! {
        let screens: Vec<String> = self
            .daemon
            .list()
            .iter()
            .map(|process| format!("=== {} ===\n{}", process.name, self.daemon.screen(process.name.as_str())))
            .collect();
        self.daemon.fail(&format!("{what}\n{}", screens.join("\n")));
    }

    /// How many worktrees git knows, the main checkout among them.
    fn worktrees(&self) -> usize {
        self.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count()
    }

    /// Makes the tasks; the daemon is killed in each phase of making one.
    fn create_tasks(&self) {
        let steps = TaskFailpoint::CREATION.into_iter().map(Some).chain([None]);
        for ((name, vendor, _), step) in TASKS.into_iter().zip(steps) {
            let verb = ["new", name, "--worktree", "--agent", vendor.name()];
            let told = step.map_or_else(|| self.qd(&verb), |step| self.dies_at(step, &verb));
            assert!(told.starts_with(&format!("task {name} on branch {name} in ")), "{step:?}: {told}");
            let directory = self.directory(name);
            let content = std::fs::read_to_string(directory.join("shared")).unwrap();
            assert_eq!(content, "one\ntwo\nthree\n", "{step:?}");
            assert_eq!(self.git_in(&directory, &["status", "--porcelain"]), "", "{step:?}");
            self.homes.trust(&directory);
        }
        assert_eq!(self.worktrees(), 1 + TASKS.len(), "each task has one worktree");
    }

    /// Lands a task once for each phase in which the daemon is killed, each time with one commit more.
    fn land_over_kills(&self, name: &str, gate: &str) {
        let directory = self.directory(name);
        for (number, step) in TaskFailpoint::LANDING.into_iter().enumerate() {
            if number > 0 {
                std::fs::write(directory.join(format!("{name}{number}.txt")), "more\n").unwrap();
                self.git_in(&directory, &["add", "--all"]);
                self.git_in(&directory, &["commit", "--quiet", "--message=more"]);
                assert_eq!(self.tasks()[name]["status"], "idle", "{step:?}: it has work again");
            }
            let before: u32 = self.git(&["rev-list", "--count", "main"]).trim().parse().unwrap();
            let told = self.dies_at(step, &["land", name, "--gate", gate]);
            assert!(told.starts_with(&format!("landed {name} on main")), "{step:?}: {told}");
            let after = self.git(&["rev-list", "--count", "main"]);
            assert_eq!(after.trim(), (before + 1).to_string(), "{step:?}: it landed once");
            assert_eq!(self.tasks()[name]["status"], "merged", "{step:?}");
            assert_eq!(self.git(&["status", "--porcelain"]), "", "{step:?}: the checkout is whole");
            assert_eq!(self.worktrees(), 1 + TASKS.len(), "{step:?}: a scratch worktree is left");
        }
    }

    /// Drops a task by force and restores it, once for each phase in which the daemon is killed.
    fn drop_over_kills(&self, name: &str) {
        let directory = self.directory(name);
        let state =
            || (contents(&directory), self.git_in(&directory, &["status", "--porcelain=v2", "--branch"]));
        let (before, others) = (state(), self.worktrees());
        let restorations = TaskFailpoint::RESTORATION.into_iter().map(Some).chain(std::iter::repeat(None));
        for (step, restoration) in TaskFailpoint::REMOVAL.into_iter().zip(restorations) {
            self.dies_at(step, &["drop", name, "--force"]);
            assert!(!directory.exists() && !self.tasks().contains_key(name), "{step:?}");
            assert_eq!(self.worktrees(), others - 1, "{step:?}");
            assert_eq!(self.tasks()["left"]["status"], "merged", "{step:?}");
            let verb = ["restore", name];
            restoration.map_or_else(|| self.qd(&verb), |step| self.dies_at(step, &verb));
            assert_eq!(state(), before, "{step:?}, {restoration:?}: every byte is back");
            assert_eq!(self.worktrees(), others, "{step:?}, {restoration:?}");
            self.statuses("it is back", ["gone", "orphan", "merged", "conflict", "merged"]);
        }
    }

    /// Every agent commits; all of them work at the same time.
    fn commit_side_by_side(&self) {
        self.statuses("all are new", ["idle"; 5]);
        for (name, vendor, change) in TASKS {
            let work = format!("{change} && git add --all && git commit --quiet --message={name}");
            let script = match vendor {
                // Its sandbox is off, so it need not ask to leave it.
                Vendor::Codex => {
                    let input = serde_json::json!({ "cmd": work });
                    format!("@tool exec_command {input}\n@say {name}-is-committed")
                }
                _ => shell_script(vendor, &work, &format!("{name}-is-committed")),
            };
            self.qd(&["run", name, "--detach", "--prompt", &format!("@gate go\n{script}")]);
            // One after the other: two codex that begin in a new home at the same moment both fill its database, and the
            // second one prints over its own composer that it has to wait.
            self.wait(name, Until::State(vec![AgentState::Working, AgentState::Thinking]));
        }
        self.statuses("all work", ["working"; 5]);
        self.server.open("go");
        for (name, ..) in TASKS {
            self.wait(name, Until::Turn(1));
            if self.tasks()[name]["git"]["ahead"] != 1 {
                self.fail(&format!("{name} has not committed"));
            }
        }
    }

    /// The two agents that conflict are told so, once; then every agent is seen and stopped.
    fn end_of_work(&self) {
        for (name, other) in [("left", "right"), ("right", "left")] {
            let words = format!("with task {other}: shared");
            let has_words = |request: &testkit::model::ModelRequest| {
                !request.is_side && request.texts.iter().any(|text| text.contains(&words))
            };
            if self.server.find_request(has_words, TIMEOUT).is_none() {
                self.fail(&format!("the agent of {name} was not told of the conflict"));
            }
            self.wait(name, Until::Turn(2));
        }
        for (name, ..) in TASKS {
            self.wait(name, Until::State(vec![AgentState::Idle]));
        }
        self.statuses("all have ended and nobody has seen them", ["done"; 5]);
        for (name, ..) in TASKS {
            let told = self.refused(&["drop", name]);
            assert!(told.contains(name) && told.contains("qd stop"), "an agent is there: {told}");
            self.qd(&["stop", name]);
        }
    }
}

fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != ".git" && name != "objects") {
            files.extend(contents(&path));
        } else if path.is_file() && !path.ends_with(".git") {
            files.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn k7_five_agents_commit_side_by_side_and_their_tasks_are_landed_merged_lost_and_restored() {
    let day = Day::begin();
    day.create_tasks();
    day.commit_side_by_side();
    day.end_of_work();
    day.daemon.kill_9();
    day.statuses("the daemon is back", ["idle", "idle", "conflict", "conflict", "idle"]);
    assert_eq!(day.qd(&["forecast"]), "left and right: shared\n");
    for (name, ..) in TASKS {
        let runs = day.tasks()[name]["runs"].as_array().unwrap().clone();
        let run = runs.iter().find(|run| run["kind"] == "agent").unwrap();
        assert!(run["session"].is_string() && run["ended_at"].is_u64(), "{name}: {run}");
    }

    // What fits lands in order; the first gate that fails stops it and leaves every byte as it was.
    assert!(day.qd(&["land", "first", "--gate", "test -e first.txt"]).starts_with("landed first on main"));
    day.statuses("one has landed", ["merged", "idle", "conflict", "conflict", "idle"]);
    let gate = "test -e first.txt && test -e second.txt";
    day.land_over_kills("second", gate);
    day.statuses("two have landed", ["merged", "merged", "conflict", "conflict", "idle"]);
    let before = day.state();
    let told = day.refused(&["land", "left", "--gate", "echo no; exit 3"]);
    assert!(told.contains("the gate failed with 3") && told.contains("no"), "{told}");
    assert!(day.state() == before, "a gate that failed changed something");
    day.statuses("a gate failed", ["merged", "merged", "conflict", "conflict", "idle"]);

    // The rest of the day happens outside.
    day.git(&["merge", "--quiet", "--no-ff", "--no-edit", "left"]);
    day.statuses("one is merged outside", ["merged", "merged", "merged", "conflict", "idle"]);
    let before = day.state();
    assert!(day.refused(&["land", "right"]).contains("conflict in shared"));
    assert!(day.state() == before, "a conflict changed something");
    day.statuses("a landing was refused", ["merged", "merged", "merged", "conflict", "idle"]);
    day.git(&["merge", "--quiet", "--squash", "squashed"]);
    day.git(&["commit", "--quiet", "--message=squashed"]);
    day.statuses("one is squashed", ["merged", "merged", "merged", "conflict", "merged"]);
    std::fs::remove_dir_all(day.directory("first")).unwrap();
    day.statuses("one worktree is deleted", ["gone", "merged", "merged", "conflict", "merged"]);
    day.git(&["update-ref", "-d", "refs/heads/second"]);
    day.statuses("one branch is removed", ["gone", "orphan", "merged", "conflict", "merged"]);
    let right = day.directory("right");
    std::fs::write(right.join("untracked"), [0, 159, 146, 150]).unwrap();
    std::fs::write(right.join("shared"), "not committed\n").unwrap();
    day.statuses("one is left dirty", ["gone", "orphan", "merged", "conflict", "merged"]);

    // Nothing is lost.
    let before = contents(&right);
    let told = day.refused(&["drop", "right"]);
    assert!(told.contains("untracked") && told.contains("--force"), "{told}");
    assert_eq!(contents(&right), before);
    day.statuses("a drop was refused", ["gone", "orphan", "merged", "conflict", "merged"]);
    day.drop_over_kills("right");
    assert_eq!(contents(&right), before, "every byte is back");
}
