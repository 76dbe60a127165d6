//! Drops, restorations and landings that meet something in their way: no byte and no commit is lost, and the verb says why.

use std::path::Path;

use crate::odd::contents;
use crate::stage::{TaskStage, git};

const COMMIT: &str = "git add --all && git commit --quiet --message=work";

#[test]
fn f6_a_landing_leaves_a_task_whose_name_begins_with_land_alone() {
    let stage = TaskStage::new();
    stage.new_task("page");
    let other = stage.new_task("land-page");
    std::fs::write(other.join("unsaved"), "precious").unwrap();
    let before = contents(&other);
    stage.work("page", &format!("echo new > new && {COMMIT}"));
    stage.qd(&["land", "page"]);
    assert_eq!(contents(&other), before);
    assert_eq!(git(&other, &["status", "--porcelain"]), "?? unsaved\n");
}

#[test]
fn f6_a_drop_with_its_branch_refuses_and_saves_the_commits_of_a_directory_that_is_gone() {
    for is_pruned in [false, true] {
        let stage = TaskStage::new();
        let directory = stage.new_task("fix");
        stage.work("fix", &format!("echo new > new && {COMMIT}"));
        let tip = git(&stage.repository, &["rev-parse", "fix"]);
        std::fs::remove_dir_all(&directory).unwrap();
        if is_pruned {
            git(&stage.repository, &["worktree", "prune"]);
        }
        let (code, told) = stage.refused(&["drop", "fix", "--branch"]);
        assert!(code == 7 && told.contains("1 commit nowhere else"), "{code} {told}");
        stage.qd(&["drop", "fix", "--branch", "--force"]);
        assert_eq!(git(&stage.repository, &["branch", "--list", "fix"]), "");
        stage.qd(&["restore", "fix"]);
        assert_eq!(git(&stage.repository, &["rev-parse", "fix"]), tip);
        assert_eq!(std::fs::read_to_string(directory.join("new")).unwrap(), "new\n");
    }
}

#[test]
fn f6_a_drop_by_force_that_is_not_possible_ends_nothing() {
    let stage = TaskStage::new();
    let directory = stage.new_task("fix");
    stage.qd(&["run", "fix", "--detach", "--", "sleep", "1000000"]);
    let path = directory.to_str().unwrap();
    git(&stage.repository, &["worktree", "lock", "--reason", "in use elsewhere", path]);
    let (code, told) = stage.refused(&["drop", "fix", "--force"]);
    assert!(code == 7 && told.contains("in use elsewhere"), "{code} {told}");
    assert!(stage.daemon.list().iter().all(|process| process.status.is_live()), "{:?}", stage.daemon.list());
    assert_eq!(stage.daemon.list().len(), 1);
    git(&stage.repository, &["worktree", "unlock", path]);
    stage.qd(&["drop", "fix", "--force"]);
    assert!(stage.daemon.list().is_empty() && !directory.exists());
}

#[test]
fn f6_a_drop_that_git_refuses_says_why_and_leaves_the_task_as_it_was() {
    let stage = TaskStage::counting();
    let directory = stage.new_task("fix");
    std::fs::write(directory.join("untracked"), "precious").unwrap();
    let before = contents(&directory);
    stage.fail_next_git("worktree remove", "the disk is on fire");
    let (_, told) = stage.refused(&["drop", "fix", "--force"]);
    assert!(told.contains("the disk is on fire"), "{told}");
    assert_eq!(contents(&directory), before);
    assert_eq!(stage.status("fix"), "idle");
    stage.qd(&["drop", "fix", "--force"]);
    stage.qd(&["restore", "fix"]);
    assert_eq!(contents(&directory), before);
    // The same for a directory that is gone: the task can be dropped again.
    std::fs::remove_dir_all(&directory).unwrap();
    stage.fail_next_git("worktree remove", "the disk is on fire");
    let (_, told) = stage.refused(&["drop", "fix"]);
    assert!(told.contains("the disk is on fire") && stage.status("fix") == "gone", "{told}");
    stage.qd(&["drop", "fix"]);
}

#[test]
fn f6_a_restoration_that_failed_can_be_repeated() {
    let stage = TaskStage::counting();
    let directory = stage.new_task("fix");
    std::fs::write(directory.join("untracked"), "precious").unwrap();
    let before = contents(&directory);
    stage.qd(&["drop", "fix", "--force", "--branch"]);
    stage.fail_next_git("reset --hard", "the disk is full");
    let (_, told) = stage.refused(&["restore", "fix"]);
    assert!(told.contains("the disk is full") && !directory.exists(), "{told}");
    assert_eq!(git(&stage.repository, &["branch", "--list", "fix"]), "");
    stage.qd(&["restore", "fix"]);
    assert_eq!(contents(&directory), before);
}

