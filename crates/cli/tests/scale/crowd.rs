//! Two hundred processes, fifty viewers, a hundred waiters.

use std::path::Path;
use std::time::Duration;

use proto::request::{Close, Quantifier, Target, TypedInput, Until, Wait, Write};
use proto::{Request, Status};
use testkit::process_scan::{pause, processor_time, scale, vitals};
use testkit::{DEADLINE, Mark, ScriptedChild, TestDaemon, child};

use crate::{QD, attach, next};

const PROCESSES: usize = 200;
const VIEWERS: usize = 50;
const WAITERS: usize = 100;

fn timeout() -> Option<u64> {
    u64::try_from(DEADLINE.as_millis() * 2).ok()
}

fn wait_all(daemon: &TestDaemon, pattern: &str) {
    let targets = (0..PROCESSES).map(|n| Target(format!("p{n}"))).collect();
    let until = Until::Pattern(pattern.to_owned());
    let wait = Wait { since: Some(0), timeout_ms: timeout(), ..Wait::until(targets, until) };
    assert_eq!(daemon.client().wait(wait).unwrap().satisfied.len(), PROCESSES);
}

#[test]
fn two_hundred_processes_are_listed_answer_and_leave_nothing() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let before = vitals(daemon.pid());
    let mut connection = daemon.client();
    let calls: Vec<u64> = (0..PROCESSES)
        .map(|n| {
            connection
                .send(Request::Spawn(Box::new(mark.spawn(&format!("p{n}"), child::repeat_lines()))))
                .unwrap()
        })
        .collect();
    for call in calls {
        connection.answer(call).unwrap();
    }
    wait_all(&daemon, "ready");
    let listed = daemon.list();
    assert_eq!(listed.len(), PROCESSES);
    assert!(listed.iter().all(|process| process.status == Status::Running));
    let calls: Vec<u64> = (0..PROCESSES)
        .map(|n| {
            let input = TypedInput::Text(format!("hello{n}\n"));
            let write =
                Write { target: Target(format!("p{n}")), input, submit: false, timeout_ms: None, key: None };
            connection.send(Request::Write(write)).unwrap()
        })
        .collect();
    for call in calls {
        connection.answer(call).unwrap();
    }
    wait_all(&daemon, "got:hello[0-9]");
    let full = vitals(daemon.pid());
    assert!(full.fds <= before.fds + 4 * PROCESSES + 16, "{} descriptors, {} before", full.fds, before.fds);
    // Threads that answer several reads at once come and go; none belongs to a process.
    assert!(full.threads <= before.threads + 34, "{} threads, {} before", full.threads, before.threads);
    println!("{PROCESSES} processes: {full:?}, before {before:?}");
    let calls: Vec<u64> = (0..PROCESSES)
        .map(|n| {
            let close = Close {
                target: Target(format!("p{n}")),
                keep_background: false,
                stop: proto::Stop::default(),
            };
            connection.send(Request::Close(close)).unwrap()
        })
        .collect();
    for call in calls {
        connection.answer(call).unwrap();
    }
    assert!(daemon.list().is_empty());
    mark.expect_gone();
    testkit::process_scan::eventually("the descriptors go with their processes", || {
        (vitals(daemon.pid()).fds <= before.fds + 8).then_some(())
    });
}

#[test]
fn fifty_viewers_of_one_process_all_see_its_last_words() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "shown");
    daemon.client().spawn(mark.spawn("shown", scripted_child.argv())).unwrap();
    let viewers: Vec<_> = (0..VIEWERS).map(|_| attach(&daemon, "shown")).collect();
    testkit::process_scan::eventually("all viewers", || {
        (daemon.process("shown").terminal.viewers == VIEWERS as u32).then_some(())
    });
    let readers: Vec<_> = viewers
        .into_iter()
        .map(|mut viewer| {
            std::thread::spawn(move || {
                let mut shown = term::Screen::new(term::GridSize::DEFAULT, term::Limits { history_lines: 0 });
                while !shown.text(term::Wraps::Keep).contains("=last words=") {
                    if let client::Incoming::Data(data) = next(&mut viewer) {
                        shown.feed(&data.bytes);
                    }
                }
            })
        })
        .collect();
    let lines: String = (0..4000).map(|n| format!("line {n}\r\n")).collect();
    scripted_child.tell(lines.as_bytes());
    scripted_child.tell(b"=last words=");
    for (n, reader) in readers.into_iter().enumerate() {
        assert!(reader.join().is_ok(), "viewer {n}");
    }
}

