//! Kill -9 of the daemon in each phase of new, drop and land: the old or the new state, never half.

use daemon::TaskFailpoint;

use crate::stage::{TaskStage, git};

/// Tells the daemon where to die, runs a verb that meets that place, and starts the next daemon.
fn die_at(stage: &TaskStage, step: TaskFailpoint, verb: &[&str]) {
    let new = stage.order.with_extension("new");
    std::fs::write(&new, step.name()).unwrap();
    std::fs::rename(new, &stage.order).unwrap();
    let output = stage.run(verb);
    assert!(!output.status.success(), "{step:?}: qd {verb:?} succeeded");
    assert!(!stage.order.exists(), "the daemon does not pass {step:?}");
    stage.start();
    stage.wait_finished();
}

fn worktrees(stage: &TaskStage) -> usize {
    git(&stage.repository, &["worktree", "list", "--porcelain"]).matches("worktree ").count()
}

#[test]
fn k3_a_daemon_killed_while_it_makes_a_task_leaves_the_whole_task_or_none() {
    for step in [TaskFailpoint::Planned, TaskFailpoint::Done] {
        let stage = TaskStage::new();
        die_at(&stage, step, &["new", "fix", "--worktree"]);
        let is_there = stage.task("fix").is_some();
        assert_eq!(worktrees(&stage), if is_there { 2 } else { 1 }, "{step:?}");
        if !is_there {
            stage.new_task("fix");
        }
        assert_eq!(
            std::fs::read_to_string(stage.directory("fix").join("shared")).unwrap(),
            "one\ntwo\nthree\n"
        );
        stage.work("fix", "test \"$(git branch --show-current)\" = fix");
    }
}

#[test]
fn k3_a_daemon_killed_while_it_drops_a_task_loses_nothing() {
    for step in [TaskFailpoint::Planned, TaskFailpoint::Done] {
        let stage = TaskStage::new();
        let directory = stage.new_task("fix");
        std::fs::write(directory.join("untracked"), "precious").unwrap();
        die_at(&stage, step, &["drop", "fix", "--force"]);
        if stage.task("fix").is_none() {
            assert!(!directory.exists(), "{step:?}");
            stage.qd(&["restore", "fix"]);
        }
        assert_eq!(std::fs::read_to_string(directory.join("untracked")).unwrap(), "precious", "{step:?}");
        assert_eq!(worktrees(&stage), 2);
    }
}

#[test]
fn k3_a_daemon_killed_while_it_lands_a_task_lands_it_when_it_is_back() {
    for step in TaskFailpoint::ALL {
        let stage = TaskStage::new();
        stage.new_task("fix");
        stage.work("fix", "echo new > new && git add --all && git commit --quiet --message=work");
        die_at(&stage, step, &["land", "fix", "--gate", "test -e new"]);
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
    die_at(&stage, TaskFailpoint::Prepared, &["land", "fix", "--gate", "echo the reason; exit 3"]);
    assert_eq!(git(&stage.repository, &["rev-list", "--count", "main"]), "1\n");
    let task = stage.task("fix").unwrap();
    assert!(task["failure"].as_str().is_some_and(|why| why.contains("the reason")), "{task}");
    assert_eq!(worktrees(&stage), 2);
}
