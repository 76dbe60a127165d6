//! Planned ends and upgrades: the daemon goes, another comes, from whatever file, and no byte is missing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::census::{pause, scale};
use testkit::{Mark, TestDaemon, child};

use crate::QD;
use crate::story::{Dice, Story};

/// A copy of the program at a path of its own.
fn copy_to(path: PathBuf) -> PathBuf {
    std::fs::copy(QD, &path).unwrap();
    path
}

#[test]
fn s3_ten_planned_restarts_under_output_lose_nothing() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut dice = Dice::new(8);
    let mut stories: Vec<Story> =
        (0..2).map(|n| Story::begin(&daemon, &mark, &format!("p{n}"), 20 + n)).collect();
    for _ in 0..10 * scale() {
        stories.iter_mut().for_each(|story| story.tell(200_000));
        pause(Duration::from_micros(dice.below(15_000) as u64));
        assert!(daemon.qd(&["shutdown"]).status.success());
        assert!(!daemon.places().socket().exists(), "a daemon that ended has no door");
        for story in &stories {
            assert_eq!(daemon.process(&story.name).pid, Some(story.pid));
            story.wait_told(&daemon);
            story.check_text(&daemon);
            story.check_cells(&daemon);
        }
    }
    for story in stories {
        assert_eq!(story.end(&daemon).gaps, 0, "planned means complete");
    }
}

#[test]
fn s3_an_upgrade_is_another_file_taking_over() {
    let mark = Mark::default();
    let directory = tempfile::Builder::new().prefix("qdb").tempdir().unwrap();
    let (old, new) = (copy_to(directory.path().join("old")), copy_to(directory.path().join("new")));
    let daemon = TestDaemon::start(&old);
    let spawned = daemon.client().spawn(mark.spawn("kept", child::repeat_lines())).unwrap();
    let run = |exe: &Path, arguments: &[&str]| {
        let output =
            std::process::Command::new(exe).args(arguments).envs(daemon.variables()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for (n, exe) in [&new, &old, &new].into_iter().enumerate() {
        run(exe, &["shutdown"]);
        run(exe, &["ps"]);
        let running = std::fs::read_link(format!("/proc/{}/exe", daemon.pid())).unwrap();
        assert_eq!(&running, exe);
        run(exe, &["send", "kept", &format!("hello{n}")]);
        daemon.wait_pattern("kept", &format!("got:hello{n}"));
        assert_eq!(daemon.process("kept").pid, spawned.pid);
    }
}

#[test]
fn s3_a_replaced_or_deleted_program_file_stops_nobody() {
    let mark = Mark::default();
    let directory = tempfile::Builder::new().prefix("qdb").tempdir().unwrap();
    let exe = copy_to(directory.path().join("qd"));
    let daemon = TestDaemon::start(&exe);
    daemon.client().spawn(mark.spawn("before", child::run_for_ever())).unwrap();
    std::fs::remove_file(&exe).unwrap();
    daemon.client().spawn(mark.spawn("deleted", child::run_for_ever())).unwrap();
    daemon.wait_pattern("deleted", "ready");
    std::fs::write(&exe, "#!/bin/false\n").unwrap();
    daemon.client().spawn(mark.spawn("replaced", child::run_for_ever())).unwrap();
    daemon.wait_pattern("replaced", "ready");
    std::fs::remove_file(&exe).unwrap();
    copy_to(exe);
    daemon.kill_9();
    assert_eq!(daemon.list().len(), 3);
    daemon.client().spawn(mark.spawn("upgraded", child::run_for_ever())).unwrap();
    daemon.wait_pattern("upgraded", "ready");
}
