//! Rows of tasks: the list with 50 and 100 of them over five repositories, and a new one, by the verbs that a person
//! types. Plain git stands in the column of the bare terminal; tam is beside it when it is on PATH.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::Lab;
use super::contender::Contender;
use super::report::{Report, Unit};

const REPOSITORIES: usize = 5;
/// Files of each repository whose tasks are listed.
const SMALL: usize = 200;
/// Files of the repository that new tasks are made in.
const MEDIUM: usize = 2_000;

/// Measures the list, then new tasks.
pub(crate) fn run(lab: &Lab, report: &mut Report) -> Result<(), String> {
    let Some(qd) = lab.contenders.iter().find(|one| one.name() == "qd") else { return Ok(()) };
    list(lab, report, qd)?;
    if let Some(tam) = lab.contenders.iter().find(|one| one.name() == "tam")
        && let Err(error) = list_tam(lab, report, tam)
    {
        report.note("tam", "50 tasks, listed", &error);
    }
    create(lab, report, qd)
}

/// The list with 50 tasks, then with 100, each with a commit of its own; warm, with nothing changed.
fn list(lab: &Lab, report: &mut Report, qd: &Contender) -> Result<(), String> {
    let bench = Bench { root: lab.directory.join("tasks-listed"), contender: qd, counts: true };
    qd.renew()?;
    bench.write_counting_git()?;
    let mut worktrees = Vec::new();
    for (tasks, row) in [(10, "50 tasks, listed"), (20, "100 tasks, listed")] {
        for number in 0..REPOSITORIES {
            let path = bench.root.join(format!("repo{number}"));
            if !path.exists() {
                repository(&path, SMALL)?;
            }
            for task in worktrees.len() / REPOSITORIES..tasks {
                bench.qd(&["new", &format!("r{number}t{task}"), "--worktree"], &path)?;
            }
        }
        worktrees = bench.worktrees()?;
        worktrees.iter().try_for_each(|path| commit(path))?;
        bench.settle()?;
        for _ in 0..lab.sized(21, 7) {
            let (start, before) = (Instant::now(), bench.calls());
            bench.qd(&["tasks"], &bench.root)?;
            report.record(row, "qd", Unit::Time, Ok(start.elapsed().as_secs_f64()));
            let started = bench.calls() - before;
            report.record(&format!("{row}, git processes"), "qd", Unit::Count, Ok(started as f64));
        }
        for _ in 0..lab.sized(5, 2) {
            let start = Instant::now();
            for path in &worktrees {
                git(path, &["status", "--porcelain=v2", "--branch"])?;
            }
            report.record(row, "bare", Unit::Time, Ok(start.elapsed().as_secs_f64()));
        }
    }
    qd.stop();
    Ok(())
}

fn list_tam(lab: &Lab, report: &mut Report, tam: &Contender) -> Result<(), String> {
    tam.renew()?;
    let root = lab.directory.join("tasks-tam");
    let run = |words: &[&str], directory: &Path| {
        let mut command = tam.place.command();
        command.args(words).current_dir(directory);
        tam.place.run(command)
    };
    for number in 0..REPOSITORIES {
        let path = root.join(format!("repo{number}"));
        repository(&path, SMALL)?;
        for task in 0..10 {
            run(&["new", &format!("r{number}t{task}"), "--worktree", "--no-start"], &path)?;
        }
    }
    for _ in 0..lab.sized(9, 3) {
        let start = Instant::now();
        run(&["ps"], &root)?;
        report.record("50 tasks, listed", "tam", Unit::Time, Ok(start.elapsed().as_secs_f64()));
    }
    tam.stop();
    Ok(())
}

