//! What a look at the tasks costs: no git process while nothing has changed.

use std::time::Instant;

use testkit::DEADLINE;

use crate::stage::{TaskStage, git};

const COMMIT: &str = "git add --all && git commit --quiet --message=work";

/// Lists the tasks until a list needs no git process: files that changed a moment ago are looked at again.
fn settle(stage: &TaskStage) {
    let until = Instant::now() + DEADLINE;
    loop {
        stage.git_calls();
        stage.json(&["tasks"]);
        let calls = stage.git_calls();
        if calls.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "each list starts git: {calls:?}");
    }
}

#[test]
fn k2_an_unchanged_list_starts_no_git_process_and_a_change_starts_few() {
    let stage = TaskStage::counting();
    for name in ["left", "right", "new", "dirty", "merged"] {
        stage.new_task(name);
    }
    stage.work("left", &format!("sed -i s/two/LEFT/ shared && {COMMIT}"));
    stage.work("right", &format!("sed -i s/two/RIGHT/ shared && {COMMIT}"));
    stage.work("merged", &format!("echo m > m && {COMMIT}"));
    git(&stage.repository, &["merge", "--quiet", "--squash", "merged"]);
    git(&stage.repository, &["commit", "--quiet", "--message=squashed"]);
    std::fs::write(stage.directory("dirty").join("untracked"), "x").unwrap();
    std::fs::write(stage.directory("dirty").join("shared"), "changed\n").unwrap();
    settle(&stage);
    for _ in 0..3 {
        assert_eq!(stage.status("left"), "conflict");
        assert_eq!(stage.status("merged"), "merged");
        stage.qd(&["forecast"]);
        assert_eq!(stage.git_calls(), [""; 0]);
    }
    std::fs::write(stage.directory("new").join("another"), "x").unwrap();
    assert_eq!(stage.task("new").unwrap()["git"]["untracked"], 1);
    let calls = stage.git_calls();
    assert!(calls.len() == 1 && calls[0].contains("status"), "only the changed checkout is read: {calls:?}");
}

#[test]
fn k2_a_base_that_is_gone_is_asked_about_once() {
    let stage = TaskStage::counting();
    git(&stage.repository, &["branch", "release"]);
    stage.qd(&["new", "fix", "--worktree", "--start", "release"]);
    stage.work("fix", &format!("echo new > new && {COMMIT}"));
    git(&stage.repository, &["branch", "--quiet", "-D", "release"]);
    settle(&stage);
    for _ in 0..3 {
        assert_eq!(stage.task("fix").unwrap()["git"]["ahead"], 0, "there is nothing to compare with");
        assert_eq!(stage.git_calls(), [""; 0]);
    }
    git(&stage.repository, &["branch", "release", "main"]);
    assert_eq!(stage.task("fix").unwrap()["git"]["ahead"], 1, "it is back");
}
