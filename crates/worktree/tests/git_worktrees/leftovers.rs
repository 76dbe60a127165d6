//! Removals that fail, or that cannot delete everything: nothing is lost, and what is left is named.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use worktree::GitError;

use super::kills::STEPS;
use super::remove::{forced, now};
use super::stage::{Stage, contents};

/// A user without rights, as whom a step runs if the tests run as one with all rights.
const NOBODY: u32 = 65_534;

/// Carries out a step in a process that permissions hold for; returns what it printed if it failed.
fn as_plain_user(stage: &Stage, operation: &str, plan: &str) -> Result<(), String> {
    let steps = format!("{operation}\ngit\n{}\n{plan}", stage.home().display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::carries_out_a_plan_for_the_other_tests", "--nocapture"]);
    command.env(STEPS, steps).current_dir("/");
    if rustix::process::geteuid().is_root() {
        // The tests themselves go on as the user with all rights.
        let config = stage.home().join(".gitconfig");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, format!("{text}[safe]\ndirectory = *\n")).unwrap();
        let owner = format!("{NOBODY}:{NOBODY}");
        let top = stage.home().parent().unwrap().to_owned();
        assert!(Command::new("chown").args(["-R", &owner]).arg(top).status().unwrap().success());
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&text).into_owned()) }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn f6_a_removal_deletes_read_only_directories_too() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.write(&task, "build/cache/module/file", "cached\n");
    stage.write(&task, "untracked", "u\n");
    let before = contents(&task);
    let removal = stage.repository().plan_removal(&forced(&task), now()).unwrap();
    set_mode(&task.join("build/cache/module"), 0o555);
    set_mode(&task.join("build/cache"), 0o555);
    as_plain_user(&stage, "remove", &serde_json::to_string(&removal).unwrap()).unwrap();
    assert_eq!(std::fs::read_dir(stage.path("tasks")).unwrap().count(), 0);
    let repository = stage.repository();
    let restoration = repository.plan_restoration(removal.trash.as_deref().unwrap()).unwrap();
    as_plain_user(&stage, "restore", &serde_json::to_string(&restoration).unwrap()).unwrap();
    let kept = before.into_iter().filter(|(path, _)| !path.starts_with("build"));
    assert_eq!(contents(&task), kept.collect());
}

#[test]
fn f6_a_directory_that_cannot_be_deleted_is_left_aside_and_the_removal_is_done() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.write(&task, "untracked", "u\n");
    let removal = stage.repository().plan_removal(&forced(&task), now()).unwrap();
    let aside = stage.path("tasks/.app--t.removed-1700000000");
    // A file in its place cannot be deleted as a directory, whoever tries it.
    let replace = format!("rm -r '{0}'; : >'{0}'", aside.display());
    let git = stage.git_that_does(&replace, "worktree remove");
    let removed = removal.run(&git).unwrap();
    assert_eq!(removed.left.len(), 1, "{:?}", removed.left);
    assert!(removed.left[0].to_string().starts_with(aside.to_str().unwrap()), "{:?}", removed.left);
    assert!(!task.exists() && stage.repository().worktrees().unwrap().len() == 1);
    std::fs::remove_file(&aside).unwrap();
    stage.repository().plan_restoration(removal.trash.as_deref().unwrap()).unwrap().run(&stage.git).unwrap();
    assert_eq!(std::fs::read_to_string(task.join("untracked")).unwrap(), "u\n");
}

#[test]
fn f6_a_removal_that_git_refuses_leaves_the_worktree_in_its_place_and_says_why() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.write(&task, "untracked", "u\n");
    let before = contents(&task);
    let removal = stage.repository().plan_removal(&forced(&task), now()).unwrap();
    let error = removal.run(&stage.git_that_fails_at("worktree remove")).unwrap_err();
    assert!(matches!(&error, GitError::Failed { command, .. } if command == "worktree"), "{error}");
    assert_eq!(contents(&task), before);
    assert_eq!(stage.plain(&task, &["status", "--porcelain"]), "?? untracked\n");
    removal.run(&stage.git).unwrap();
    assert!(!task.exists());
}

#[test]
fn f6_a_directory_that_cannot_be_read_forbids_a_removal() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.write(&task, "closed/precious", "p\n");
    let removal = stage.repository().plan_removal(&forced(&task), now()).unwrap();
    set_mode(&task.join("closed"), 0o000);
    let told = as_plain_user(&stage, "remove", &serde_json::to_string(&removal).unwrap()).unwrap_err();
    assert!(told.contains("Blocked") && told.contains("`closed` cannot be read"), "{told}");
    set_mode(&task.join("closed"), 0o755);
    assert_eq!(std::fs::read_to_string(task.join("closed/precious")).unwrap(), "p\n");
}

