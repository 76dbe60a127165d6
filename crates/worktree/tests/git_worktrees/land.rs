//! Landing: what moves, what stays, and that a gate which fails leaves everything byte for byte as it was.

use worktree::{GitError, LandMethod, LandRequest, Landing, TargetCheckout};

use super::stage::{Stage, branch, contents};

fn landing(stage: &Stage, name: &str, method: LandMethod) -> Landing {
    let request =
        LandRequest { branch: branch(name), target: branch("main"), method, root: stage.path("scratch") };
    stage.repository().plan_landing(&request).unwrap()
}

/// A task and a target that have both gone on.
fn diverged(stage: &Stage) {
    let task = stage.task("t");
    stage.commit_file(&task, "landed", "l\n");
    stage.commit_file(&stage.app(), "main.txt", "m\n");
}

#[test]
fn f6_a_landing_by_rebase_or_merge_moves_the_target_and_its_clean_checkout() {
    for method in [LandMethod::Rebase, LandMethod::Merge] {
        let stage = Stage::new();
        let app = stage.app();
        diverged(&stage);
        stage.write(&app, "untracked", "stays\n");
        let old = stage.head(&app);
        let landing = landing(&stage, "t", method);
        let prepared = landing.prepare(&stage.git).unwrap();
        assert_eq!(stage.head(&app), old, "nothing moves before the gate");
        assert!(landing.scratch.join("landed").exists() && landing.scratch.join("main.txt").exists());
        let outcome = landing.finish(&stage.git, &prepared).unwrap();
        assert_eq!(outcome, TargetCheckout::Updated(app.clone()));
        assert_eq!(stage.head(&app), prepared.result);
        assert_eq!(stage.plain(&app, &["status", "--porcelain"]), "?? untracked\n");
        assert_eq!(std::fs::read_to_string(app.join("landed")).unwrap(), "l\n");
        stage.plain(&app, &["merge-base", "--is-ancestor", old.as_str(), "main"]);
        let parents = stage.plain(&app, &["log", "-1", "--format=%P", "main"]);
        assert_eq!(parents.split_whitespace().count(), if method == LandMethod::Merge { 2 } else { 1 });
        assert!(!landing.scratch.exists() && stage.repository().worktrees().unwrap().len() == 2);
    }
}

#[test]
fn f6_a_landing_touches_no_task_whatever_its_name_and_its_repository() {
    let stage = Stage::new();
    let (page, other) = (stage.task("page"), stage.task("land-page"));
    stage.commit_file(&page, "page", "p\n");
    stage.write(&other, "unsaved", "precious\n");
    // Another repository of the same name, with a task of the name that a scratch worktree once had.
    let api = stage.path("elsewhere/app");
    stage.init(&api);
    let foreign = stage.path("tasks/app--land-login");
    stage.plain(&api, &["worktree", "add", "-q", foreign.to_str().unwrap(), "-b", "land-login"]);
    stage.write(&foreign, "unsaved", "precious, too\n");
    let login = stage.task("login");
    stage.commit_file(&login, "login", "l\n");
    let before = (contents(&other), contents(&foreign));
    for name in ["page", "login"] {
        let request = LandRequest {
            branch: branch(name),
            target: branch("main"),
            method: LandMethod::Rebase,
            root: stage.path("tasks"),
        };
        let landing = stage.repository().plan_landing(&request).unwrap();
        let prepared = landing.prepare(&stage.git).unwrap();
        landing.finish(&stage.git, &prepared).unwrap();
        assert!(stage.app().join(name).exists());
    }
    assert_eq!((contents(&other), contents(&foreign)), before);
    assert_eq!(stage.plain(&other, &["status", "--porcelain"]), "?? unsaved\n");
    assert!(!stage.path("tasks/.land").exists());
}

#[test]
fn f6_a_plan_of_an_older_version_whose_scratch_is_a_tasks_directory_removes_nothing() {
    let stage = Stage::new();
    let (page, other) = (stage.task("page"), stage.task("land-page"));
    stage.commit_file(&page, "page", "p\n");
    stage.write(&other, "unsaved", "precious\n");
    let landing = Landing { scratch: other.clone(), ..landing(&stage, "page", LandMethod::Rebase) };
    landing.resume(&stage.git, None, std::time::UNIX_EPOCH).unwrap();
    landing.abort(&stage.git).unwrap();
    assert!(landing.prepare(&stage.git).is_err());
    assert_eq!(stage.plain(&other, &["status", "--porcelain"]), "?? unsaved\n");
}

