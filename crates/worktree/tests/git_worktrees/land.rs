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
fn f6_a_gate_that_fails_leaves_references_index_checkout_and_settings_as_they_were() {
    let stage = Stage::new();
    let app = stage.app();
    diverged(&stage);
    stage.write(&app, "README", "a person's work\n");
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

#[test]
fn f6_a_dirty_checkout_of_the_target_is_left_and_said() {
    for (file, text) in [("README", "a person's work\n"), ("landed", "untracked where a file lands\n")] {
        let stage = Stage::new();
        let app = stage.app();
        diverged(&stage);
        stage.write(&app, file, text);
        let before = contents(&app);
        let landing = landing(&stage, "t", LandMethod::Rebase);
        let prepared = landing.prepare(&stage.git).unwrap();
        assert_eq!(landing.finish(&stage.git, &prepared).unwrap(), TargetCheckout::Left(app.clone()));
        assert_eq!(contents(&app), before, "{file}");
        assert_eq!(stage.head(&app), prepared.result);
    }
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
