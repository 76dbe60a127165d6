//! Kill -9 of the daemon at random moments under output: same pids, equal screens, every byte accounted for.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use client::Incoming;
use proto::request::{Attach, ReadMode};
use proto::{ExitReason, Notice, Size, Status};
use testkit::process_scan::{pause, scale};
use testkit::{Mark, TestDaemon, child};

use crate::QD;
use crate::story::{Dice, Story};

/// Kills at scale 1.
const KILLS: usize = 100;
/// One order in so many exceeds the ring, so that the child is stopped while its output is not read.
const FLOOD_EVERY: usize = 50;

#[test]
fn s1_a_daemon_killed_at_random_moments_loses_nothing() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut dice = Dice::new(1);
    let mut stories: Vec<Story> = (0..4).map(|n| Story::begin(&daemon, &mark, &format!("s{n}"), n)).collect();
    let mut returns = Vec::new();
    for kill in 0..KILLS * scale() {
        for (n, story) in stories.iter_mut().enumerate() {
            let is_flood = n == 0 && kill % FLOOD_EVERY == FLOOD_EVERY - 1;
            story.tell(if is_flood { 5 << 20 } else { 200 + dice.below(24_000) });
        }
        pause(Duration::from_micros(dice.below(30_000) as u64));
        daemon.kill_9();
        if kill % 10 == 5 {
            kill_a_starting_daemon(&daemon, Duration::from_micros(dice.below(20_000) as u64));
        }
        returns.push(come_back(&daemon, &stories));
        for story in &stories {
            story.wait_told(&daemon);
            story.check_text(&daemon);
        }
        stories[kill % 4].check_cells(&daemon);
        if kill % 5 == 4 {
            let size = Size { cols: 20 + dice.below(120) as u16, rows: 5 + dice.below(40) as u16 };
            stories[kill % 4].resize(&daemon, size);
        }
    }
    returns.sort();
    let (median, worst) = (returns[returns.len() / 2], returns[returns.len() - 1]);
    println!("killed {} times; usable again after {median:?} (median), {worst:?} (worst)", returns.len());
    for story in stories {
        let followed = story.end(&daemon);
        println!(
            "received {} + gaps {}, {} broken connections",
            followed.received, followed.gaps, followed.broken
        );
        assert!(followed.broken > 0, "the follower was never cut off");
    }
}

/// Starts the next daemon with `qd` and checks that it has every process, with its pid. Returns how long that
/// took.
fn come_back(daemon: &TestDaemon, stories: &[Story]) -> Duration {
    let began = Instant::now();
    let listed = daemon.json(&["ps"]);
    let took = began.elapsed();
    for story in stories {
        let found = listed.as_array().unwrap().iter().find(|process| process["name"] == story.name.as_str());
        assert_eq!(found.unwrap()["pid"], story.pid, "{}", story.name);
        assert_eq!(found.unwrap()["status"], "running", "{}", story.name);
    }
    took
}

/// A daemon that dies while it is adopting leaves no trace.
fn kill_a_starting_daemon(daemon: &TestDaemon, after: Duration) {
    let mut command: Command = daemon.command(&["daemon"]);
    let mut starting = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    pause(after);
    starting.kill().unwrap();
    starting.wait().unwrap();
}

#[test]
fn t6_an_acknowledged_resize_survives_a_kill_right_after_it() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut story = Story::begin(&daemon, &mark, "sized", 7);
    story.tell(40_000);
    story.wait_told(&daemon);
    for n in 0..10 {
        story.ask_for_size(&daemon, Size { cols: 40 + n * 7, rows: 10 + n });
        daemon.kill_9();
        assert_eq!(daemon.process("sized").terminal.size, story.size, "the size that was set");
        let has_it = || (daemon.read("sized", ReadMode::Screen).size == story.size).then_some(());
        testkit::process_scan::eventually("the promised size", has_it);
        story.tell(3_000);
        story.wait_told(&daemon);
        story.check_text(&daemon);
    }
    story.end(&daemon);
}