#[test]
fn f6_a_gate_that_fails_leaves_references_index_checkout_and_settings_as_they_were() {
    let stage = Stage::new();
    let app = stage.app();
    diverged(&stage);
    stage.write(&app, "README", "a person's work\n");
    // Settings with which a rebase moves other branches, reorders commits or remembers conflicts.
    let task = stage.path("tasks/app--t");
    stage.plain(&app, &["branch", "-q", "stacked", "t"]);
    stage.commit_file(&task, "second", "s\n");
    for setting in ["rebase.updateRefs", "rebase.autoSquash", "rerere.enabled", "rerere.autoUpdate"] {
        stage.plain(&app, &["config", setting, "true"]);
    }
    let state = || {
        (
            stage.refs(),
            contents(&app),
            std::fs::read(app.join(".git/index")).unwrap(),
            contents(&stage.path("tasks")),
        )
    };
    let before = state();
    let landing = landing(&stage, "t", LandMethod::Rebase);
    landing.prepare(&stage.git).unwrap();
    stage.write(&landing.scratch, "build/output", "of the gate\n");
    stage.write(&landing.scratch, "README", "scribbled by the gate\n");
    landing.abort(&stage.git).unwrap();
    assert!(state() == before);
    assert!(!landing.scratch.exists());
}

/// The references, the checkout, the index's entries and what git says of it.
fn state(stage: &Stage) -> impl PartialEq + std::fmt::Debug {
    let app = stage.app();
    let plain = |arguments: &[&str]| stage.plain(&app, arguments);
    let status = plain(&["status", "--porcelain", "--ignored"]);
    (plain(&["for-each-ref"]), contents(&app), plain(&["ls-files", "-s"]), status)
}

/// A task that changes, adds and deletes files.
fn changing_task(stage: &Stage) {
    let task = stage.task("t");
    stage.write(&task, "src/lib.rs", "changed by the task\n");
    stage.write(&task, "new/file.log", "from the task\n");
    stage.plain(&task, &["add", "-f", "new/file.log"]);
    stage.plain(&task, &["rm", "-q", "old"]);
    stage.commit_all(&task, "work");
}

fn base_with_old(stage: &Stage) {
    stage.commit_file(&stage.app(), "old", "old\n");
}

#[test]
fn f6_a_landing_updates_a_dirty_checkout_and_keeps_every_change_of_the_person() {
    let stage = Stage::new();
    let app = stage.app();
    base_with_old(&stage);
    changing_task(&stage);
    stage.write(&app, "README", "staged\n");
    stage.write(&app, "added", "staged too\n");
    stage.plain(&app, &["add", "README", "added"]);
    stage.write(&app, "README", "staged, then changed again\n");
    stage.write(&app, "untracked", "u\n");
    stage.write(&app, "new/other.log", "ignored\n");
    let staged = stage.plain(&app, &["diff", "--no-ext-diff", "--cached", "HEAD", "--", "README", "added"]);
    let landing = landing(&stage, "t", LandMethod::Rebase);
    let prepared = landing.prepare(&stage.git).unwrap();
    assert_eq!(landing.finish(&stage.git, &prepared).unwrap(), TargetCheckout::Updated(app.clone()));
    let read = |name: &str| std::fs::read_to_string(app.join(name)).unwrap();
    assert_eq!(read("src/lib.rs"), "changed by the task\n");
    assert_eq!(read("new/file.log"), "from the task\n");
    assert!(!app.join("old").exists());
    assert_eq!(read("README"), "staged, then changed again\n");
    assert_eq!((read("untracked"), read("new/other.log")), ("u\n".to_owned(), "ignored\n".to_owned()));
    assert_eq!(
        stage.plain(&app, &["diff", "--no-ext-diff", "--cached", "HEAD", "--", "README", "added"]),
        staged
    );
    assert_eq!(stage.plain(&app, &["status", "--porcelain"]), "MM README\nA  added\n?? untracked\n");
    stage.plain(&app, &["commit", "-q", "-a", "-m", "the person's own"]);
    assert_eq!(
        stage.plain(&app, &["show", "HEAD:src/lib.rs"]),
        "changed by the task\n",
        "nothing is reverted"
    );
}

