//! A full disk loses nothing that was acknowledged, and the store continues when there is space again.

use std::collections::BTreeMap;
use std::process::{Command, Output};

/// The script's exit code when this machine does not allow mounts.
const NO_MOUNT: i32 = 97;

/// The mount lives in a namespace of its own and ends with the writer.
const ON_A_SMALL_DISK: &str =
    "mount -t tmpfs -o size=1m none \"$1\" || exit 97; exec \"$0\" \"$2\" \"$1\" mounted";

/// Without a mount: no file may grow beyond a limit. The signal that would end the writer is ignored.
const WITH_A_LIMIT: &str = "trap '' XFSZ; exec \"$0\" \"$2\" \"$1\" limited";

/// Runs a scenario of the writer in a directory of its own, in memory where possible: a sync costs nothing
/// there.
fn run(program: &[&str], script: &str, scenario: &str) -> Option<Output> {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory");
    Command::new(program[0])
        .args(&program[1..])
        .args(["-c", script, env!("CARGO_BIN_EXE_store-writer")])
        .arg(directory.path())
        .arg(scenario)
        .output()
        .ok()
}

fn limited(scenario: &str) -> Output {
    run(&["sh"], WITH_A_LIMIT, scenario).expect("sh starts")
}

fn facts(output: &Output) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{complaint}");
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(fact, value)| (fact.to_owned(), value.to_owned()))
        .collect()
}

/// Returns the writer's output on a disk of its own, or `None` where the machine does not allow mounts.
fn small_disk(scenario: &str) -> Option<Output> {
    let output = run(&["unshare", "-rm", "sh"], ON_A_SMALL_DISK, scenario)?;
    // `unshare` exits with 1 when namespaces are forbidden, before the writer has printed anything.
    let forbidden =
        output.status.code() == Some(NO_MOUNT) || (!output.status.success() && output.stdout.is_empty());
    (!forbidden).then_some(output)
}

#[test]
fn f2_f3_a_full_disk_loses_nothing_and_the_store_goes_on_when_it_is_freed() {
    let (facts, mounted) = match small_disk("full") {
        Some(output) => (facts(&output), true),
        None => (facts(&limited("full")), false),
    };
    println!("{} {facts:?}", if mounted { "small disk" } else { "limited files" });
    // SQLite reports a limit on file sizes as a failed write, and a full disk as such.
    let refusal = if mounted { "no_space" } else { "io" };
    assert_eq!(facts["filled_by"], refusal);
    assert_eq!(facts["stored_is_loaded"], "true");
    assert_eq!(facts["big_note"], "no_space");
    assert_eq!(facts["note_is_old"], "true");
    for later in ["retried", "message", "audit", "small_note"] {
        assert_eq!(facts[later], "ok", "{later}");
    }
    assert_eq!(facts["retried_is_loaded"], "true");
    assert!(["ok", refusal].contains(&facts["opened_when_full"].as_str()), "{facts:?}");
    assert_ne!(facts.get("opened_is_loaded").map(String::as_str), Some("false"));
    assert_eq!(facts["set_aside"], "false");
    assert_eq!(facts["left_over"], "false");
}

#[test]
fn f2_a_limit_on_files_loses_nothing_either() {
    let facts = facts(&limited("full"));
    assert_eq!(facts["filled_by"], "io");
    assert_eq!(facts["stored_is_loaded"], "true");
    assert_eq!(facts["note_is_old"], "true");
    assert_eq!(facts["retried"], "ok");
    assert_eq!(facts["retried_is_loaded"], "true");
    assert_eq!(facts["set_aside"], "false");
}

/// Every kind of file, by the writer's names.
const KINDS: [&str; 9] =
    ["batch", "audit", "creation", "migration", "set_aside", "damaged_log", "file", "pad", "pad_name"];

fn assert_whole_at_every_level(facts: &BTreeMap<String, String>) {
    for kind in KINDS {
        let count = |fact: &str| facts[&format!("{kind}_{fact}")].parse::<u32>().expect("a count");
        assert_eq!(facts[&format!("{kind}_wrong")], "", "{kind}");
        assert!(count("done") > 0, "{kind} is never done: {facts:?}");
        assert!(count("refused") > 0, "{kind} is never refused: {facts:?}");
    }
}

#[test]
fn f3_with_any_amount_of_room_each_kind_of_file_is_whole_as_it_was_or_whole_as_it_should_be() {
    match small_disk("levels") {
        Some(output) => assert_whole_at_every_level(&facts(&output)),
        None => println!("not checked: mounting is not allowed here"),
    }
}

#[test]
fn f3_with_any_limit_on_files_each_kind_of_file_is_whole_as_it_was_or_whole_as_it_should_be() {
    assert_whole_at_every_level(&facts(&limited("levels")));
}
