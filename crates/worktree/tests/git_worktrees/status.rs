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
    assert!(worktree::Fingerprint::take(&layout).is_none());
    stage.write(&task, "README", "changed");
    let mut cache = StatusCache::default();
    for _ in 0..3 {
        let before = stage.git.processes_started();
        let status = cache.status(&stage.git, &query(&stage, &task, "t")).unwrap();
        assert_eq!(status.checkout.unwrap().unstaged, 1);
        assert!(stage.git.processes_started() > before);
    }
}
