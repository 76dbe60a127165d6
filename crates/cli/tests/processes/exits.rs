//! How runs end and what stays of their output: codes, signals, every byte before the exit.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proto::event::Event;
use proto::request::{Close, Spawn, TypedInput, Write};
use proto::{ErrorCode, ExitReason, Notice, Request, Status};
use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::{is_alive, parent};
use testkit::{MarkedDaemon, Tail, child, scaled};

use super::{argv, sh, stage, text};

/// Returns what `seq 1 <count>` prints on a terminal.
fn counted(count: usize) -> Vec<u8> {
    (1..=count).flat_map(|number| format!("{number}\r\n").into_bytes()).collect()
}

/// Two programs that use all of the processor, until they are dropped.
struct Spinners(Vec<Child>);

impl Spinners {
    fn start() -> Spinners {
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Spinners(vec![spin(), spin()])
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for spinner in &mut self.0 {
            spinner.kill().unwrap();
            spinner.wait().unwrap();
        }
    }
}

#[test]
fn h1_every_byte_before_exit_is_delivered_under_load() {
    let stage = stage();
    let _load = Spinners::start();
    let lanes = 4;
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            let stage = &stage;
            scope.spawn(move || {
                for round in 0..scaled(100 / lanes) {
                    print_and_exit(stage, &format!("h1-{lane}-{round}"), round * lanes + lane);
                }
            });
        }
    });
}

/// One run that prints from 1 KiB to 64 KiB, all of it at once and right before its exit.
fn print_and_exit(stage: &MarkedDaemon, name: &str, number: usize) {
    let count = 200 + number * 97 % 10_000;
    stage.run(name, sh(&format!("exec seq 1 {count}")));
    let mut tail = Tail::live(stage, name);
    let expected = counted(count);
    assert!(tail.to_end() == expected, "{name}: {} of {}", tail.bytes.len(), expected.len());
    let (exit, end) = tail.exit.expect("a follower gets the exit");
    assert_eq!((exit.code, end, tail.missed), (Some(0), expected.len() as u64, 0));
    stage
        .client()
        .close(Close { target: name.into(), keep_background: false, stop: proto::Stop::default() })
        .unwrap();
}

#[test]
fn h1_the_exit_event_carries_the_final_offset_and_the_screen_has_the_last_line() {
    let stage = stage();
    for round in 0..scaled(10) {
        let name = format!("last-{round}");
        let mut events = stage.subscriber();
        let spawned = stage.run(&name, sh("printf 'one\\ntwo\\nlast words'"));
        let seen = stage
            .until_event(&mut events, |event| matches!(event, Event::Exited { id, .. } if *id == spawned.id));
        let Some(Event::Exited { final_offset, .. }) = seen.last() else { panic!("{seen:?}") };
        assert_eq!(*final_offset, 20);
        assert_eq!(stage.screen(&name).trim_end(), "one\ntwo\nlast words");
    }
}

fn waited(stage: &MarkedDaemon, name: &str) -> (Option<i64>, Option<i64>, String) {
    let waited = stage.json(&["wait", name, "--exit", "--timeout", "30"]);
    let exit = &waited["satisfied"][0]["exit"];
    (exit["code"].as_i64(), exit["signal"].as_i64(), exit["reason"].as_str().unwrap().to_owned())
}

#[test]
fn h2_exit_codes_are_the_childs() {
    let stage = stage();
    for code in [0, 1, 3, 42, 127, 255] {
        let name = format!("code-{code}");
        stage.run(&name, sh(&format!("exit {code}")));
        assert_eq!(waited(&stage, &name), (Some(code), None, "exited".to_owned()));
    }
    // A non-zero code is no error of ours.
    assert!(stage.list().iter().all(|process| process.status == Status::Exited && process.failure.is_none()));
}

#[test]
fn h3_death_by_signal_is_that_signal() {
    let stage = stage();
    for signal in [1, 2, 3, 6, 9, 11, 13, 15, 31] {
        let name = format!("signal-{signal}");
        stage.run(&name, sh(&format!("ulimit -c 0; kill -{signal} $$; sleep 60")));
        assert_eq!(waited(&stage, &name), (None, Some(signal), "signalled".to_owned()));
    }
}