/// A new task with a worktree and a process that is started in it, beside plain git that adds a worktree and the same process.
fn create(lab: &Lab, report: &mut Report, qd: &Contender) -> Result<(), String> {
    let bench = Bench { root: lab.directory.join("tasks-created"), contender: qd, counts: false };
    qd.renew()?;
    let path = bench.root.join("repo");
    repository(&path, MEDIUM)?;
    bench.qd(&["new", "warm", "--worktree"], &path)?;
    for round in 0..lab.sized(21, 7) {
        let start = Instant::now();
        let place = bench.root.join(format!("plain{round}"));
        git(&path, &["worktree", "add", "--quiet", "-b", &format!("plain{round}"), &text(&place)])?;
        bench.qd(&["spawn", "--", "true"], &place)?;
        report.record("new task with a worktree", "bare", Unit::Time, Ok(start.elapsed().as_secs_f64()));
        let start = Instant::now();
        let name = format!("ours{round}");
        bench.qd(&["new", &name, "--worktree"], &path)?;
        bench.qd(&["spawn", "--task", &name, "--", "true"], &path)?;
        report.record("new task with a worktree", "qd", Unit::Time, Ok(start.elapsed().as_secs_f64()));
    }
    qd.stop();
    Ok(())
}

/// A contender with repositories of its own.
struct Bench<'a> {
    root: PathBuf,
    contender: &'a Contender,
    /// Its daemon runs git through a script that counts.
    counts: bool,
}

impl Bench<'_> {
    fn qd(&self, words: &[&str], directory: &Path) -> Result<String, String> {
        let mut command = self.contender.place.command();
        command.args(words).current_dir(directory);
        if self.counts {
            let usual = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{usual}", text(&self.root.join("bin"))));
        }
        self.contender.place.run(command)
    }

    fn write_counting_git(&self) -> Result<(), String> {
        use std::os::unix::fs::PermissionsExt;
        let script = self.root.join("bin/git");
        let failed = |error: std::io::Error| format!("{}: {error}", script.display());
        std::fs::create_dir_all(self.root.join("bin")).map_err(failed)?;
        let calls = text(&self.root.join("calls"));
        let lines = format!("#!/bin/sh\necho >>'{calls}'\nPATH=${{PATH#*:}} exec git \"$@\"\n");
        std::fs::write(&script, lines).map_err(failed)?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).map_err(failed)
    }

    /// How many git processes the daemon has started.
    fn calls(&self) -> u64 {
        std::fs::metadata(self.root.join("calls")).map_or(0, |file| file.len())
    }

    /// Lists until nothing is read anew: what changed a moment ago is looked at again.
    fn settle(&self) -> Result<(), String> {
        for _ in 0..100 {
            let before = self.calls();
            self.qd(&["tasks"], &self.root)?;
            if self.calls() == before {
                return Ok(());
            }
        }
        Err("each list starts git".to_owned())
    }

    fn worktrees(&self) -> Result<Vec<PathBuf>, String> {
        let printed = self.qd(&["--json", "tasks"], &self.root)?;
        let tasks: serde_json::Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
        let directories = tasks.as_array().into_iter().flatten();
        Ok(directories.filter_map(|task| task["directory"].as_str()).map(PathBuf::from).collect())
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Makes a repository with this many files, a hundred in each directory.
fn repository(path: &Path, files: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    for number in 0..files {
        let directory = path.join(format!("dir{:03}", number / 100));
        std::fs::create_dir_all(&directory).map_err(failed)?;
        let line = format!("content {number}\n");
        std::fs::write(directory.join(format!("file{number}.txt")), line).map_err(failed)?;
    }
    git(path, &["init", "--quiet", "--initial-branch=main"])?;
    git(path, &["add", "--all"])?;
    git(path, &["commit", "--quiet", "--message=all"])
}

/// Gives a worktree one commit more than its base, in a file of its own: tasks that all conflict with one another would be a
/// list that grows by their square.
fn commit(path: &Path) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = path.join(format!("work-{name}.txt"));
    if file.exists() {
        return Ok(());
    }
    std::fs::write(&file, text(path)).map_err(|error| format!("{}: {error}", file.display()))?;
    git(path, &["add", "--all"])?;
    git(path, &["commit", "--quiet", "--message=work"])
}

fn git(directory: &Path, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=B", "-c", "user.email=b@example.org"]).args(words).current_dir(directory);
    let output = command.output().map_err(|error| format!("git: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("git {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
