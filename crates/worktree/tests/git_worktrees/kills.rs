//! `kill -9` before and after every git command of every operation, and of git itself in the middle of a checkout: what is
//! there afterwards is the old state or the new one, or becomes it by resuming.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use worktree::{
    Creation, Git, GitError, LandMethod, LandRequest, Landing, Prepared, Removal, RemoveRequest, Restoration,
    Resumed, StartPoint,
};

use super::stage::{Stage, branch, contents, environment};

/// Names the operation, the program to use as git, the home directory and the plan, one on each line.
pub(crate) const STEPS: &str = "WORKTREE_TEST_STEPS";

/// Not a test by itself: the process that the tests below kill. It executes the plan from its environment,
/// and does nothing without one.
#[test]
fn carries_out_a_plan_for_the_other_tests() {
    let Ok(text) = std::env::var(STEPS) else { return };
    let [operation, program, home, plan] = text.splitn(4, '\n').collect::<Vec<_>>()[..] else { return };
    let git = Git::new(program, environment(Path::new(home))).unwrap();
    match operation {
        "create" => serde_json::from_str::<Creation>(plan).unwrap().run(&git).unwrap(),
        "remove" => serde_json::from_str::<Removal>(plan).unwrap().run(&git).map(drop).unwrap(),
        "restore" => serde_json::from_str::<Restoration>(plan).unwrap().run(&git).unwrap(),
        "prepare" => drop(serde_json::from_str::<Landing>(plan).unwrap().prepare(&git).unwrap()),
        "finish" => {
            let (landing, prepared): (Landing, Prepared) = serde_json::from_str(plan).unwrap();
            landing.finish(&git, &prepared).unwrap();
        }
        other => panic!("{other}"),
    }
}

/// Returns a git that kills its parent before or after the `number`th command, `git version` not counted.
fn deadly_git(stage: &Stage, number: usize, is_before: bool) -> PathBuf {
    let program = stage.path(&format!("deadly-{number}-{is_before}"));
    let counter = program.with_extension("count");
    let (before, after) = if is_before { ("kill -9 $PPID; exit 1", "") } else { ("", "kill -9 $PPID") };
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *' version') exec git \"$@\";; esac\necho >>{counter}\n\
         if [ $(wc -l <{counter}) -ne {number} ]; then exec git \"$@\"; fi\n{before}\ngit \"$@\"\n{after}\n",
        counter = counter.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Executes a plan in a process of its own; returns true if it lived to the end.