/// Makes a shell exit while a job of its own has the terminal, and checks that its exit is reported while the
/// job lives.
fn exit_beside_a_job(stage: &MarkedDaemon, name: &str) {
    let id = stage.run_terminal(name, argv(&["bash", "--norc", "--noprofile", "-i"])).id;
    let mut tail = Tail::live(stage, name);
    let mut events = stage.subscriber();
    stage.type_text(name, "sleep 1000000 & echo job-$!-up\r");
    let told = stage.wait_pattern(name, "job-[0-9]+-up").satisfied[0].text.clone().unwrap();
    let job: i32 = told.split('-').nth(1).unwrap().parse().unwrap();
    stage.type_text(name, "exit 5\r");
    stage.until_event(
        &mut events,
        |event| matches!(event, Event::Exited { id: over, exit, .. } if *over == id && exit.code == Some(5)),
    );
    assert!(is_alive(job), "the job may continue");
    tail.to_end();
    assert_eq!(tail.exit.map(|(exit, _)| exit.code), Some(Some(5)));
    // A terminal's entry is removed with its child; its last output stays readable for late viewers.
    assert_eq!(stage.list(), []);
    assert!(stage.screen(name).contains(&told));
    // A shell that ended by itself leaves the job running.
    kill_process(Pid::from_raw(job).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn h4_a_shell_that_leaves_a_job_behind_has_exited_while_the_job_runs() {
    let stage = stage();
    for round in 0..3 {
        exit_beside_a_job(&stage, &format!("shell-{round}"));
    }
}

#[test]
fn t7_exit_then_removed_then_done_and_then_it_is_not_found() {
    let stage = stage();
    let spawned = stage.run("x", child::run_for_ever());
    stage.wait_pattern("x", "ready");
    let mut events = stage.subscriber();
    let mut viewer = stage.client();
    viewer.attach(attach("x")).unwrap();
    let ended = stage
        .client()
        .close(Close { target: "x".into(), keep_background: false, stop: proto::Stop::default() })
        .unwrap();
    assert_eq!(ended.exit.unwrap().reason, ExitReason::Closed);
    let failure = stage.refusal(Request::Close(Close {
        target: "x".into(),
        keep_background: false,
        stop: proto::Stop::default(),
    }));
    assert_eq!(failure.code, ErrorCode::NotFound);
    let events = stage
        .until_event(&mut events, |event| matches!(event, Event::Done { id } if *id == spawned.id))
        .into_iter()
        .filter_map(|event| match event {
            Event::Exited { exit, .. } => Some(format!("exited {}", exit.reason)),
            Event::Removed { .. } => Some("removed".to_owned()),
            Event::Done { .. } => Some("done".to_owned()),
            _ => None,
        });
    assert_eq!(events.collect::<Vec<_>>(), ["exited closed", "removed", "done"]);
    let notices = notices(&mut viewer);
    let dirs: Vec<_> =
        notices.iter().filter(|notice| matches!(notice, Notice::Exit { .. } | Notice::End { .. })).collect();
    assert!(matches!(dirs[..], [Notice::Exit { .. }, Notice::End { .. }]), "{notices:?}");
    stage.assert_nobody_left();
}

fn attach(name: &str) -> proto::request::Attach {
    let size = proto::Size::DEFAULT.into();
    proto::request::Attach { target: name.into(), size, ..proto::request::Attach::default() }
}

/// Returns every notice until the connection ends.
fn notices(viewer: &mut client::Connection) -> Vec<Notice> {
    let until = Instant::now() + testkit::DEADLINE;
    let mut notices = Vec::new();
    while let Ok(Some(incoming)) = viewer.receive_before(until) {
        if let client::Incoming::Notice(notice) = incoming {
            notices.push(notice);
        }
    }
    notices
}

/// Idle processes that resist ending. Each takes three quarters of a second to end: one after the other it
/// would be half a minute.
const STUBBORN: usize = 40;

#[test]
fn t8_idle_processes_end_with_their_reason() {
    let stage = stage();
    for number in 0..STUBBORN {
        let spawn = stage.spec(&format!("idle-{number}"), child::ignore_signals());
        stage.spawn_as(Spawn { idle_timeout_ms: Some(300), ..spawn });
    }
    for number in 0..STUBBORN {
        let waited = stage.wait_exit(&format!("idle-{number}"));
        assert_eq!(waited.satisfied[0].exit.unwrap().reason, ExitReason::IdleTimeout);
    }
    stage.assert_nobody_left();
}

/// Shows that something counts as activity, at a pace that this machine can keep: a try that comes too late is
/// made again with twice the time. If it did not count, no try would succeed.
fn at_some_pace(shown: impl Fn(&MarkedDaemon, &str, Duration) -> Option<()>) {
    let stage = stage();
    let mut paces = (0..5).map(|doubled| Duration::from_millis(1_000 << doubled));
    let is_shown = paces.any(|idle| shown(&stage, &format!("x-{}", idle.as_secs()), idle).is_some());
    assert!(is_shown, "it ended while it was in use");
}

fn spawn_idle(stage: &MarkedDaemon, name: &str, argv: Vec<String>, idle: Duration) {
    let spawn = stage.spec(name, argv);
    stage.spawn_as(Spawn { idle_timeout_ms: Some(idle.as_millis() as u64), ..spawn });
}

#[test]
fn t8_output_counts_as_activity() {
    at_some_pace(|stage, name, idle| {
        let pause = (idle / 8).as_secs_f64();
        let busy = format!(
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do echo $i; sleep {pause}; done; exit 7"
        );
        spawn_idle(stage, name, sh(&busy), idle);
        let exit = stage.wait_exit(name).satisfied[0].exit.unwrap();
        (exit.code == Some(7)).then_some(())
    });
}

#[test]
fn t8_a_viewer_counts_as_activity() {
    at_some_pace(|stage, name, idle| {
        spawn_idle(stage, name, child::repeat_lines(), idle);
        let mut viewer = stage.client();
        viewer.attach(attach(name)).ok()?;
        // Twice the time without output, and it is still there because a viewer is attached.
        let silence = (idle * 2).as_secs_f64().to_string();
        let silent = stage.qd(&["wait", name, "--silence", &silence, "--timeout", "100"]);
        let is_there = silent.status.success() && stage.process(name).status == Status::Running;
        drop(viewer);
        assert_eq!(stage.wait_exit(name).satisfied[0].exit.unwrap().reason, ExitReason::IdleTimeout);
        is_there.then_some(())
    });
}

#[test]
fn t8_input_counts_as_activity() {
    at_some_pace(|stage, name, idle| {
        // It neither reads nor prints: only the typing happens.
        spawn_idle(stage, name, child::never_read(), idle);
        let began = Instant::now();
        let mut typed = began;
        while began.elapsed() < idle * 2 {
            let silence = (idle / 5).as_secs_f64().to_string();
            let silent = stage.qd(&["wait", name, "--silence", &silence, "--timeout", "100"]);
            let input = TypedInput::Text("x".into());
            let write = Write { target: name.into(), input, submit: false, timeout_ms: None, key: None };
            if !silent.status.success() || stage.client().write(write).is_err() {
                return None;
            }
            typed = Instant::now();
        }
        let exit = stage.wait_exit(name).satisfied[0].exit.unwrap();
        assert_eq!(exit.reason, ExitReason::IdleTimeout);
        let least = idle - Duration::from_millis(100);
        assert!(typed.elapsed() >= least, "it ended {:?} after a key", typed.elapsed());
        Some(())
    });
}

#[test]
fn a_process_that_prints_nothing_ends_with_nothing() {
    let stage = stage();
    stage.run("quiet", argv(&["true"]));
    let mut tail = Tail::live(&stage, "quiet");
    assert_eq!(text(tail.to_end()), "");
    assert_eq!(tail.exit.map(|(exit, offset)| (exit.code, offset)), Some((Some(0), 0)));
}

#[test]
fn s2_the_log_of_a_run_that_is_lost_is_followed_to_its_last_byte_and_fails() {
    let stage = stage();
    let run = stage.run("lost", sh("echo last words; exec sleep 1000000"));
    let mut command = stage.command(&["--json", "logs", "lost", "-f"]);
    let mut logs = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut told = BufReader::new(logs.stdout.take().unwrap()).lines();
    let first: serde_json::Value = serde_json::from_str(&told.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["offset"], 0);
    kill_process(Pid::from_raw(parent(run.pid.unwrap())).unwrap(), Signal::KILL).unwrap();
    let last = told.last().unwrap().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&last).unwrap()["exit"]["reason"], "lost");
    assert_eq!(logs.wait().unwrap().code(), Some(1));
}
