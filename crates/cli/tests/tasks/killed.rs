//! Kill -9 of the daemon in each phase of new, drop, restore and land, while a person's command waits: the next daemon goes on
//! with it, the command says what came of it, and what is there is the old or the new state, never half.

use std::path::PathBuf;
use std::process::Output;

use daemon::{Failpoint, TaskFailpoint};

use crate::odd::contents;
use crate::stage::{TaskStage, git};

/// Tells the daemon where to die and runs a verb that meets that place. The verb ends by itself, whatever it has to say.
fn die_at(stage: &TaskStage, step: &str, verb: &[&str]) -> Output {
    let new = stage.order.with_extension("new");
    std::fs::write(&new, step).unwrap();
    std::fs::rename(new, &stage.order).unwrap();
    let output = stage.run(verb);
    assert!(!stage.order.exists(), "the daemon does not pass {step}");
    output
}

/// Dies there, and the verb succeeds all the same; returns what it printed.
pub(crate) fn succeeds(stage: &TaskStage, step: TaskFailpoint, verb: &[&str]) -> String {
    let output = die_at(stage, step.name(), verb);
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        stage.daemon.fail(&format!("{step:?}: qd {verb:?}: {}: {told}", output.status));
    }
    String::from_utf8(output.stdout).unwrap()
}

fn worktrees(stage: &TaskStage) -> usize {
    git(&stage.repository, &["worktree", "list", "--porcelain"]).matches("worktree ").count()
}

#[test]
fn k3_a_daemon_killed_while_it_makes_a_task_leaves_the_whole_task_and_prepares_it_once() {
    for step in TaskFailpoint::CREATION {
        let stage = TaskStage::new();
        let init = "commands = ['echo one >> ../log', ['sh', '-c', 'echo two >> ../log']]\n";
        std::fs::write(stage.repository.join(".worktree-init.toml"), init).unwrap();
        let told = succeeds(&stage, step, &["new", "fix", "--worktree"]);
        assert!(told.starts_with("task fix on branch fix in "), "{step:?}: {told}");
        let directory = stage.directory("fix");
        assert_eq!(std::fs::read_to_string(directory.join("shared")).unwrap(), "one\ntwo\nthree\n");
        let log = std::fs::read_to_string(directory.with_file_name("log")).unwrap();
        assert_eq!(log, "one\ntwo\n", "{step:?}: each command ran once");
        assert_eq!(worktrees(&stage), 2, "{step:?}");
        assert!(stage.daemon.list().is_empty(), "{step:?}: a command is left: {:?}", stage.daemon.list());
        stage.work("fix", "test \"$(git branch --show-current)\" = fix");
    }
}

