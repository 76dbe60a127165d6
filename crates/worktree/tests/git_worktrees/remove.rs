//! Removing: the proof, what is saved, and that every byte comes back.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use worktree::{GitError, Losses, RemoveRequest, TRASH};

use super::stage::{Stage, branch, contents};

const NOW: Duration = Duration::from_secs(1_700_000_000);

pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + NOW
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

/// A request to remove worktree and branch whatever is lost.
pub(crate) fn forced(path: &Path) -> RemoveRequest {
    request(path, true)
}

fn losses(stage: &Stage, path: &Path) -> Losses {
    match stage.repository().plan_removal(&request(path, false), SystemTime::now()) {
        Ok(_) => Losses::default(),
        Err(GitError::Dirty { losses, .. }) => *losses,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn f6_everything_that_would_be_lost_is_listed_and_refused() {
    let stage = Stage::new();
    let task = stage.task("t");
    assert!(losses(&stage, &task).is_empty());
    stage.write(&task, "README", "stash me\n");
    stage.plain(&task, &["stash", "-q"]);
    let commit = stage.commit_file(&task, "committed", "c\n");
    stage.write(&task, "README", "changed\n");
    stage.write(&task, "staged", "s\n");
    stage.plain(&task, &["add", "staged"]);
    stage.write(&task, "free/untracked", "u\n");
    stage.write(&task, "x.log", "ignored\n");
    let mut process =
        std::process::Command::new("sleep").arg("1000").current_dir(task.join("free")).spawn().unwrap();
    let found = losses(&stage, &task);
    process.kill().unwrap();
    process.wait().unwrap();
    let names = |paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&found.staged), ["staged"]);
    assert_eq!(names(&found.unstaged), ["README"]);
    assert_eq!(names(&found.untracked), ["free/untracked"]);
    assert_eq!((found.stashes.len(), found.unpushed), (1, vec![commit]));
    assert_eq!(found.occupants.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["sleep"]);
    let before = (stage.refs(), contents(&task));
    let error = stage.repository().plan_removal(&request(&task, false), now()).unwrap_err();
    let words =
        "1 staged, 1 changed, 1 untracked, 1 stashed, 1 commit nowhere else (README, free/untracked, staged)";
    assert!(matches!(&error, GitError::Dirty { .. }) && error.to_string().contains(words), "{error}");
    assert_eq!((stage.refs(), contents(&task)), before);
}

#[test]
fn f6_commits_that_the_base_has_by_a_squash_or_that_another_branch_has_are_not_lost() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.commit_file(&task, "a", "a\n");
    stage.commit_file(&task, "b", "b\n");
    assert_eq!(losses(&stage, &task).unpushed.len(), 2);
    stage.plain(&stage.app(), &["branch", "keep", "t"]);
    assert!(losses(&stage, &task).is_empty());
    stage.plain(&stage.app(), &["branch", "-q", "-D", "keep"]);
    stage.plain(&stage.app(), &["merge", "-q", "--squash", "t"]);
    stage.plain(&stage.app(), &["commit", "-q", "-m", "squashed"]);
    assert!(losses(&stage, &task).is_empty());
}

