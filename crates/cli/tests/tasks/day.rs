//! A day with tasks, by the verbs that a person types.

use std::path::PathBuf;

use daemon::TaskFailpoint;

use crate::killed::succeeds;
use crate::stage::{TaskStage, differences, git, state};

const COMMIT: &str = "git add --all && git commit --quiet --message=work";

fn change(file: &str, line: &str) -> String {
    format!("sed -i 's/two/{line}/' {file} && {COMMIT}")
}

#[test]
fn k7_tasks_are_made_worked_on_forecast_landed_and_dropped_and_their_statuses_are_right() {
    let stage = TaskStage::new();
    let repository = stage.repository.clone();
    for name in ["merged", "squashed", "deleted", "branchless", "dirty"] {
        let directory = stage.new_task(name);
        assert!(directory.join("shared").exists(), "{name} has a checkout");
        assert_eq!(stage.status(name), "idle", "{name} is new, not merged");
    }
    for name in ["merged", "squashed", "deleted", "branchless"] {
        stage.work(name, &format!("echo {name} > {name}.txt && {COMMIT}"));
        let task = stage.task(name).unwrap();
        assert_eq!(task["git"]["ahead"], 1, "{task}");
        assert_eq!(task["runs"][0]["exit"]["code"], 0, "{task}");
    }
    git(&repository, &["merge", "--quiet", "--no-ff", "--no-edit", "merged"]);
    git(&repository, &["merge", "--quiet", "--squash", "squashed"]);
    git(&repository, &["commit", "--quiet", "--message=squashed"]);
    std::fs::remove_dir_all(stage.directory("deleted")).unwrap();
    git(&repository, &["update-ref", "-d", "refs/heads/branchless"]);
    let dirty = stage.directory("dirty");
    std::fs::write(dirty.join("untracked"), [0, 159, 146, 150]).unwrap();
    std::fs::write(dirty.join("shared"), "changed\n").unwrap();
    for (name, status) in [
        ("merged", "merged"),
        ("squashed", "merged"),
        ("deleted", "gone"),
        ("branchless", "orphan"),
        ("dirty", "idle"),
    ] {
        assert_eq!(stage.status(name), status, "{name}: {}", stage.task(name).unwrap());
    }
    // Nothing is lost: a drop of the dirty one is refused, and by force it comes back byte for byte.
    let (code, told) = stage.refused(&["drop", "dirty"]);
    assert!(code == 7 && told.contains("untracked") && told.contains("--force"), "{code} {told}");
    succeeds(&stage, TaskFailpoint::Planned, &["drop", "dirty", "--force"]);
    assert!(!dirty.exists() && stage.task("dirty").is_none());
    stage.qd(&["restore", "dirty"]);
    assert_eq!(std::fs::read(dirty.join("untracked")).unwrap(), [0, 159, 146, 150]);
    assert_eq!(std::fs::read_to_string(dirty.join("shared")).unwrap(), "changed\n");
    // A name is free again after a drop.
    stage.qd(&["drop", "merged", "--branch"]);
    stage.new_task("merged");
    assert!(stage.task("merged").unwrap()["runs"].as_array().unwrap().is_empty());
}

