//! Statuses, and that they cost no git process while nothing changes.

use std::path::Path;

use worktree::{StatusCache, StatusQuery, WorktreeStatus};

use super::stage::Stage;

fn query(stage: &Stage, path: &Path, branch: &str) -> StatusQuery {
    StatusQuery {
        common_dir: stage.app().join(".git"),
        path: path.to_owned(),
        branch: Some(branch.to_owned()),
        base: None,
        start: None,
    }
}

/// Reads until the fingerprints are older than the clock's tick, so that the next result may come from
/// memory.
fn settled(cache: &mut StatusCache, stage: &Stage, query: &StatusQuery) -> WorktreeStatus {
    loop {
        let before = stage.git.processes_started();
        let status = cache.status(&stage.git, query).unwrap();
        if stage.git.processes_started() == before {
            return status;
        }
    }
}

#[test]
fn f6_a_status_counts_what_is_staged_changed_untracked_and_stashed_and_how_far_it_is_ahead() {
    let stage = Stage::new();
    let app = stage.app();
    let task = stage.task("t");
    stage.commit_file(&task, "new.txt", "1\n2\n3\n");
    stage.commit_file(&app, "other.txt", "x");
    stage.write(&task, "README", "stashed\n");
    stage.plain(&task, &["stash", "-q"]);
    stage.write(&task, "src/lib.rs", "one\n");
    stage.write(&task, "staged.txt", "1\n");
    stage.plain(&task, &["add", "staged.txt"]);
    stage.write(&task, "free/a", "");
    stage.write(&task, "x.log", "ignored");
    let mut cache = StatusCache::default();
    let status = cache.status(&stage.git, &query(&stage, &task, "t")).unwrap();
    let checkout = status.checkout.unwrap();
    assert_eq!((checkout.staged, checkout.unstaged, checkout.untracked, checkout.conflicted), (1, 1, 1, 0));
    assert_eq!(checkout.branch.as_deref(), Some("t"));
    let comparison = status.comparison.unwrap();
    assert_eq!((comparison.ahead, comparison.behind), (1, 1));
    assert_eq!((status.lines.added, status.lines.removed), (4, 6));
    assert_eq!((status.stashes, status.unpushed), (1, None));
}

#[test]
fn f6_an_unchanged_worktree_costs_no_git_process_and_every_change_is_seen() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.write(&task, "build/deep/er/out.bin", "ignored");
    std::fs::create_dir_all(task.join("empty/inside")).unwrap();
    let query = query(&stage, &task, "t");
    let mut cache = StatusCache::default();
    let quiet = settled(&mut cache, &stage, &query);
    assert_eq!(quiet.checkout.as_ref().unwrap().untracked, 0);
    let changes: [(&str, &dyn Fn()); 7] = [
        ("an edit of the same length deep in the tree", &|| {
            stage.write(&task, "src/lib.rs", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n")
        }),
        ("a new file beside tracked ones", &|| stage.write(&task, "src/new.rs", "")),
        ("the first file of an empty directory", &|| stage.write(&task, "empty/inside/file", "")),
        ("a commit", &|| drop(stage.commit_all(&task, "all"))),
        ("a rule that ignores less", &|| stage.write(&task, ".gitignore", "*.log\n")),
        ("a file that is gone", &|| std::fs::remove_file(task.join("README")).unwrap()),
        ("a base that moved on", &|| drop(stage.commit_file(&stage.app(), "main.txt", "x"))),
    ];
    let mut last = quiet;
    for (what, change) in changes {
        change();
        let status = cache.status(&stage.git, &query).unwrap();
        assert_ne!(status, last, "{what} was not seen");
        last = settled(&mut cache, &stage, &query);
        assert_eq!(last, status, "{what}");
        let fresh = StatusCache::default().status(&stage.git, &query).unwrap();
        assert_eq!(last, fresh, "{what}");
    }
}