/// Returns a worktree with every kind of content that is easy to lose.
pub(crate) fn strange_task(stage: &Stage) -> std::path::PathBuf {
    let app = stage.app();
    stage.write(&app, "mixed.txt", "lf\nlf\n");
    stage.write(&app, "hidden.cfg", "committed\n");
    stage.write(&app, "gone.txt", "will be deleted\n");
    stage.write(&app, "becomes-dir", "a file\n");
    stage.write(&app, "renamed.txt", "a\nb\nc\nd\n");
    stage.write(&app, "unstaged-delete", "x\n");
    stage.write(&app, ".gitattributes", "*.up filter=upper\n*.txt text=auto\n");
    stage.write(&app, "kept.up", "clean\n");
    stage.commit_all(&app, "strange");
    stage.plain(&app, &["config", "filter.upper.clean", "tr A-Z a-z"]);
    stage.plain(&app, &["config", "filter.upper.smudge", "tr a-z A-Z"]);
    let task = stage.task("t");
    std::fs::write(task.join("mixed.txt"), "lf\ncrlf\r\n").unwrap();
    stage.plain(&task, &["update-index", "--assume-unchanged", "hidden.cfg"]);
    stage.write(&task, "hidden.cfg", "changed behind git's back\n");
    stage.plain(&task, &["rm", "-q", "gone.txt"]);
    std::fs::remove_file(task.join("unstaged-delete")).unwrap();
    std::fs::remove_file(task.join("becomes-dir")).unwrap();
    stage.write(&task, "becomes-dir/inside", "a directory now\n");
    stage.plain(&task, &["mv", "renamed.txt", "new-name.txt"]);
    stage.write(&task, "new.up", "MiXeD cAsE\n");
    stage.write(&task, "with\nnewline \"quoted\" é", "odd\n");
    std::fs::write(task.join("binary"), [0, 255, 10, 13, 0]).unwrap();
    std::fs::write(task.join("empty"), "").unwrap();
    std::os::unix::fs::symlink("../../nowhere", task.join("dangling")).unwrap();
    std::os::unix::fs::symlink("/etc", task.join("to-etc")).unwrap();
    stage.write(&task, "script", "#!/bin/sh\n");
    std::fs::set_permissions(task.join("script"), std::fs::Permissions::from_mode(0o750)).unwrap();
    stage.write(&task, "secret", "s\n");
    std::fs::set_permissions(task.join("secret"), std::fs::Permissions::from_mode(0o600)).unwrap();
    stage.write(&task, "intended", "i\n");
    stage.plain(&task, &["add", "-N", "intended"]);
    stage.write(&task, "src/lib.rs", "staged\n");
    stage.plain(&task, &["add", "src/lib.rs"]);
    stage.write(&task, "src/lib.rs", "staged, then changed\n");
    task
}

#[test]
fn f6_restore_brings_back_every_byte_mode_link_stage_and_the_branch() {
    let stage = Stage::new();
    let task = strange_task(&stage);
    let repository = stage.repository();
    let before = contents(&task);
    let status = stage.plain(&task, &["status", "--porcelain=v2", "--branch"]);
    let index = stage.plain(&task, &["ls-files", "--stage"]);
    let removal = repository.plan_removal(&request(&task, true), now()).unwrap();
    removal.run(&stage.git).unwrap();
    assert!(!task.exists() && repository.branch(&branch("t")).unwrap().is_none());
    assert!(std::path::Path::new("/etc/passwd").exists(), "no link was followed");
    let trash = repository.trash().unwrap();
    assert_eq!((trash.len(), trash[0].task.as_str(), trash[0].time), (1, "t", now()));
    assert_eq!(trash[0].reference, format!("{TRASH}t/1700000000"));
    repository.plan_restoration(&trash[0].reference).unwrap().run(&stage.git).unwrap();
    assert_eq!(contents(&task), before);
    stage.plain(&task, &["update-index", "--assume-unchanged", "hidden.cfg"]);
    assert_eq!(stage.plain(&task, &["status", "--porcelain=v2", "--branch"]), status);
    assert_eq!(stage.plain(&task, &["ls-files", "--stage"]), index);
}

#[test]
fn f6_a_conflict_in_the_index_comes_back_with_all_its_stages() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.commit_file(&task, "src/lib.rs", "ours\n");
    stage.commit_file(&stage.app(), "src/lib.rs", "theirs\n");
    stage.try_plain(&task, &["merge", "main"]).unwrap_err();
    let before = (contents(&task), stage.plain(&task, &["ls-files", "--stage"]));
    let repository = stage.repository();
    let removal = repository.plan_removal(&request(&task, true), now()).unwrap();
    removal.run(&stage.git).unwrap();
    repository.plan_restoration(removal.trash.as_deref().unwrap()).unwrap().run(&stage.git).unwrap();
    assert_eq!((contents(&task), stage.plain(&task, &["ls-files", "--stage"])), before);
}