#[test]
fn h10_without_a_daemon_a_child_runs_to_completion() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let go = daemon.root().join("go");
    let script = format!(
        "echo ready; until [ -e '{}' ]; do sleep 0.01; done; seq 1 20000; echo over; exit 9",
        go.display()
    );
    let spawned = daemon.client().spawn(mark.spawn("alone", child::shell(&script))).unwrap();
    daemon.wait_pattern("alone", "ready");
    let pinned = testkit::process_scan::pin(spawned.pid.unwrap());
    daemon.kill_9();
    std::fs::write(go, "").unwrap();
    testkit::process_scan::wait_gone(&pinned);
    let waited = daemon.wait_exit("alone");
    let exit = waited.satisfied[0].exit.unwrap();
    assert_eq!((exit.code, exit.reason), (Some(9), ExitReason::Exited));
    let logged = daemon.qd(&["logs", "alone"]).stdout;
    let expected: String = (1..=20_000).map(|n| format!("{n}\r\n")).collect();
    assert_eq!(String::from_utf8(logged).unwrap(), format!("ready\r\n{expected}over\r\n"));
    assert!(daemon.screen("alone").ends_with("20000\nover"), "{}", daemon.screen("alone"));
}

#[test]
fn s1_ended_processes_keep_their_last_screen_their_exit_and_their_name() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("first", child::print_and_exit("last words", 4))).unwrap();
    daemon.wait_exit("first");
    assert!(daemon.qd(&["rename", "first", "renamed"]).status.success());
    for _ in 0..3 {
        daemon.kill_9();
        let process = daemon.process("renamed");
        assert_eq!((process.status, process.exit.unwrap().code), (Status::Exited, Some(4)));
        assert_eq!(daemon.screen("renamed").trim_end(), "last words");
    }
    assert!(daemon.qd(&["restart", "renamed"]).status.success());
    daemon.wait_exit("renamed");
    assert_eq!(daemon.process("renamed").run.0, 2);
}

#[test]
fn f1_kills_leave_no_torn_and_no_temporary_file() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    for n in 0..10 {
        daemon.client().spawn(mark.spawn(&format!("f{n}"), child::run_for_ever())).unwrap();
        let mut storm = daemon.command(&["rename", &format!("f{n}"), &format!("g{n}")]).spawn().unwrap();
        daemon.kill_9();
        storm.wait().unwrap();
    }
    assert_eq!(daemon.list().len(), 10);
    assert!(daemon.client().status().unwrap().warnings.is_empty(), "nothing was damaged");
    let left: Vec<_> = testkit::process_scan::files(daemon.root())
        .into_iter()
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.contains(".tmp") || name.contains("corrupt")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Asks its terminal for its identity, then records every byte that it gets.
const ASKER: &str = "import os, sys, tty
tty.setraw(0)
os.write(1, b'\\x1b[c\\x1b[>0q\\x1b[6nasked')
heard = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True: os.write(heard, os.read(0, 4096))";

#[test]
fn p3_a_new_daemon_does_not_answer_again_what_the_old_one_answered() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let dir = tempfile::tempdir().unwrap();
    let heard = dir.path().join("heard");
    let argv = ["python3", "-c", ASKER, heard.to_str().unwrap()].map(str::to_owned).to_vec();
    daemon.client().spawn(mark.spawn("asker", argv)).unwrap();
    let wait_for = |ending: &str| {
        testkit::process_scan::eventually("the child has heard it", || {
            std::fs::read_to_string(&heard).ok().filter(|text| text.ends_with(ending))
        })
    };
    // The answers end with the cursor's position.
    let first = wait_for("R");
    assert!(first.contains("\x1b[?"), "{first:?}");
    for fence in ["1", "2", "3"] {
        daemon.kill_9();
        daemon.qd(&["send", "--no-enter", "asker", fence]);
        wait_for(fence);
    }
    assert_eq!(wait_for("3"), format!("{first}123"));
    daemon.qd(&["close", "asker"]);
}

#[test]
fn s1_whoever_attaches_to_an_ended_process_is_told_so_by_the_next_daemon_too() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let argv = ["sh", "-c", "echo bye; exit 5"].map(str::to_owned).to_vec();
    daemon.client().spawn(mark.spawn("over", argv)).unwrap();
    daemon.wait_exit("over");
    daemon.kill_9();
    let mut viewer = daemon.client();
    let size = Size::DEFAULT.into();
    let request = Attach { target: "over".into(), size, read_only: true, ..Attach::default() };
    viewer.attach(request).unwrap();
    let exit = loop {
        match viewer.receive_before(Instant::now() + testkit::DEADLINE).unwrap() {
            Some(Incoming::Notice(Notice::Exit { exit, .. })) => break exit,
            Some(_) => {}
            None => daemon.fail("nothing was said about the exit"),
        }
    };
    assert_eq!((exit.code, exit.reason), (Some(5), ExitReason::Exited));
}