#[test]
fn f6_a_landing_that_would_overwrite_a_change_is_refused_and_nothing_has_happened() {
    type Change = fn(&Stage);
    let changes: [(&str, Change); 9] = [
        ("src/lib.rs", |stage| stage.write(&stage.app(), "src/lib.rs", "mine\n")),
        ("src/lib.rs", |stage| {
            stage.write(&stage.app(), "src/lib.rs", "mine\n");
            stage.plain(&stage.app(), &["add", "-A"]);
        }),
        ("src/lib.rs", |stage| drop(stage.plain(&stage.app(), &["rm", "-q", "src/lib.rs"]))),
        ("src/lib.rs", |stage| {
            stage.plain(&stage.app(), &["update-index", "--assume-unchanged", "src/lib.rs"]);
            stage.write(&stage.app(), "src/lib.rs", "mine, and not to be compared\n");
        }),
        ("old", |stage| stage.write(&stage.app(), "old", "mine\n")),
        ("new/file.log", |stage| stage.write(&stage.app(), "new/file.log", "ignored, and mine\n")),
        ("new", |stage| stage.write(&stage.app(), "new", "a file where a directory lands\n")),
        ("new", |stage| std::os::unix::fs::symlink(stage.path("home"), stage.app().join("new")).unwrap()),
        ("new/file.log/inside", |stage| stage.write(&stage.app(), "new/file.log/inside", "mine\n")),
    ];
    for (number, (named, change)) in changes.into_iter().enumerate() {
        let stage = Stage::new();
        base_with_old(&stage);
        changing_task(&stage);
        let landing = landing(&stage, "t", LandMethod::Rebase);
        let prepared = landing.prepare(&stage.git).unwrap();
        change(&stage);
        let before = state(&stage);
        let error = landing.finish(&stage.git, &prepared).unwrap_err();
        match &error {
            GitError::WouldOverwrite { files, .. } => assert_eq!(files, &[named], "{number}"),
            // git names no change of a file that it is not to compare.
            other => assert!(number == 3 && matches!(other, GitError::Failed { .. }), "{number}: {error}"),
        }
        assert_eq!(state(&stage), before, "{number}");
        landing.abort(&stage.git).unwrap();
        assert!(landing.prepare(&stage.git).is_err(), "it is refused before a gate runs, too");
        assert_eq!(state(&stage), before, "{number}");
        assert!(!landing.scratch.exists());
    }
}

#[test]
fn f6_a_file_that_was_only_touched_and_one_that_is_staged_as_it_lands_refuse_nothing() {
    let stage = Stage::new();
    let app = stage.app();
    base_with_old(&stage);
    changing_task(&stage);
    let landing = landing(&stage, "t", LandMethod::Rebase);
    let prepared = landing.prepare(&stage.git).unwrap();
    std::fs::remove_file(app.join("src/lib.rs")).unwrap();
    stage.write(&app, "src/lib.rs", &stage.plain(&app, &["show", "HEAD:src/lib.rs"]));
    stage.write(&app, "new/file.log", "from the task\n");
    stage.plain(&app, &["add", "-f", "new/file.log"]);
    assert_eq!(landing.finish(&stage.git, &prepared).unwrap(), TargetCheckout::Updated(app.clone()));
    assert_eq!(stage.plain(&app, &["status", "--porcelain"]), "");
}

#[test]
fn f6_a_landing_waits_for_a_merge_that_is_not_finished_in_the_checkout() {
    let stage = Stage::new();
    let app = stage.app();
    base_with_old(&stage);
    changing_task(&stage);
    stage.plain(&app, &["checkout", "-q", "-b", "other"]);
    stage.commit_file(&app, "other", "o\n");
    stage.plain(&app, &["checkout", "-q", "main"]);
    stage.plain(&app, &["merge", "-q", "--no-ff", "--no-commit", "other"]);
    let error = landing(&stage, "t", LandMethod::Rebase).prepare(&stage.git).unwrap_err();
    assert!(matches!(&error, GitError::Unfinished { operation: "a merge", .. }), "{error}");
}