#[test]
fn k3_a_preparation_that_fails_after_a_kill_says_why() {
    let stage = TaskStage::new();
    let init = "commands = ['echo the reason; exit 3', 'touch never']\n";
    std::fs::write(stage.repository.join(".worktree-init.toml"), init).unwrap();
    let output = die_at(&stage, TaskFailpoint::Preparing.name(), &["new", "fix", "--worktree"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("failed with 3") && told.contains("the reason"), "{told}");
    let task = stage.task("fix").unwrap();
    assert!(task["failure"].as_str().is_some_and(|why| why.contains("the reason")), "{task}");
    assert!(!stage.directory("fix").join("never").exists());
}

/// Leaves work of every kind in a task: committed, changed, staged, staged and changed again, untracked, deleted.
fn leave_work(stage: &TaskStage, name: &str) -> PathBuf {
    let directory = stage.new_task(name);
    let lines = "echo c > committed && git add --all && git commit --quiet --message=work && echo changed >> shared && \
                 echo s > staged && git add staged && echo again >> staged && rm other && \
                 mkdir -p deep/er && echo u > deep/er/untracked && ln -s /no/where link";
    stage.work(name, lines);
    directory
}

#[test]
fn k3_a_daemon_killed_while_it_drops_a_task_loses_nothing() {
    for step in TaskFailpoint::REMOVAL {
        let stage = TaskStage::new();
        let directory = leave_work(&stage, "fix");
        let state = || (contents(&directory), git(&directory, &["status", "--porcelain=v2", "--branch"]));
        let before = state();
        let told = succeeds(&stage, step, &["drop", "fix", "--force", "--branch"]);
        assert!(told.contains("dropped fix") && told.contains("qd restore fix"), "{step:?}: {told}");
        assert!(stage.task("fix").is_none() && !directory.exists(), "{step:?}");
        assert_eq!(git(&stage.repository, &["branch", "--list", "fix"]), "", "{step:?}");
        let above = directory.parent().unwrap();
        assert_eq!(std::fs::read_dir(above).unwrap().count(), 0, "{step:?}: something is left beside it");
        stage.qd(&["restore", "fix"]);
        assert_eq!(state(), before, "{step:?}");
        assert_eq!(worktrees(&stage), 2);
    }
}

#[test]
fn k3_a_daemon_killed_while_it_lands_a_task_lands_it_when_it_is_back() {
    for step in TaskFailpoint::LANDING {
        let stage = TaskStage::new();
        stage.new_task("fix");
        stage.work("fix", "echo new > new && git add --all && git commit --quiet --message=work");
        let told = succeeds(&stage, step, &["land", "fix", "--gate", "test -e new"]);
        assert!(told.starts_with("landed fix on main at "), "{step:?}: {told}");
        assert!(!told.contains("still has the old commit's files"), "{step:?}: {told}");
        assert_eq!(stage.status("fix"), "merged", "{step:?}");
        assert_eq!(
            git(&stage.repository, &["rev-list", "--count", "main"]),
            "2\n",
            "{step:?}: it landed once"
        );
        assert!(stage.repository.join("new").exists(), "{step:?}");
        assert_eq!(git(&stage.repository, &["status", "--porcelain"]), "", "{step:?}");
        assert_eq!(worktrees(&stage), 2, "{step:?}: the scratch worktree is left");
        assert!(stage.daemon.list().is_empty(), "{step:?}: a gate is left: {:?}", stage.daemon.list());
    }
}

#[test]
fn k3_a_landing_that_fails_after_a_kill_changes_nothing_and_says_why() {
    let stage = TaskStage::new();
    stage.new_task("fix");
    stage.work("fix", "echo new > new && git add --all && git commit --quiet --message=work");
    let land = ["land", "fix", "--gate", "echo the reason; exit 3"];
    let output = die_at(&stage, TaskFailpoint::Prepared.name(), &land);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert!(told.contains("the gate failed with 3") && told.contains("the reason"), "{told}");
    assert_eq!(git(&stage.repository, &["rev-list", "--count", "main"]), "1\n");
    let task = stage.task("fix").unwrap();
    assert!(task["failure"].as_str().is_some_and(|why| why.contains("the reason")), "{task}");
    assert_eq!(worktrees(&stage), 2);
}

#[test]
fn k3_a_daemon_killed_while_it_restores_a_task_brings_it_back() {
    for step in TaskFailpoint::RESTORATION {
        let stage = TaskStage::new();
        let directory = leave_work(&stage, "fix");
        let state = || (contents(&directory), git(&directory, &["status", "--porcelain=v2", "--branch"]));
        let before = state();
        stage.qd(&["drop", "fix", "--force", "--branch"]);
        let told = succeeds(&stage, step, &["restore", "fix"]);
        assert!(told.starts_with("task fix on branch fix in "), "{step:?}: {told}");
        assert_eq!(state(), before, "{step:?}");
        assert_eq!(worktrees(&stage), 2, "{step:?}");
    }
}

#[test]
fn k3_a_daemon_killed_while_it_starts_a_run_starts_it_once() {
    for step in
        [Failpoint::BeforeCommit, Failpoint::Recorded, Failpoint::HolderStarted, Failpoint::EffectDone]
    {
        let stage = TaskStage::new();
        let directory = stage.new_task("fix");
        let run = ["run", "fix", "--detach", "--", "sh", "-c", "echo x >> ../ran; exec sleep 1000000"];
        let output = die_at(&stage, step.name(), &run);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{step:?}: {told}");
        let ran = directory.with_file_name("ran");
        testkit::process_scan::eventually("it runs", || ran.exists().then_some(()));
        let names: Vec<String> = stage.daemon.list().iter().map(|process| process.name.to_string()).collect();
        assert_eq!(names, ["fix"], "{step:?}");
        stage.qd(&["stop", "fix"]);
        assert_eq!(std::fs::read_to_string(ran).unwrap(), "x\n", "{step:?}: it ran once");
    }
}

/// The daemon of a landing whose gate runs, and the command that waits for it.
#[test]
fn k3_a_landing_that_waits_over_a_shutdown_goes_on_with_the_next_daemon() {
    let stage = TaskStage::new();
    stage.new_task("fix");
    stage.work("fix", "echo new > new && git add --all && git commit --quiet --message=work");
    let go = stage.repository.with_file_name("go");
    let seen = stage.repository.with_file_name("seen");
    let gate = format!("touch {}; until [ -e {} ]; do sleep 0.05; done", seen.display(), go.display());
    let mut land = stage.command(&["land", "fix", "--gate", &gate]);
    let land =
        land.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    testkit::process_scan::eventually("the gate runs", || seen.exists().then_some(()));
    stage.qd(&["shutdown"]);
    std::fs::write(&go, "").unwrap();
    stage.start();
    let output = land.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {told}", output.status);
    assert_eq!(git(&stage.repository, &["rev-list", "--count", "main"]), "2\n");
}

#[test]
fn k3_landings_that_wait_for_their_turn_land_in_their_order_at_the_next_daemon() {
    let stage = TaskStage::new();
    for name in ["one", "two", "three"] {
        stage.new_task(name);
        let commit = format!("echo {name} > {name} && git add --all && git commit --quiet --message={name}");
        stage.work(name, &commit);
    }
    let go = stage.repository.with_file_name("go");
    let seen = stage.repository.with_file_name("seen");
    let gate = format!("touch {}; until [ -e {} ]; do sleep 0.05; done", seen.display(), go.display());
    let begin = |words: &[&str]| {
        let mut command = stage.command(words);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    // "three" is asked for before "two": the order of the queue is not that of the names or of the tasks.
    let mut landings = vec![begin(&["land", "one", "--gate", &gate])];
    testkit::process_scan::eventually("the gate runs", || seen.exists().then_some(()));
    for name in ["three", "two"] {
        landings.push(begin(&["land", name]));
        let is_queued = || stage.task(name).filter(|task| task["operation"] == "land").map(drop);
        testkit::process_scan::eventually("it is in the queue", is_queued);
    }
    stage.daemon.kill_9();
    std::fs::write(&go, "").unwrap();
    stage.start();
    for landing in landings {
        let output = landing.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {told}", output.status);
    }
    let log = git(&stage.repository, &["log", "--format=%s", "main"]);
    assert_eq!(log, "two\nthree\none\nfirst\n");
    assert_eq!(worktrees(&stage), 4, "no scratch worktree is left");
}
