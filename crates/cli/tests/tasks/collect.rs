//! `qd gc`: what is finished goes, what is not stays, and nothing is lost. `qd tasks --dropped`: what can come back.

use crate::stage::{TaskStage, git, state};

const COMMIT: &str = "git add --all && git commit --quiet --message=work";

#[test]
fn k12_gc_drops_merged_tasks_keeps_the_rest_and_does_nothing_in_a_dry_run() {
    let stage = TaskStage::new();
    for name in ["merged", "gone", "unfinished", "busy"] {
        stage.new_task(name);
    }
    for name in ["merged", "unfinished", "busy"] {
        stage.work(name, &format!("echo {name} > {name}.txt && {COMMIT}"));
    }
    for name in ["merged", "busy"] {
        git(&stage.repository, &["merge", "--quiet", "--squash", name]);
        git(&stage.repository, &["commit", "--quiet", "--message", name]);
    }
    std::fs::remove_dir_all(stage.directory("gone")).unwrap();
    stage.qd(&["run", "busy", "--detach", "--", "sleep", "1000000"]);
    let (before, directory) = (state(&stage.repository), stage.directory("merged"));
    let dry = stage.json(&["gc", "--dry-run"]);
    assert_eq!(dry["dropped"], serde_json::json!(["gone", "merged"]), "{dry}");
    assert_eq!(dry["kept"], serde_json::json!([]), "{dry}");
    assert!(directory.exists() && state(&stage.repository) == before);
    let done = stage.json(&["gc"]);
    assert_eq!(done["dropped"], dry["dropped"], "{done}");
    assert!(!directory.exists() && stage.task("merged").is_none() && stage.task("gone").is_none());
    assert!(stage.task("unfinished").is_some() && stage.task("busy").is_some());
    assert_ne!(git(&stage.repository, &["branch", "--list", "merged"]), "", "its branch stays without -b");
    stage.qd(&["restore", "merged"]);
    assert!(directory.join("merged.txt").exists());
    stage.qd(&["gc", "--branch"]);
    assert_eq!(git(&stage.repository, &["branch", "--list", "merged"]), "");
    assert_eq!(stage.qd(&["gc"]), "nothing to drop or to forget\n");
}

#[test]
fn k12_gc_forgets_worktrees_that_were_saved_more_than_14_days_ago() {
    let stage = TaskStage::new();
    stage.new_task("fix");
    stage.qd(&["drop", "fix"]);
    let saved = git(&stage.repository, &["for-each-ref", "--format=%(refname)", "refs/quarterdeck/trash"]);
    let commit = git(&stage.repository, &["rev-parse", saved.trim()]);
    let old = "refs/quarterdeck/trash/ancient/0000000100";
    git(&stage.repository, &["update-ref", old, commit.trim()]);
    let dry = stage.json(&["gc", "--dry-run"]);
    assert_eq!(dry["forgotten"], serde_json::json!([old]), "{dry}");
    assert_eq!(stage.json(&["gc"])["forgotten"], serde_json::json!([old]));
    let left = git(&stage.repository, &["for-each-ref", "--format=%(refname)", "refs/quarterdeck/trash"]);
    assert_eq!(left, saved, "the new one stays");
}

#[test]
fn k7_dropped_tasks_are_listed_until_they_are_back_and_a_restoration_without_a_name_names_them() {
    let stage = TaskStage::new();
    assert_eq!(stage.json(&["tasks", "--dropped"]), serde_json::json!([]));
    let (code, told) = stage.refused(&["restore"]);
    assert!(code == 2 && told.contains("nothing to restore"), "{code} {told}");
    let directory = stage.new_task("fix");
    stage.qd(&["drop", "fix"]);
    stage.new_task("other");
    stage.qd(&["drop", "other", "--branch"]);
    let list = stage.json(&["tasks", "--dropped"]);
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|task| task["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["other", "fix"], "the newest drop comes first");
    assert_eq!((&list[1]["branch"], &list[1]["is_name_taken"]), (&"fix".into(), &false.into()), "{list}");
    assert_eq!(list[1]["directory"], directory.to_str().unwrap());
    let kept = list[1]["kept_until"].as_u64().unwrap() - list[1]["dropped_at"].as_u64().unwrap();
    assert_eq!(kept, 14 * 24 * 3_600_000);
    let (code, told) = stage.refused(&["restore"]);
    assert!(code == 2 && told.contains("other, fix") && told.contains("qd tasks --dropped"), "{code} {told}");
    let (code, told) = stage.refused(&["restore", "nobody"]);
    assert!(code == 3 && told.contains("qd tasks --dropped"), "{code} {told}");
    let complete = stage.qd(&["complete", "--", "restore", ""]);
    assert_eq!(complete, "fix\nother\n");
    // A task of the same name stands in its way, which the list says.
    stage.new_task("other");
    let list = stage.json(&["tasks", "--dropped"]);
    assert_eq!(list[0]["is_name_taken"], true, "{list}");
    assert!(stage.qd(&["tasks", "--dropped"]).contains("qd drop other first"));
    let (code, told) = stage.refused(&["restore", "other"]);
    assert!(code == 7 && told.contains("another task"), "{code} {told}");
    stage.qd(&["restore", "fix"]);
    let names = stage.json(&["tasks", "--dropped"]);
    assert!(directory.exists() && names.as_array().unwrap().len() == 1, "{names}");
}
