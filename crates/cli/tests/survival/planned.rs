//! Planned ends and upgrades: the daemon ends, another starts, from any file, and no byte is missing.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use client::DaemonAddress;
use proto::request::{Shutdown, TypedInput, Write};
use testkit::process_scan::{pause, scale};
use testkit::{DEADLINE, Mark, ScriptedChild, TestDaemon, child};

use crate::QD;
use crate::story::{Dice, Story};

/// How long to wait for a daemon that cannot start.
const START: Duration = Duration::from_secs(2);

/// Returns a copy of the program at a path of its own.
fn copy_to(path: PathBuf) -> PathBuf {
    testkit::child::copy_program(QD, &path);
    path
}

/// Replaces one daemon by the next, which must accept what is typed; returns how long that took.
fn replace_while_typing(daemon: &TestDaemon, name: &str) -> Duration {
    let mut connection = daemon.client();
    let began = Instant::now();
    assert!(
        connection
            .shutdown(Shutdown { kill: false, stop: proto::Stop::default() }, began + DEADLINE)
            .unwrap()
    );
    assert!(!daemon.dirs().socket().exists(), "a daemon that ended has no door");
    let timeout_ms = u64::try_from(DEADLINE.as_millis()).ok();
    let input = TypedInput::Text("x".to_owned());
    daemon
        .client()
        .write(Write { target: name.into(), input, submit: false, timeout_ms, key: None })
        .unwrap();
    began.elapsed()
}

#[test]
fn s3_ten_planned_restarts_under_output_lose_nothing() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut dice = Dice::new(8);
    let count = if scale() > 1 { 50 } else { 20 };
    let mut stories: Vec<Story> =
        (0..count).map(|n| Story::begin(&daemon, &mark, &format!("p{n}"), 20 + n)).collect();
    for round in 0..10 * scale() {
        stories.iter_mut().for_each(|story| story.tell(20_000));
        pause(Duration::from_micros(dice.below(15_000) as u64));
        assert!(daemon.qd(&["shutdown"]).status.success());
        assert!(!daemon.dirs().socket().exists(), "a daemon that ended has no door");
        let listed = daemon.list();
        for (n, story) in stories.iter().enumerate() {
            let found = listed.iter().find(|process| process.name.as_str() == story.name);
            assert_eq!(found.unwrap().pid, Some(story.pid));
            story.wait_told(&daemon);
            story.check_text(&daemon);
            if n % 10 == round % 10 {
                story.check_cells(&daemon);
            }
        }
    }
    for story in stories {
        assert_eq!(story.end(&daemon).gaps, 0, "planned means complete");
    }
}

#[test]
fn s3_one_daemon_follows_another_before_a_typist_is_lost() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let count = if scale() > 1 { 50 } else { 20 };
    let mut tellers: Vec<ScriptedChild> = (0..count)
        .map(|n| {
            let scripted_child = ScriptedChild::new(daemon.root(), &format!("t{n}"));
            daemon.client().spawn(mark.spawn(&format!("t{n}"), scripted_child.argv())).unwrap();
            scripted_child
        })
        .collect();
    daemon.client().spawn(mark.spawn("typed", child::repeat_bytes())).unwrap();
    daemon.wait_pattern("typed", "ready");
    let mut gaps = Vec::new();
    for _ in 0..10 {
        tellers.iter_mut().for_each(|scripted_child| scripted_child.tell(&[b'o'; 20_000]));
        gaps.push(replace_while_typing(&daemon, "typed"));
    }
    daemon.wait_pattern("typed", &"x".repeat(gaps.len()));
    gaps.sort();
    println!("{count} processes, nobody could type for {:?} (best), {:?} (median)", gaps[0], gaps[5]);
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

/// Returns a program in place of `qd` that does this when it is started as a daemon.
fn broken_program(path: PathBuf, deed: &str) -> PathBuf {
    std::fs::write(&path, format!("#!/bin/sh\n{deed}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn s3_a_new_program_that_fails_at_its_start_leaves_everything_to_the_old_one() {
    let mark = Mark::default();
    let directory = tempfile::Builder::new().prefix("qdb").tempdir().unwrap();
    let daemon = TestDaemon::start(QD);
    let mut stories: Vec<Story> =
        (0..5).map(|n| Story::begin(&daemon, &mark, &format!("u{n}"), 40 + n)).collect();
    // It reports why, reports nothing, or dies while it adopts.
    let deeds = [
        "echo 'error this build is broken'; exit 1".to_owned(),
        "exit 127".to_owned(),
        format!("'{QD}' daemon > /dev/null & sleep 0.02; kill -9 $!; exit 1"),
    ];
    for (n, deed) in deeds.iter().enumerate() {
        let new = broken_program(directory.path().join(format!("new{n}")), deed);
        stories.iter_mut().for_each(|story| story.tell(30_000));
        assert!(daemon.qd(&["shutdown"]).status.success());
        let refused = DaemonAddress::new(daemon.dirs(), new).connect_before(Instant::now() + START);
        assert!(refused.is_err(), "{deed}");
        for story in &stories {
            assert_eq!(daemon.process(&story.name).pid, Some(story.pid));
            story.wait_told(&daemon);
            story.check_text(&daemon);
            story.check_cells(&daemon);
        }
        assert!(daemon.client().status().unwrap().warnings.is_empty());
    }
    for story in stories {
        assert_eq!(story.end(&daemon).gaps, 0, "a rollback is complete");
    }
}