/// The processor time that a hundred waits may take for ten megabytes: thirty percent of a second. A debug
/// build reads the lines without optimisation.
const MATCHING: Duration = Duration::from_millis(if cfg!(debug_assertions) { 600 } else { 300 });
/// Output of one measurement, in pieces of a hundredth of a second each.
const PIECES: usize = 100;

/// Makes a process print ten megabytes in about a second; returns the processor time that it cost the daemon.
fn cost_of_ten_megabytes(daemon: &TestDaemon, scripted_child: &mut ScriptedChild, piece: &Path) -> Duration {
    let begin = processor_time(daemon.pid());
    let length = std::fs::metadata(piece).unwrap().len();
    for _ in 0..PIECES {
        scripted_child.tell_file(piece, length);
        pause(Duration::from_millis(10));
    }
    let end = scripted_child.produced;
    scripted_child.tell(b"=end=\r\n");
    let (targets, until) = (vec!["flood".into()], Until::Pattern("=end=".to_owned()));
    let (quantifier, since_version) = (Quantifier::All, None);
    daemon
        .client()
        .wait(Wait { targets, until, quantifier, since: Some(end), since_version, timeout_ms: timeout() })
        .unwrap();
    processor_time(daemon.pid()) - begin
}

/// Patterns as people write them, none of which matches before its number comes.
fn pattern(n: usize) -> String {
    match n % 4 {
        0 => format!("=mark {n}="),
        1 => format!("^=mark {n}=$"),
        2 => format!("=mark {n}=|never{n}"),
        _ => format!("mark +{n}\\b"),
    }
}

#[test]
fn e7_a_hundred_waiters_cost_little_and_are_all_answered() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut scripted_child = ScriptedChild::new(daemon.root(), "flood");
    daemon.client().spawn(mark.spawn("flood", scripted_child.argv())).unwrap();
    let piece = daemon.root().join("piece");
    let lines: String =
        (0..2_000).map(|n| format!("{n:06} some words of a build that says much\r\n")).collect();
    std::fs::write(&piece, &lines.as_bytes()[..lines.len() / 50 * 50]).unwrap();
    // The least of several: other load is in the others.
    let rounds = 2 * scale();
    let alone =
        (0..rounds).map(|_| cost_of_ten_megabytes(&daemon, &mut scripted_child, &piece)).min().unwrap();
    let mut connections: Vec<_> = (0..4).map(|_| daemon.client()).collect();
    let calls: Vec<(usize, u64)> = (0..WAITERS)
        .map(|n| {
            let (targets, until) = (vec!["flood".into()], Until::Pattern(pattern(n)));
            let (quantifier, since_version) = (Quantifier::All, None);
            let wait = Wait { targets, until, quantifier, since: None, since_version, timeout_ms: timeout() };
            (n % 4, connections[n % 4].send(Request::Wait(wait)).unwrap())
        })
        .collect();
    // A list is answered after the waits of its own connection, so all of them are registered.
    connections.iter_mut().for_each(|connection| assert_eq!(connection.list().unwrap().len(), 1));
    let awaited =
        (0..rounds).map(|_| cost_of_ten_megabytes(&daemon, &mut scripted_child, &piece)).min().unwrap();
    println!(
        "10 MB: {alone:?} alone, {awaited:?} with {WAITERS} waits, matching {:?}",
        awaited.saturating_sub(alone)
    );
    assert!(awaited <= alone + MATCHING, "{alone:?} alone, {awaited:?} with {WAITERS} waits");
    for n in 0..WAITERS {
        scripted_child.tell(format!("filler {n} aaaaaaaaaaaaaaaaaaaaaaaaa\r\n=mark {n}=\r\n").as_bytes());
    }
    for (connection, call) in calls {
        connections[connection].answer(call).unwrap();
    }
}
