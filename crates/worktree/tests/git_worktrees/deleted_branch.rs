//! A branch that goes with its worktree: its commits are proven and saved, whatever is checked out and whether or not the
//! directory is still there.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use worktree::{GitError, RemoveRequest};

use super::stage::{Stage, branch, contents};

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn request(path: &Path, force: bool) -> RemoveRequest {
    RemoveRequest {
        path: path.to_owned(),
        task: branch("t"),
        branch: Some(branch("t")),
        base: Some("main".to_owned()),
        force,
    }
}

/// Refuses without force, removes worktree and branch with it, and returns the reference of what was saved.
fn refused_then_removed(stage: &Stage, task: &Path) -> String {
    let repository = stage.repository();
    let error = repository.plan_removal(&request(task, false), now()).unwrap_err();
    assert!(
        matches!(&error, GitError::Dirty { losses, .. } if !losses.unpushed.is_empty()),
        "commits that are nowhere else are refused: {error}"
    );
    let removal = repository.plan_removal(&request(task, true), now()).unwrap();
    removal.run(&stage.git).unwrap();
    assert!(repository.branch(&branch("t")).unwrap().is_none() && !task.exists());
    removal.trash.expect("the commits are saved")
}

#[test]
fn f6_commits_of_a_deleted_branch_are_refused_and_saved_when_the_directory_is_gone() {
    let stage = Stage::new();
    let task = stage.task("t");
    let tip = stage.commit_file(&task, "committed", "c\n");
    let before = contents(&task);
    std::fs::remove_dir_all(&task).unwrap();
    let trash = refused_then_removed(&stage, &task);
    stage.plain(&stage.app(), &["reflog", "expire", "--expire=now", "--all"]);
    stage.plain(&stage.app(), &["gc", "-q", "--prune=now"]);
    let repository = stage.repository();
    repository.plan_restoration(&trash).unwrap().run(&stage.git).unwrap();
    assert_eq!((contents(&task), repository.branch(&branch("t")).unwrap()), (before, Some(tip)));
    assert_eq!(stage.plain(&task, &["status", "--porcelain", "--branch"]), "## t\n");
}

#[test]
fn f6_a_commit_without_a_branch_is_refused_and_saved_when_the_directory_is_gone() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.plain(&task, &["switch", "-q", "--detach"]);
    let commit = stage.commit_file(&task, "committed", "c\n");
    std::fs::remove_dir_all(&task).unwrap();
    let trash = refused_then_removed(&stage, &task);
    stage.repository().plan_restoration(&trash).unwrap().run(&stage.git).unwrap();
    assert_eq!(stage.head(&task), commit);
    assert!(stage.repository().branch(&branch("t")).unwrap().is_some());
}

#[test]
fn f6_commits_of_a_deleted_branch_are_refused_and_saved_when_another_one_is_checked_out() {
    let stage = Stage::new();
    let task = stage.task("t");
    let tip = stage.commit_file(&task, "committed", "c\n");
    stage.plain(&task, &["switch", "-q", "-c", "other", "main"]);
    stage.write(&task, "untracked", "u\n");
    let before = contents(&task);
    let trash = refused_then_removed(&stage, &task);
    stage.plain(&stage.app(), &["reflog", "expire", "--expire=now", "--all"]);
    stage.plain(&stage.app(), &["gc", "-q", "--prune=now"]);
    let repository = stage.repository();
    repository.plan_restoration(&trash).unwrap().run(&stage.git).unwrap();
    assert_eq!((contents(&task), repository.branch(&branch("t")).unwrap()), (before, Some(tip)));
    assert_eq!(stage.plain(&task, &["branch", "--show-current"]), "other\n");
}

#[test]
fn f6_commits_of_a_deleted_branch_are_refused_and_saved_in_the_middle_of_a_rebase() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.commit_file(&task, "first", "f\n");
    let tip = stage.commit_file(&task, "src/lib.rs", "ours\n");
    stage.commit_file(&stage.app(), "src/lib.rs", "theirs\n");
    stage.try_plain(&task, &["rebase", "main"]).unwrap_err();
    let (head, before) = (stage.head(&task), contents(&task));
    let trash = refused_then_removed(&stage, &task);
    let repository = stage.repository();
    repository.plan_restoration(&trash).unwrap().run(&stage.git).unwrap();
    assert_eq!((stage.head(&task), contents(&task)), (head, before));
    assert_eq!(repository.branch(&branch("t")).unwrap(), Some(tip));
}

#[test]
fn f6_a_branch_that_has_other_commits_since_is_not_overwritten_by_a_restoration() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.commit_file(&task, "committed", "c\n");
    stage.plain(&task, &["switch", "-q", "-c", "other", "main"]);
    let trash = refused_then_removed(&stage, &task);
    stage.plain(&stage.app(), &["branch", "-q", "t", "main"]);
    let error = stage.repository().plan_restoration(&trash).unwrap_err();
    assert!(matches!(&error, GitError::Exists { what } if what.contains("`t`")), "{error}");
}

#[test]
fn f6_two_removals_of_one_name_in_one_second_are_both_saved() {
    let stage = Stage::new();
    let mut saved = Vec::new();
    for text in ["first\n", "second\n"] {
        let task = stage.task("t");
        stage.write(&task, "untracked", text);
        let removal = stage.repository().plan_removal(&request(&task, true), now()).unwrap();
        removal.run(&stage.git).unwrap();
        saved.push((removal.trash.unwrap(), text));
    }
    for (trash, text) in saved {
        let restoration = stage.repository().plan_restoration(&trash).unwrap();
        restoration.run(&stage.git).unwrap();
        assert_eq!(std::fs::read_to_string(restoration.path.join("untracked")).unwrap(), text);
        stage
            .repository()
            .plan_removal(&request(&restoration.path, true), now())
            .unwrap()
            .run(&stage.git)
            .unwrap();
    }
}