#[test]
fn f6_a_branch_or_directory_that_is_gone_and_a_detached_head_are_told() {
    let stage = Stage::new();
    let task = stage.task("t");
    let mut cache = StatusCache::default();
    stage.plain(&task, &["checkout", "-q", "--detach"]);
    let detached = cache.status(&stage.git, &query(&stage, &task, "t")).unwrap();
    assert_eq!(detached.checkout.unwrap().branch, None);
    assert!(detached.commit.is_some());
    stage.plain(&stage.app(), &["branch", "-q", "-D", "t"]);
    let gone = cache.status(&stage.git, &query(&stage, &task, "t")).unwrap();
    assert_eq!((gone.commit, gone.comparison), (None, None));
    std::fs::remove_dir_all(&task).unwrap();
    let gone = cache.status(&stage.git, &query(&stage, &task, "t")).unwrap();
    assert_eq!(gone.checkout, None);
}

#[test]
fn f6_a_checked_out_submodule_and_a_split_index_are_asked_of_git_each_time() {
    let stage = Stage::new();
    let task = stage.task("t");
    stage.plain(&task, &["update-index", "--split-index"]);
    let layout = worktree::Layout::at(&task).unwrap();
    assert!(worktree::Fingerprint::compute(&layout).is_none());
    stage.write(&task, "README", "changed");
    let mut cache = StatusCache::default();
    for _ in 0..3 {
        let before = stage.git.processes_started();
        let status = cache.status(&stage.git, &query(&stage, &task, "t")).unwrap();
        assert_eq!(status.checkout.unwrap().unstaged, 1);
        assert!(stage.git.processes_started() > before);
    }
}

/// A way to change a checkout: the worktree, the file that is chosen, and a number that differs each time.
type Act = fn(&Stage, &Path, &str, u64);

const ACTS: &[(&str, Act)] = &[
    ("edit in place", |stage, task, file, number| stage.write(task, file, &format!("{number}\nx\n"))),
    ("edit of the same length", |stage, task, file, number| {
        stage.write(task, file, &format!("{}\n", number % 10))
    }),
    ("edit by rename", |stage, task, file, number| {
        stage.write(task, "src/deep/.new", &format!("{number}\n"));
        std::fs::create_dir_all(task.join(file).parent().unwrap()).unwrap();
        std::fs::rename(task.join("src/deep/.new"), task.join(file)).unwrap();
    }),
    ("delete", |_, task, file, _| drop(std::fs::remove_file(task.join(file)))),
    ("new file", |stage, task, _, number| stage.write(task, &format!("src/deep/new{number}"), "1\n")),
    ("new directory", |stage, task, _, number| stage.write(task, &format!("src/dir{number}/a/b"), "1\n")),
    ("stage all", |stage, task, _, _| drop(stage.try_plain(task, &["add", "-A"]))),
    ("commit all", |stage, task, _, _| {
        drop(stage.try_plain(task, &["add", "-A"]));
        drop(stage.try_plain(task, &["commit", "-q", "-m", "all"]));
    }),
    ("rename", |stage, task, file, number| {
        drop(stage.try_plain(task, &["mv", file, &format!("src/moved{number}")]));
    }),
    ("intent to add", |stage, task, _, _| drop(stage.try_plain(task, &["add", "-N", "."]))),
    ("take back", |stage, task, _, _| drop(stage.try_plain(task, &["checkout", "HEAD", "--", "."]))),
    ("mode", |_, task, file, _| {
        use std::os::unix::fs::PermissionsExt;
        drop(std::fs::set_permissions(task.join(file), std::fs::Permissions::from_mode(0o755)));
    }),
    ("link instead of a file", |_, task, file, _| {
        drop(std::fs::remove_file(task.join(file)));
        drop(std::os::unix::fs::symlink("nowhere", task.join(file)));
    }),
    ("link instead of a directory", |_, task, _, number| {
        drop(std::fs::rename(task.join("src/deep"), task.join(format!("src/was{number}"))));
        drop(std::os::unix::fs::symlink(format!("was{number}"), task.join("src/deep")));
    }),
    ("rule", |stage, task, _, number| stage.write(task, "src/.gitignore", &format!("new{number}\n"))),
    ("base", |stage, _, _, number| {
        drop(stage.commit_file(&stage.app(), "src/deep/a", &format!("base {number}\n")));
    }),
    ("undo a commit", |stage, task, _, _| drop(stage.try_plain(task, &["reset", "--soft", "HEAD~1"]))),
    ("another index with the same content", |stage, task, _, _| drop(stage.try_plain(task, &["status"]))),
];