#[test]
fn f6_a_landing_that_fails_after_its_target_moved_has_landed() {
    let stage = TaskStage::counting();
    stage.new_task("fix");
    stage.work("fix", &format!("echo new > new && {COMMIT}"));
    // git says so when a directory vanishes under it; the target is not moved back then.
    stage.fail_next_git("read-tree -m -u", "not a git repository");
    let told = stage.qd(&["land", "fix"]);
    assert!(told.starts_with("landed fix on main at "), "{told}");
    assert_eq!(stage.status("fix"), "merged");
    assert_eq!(git(&stage.repository, &["status", "--porcelain"]), "");
    assert!(stage.repository.join("new").exists());
}

#[test]
fn f6_a_dropped_task_is_listed_only_if_it_can_be_restored() {
    let stage = TaskStage::new();
    let (kept, gone) = (stage.repository.with_file_name("kept"), stage.repository.with_file_name("gone"));
    for (name, directory) in [("kept", &kept), ("gone", &gone)] {
        std::fs::create_dir(directory).unwrap();
        stage.qd(&["new", name, "--directory", directory.to_str().unwrap()]);
        stage.qd(&["drop", name]);
    }
    std::fs::remove_dir(&gone).unwrap();
    let listed = stage.json(&["tasks", "--dropped"]);
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["kept"]);
    stage.qd(&["restore", "kept"]);
    assert!(Path::new(&kept).is_dir());
}

#[test]
fn f6_the_list_says_what_a_drop_would_refuse() {
    let stage = TaskStage::new();
    let directory = stage.new_task("fix");
    std::fs::write(directory.join("shared"), "stashed\n").unwrap();
    git(&directory, &["stash", "--quiet"]);
    let mut outside =
        std::process::Command::new("sleep").arg("1000000").current_dir(&directory).spawn().unwrap();
    let listed = stage.task("fix").unwrap()["git"].clone();
    let (code, told) = stage.refused(&["drop", "fix"]);
    outside.kill().unwrap();
    outside.wait().unwrap();
    assert!(listed["stashed"] == 1 && listed["in_use"] == 1, "{listed}");
    assert!(code == 7 && told.contains("1 stashed") && told.contains("1 process at work"), "{code} {told}");
    assert_eq!(stage.task("fix").unwrap()["git"]["in_use"], 0);
}

/// Makes a task whose branch and whose base change the same line, and begins to join them.
fn in_conflict(stage: &TaskStage, begin: &str) -> std::path::PathBuf {
    let directory = stage.new_task("fix");
    stage.work("fix", &format!("echo ours > shared && {COMMIT} && echo more > more && {COMMIT}"));
    std::fs::write(stage.repository.join("shared"), "theirs\n").unwrap();
    git(&stage.repository, &["commit", "--quiet", "--all", "--message=theirs"]);
    stage.work("fix", &format!("git {begin} main; git status --porcelain | grep -q '^[AU][AU] shared'"));
    directory
}

#[test]
fn f6_a_merge_that_is_under_way_is_named_by_a_drop_and_goes_on_after_the_restoration() {
    let stage = TaskStage::new();
    let directory = in_conflict(&stage, "merge");
    let (code, told) = stage.refused(&["drop", "fix"]);
    assert!(code == 7 && told.contains("a merge under way, 1 in conflict (shared)"), "{code} {told}");
    stage.qd(&["drop", "fix", "--branch", "--force"]);
    stage.qd(&["restore", "fix"]);
    std::fs::write(directory.join("shared"), "both\n").unwrap();
    git(&directory, &["add", "--all"]);
    // Without a conflict in a file the merge is still what a removal would lose.
    let (code, told) = stage.refused(&["drop", "fix"]);
    assert!(code == 7 && told.contains("a merge under way"), "{code} {told}");
    git(&directory, &["commit", "--quiet", "--no-edit"]);
    let parents = git(&directory, &["rev-list", "--parents", "--max-count=1", "HEAD"]);
    assert_eq!(parents.split_whitespace().count(), 3, "a merge has two parents: {parents}");
}

#[test]
fn f6_a_rebase_that_is_under_way_goes_on_after_a_drop_and_its_restoration() {
    let stage = TaskStage::new();
    let directory = in_conflict(&stage, "rebase");
    let (code, told) = stage.refused(&["drop", "fix"]);
    assert!(code == 7 && told.contains("a rebase under way"), "{code} {told}");
    stage.qd(&["drop", "fix", "--branch", "--force"]);
    stage.qd(&["restore", "fix"]);
    std::fs::write(directory.join("shared"), "both\n").unwrap();
    git(&directory, &["add", "--all"]);
    git(&directory, &["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(git(&directory, &["symbolic-ref", "--short", "HEAD"]), "fix\n");
    let subjects = git(&directory, &["log", "--format=%s", "main..fix"]);
    assert_eq!(subjects, "work\nwork\n");
    assert_eq!(std::fs::read_to_string(directory.join("more")).unwrap(), "more\n");
}