#[test]
fn f6_a_conflict_names_the_files_and_leaves_nothing_behind() {
    for method in [LandMethod::Rebase, LandMethod::Merge] {
        let stage = Stage::new();
        let task = stage.task("t");
        stage.commit_file(&task, "src/lib.rs", "ours\n");
        stage.commit_file(&stage.app(), "src/lib.rs", "theirs\n");
        let before = stage.refs();
        let landing = landing(&stage, "t", method);
        let error = landing.prepare(&stage.git).unwrap_err();
        assert!(matches!(&error, GitError::Conflict { files } if files == &["src/lib.rs"]), "{error}");
        assert_eq!(stage.refs(), before);
        assert!(!landing.scratch.exists());
    }
}

#[test]
fn f6_a_target_that_moved_while_the_gate_ran_is_not_overwritten() {
    let stage = Stage::new();
    let app = stage.app();
    diverged(&stage);
    let landing = landing(&stage, "t", LandMethod::Rebase);
    let prepared = landing.prepare(&stage.git).unwrap();
    let other = stage.commit_file(&app, "other", "o\n");
    let error = landing.finish(&stage.git, &prepared).unwrap_err();
    assert!(matches!(&error, GitError::Moved { reference } if reference == "refs/heads/main"), "{error}");
    assert_eq!(stage.head(&app), other);
    landing.abort(&stage.git).unwrap();
}

/// A task whose history has a merge of the target, in which a person resolved a conflict.
fn merged_task(stage: &Stage) -> std::path::PathBuf {
    let task = stage.task("t");
    stage.commit_file(&task, "src/lib.rs", "ours\n");
    stage.commit_file(&stage.app(), "src/lib.rs", "theirs\n");
    stage.try_plain(&task, &["merge", "-q", "main"]).unwrap_err();
    stage.write(&task, "src/lib.rs", "both\n");
    stage.write(&task, "only-in-the-merge", "m\n");
    stage.commit_all(&task, "merged");
    task
}

#[test]
fn f6_what_a_merge_commit_of_the_branch_holds_lands_by_either_method() {
    for method in [LandMethod::Rebase, LandMethod::Merge] {
        for has_moved_on in [false, true] {
            let stage = Stage::new();
            let app = stage.app();
            merged_task(&stage);
            // A person's settings must not get in the way.
            stage.plain(&app, &["config", "merge.ff", "only"]);
            if has_moved_on {
                stage.commit_file(&app, "main.txt", "m\n");
            }
            let landing = landing(&stage, "t", method);
            let prepared = landing.prepare(&stage.git).unwrap();
            landing.finish(&stage.git, &prepared).unwrap();
            let read = |name: &str| std::fs::read_to_string(app.join(name)).unwrap();
            assert_eq!((read("src/lib.rs"), read("only-in-the-merge")), ("both\n".into(), "m\n".into()));
            assert_eq!(app.join("main.txt").exists(), has_moved_on);
        }
    }
}

#[test]
fn f6_a_landing_with_a_commit_on_top_of_it_has_landed() {
    let stage = Stage::new();
    let app = stage.app();
    diverged(&stage);
    let landing = landing(&stage, "t", LandMethod::Rebase);
    let prepared = landing.prepare(&stage.git).unwrap();
    stage.plain(&app, &["reset", "-q", "--hard", prepared.result.as_str()]);
    let top = stage.commit_file(&app, "top", "t\n");
    let resumed = landing.resume(&stage.git, Some(&prepared), std::time::UNIX_EPOCH).unwrap();
    assert_eq!(resumed, worktree::Resumed::Landed(TargetCheckout::Updated(app.clone())));
    assert_eq!(stage.head(&app), top);
    assert!(!landing.scratch.exists());
}

#[test]
fn f6_a_landing_whose_scratch_worktree_stays_has_landed() {
    let stage = Stage::new();
    diverged(&stage);
    let landing = landing(&stage, "t", LandMethod::Rebase);
    let prepared = landing.prepare(&stage.git).unwrap();
    let git = stage.git_that_fails_at("worktree remove");
    assert_eq!(landing.finish(&git, &prepared).unwrap(), TargetCheckout::Updated(stage.app()));
    assert_eq!(stage.head(&stage.app()), prepared.result);
}