/// Changes a worktree again and again, by a fixed sequence that looks like chance, and compares after each change.
fn compare_after_changes(seed: u64) {
    let stage = Stage::new();
    for file in ["src/deep/a", "src/deep/b", "src/deep/c[1]", "src/d"] {
        stage.commit_file(&stage.app(), file, "1\n2\n3\n");
    }
    let task = stage.task("t");
    let query = query(&stage, &task, "t");
    let files = ["src/deep/a", "src/deep/b", "src/deep/c[1]", "src/d", "README", "src/lib.rs"];
    let mut cache = StatusCache::default();
    let mut done: Vec<&str> = Vec::new();
    let mut random = seed;
    for number in 0..50 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = |length: usize, shift: u32| {
            let bits = (random >> shift) % u64::try_from(length).unwrap();
            usize::try_from(bits).unwrap()
        };
        if pick(3, 20) == 0 {
            settled(&mut cache, &stage, &query);
        }
        let (name, act) = ACTS[pick(ACTS.len(), 33)];
        act(&stage, &task, files[pick(files.len(), 48)], number);
        done.push(name);
        let known = cache.status(&stage.git, &query).unwrap();
        let fresh = StatusCache::default().status(&stage.git, &query).unwrap();
        assert_eq!(known, fresh, "seed {seed}, after {done:?}");
    }
}

#[test]
fn f6_whatever_changes_a_remembered_status_is_the_one_that_a_first_look_finds() {
    let first = std::env::var("QD_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    (first..first + 2).for_each(compare_after_changes);
}

#[test]
fn f6_after_an_edit_git_is_asked_about_the_edited_file_alone() {
    let stage = Stage::new();
    stage.commit_file(&stage.app(), "src/deep/a", "1\n");
    let task = stage.task("t");
    stage.commit_file(&task, "src/other", "1\n");
    let query = query(&stage, &task, "t");
    let calls = stage.path("calls");
    let git = stage.git_that_does(&format!("echo \"$*\" >>'{}'", calls.display()), "");
    let mut cache = StatusCache::default();
    let mut settle = || loop {
        let before = git.processes_started();
        let status = cache.status(&git, &query).unwrap();
        if git.processes_started() == before {
            return status;
        }
    };
    settle();
    for edit in ["in place", "by rename"] {
        std::fs::write(&calls, "").unwrap();
        match edit {
            "in place" => stage.write(&task, "src/deep/a", "2\n3\n"),
            _ => {
                stage.write(&task, "src/deep/.new", "4\n5\n6\n");
                std::fs::rename(task.join("src/deep/.new"), task.join("src/deep/a")).unwrap();
            }
        }
        let status = settle();
        assert_eq!(status.checkout.unwrap().unstaged, 1, "{edit}");
        let lines = (status.lines.added, status.lines.removed);
        assert_eq!(lines, if edit == "in place" { (3, 1) } else { (4, 1) }, "{edit}");
        let asked = std::fs::read_to_string(&calls).unwrap();
        assert!(!asked.is_empty(), "{edit}");
        for call in asked.lines() {
            assert!(call.contains(" -- src/deep"), "{edit}: git {call}");
        }
    }
}