#[test]
fn f6_saving_touches_neither_the_files_nor_the_index() {
    let stage = Stage::new();
    let task = strange_task(&stage);
    let index = worktree::Layout::at(&task).unwrap().git_dir.join("index");
    let before = (contents(&task), std::fs::read(&index).unwrap());
    stage.repository().save_worktree(&task, &format!("{TRASH}x/1"), now()).unwrap();
    assert!(before == (contents(&task), std::fs::read(&index).unwrap()));
}

#[test]
fn f6_repositories_inside_a_lock_of_another_tool_and_the_main_checkout_forbid_a_removal_even_by_force() {
    let stage = Stage::new();
    let task = stage.task("t");
    let refused = |what: &str| {
        let error = stage.repository().plan_removal(&request(&task, true), now()).unwrap_err();
        assert!(error.to_string().contains(what), "{what}: {error}");
    };
    stage.init(&task.join("nested/clone"));
    refused("nested/clone");
    std::fs::remove_dir_all(task.join("nested")).unwrap();
    stage.init(&task.join("build/hidden"));
    refused("build/hidden");
    std::fs::remove_dir_all(task.join("build")).unwrap();
    stage.plain(&task, &["worktree", "add", "-q", "inner", "-b", "inner"]);
    refused("inner");
    stage.plain(&task, &["worktree", "remove", "inner"]);
    stage.init(&stage.path("library"));
    stage.plain(&task, &["submodule", "--quiet", "add", stage.path("library").to_str().unwrap(), "lib"]);
    refused("`lib`");
    stage.plain(&task, &["reset", "-q", "--hard"]);
    std::fs::remove_dir_all(task.join("lib")).unwrap();
    stage.plain(&task, &["worktree", "lock", "--reason", "on a stick", task.to_str().unwrap()]);
    refused("on a stick");
    let main = stage.repository().plan_removal(&request(&stage.app(), true), now()).unwrap_err();
    assert!(matches!(main, GitError::Blocked { .. }), "{main}");
    assert!(task.join("README").exists());
}

#[test]
fn f6_a_worktree_whose_directory_is_gone_is_forgotten_and_one_without_its_git_file_is_left() {
    let stage = Stage::new();
    let task = stage.task("t");
    std::fs::remove_file(task.join(".git")).unwrap();
    let error = stage.repository().plan_removal(&request(&task, true), now()).unwrap_err();
    assert!(matches!(error, GitError::Blocked { .. }), "{error}");
    std::fs::remove_dir_all(&task).unwrap();
    let removal = stage.repository().plan_removal(&request(&task, false), now()).unwrap();
    removal.run(&stage.git).unwrap();
    assert_eq!(stage.repository().worktrees().unwrap().len(), 1);
    assert!(stage.repository().branch(&branch("t")).unwrap().is_none());
    stage.repository().plan_restoration(removal.trash.as_deref().unwrap()).unwrap().run(&stage.git).unwrap();
    assert_eq!(contents(&task), contents(&stage.app()));
}

#[test]
fn f6_a_branch_that_moved_since_the_plan_keeps_the_worktree() {
    let stage = Stage::new();
    let task = stage.task("t");
    let removal = stage.repository().plan_removal(&request(&task, false), now()).unwrap();
    stage.commit_file(&task, "late", "late\n");
    let error = removal.run(&stage.git).unwrap_err();
    assert!(matches!(error, GitError::Moved { .. }), "{error}");
    assert!(task.join("late").exists());
}

#[test]
fn f6_trash_is_forgotten_after_its_age_and_not_before() {
    let stage = Stage::new();
    let repository = stage.repository();
    let day = Duration::from_secs(86_400);
    for (task, age) in [("old", 15), ("a/b", 13)] {
        let reference = worktree::trash_reference(&branch(task), now() - day * age);
        repository.save_worktree(&stage.app(), &reference, now()).unwrap();
    }
    let forgotten = repository.forget_trash(day * 14, now()).unwrap();
    assert_eq!(forgotten.iter().map(|entry| entry.task.as_str()).collect::<Vec<_>>(), ["old"]);
    let kept = repository.trash().unwrap();
    assert_eq!(kept.iter().map(|entry| entry.task.as_str()).collect::<Vec<_>>(), ["a/b"]);
}