#[test]
fn f6_files_that_change_while_the_killed_removal_was_between_two_steps_are_saved() {
    let stage = Stage::new();
    let task = stage.task("t");
    let removal = stage.repository().plan_removal(&forced(&task), now()).unwrap();
    stage.repository().save_worktree(&task, removal.trash.as_deref().unwrap(), now()).unwrap();
    // A kill right after the directory was moved: a process that works in it has written one more file.
    stage.write(&task, "late", "precious\n");
    std::fs::rename(&task, stage.path("tasks/.app--t.removed-1700000000")).unwrap();
    removal.resume(&stage.git).unwrap();
    assert!(!task.exists());
    stage.repository().plan_restoration(removal.trash.as_deref().unwrap()).unwrap().run(&stage.git).unwrap();
    assert_eq!(std::fs::read_to_string(task.join("late")).unwrap(), "precious\n");
}

#[test]
fn f6_a_commit_that_is_made_while_the_files_are_saved_keeps_the_worktree() {
    const OFF: &str = "-c core.hooksPath=/dev/null -c core.fsmonitor=false";
    for words in ["".to_owned(), format!("git {OFF} switch -q --detach && ")] {
        let stage = Stage::new();
        let task = stage.task("t");
        stage.write(&task, "staged", "s\n");
        stage.plain(&task, &["add", "staged"]);
        let removal = stage.repository().plan_removal(&forced(&task), now()).unwrap();
        let commit = format!("(cd '{}' && {words}git {OFF} commit -qm late)", task.display());
        let error = removal.run(&stage.git_that_does(&commit, "fast-import")).unwrap_err();
        assert!(matches!(error, GitError::Changed { .. }), "{error}");
        assert_eq!(stage.plain(&task, &["log", "-1", "--format=%s"]), "late\n");
    }
}

#[test]
fn f6_an_ignored_clone_goes_by_force_if_its_remote_has_everything_in_it() {
    type Change = fn(&Stage, &Path);
    let changes: [(&str, Change); 7] = [
        ("untracked", |stage, clone| stage.write(clone, "new", "n\n")),
        ("changed", |stage, clone| stage.write(clone, "README", "n\n")),
        ("committed", |stage, clone| drop(stage.commit_file(clone, "new", "n\n"))),
        ("committed on a branch that is not checked out", |stage, clone| {
            stage.plain(clone, &["switch", "-q", "-c", "own"]);
            stage.commit_file(clone, "new", "n\n");
            stage.plain(clone, &["switch", "-q", "main"]);
        }),
        ("stashed", |stage, clone| {
            stage.write(clone, "README", "n\n");
            stage.plain(clone, &["stash", "-q"]);
        }),
        ("a worktree elsewhere", |stage, clone| {
            let elsewhere = stage.path("of the clone");
            stage.plain(clone, &["worktree", "add", "-q", "--detach", elsewhere.to_str().unwrap()]);
        }),
        ("no remote", |stage, clone| drop(stage.plain(clone, &["remote", "remove", "origin"]))),
    ];
    for (what, change) in changes {
        let stage = Stage::new();
        let task = stage.task("t");
        let clone = task.join("build/_deps/library");
        std::fs::create_dir_all(clone.parent().unwrap()).unwrap();
        stage.plain(&task, &["clone", "-q", stage.app().to_str().unwrap(), clone.to_str().unwrap()]);
        let plan = |force: bool| {
            let request = worktree::RemoveRequest { force, ..forced(&task) };
            stage.repository().plan_removal(&request, now())
        };
        let told = plan(false).unwrap_err().to_string();
        assert!(told.contains("`build/_deps/library`") && told.contains("--force"), "{told}");
        let removal = plan(true).unwrap();
        change(&stage, &clone);
        let told = plan(true).unwrap_err().to_string();
        assert!(told.contains("move or remove it first"), "{what}: {told}");
        let error = removal.run(&stage.git).unwrap_err();
        assert!(matches!(error, GitError::Blocked { .. }), "{what}: {error}");
        std::fs::remove_dir_all(&clone).unwrap();
        stage.plain(&task, &["clone", "-q", stage.app().to_str().unwrap(), clone.to_str().unwrap()]);
        removal.run(&stage.git).unwrap();
        assert!(!task.exists());
    }
}

#[test]
fn f6_a_clone_that_git_does_not_ignore_stays_even_by_force() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.plain(&task, &["clone", "-q", stage.app().to_str().unwrap(), "library"]);
    let error = stage.repository().plan_removal(&forced(&task), now()).unwrap_err();
    assert!(error.to_string().contains("move or remove it first"), "{error}");
}
