//! The output of an earlier run of a process stays readable, and a recording begins with the present screen.

use std::path::PathBuf;

use proto::request::Spawn;
use testkit::MarkedDaemon;

use super::{sh, stage};

/// Returns a command that prints its run's number and ends with 3, except the run with this number, which
/// stays.
fn counting(stage: &MarkedDaemon, stays: u32) -> Vec<String> {
    let count = stage.root().join("count");
    sh(&format!(
        "n=$(($(cat '{count}' 2>/dev/null) + 1)); echo $n > '{count}'; echo \"words of run $n\"; \
         test $n = {stays} && exec sleep 1000; exit 3",
        count = count.display()
    ))
}

fn printed(stage: &MarkedDaemon, words: &[&str]) -> String {
    let output = stage.qd(words);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words:?}: {err}");
    out.into_owned()
}

/// Returns the kept files of the process.
fn kept(stage: &MarkedDaemon, name: &str) -> PathBuf {
    stage.dirs().kept_runs().join(stage.process(name).id.to_string())
}

#[test]
fn m13_the_output_of_a_crashed_run_is_readable_after_an_automatic_restart_and_the_daemons_death() {
    let stage = stage();
    stage.spawn_as(Spawn { auto_restart: true, ..stage.spec("x", counting(&stage, 2)) });
    stage.until_view("x", |view| view.run.0 == 2);
    stage.wait_pattern("x", "words of run 2");
    for round in ["before", "after"] {
        assert_eq!(printed(&stage, &["logs", "x", "--previous"]), "words of run 1\r\n", "{round}");
        assert_eq!(printed(&stage, &["logs", "x", "--run", "1", "-f"]), "words of run 1\r\n", "{round}");
        assert_eq!(printed(&stage, &["read", "x", "--run", "1"]), "words of run 1\n", "{round}");
        assert_eq!(printed(&stage, &["read", "x", "--previous", "--mode", "history"]), "words of run 1\n");
        assert_eq!(printed(&stage, &["read", "x", "--previous", "--mode", "stream"]), "words of run 1\n");
        assert_eq!(printed(&stage, &["read", "x", "--run", "2"]), "words of run 2\n", "{round}");
        let exit = &stage.json(&["logs", "x", "--previous", "--follow", "--tail", "0"])["exit"];
        assert_eq!(exit["code"], 3, "{round}");
        stage.kill_9();
    }
    let missing = stage.qd(&["logs", "x", "--run", "9"]);
    assert_eq!(missing.status.code(), Some(3));
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("run 9 of x is not kept") && said.contains("run 1 and the present run"), "{said}");
}

#[test]
fn m13_the_last_three_runs_before_the_present_one_are_kept_and_go_with_the_entry() {
    let stage = stage();
    stage.run("x", counting(&stage, 0));
    for _ in 0..5 {
        stage.wait_exit("x");
        assert!(stage.qd(&["restart", "x"]).status.success());
    }
    stage.wait_exit("x");
    let directory = kept(&stage, "x");
    let runs = || {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        (names == ["3", "4", "5"]).then_some(())
    };
    testkit::process_scan::eventually("three runs are kept", runs);
    assert_eq!(printed(&stage, &["logs", "x", "--previous"]), "words of run 5\r\n");
    assert_eq!(
        printed(&stage, &["logs", "x", "--run", "3", "-t"]).split_once(' ').unwrap().1,
        "words of run 3\r\n"
    );
    assert_eq!(stage.qd(&["logs", "x", "--run", "2"]).status.code(), Some(3));
    assert!(stage.qd(&["close", "x"]).status.success());
    testkit::process_scan::eventually("nothing is kept", || (!directory.exists()).then_some(()));
}

#[test]
fn m13_a_log_that_is_too_long_is_kept_from_its_end() {
    let stage = stage();
    stage.run("x", sh("seq 1 200000; echo the end"));
    stage.wait_exit("x");
    assert!(stage.qd(&["restart", "x"]).status.success());
    // Until it is saved the whole log is there, in its ring.
    let log = testkit::process_scan::eventually("its end is saved", || {
        let log = stage.qd(&["logs", "x", "--previous"]);
        (log.stdout.len() <= 512 << 10).then_some(log)
    });
    let (out, err) = (String::from_utf8_lossy(&log.stdout), String::from_utf8_lossy(&log.stderr));
    assert!(out.ends_with("\n199999\r\n200000\r\nthe end\r\n"), "{}", out.len());
    assert!(out.len() > 400 << 10, "{}", out.len());
    assert!(err.contains("bytes are gone"), "{err}");
}

#[test]
fn m13_a_recording_begins_with_the_screen_and_overwrites_nothing() {
    let stage = stage();
    stage.run("x", sh("echo seen before; read -r l; echo seen \"$l\""));
    stage.wait_pattern("x", "seen before");
    let file = stage.root().join("x.cast");
    let path = file.to_str().unwrap();
    let recording = stage.command(&["record", "x", path]).spawn().unwrap();
    let begun =
        || std::fs::read_to_string(&file).is_ok_and(|cast| cast.contains("seen before")).then_some(());
    testkit::process_scan::eventually("the recording has begun", begun);
    stage.type_text("x", "later\n");
    assert!(recording.wait_with_output().unwrap().status.success());
    let cast = std::fs::read_to_string(&file).unwrap();
    assert_eq!(cast.matches("seen before").count(), 1, "{cast}");
    assert!(cast.contains("seen later"), "{cast}");

    let again = stage.qd(&["record", "x", path]);
    assert_eq!(again.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force overwrites it"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), cast);
    assert!(stage.qd(&["record", "x", path, "--force"]).status.success());
    assert_ne!(std::fs::read_to_string(&file).unwrap(), cast);
    assert!(stage.qd(&["record", "x", "/dev/null"]).status.success());
}

#[test]
fn m8_a_recording_into_a_pipe_that_nobody_reads_says_so_at_once() {
    let stage = stage();
    stage.run("x", sh("echo seen; exec sleep 1000"));
    let pipe = stage.root().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let refused = stage.qd(&["record", "x", pipe.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("a pipe that nobody reads"), "{said}");
}
