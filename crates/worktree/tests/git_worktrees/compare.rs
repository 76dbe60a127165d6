//! Whether the base has a branch's work, for every style of merging, and the forecast of conflicts.

use worktree::{ForecastCache, Merged};

use super::stage::Stage;

/// Returns a branch with two commits, merged into `main` by `merge`, after `main` went on.
fn merged_by(merge: &dyn Fn(&Stage)) -> Merged {
    let stage = Stage::new();
    let (app, task) = (stage.app(), stage.task("t"));
    stage.commit_file(&task, "a.txt", "a\n");
    stage.commit_file(&task, "src/lib.rs", "one\ntwo\nTHREE\nfour\nfive\nsix\nseven\n");
    stage.commit_file(&app, "b.txt", "b\n");
    merge(&stage);
    let (base, head) = (stage.head(&app), stage.head(&task));
    stage.repository().compare(&base, &head).unwrap().merged
}

fn squash(stage: &Stage) {
    stage.plain(&stage.app(), &["merge", "-q", "--squash", "t"]);
    stage.plain(&stage.app(), &["commit", "-q", "-m", "squashed"]);
}

#[test]
fn f6_work_is_known_to_be_merged_whatever_the_style() {
    assert_eq!(merged_by(&|_| {}), Merged::No);
    assert_eq!(merged_by(&|stage| drop(stage.plain(&stage.app(), &["merge", "-q", "t"]))), Merged::Ancestor);
    assert_eq!(
        merged_by(&|stage| drop(stage.plain(&stage.app(), &["cherry-pick", "main..t"]))),
        Merged::Rebased
    );
    assert_eq!(merged_by(&squash), Merged::Squashed);
    let squashed_and_changed = |stage: &Stage| {
        squash(stage);
        stage.commit_file(&stage.app(), "src/lib.rs", "one\nagain\nother\n");
    };
    assert_eq!(
        merged_by(&squashed_and_changed),
        Merged::Squashed,
        "the base changed the same lines afterwards"
    );
    let half = |stage: &Stage| drop(stage.plain(&stage.app(), &["cherry-pick", "t~1"]));
    assert_eq!(merged_by(&half), Merged::No, "only the first of two commits is there");
}

#[test]
fn f6_a_branch_without_changes_is_not_merged_but_empty() {
    let stage = Stage::new();
    let (app, task) = (stage.app(), stage.task("t"));
    let compare = || stage.repository().compare(&stage.head(&app), &stage.head(&task)).unwrap();
    assert_eq!(compare().merged, Merged::Nothing);
    stage.commit_file(&task, "a.txt", "a\n");
    stage.plain(&task, &["revert", "--no-edit", "HEAD"]);
    assert_eq!(compare().merged, Merged::Nothing);
}

#[test]
fn f6_the_forecast_names_pairs_and_files_judges_each_pair_once_and_leaves_no_object_behind() {
    let stage = Stage::new();
    let repository = stage.repository();
    let mut commits = vec![("main".to_owned(), stage.head(&stage.app()))];
    for (name, file, text) in [
        ("one", "src/lib.rs", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
        ("two", "src/lib.rs", "uno\ntwo\nthree\nfour\nfive\nsix\nseven\n"),
        ("three", "src/lib.rs", "one\ntwo\nthree\nfour\nfive\nsix\nSEVEN\n"),
        ("four", "new\nline.txt", "x"),
    ] {
        let task = stage.task(name);
        commits.push((name.to_owned(), stage.commit_file(&task, file, text)));
    }
    let before = (stage.plain(&stage.app(), &["count-objects", "-v"]), stage.refs());
    let mut cache = ForecastCache::default();
    let found = repository.forecast(&commits, &mut cache).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].one.as_str(), found[0].other.as_str()), ("one", "two"));
    assert_eq!(found[0].files, ["src/lib.rs"]);
    assert_eq!(cache.len(), 10);
    let started = stage.git.processes_started();
    assert_eq!(repository.forecast(&commits, &mut cache).unwrap(), found);
    assert_eq!(stage.git.processes_started(), started, "known pairs are not judged again");
    assert_eq!((stage.plain(&stage.app(), &["count-objects", "-v"]), stage.refs()), before);
}