#[test]
fn k7_the_forecast_names_the_tasks_and_files_and_a_landing_moves_all_or_nothing() {
    let stage = TaskStage::new();
    let repository = stage.repository.clone();
    for name in ["left", "right", "apart", "failing"] {
        stage.new_task(name);
    }
    stage.work("left", &change("shared", "LEFT"));
    stage.work("right", &change("shared", "RIGHT"));
    stage.work("apart", &change("other", "APART"));
    stage.work("failing", &format!("echo broken > broken && {COMMIT}"));
    let forecast = stage.json(&["forecast"]);
    assert_eq!(forecast.as_array().unwrap().len(), 1, "{forecast}");
    assert_eq!(forecast[0]["task"], "left");
    assert_eq!(forecast[0]["conflict"]["with"], "right");
    assert_eq!(forecast[0]["conflict"]["files"][0], "shared");
    assert_eq!(stage.status("left"), "conflict");
    assert_eq!(stage.status("apart"), "idle");
    let stat = stage.qd(&["diff", "left", "--stat"]);
    assert_eq!(stat, "+1 -1 shared\n");
    assert!(stage.qd(&["diff", "left"]).contains("+LEFT"));
    assert_eq!(stage.qd(&["diff", "left", "--stat", "--base", "left"]), "", "against its own branch");
    assert_eq!(stage.refused(&["diff", "left", "--base", "nowhere"]).0, 3);
    // Those that fit land in order, with a gate that sees the combined result.
    stage.qd(&["land", "left", "--gate", "grep LEFT shared"]);
    let gate = "grep LEFT shared && grep APART other";
    succeeds(&stage, TaskFailpoint::GateStarted, &["land", "apart", "--gate", gate]);
    let landed = std::fs::read_to_string(repository.join("shared")).unwrap();
    assert_eq!(landed, "one\nLEFT\nthree\n", "the checkout of the target is up to date");
    assert_eq!(stage.status("left"), "merged");
    // The one that does not fit, and the one whose gate fails, change nothing at all.
    let before = state(&repository);
    let (code, told) = stage.refused(&["land", "right"]);
    assert!(code == 7 && told.contains("conflict in shared"), "{code} {told}");
    assert_eq!(differences(&state(&repository), &before), [""; 0].map(PathBuf::from));
    let (code, told) = stage.refused(&["land", "failing", "--gate", "echo the gate speaks; exit 3"]);
    assert!(code == 7 && told.contains("failed with 3") && told.contains("the gate speaks"), "{code} {told}");
    assert_eq!(differences(&state(&repository), &before), [""; 0].map(PathBuf::from));
    let task = stage.task("failing").unwrap();
    assert!(task["operation"].is_null() && stage.daemon.list().is_empty(), "{task}");
    // What is not committed does not land by half.
    std::fs::write(stage.directory("failing").join("forgotten"), "x").unwrap();
    let (_, told) = stage.refused(&["land", "failing"]);
    assert!(told.contains("not committed"), "{told}");
    // The list says why it did not land, until the branch has gone on; a refusal before anything was tried is not kept.
    assert!(stage.task("failing").unwrap()["failure"].as_str().unwrap().contains("the gate failed with 3"));
    stage.work("failing", COMMIT);
    assert!(stage.task("failing").unwrap()["failure"].is_null());
}