fn survives(stage: &Stage, operation: &str, program: &Path, plan: &str) -> bool {
    let steps = format!("{operation}\n{}\n{}\n{plan}", program.display(), stage.home().display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::carries_out_a_plan_for_the_other_tests"]).env(STEPS, steps);
    command.output().unwrap().status.success()
}

/// Kills at every step until an operation has none left; `check` resumes and checks the result.
fn at_every_step(operation: &str, prepare: &dyn Fn(&Stage) -> String, check: &dyn Fn(&Stage, &str)) {
    let mut kills = 0;
    for is_before in [true, false] {
        for number in 1.. {
            let stage = Stage::new();
            let plan = prepare(&stage);
            let is_over = survives(&stage, operation, &deadly_git(&stage, number, is_before), &plan);
            check(&stage, &plan);
            if is_over {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills >= 2, "{operation}: nothing was killed");
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn f6_a_creation_that_is_killed_at_any_step_is_finished_or_undone() {
    let prepare = |stage: &Stage| json(&stage.plan("t", StartPoint::DefaultBranch));
    at_every_step("create", &prepare, &|stage, plan| {
        let creation: Creation = serde_json::from_str(plan).unwrap();
        creation.resume(&stage.git).unwrap();
        assert_eq!(contents(&creation.path), contents(&stage.app()));
        assert_eq!(stage.plain(&creation.path, &["status", "--porcelain", "--branch"]), "## t\n");
        assert!(stage.repository().worktrees().unwrap()[1].locked.is_none());
        creation.resume(&stage.git).unwrap();
    });
    at_every_step("create", &prepare, &|stage, plan| {
        let creation: Creation = serde_json::from_str(plan).unwrap();
        creation.undo(&stage.git).unwrap();
        assert!(!creation.path.exists());
        assert_eq!(stage.repository().worktrees().unwrap().len(), 1);
        assert!(stage.try_plain(&stage.app(), &["rev-parse", "--verify", "t"]).is_err());
        creation.undo(&stage.git).unwrap();
    });
}

#[test]
fn f6_a_git_that_is_killed_in_the_middle_of_a_checkout_is_made_up_for() {
    let stage = Stage::new();
    let app = stage.app();
    for number in 0..20 {
        stage.write(&app, &format!("file{number:02}.dat"), &"content\n".repeat(100));
    }
    stage.write(&app, ".gitattributes", "file1*.dat filter=deadly\n");
    stage.plain(&app, &["config", "filter.deadly.smudge", "kill -9 $PPID; cat"]);
    stage.plain(&app, &["config", "filter.deadly.clean", "cat"]);
    stage.commit_all(&app, "files");
    let creation = stage.plan("t", StartPoint::DefaultBranch);
    creation.run(&stage.git).unwrap_err();
    assert!(!creation.path.join("file19.dat").exists(), "it was killed too late to prove anything");
    stage.plain(&app, &["config", "filter.deadly.smudge", "cat"]);
    let undone = stage.plan("u", StartPoint::DefaultBranch);
    creation.resume(&stage.git).unwrap();
    assert_eq!(contents(&creation.path), contents(&app));
    assert_eq!(stage.plain(&creation.path, &["status", "--porcelain"]), "");
    undone.run(&stage.git).unwrap();
}

/// Returns a task with one of everything that a removal could lose.
fn dirty_task(stage: &Stage) -> PathBuf {
    let task = stage.task("t");
    stage.commit_file(&task, "committed", "c\n");
    stage.write(&task, "README", "changed\n");
    stage.write(&task, "staged", "staged\n");
    stage.plain(&task, &["add", "staged"]);
    stage.write(&task, "staged", "staged and changed\n");
    stage.write(&task, "free/untracked", "u\n");
    task
}

fn removal(stage: &Stage) -> Removal {
    let request = RemoveRequest {
        path: stage.path("tasks/app--t"),
        task: branch("t"),
        branch: Some(branch("t")),
        base: None,
        force: true,
    };
    stage.repository().plan_removal(&request, UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap()
}

#[test]
fn f6_a_removal_that_is_killed_at_any_step_loses_nothing_and_is_finished() {
    let prepare = |stage: &Stage| {
        dirty_task(stage);
        json(&removal(stage))
    };
    at_every_step("remove", &prepare, &|stage, plan| {
        let removal: Removal = serde_json::from_str(plan).unwrap();
        removal.resume(&stage.git).unwrap();
        assert_eq!(std::fs::read_dir(stage.path("tasks")).unwrap().count(), 0, "nothing is left beside it");
        assert_eq!(stage.repository().worktrees().unwrap().len(), 1);
        let repository = stage.repository();
        repository.plan_restoration(removal.trash.as_deref().unwrap()).unwrap().run(&stage.git).unwrap();
        let other = Stage::new();
        assert_eq!(contents(&removal.path), contents(&dirty_task(&other)));
    });
}

#[test]
fn f6_a_restoration_that_is_killed_at_any_step_is_finished() {
    let prepare = |stage: &Stage| {
        dirty_task(stage);
        let removal = removal(stage);
        removal.run(&stage.git).unwrap();
        json(&stage.repository().plan_restoration(removal.trash.as_deref().unwrap()).unwrap())
    };
    let wanted = Stage::new();
    let task = dirty_task(&wanted);
    let status = wanted.plain(&task, &["status", "--porcelain"]);
    at_every_step("restore", &prepare, &|stage, plan| {
        let restoration: Restoration = serde_json::from_str(plan).unwrap();
        restoration.run(&stage.git).unwrap();
        assert_eq!(contents(&restoration.path), contents(&task));
        assert_eq!(stage.plain(&restoration.path, &["status", "--porcelain"]), status);
    });
}

fn landing(stage: &Stage, method: LandMethod) -> Landing {
    let task = stage.task("t");
    stage.commit_file(&task, "src/lib.rs", "one\ntwo\nTHREE\nfour\nfive\nsix\nseven\n");
    stage.commit_file(&task, "landed", "l\n");
    stage.commit_file(&stage.app(), "main.txt", "m\n");
    let request =
        LandRequest { branch: branch("t"), target: branch("main"), method, root: stage.path("tasks") };
    stage.repository().plan_landing(&request).unwrap()
}

#[test]
fn f6_a_landing_that_is_killed_while_it_is_prepared_leaves_everything_as_it_was() {
    let prepare = |stage: &Stage| {
        let landing = landing(stage, LandMethod::Rebase);
        std::fs::write(stage.path("before"), stage.refs()).unwrap();
        json(&landing)
    };
    at_every_step("prepare", &prepare, &|stage, plan| {
        let landing: Landing = serde_json::from_str(plan).unwrap();
        assert_eq!(landing.resume(&stage.git, None, UNIX_EPOCH).unwrap(), Resumed::Aborted);
        assert_eq!(stage.refs(), std::fs::read_to_string(stage.path("before")).unwrap());
        assert_eq!(stage.plain(&stage.app(), &["status", "--porcelain"]), "");
        assert!(!landing.scratch.exists());
    });
}

#[test]
fn f6_a_landing_that_is_killed_while_it_finishes_has_landed_or_not() {
    let prepare = |stage: &Stage| {
        let landing = landing(stage, LandMethod::Merge);
        let prepared = landing.prepare(&stage.git).unwrap();
        json(&(landing, prepared))
    };
    at_every_step("finish", &prepare, &|stage, plan| {
        let (landing, prepared): (Landing, Prepared) = serde_json::from_str(plan).unwrap();
        let app = stage.app();
        let has_moved = stage.head(&app) == prepared.result;
        let resumed = landing.resume(&stage.git, Some(&prepared), UNIX_EPOCH).unwrap();
        assert_eq!(matches!(resumed, Resumed::Landed(_)), has_moved, "{resumed:?}");
        assert_eq!(stage.plain(&app, &["status", "--porcelain"]), "");
        assert_eq!(app.join("landed").exists(), has_moved);
        assert!(!landing.scratch.exists());
    });
}

#[test]
fn f6_a_landing_that_is_killed_while_it_finishes_keeps_a_persons_changes_in_the_checkout() {
    let prepare = |stage: &Stage| {
        let landing = landing(stage, LandMethod::Merge);
        let prepared = landing.prepare(&stage.git).unwrap();
        stage.write(&stage.app(), "README", "a person's work\n");
        json(&(landing, prepared))
    };
    at_every_step("finish", &prepare, &|stage, plan| {
        let (landing, prepared): (Landing, Prepared) = serde_json::from_str(plan).unwrap();
        let app = stage.app();
        let has_moved = stage.head(&app) == prepared.result;
        landing.resume(&stage.git, Some(&prepared), UNIX_EPOCH).unwrap();
        assert_eq!(stage.plain(&app, &["status", "--porcelain"]), " M README\n");
        assert_eq!(std::fs::read_to_string(app.join("README")).unwrap(), "a person's work\n");
        assert_eq!(app.join("landed").exists(), has_moved);
    });
}

#[test]
fn f6_a_checkout_that_was_cut_short_is_completed_beside_a_persons_changes() {
    let stage = Stage::new();
    let app = stage.app();
    let landing = landing(&stage, LandMethod::Merge);
    let prepared = landing.prepare(&stage.git).unwrap();
    stage.write(&app, "README", "a person's work\n");
    stage.plain(&app, &["update-ref", "refs/heads/main", prepared.result.as_str()]);
    stage.write(&app, "src/lib.rs", "one\ntw");
    stage.write(&app, "landed", "l\n");
    let resumed = landing.resume(&stage.git, Some(&prepared), UNIX_EPOCH).unwrap();
    let Resumed::Landed(worktree::TargetCheckout::Rewritten(path, saved)) = resumed else {
        panic!("{resumed:?}")
    };
    assert_eq!(path, app);
    assert_eq!(stage.plain(&app, &["status", "--porcelain"]), " M README\n");
    assert_eq!(std::fs::read_to_string(app.join("README")).unwrap(), "a person's work\n");
    let half = stage.plain(&app, &["show", &format!("{saved}:worktree/src/lib.rs")]);
    assert_eq!(half, "one\ntw", "what was there is saved, and the caller knows where");
}

#[test]
fn f6_a_second_operation_on_the_same_worktree_is_busy_while_the_first_one_works() {
    let stage = Stage::new();
    let app = stage.app();
    let fifo = stage.path("gate");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    stage.write(&app, ".gitattributes", "slow filter=slow\n");
    stage.write(&app, "slow", "slow\n");
    stage.plain(&app, &["config", "filter.slow.smudge", &format!("read line <{}; cat", fifo.display())]);
    stage.plain(&app, &["config", "filter.slow.clean", "cat"]);
    stage.commit_all(&app, "slow");
    let creation = stage.plan("t", StartPoint::DefaultBranch);
    let (git, again) = (stage.git.clone(), creation.clone());
    let first = std::thread::spawn(move || again.run(&git));
    // Opening it waits until the filter, and with it the checkout, has begun.
    let mut gate = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    let error = creation.run(&stage.git).unwrap_err();
    assert!(matches!(error, GitError::Busy { .. }), "{error}");
    std::io::Write::write_all(&mut gate, b"go\n").unwrap();
    first.join().unwrap().unwrap();
}