#[test]
fn k7_a_task_that_conflicts_with_its_base_makes_no_conflict_of_the_tasks_that_have_the_new_base() {
    let stage = TaskStage::new();
    for name in ["old", "same"] {
        stage.new_task(name);
    }
    stage.work("old", &change("shared", "OLD"));
    stage.work("same", &change("shared", "SAME"));
    std::fs::write(stage.repository.join("shared"), "one\nMAIN\nthree\n").unwrap();
    git(&stage.repository, &["commit", "--quiet", "--all", "--message=main"]);
    stage.new_task("new");
    stage.work("new", &change("other", "NEW"));
    stage.new_task("also");
    stage.work("also", "sed -i 's/MAIN/ALSO/' shared && git commit --quiet --all --message=also");
    assert_eq!(stage.status("new"), "idle", "it has not touched the file: {}", stage.task("new").unwrap());
    let said = stage.qd(&["forecast"]);
    let expected = [
        "also and old: shared",
        "also and same: shared",
        "old and main: shared",
        "old and same: shared",
        "same and main: shared",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn k7_verbs_without_a_name_mean_the_task_of_the_directory() {
    let stage = TaskStage::new();
    let directory = stage.new_task("here");
    std::fs::create_dir(directory.join("deep")).unwrap();
    std::fs::write(directory.join("deep/new"), "x\n").unwrap();
    let output =
        stage.daemon.command(&["diff", "--stat"]).current_dir(directory.join("deep")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "+1 -0 deep/new\n");
    stage.work("here", COMMIT);
    stage.qd(&["run", "here", "--detach", "--", "sleep", "1000000"]);
    for (verb, words) in [("stop", "stopped here\n"), ("land", "landed here on main at ")] {
        let output = stage.daemon.command(&[verb]).current_dir(directory.join("deep")).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.starts_with(words), "{verb}: {told} {}", String::from_utf8_lossy(&output.stderr));
        let (code, told) = stage.refused(&[verb]);
        assert!(code == 3 && told.contains("no task works in"), "{verb}: {code} {told}");
    }
    let (code, told) = stage.refused(&["diff", "--stat"]);
    assert!(code == 3 && told.contains("no task works in"), "{code} {told}");
}

#[test]
fn k2_a_commit_that_a_person_makes_by_hand_counts_as_activity() {
    let stage = TaskStage::new();
    let directory = stage.new_task("fix");
    let active = || stage.task("fix").unwrap()["active_at"].as_u64().unwrap();
    let before = active();
    std::fs::write(directory.join("new"), "x\n").unwrap();
    assert_eq!(active(), before);
    git(&directory, &["add", "--all"]);
    git(&directory, &["commit", "--quiet", "--message=by hand"]);
    assert!(active() > before);
}

#[test]
fn k4_comments_survive_a_kill_and_are_stale_when_their_lines_change() {
    let stage = TaskStage::new();
    let directory = stage.new_task("fix");
    stage.work("fix", &change("shared", "TWO"));
    stage.qd(&["review", "fix", "add", "shared:2-3", "why upper case?"]);
    stage.qd(&["review", "fix", "add", "shared:2", "and before?", "--old"]);
    let (code, _) = stage.refused(&["review", "fix", "add", "../../secret:1", "x"]);
    assert_eq!(code, 2);
    stage.daemon.kill_9();
    let review = stage.json(&["review", "fix"]);
    assert_eq!(review["comments"][0]["quoted"], serde_json::json!(["TWO", "three"]));
    assert_eq!(review["comments"][1]["quoted"], serde_json::json!(["two"]));
    assert_eq!(review["comments"][0]["is_stale"], false);
    let seen = |number: usize| {
        let comment = stage.json(&["review", "fix"])["comments"][number].clone();
        (comment["first"].as_u64().unwrap(), comment["is_stale"].as_bool().unwrap())
    };
    std::fs::write(directory.join("shared"), "above\none\nTWO\nthree\n").unwrap();
    assert_eq!(seen(0), (3, false), "the lines moved and are the same");
    std::fs::write(directory.join("shared"), "one\nchanged\nthree\n").unwrap();
    assert_eq!((seen(0), seen(1)), ((2, true), (2, false)), "the old side is as it was");
    // The task begins anew from a base whose lines are others.
    std::fs::write(stage.repository.join("shared"), "eins\nzwei\n").unwrap();
    git(&stage.repository, &["commit", "--quiet", "--all", "--message=others"]);
    git(&directory, &["reset", "--quiet", "--hard", "main"]);
    assert_eq!((seen(0), seen(1)), ((2, true), (2, true)));
    let (code, told) = stage.refused(&["review", "fix", "send"]);
    assert!(code == 1 && told.contains("no agent works"), "{code} {told}");
    assert_eq!(stage.json(&["review", "fix"])["comments"][0]["status"], "draft", "it stays a draft");
}

/// Names that git would take for something else, refuse, or that would draw on the terminal.
const HOSTILE_NAMES: [&str; 50] = [
    "--lock",
    "-b",
    "-",
    "--",
    "a..b",
    "a b",
    "a~1",
    "a^",
    "a:b",
    "a?b",
    "a*b",
    "a[b",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    "a.lock",
    "a.lock/b",
    ".a",
    "a/.b",
    "a.",
    "@",
    "a@{1}",
    "HEAD",
    "\u{1b}[31m",
    "a\nb",
    "a\tb",
    "a\u{7f}b",
    "$(touch x)",
    "`touch x`",
    "a;touch x",
    "a|b c",
    "a&& b",
    "..",
    "../../x",
    "a/../b",
    "./a",
    "",
    "-C/tmp",
    "--force",
    "--detach",
    "--upload-pack=x",
    "refs/heads/../x",
    "a{b}@{",
    "a^0",
    "main^{commit}",
    "main~",
    "a'b\n",
    "\u{202e}a\nb",
    "a b c",
];

/// What no branch can begin from.
const HOSTILE_BASES: [&str; 20] = [
    "--upload-pack=touch x",
    "-f",
    "nowhere",
    "a..b",
    "$(touch x)",
    "main..main",
    "\n",
    "--all",
    "-",
    "main^{blob}",
    "main:shared",
    "refs/heads/nowhere",
    "0000000000000000000000000000000000000000",
    "main@{99}",
    "../..",
    "`id`",
    "HEAD^99",
    ":/nothing",
    "@{u}",
    "\u{1b}]0;x",
];

/// What is no directory of a repository.
const HOSTILE_DIRECTORIES: [&str; 10] = [
    "/nonexistent",
    "/dev/null",
    "/etc/hostname",
    "/proc/self/environ",
    "relative/nowhere",
    "-rf",
    "--help-me",
    "/\u{202e}x",
    "$HOME",
    "~nobody",
];

#[test]
fn f5_hostile_names_and_bases_give_an_error_and_leave_nothing() {
    let stage = TaskStage::new();
    let before = state(&stage.repository);
    for name in HOSTILE_NAMES {
        let (code, told) = stage.refused(&["new", "--worktree", "--", name]);
        assert!(matches!(code, 2 | 7), "{name:?}: {code} {told}");
        assert!(!told.contains('\u{1b}') && !told.contains('\u{202e}'), "{name:?}: {told:?}");
        // A directory of the person's own gets no branch, and its task no other names.
        let (code, borrowed) = stage.refused(&["new", "--", name]);
        assert_eq!(code, 2, "{name:?}: {borrowed}");
        let reason = |told: &str| told.trim_end().rsplit_once(": ").map(|(_, reason)| reason.to_owned());
        assert_eq!(reason(&borrowed), reason(&told), "{name:?}");
        assert!(!borrowed.contains('\u{1b}') && !borrowed.contains('\u{202e}'), "{name:?}: {borrowed:?}");
    }
    for base in HOSTILE_BASES {
        let (code, told) = stage.refused(&["new", "ok", "--worktree", &format!("--start={base}")]);
        assert!(matches!(code, 2 | 3 | 7), "{base:?}: {code} {told}");
    }
    for directory in HOSTILE_DIRECTORIES {
        let (code, told) = stage.refused(&["new", "ok", "--worktree", "--directory", directory]);
        assert!(matches!(code, 1..=3), "{directory:?}: {code} {told}");
    }
    assert_eq!(HOSTILE_NAMES.len() + HOSTILE_BASES.len() + HOSTILE_DIRECTORIES.len(), 80);
    assert_eq!(differences(&state(&stage.repository), &before), [""; 0].map(PathBuf::from));
    assert_eq!(stage.json(&["tasks"]), serde_json::json!([]));
}

#[test]
fn t4_a_task_whose_directory_is_gone_starts_nothing() {
    let stage = TaskStage::new();
    let directory = stage.new_task("lost");
    std::fs::remove_dir_all(directory).unwrap();
    let (_, told) = stage.refused(&["run", "lost", "--detach", "--", "true"]);
    assert!(told.contains("working directory is gone"), "{told}");
    let (code, told) = stage.refused(&["run", "nobody", "--detach", "--", "true"]);
    assert!(code == 3 && told.contains("nobody"), "{code} {told}");
}

#[test]
fn k7_a_branch_that_a_drop_left_is_named_with_the_ways_out() {
    let stage = TaskStage::new();
    stage.new_task("fix");
    stage.qd(&["drop", "fix"]);
    let repository = stage.repository.display().to_string();
    let new = ["new", "fix", "-w", "--directory", &repository];
    let (code, told) = stage.refused(&new);
    assert!(code == 7 && told.contains("branch `fix` exists already"), "{code} {told}");
    for way in ["qd new fix -w --start fix", "qd restore fix", "git branch -D fix"] {
        assert!(told.contains(way), "{told}");
    }
    stage.qd(&[&new[..], &["--start", "fix"]].concat());
    assert_eq!(stage.status("fix"), "idle");
}

#[test]
fn k7_an_agent_that_is_not_installed_is_refused_before_anything_is_made_for_it() {
    let stage = TaskStage::new();
    let repository = stage.repository.display().to_string();
    let offers = stage.json(&["agents"]);
    let is_missing = |offer: &&serde_json::Value| offer["program"].is_null() && offer["is_faulty"] != true;
    let missing = offers.as_array().unwrap().iter().find(is_missing).unwrap()["name"].as_str().unwrap();
    let (code, told) =
        stage.refused(&["new", "fix", "-w", "--directory", &repository, "--agent", missing, "--run"]);
    assert!(code == 1 && told.contains("is not installed, so no task was made"), "{code} {told}");
    assert!(stage.task("fix").is_none());
    stage.new_task("fix");
}
