//! Sizes: clamped at every entry point, set once, storms coalesced.

use std::time::Instant;

use client::Connection;
use proto::request::{Attach, Resize, SizeRequest, Spawn, View};
use proto::{Request, Size};
use testkit::{DEADLINE, MarkedDaemon, scaled};

use super::{argv, stage};

const BOUNDS: [(u32, u32, Size); 4] = [
    (0, 0, Size { cols: 2, rows: 1 }),
    (1, 1, Size { cols: 2, rows: 1 }),
    (u32::MAX, u32::MAX, Size { cols: 1000, rows: 1000 }),
    (65_536, 65_537, Size { cols: 1000, rows: 1000 }),
];

fn request(cols: u32, rows: u32) -> SizeRequest {
    SizeRequest { cols: Some(cols), rows: Some(rows) }
}

/// Counts its signals and reports them with its size, a line for every line it reads.
fn counter() -> Vec<String> {
    let script = "$| = 1; $n = 0; $SIG{WINCH} = sub { $n++ }; system('stty -echo'); print qq(ready\\n); \
                  while (defined($l = <STDIN>)) { chomp $l; $s = `stty size`; chomp $s; print qq($l n=$n size=$s.\\n) }";
    argv(&["perl", "-e", script])
}

/// Returns the counter's present report.
fn told(stage: &MarkedDaemon, question: &str) -> (usize, String) {
    stage.type_text("x", &format!("{question}\n"));
    let waited = stage.wait_pattern("x", &format!("^{question} n=\\d+ size=.*\\."));
    let line = waited.satisfied[0].text.clone().unwrap();
    let (count, size) = line.split_once(" n=").unwrap().1.split_once(" size=").unwrap();
    (count.parse().unwrap(), size.trim_end_matches('.').to_owned())
}

/// Asks until the terminal has this size, which it gets a moment after the end of a storm; returns the
/// signals then.
fn told_at(stage: &MarkedDaemon, question: &str, size: &str) -> usize {
    let until = Instant::now() + DEADLINE;
    for round in 0.. {
        let (count, told) = told(stage, &format!("{question}-{round}"));
        if told == size {
            return count;
        }
        assert!(Instant::now() < until, "it is {told}, not {size}");
    }
    unreachable!("the deadline ends the rounds")
}

#[test]
fn t2_a_size_is_clamped_at_spawn() {
    let stage = stage();
    for (number, (cols, rows, expected)) in BOUNDS.into_iter().enumerate() {
        let name = format!("s{number}");
        let argv = testkit::child::run_for_ever();
        stage.spawn_as(Spawn { size: request(cols, rows), ..stage.spec(&name, argv) });
        assert_eq!(stage.process(&name).terminal.size, expected);
        assert_eq!(stage.read(&name, proto::request::ReadMode::Screen).size, expected);
    }
    stage.spawn_as(Spawn {
        size: SizeRequest { cols: Some(99), rows: None },
        ..stage.spec("half", testkit::child::run_for_ever())
    });
    assert_eq!(stage.process("half").terminal.size, Size { cols: 99, rows: 24 });
}

#[test]
fn t2_a_size_is_clamped_at_resize_and_the_terminal_has_it() {
    let stage = stage();
    stage.run("x", counter());
    stage.wait_pattern("x", "ready");
    for (number, (cols, rows, expected)) in BOUNDS.into_iter().enumerate() {
        stage.client().resize(Resize { target: "x".into(), size: request(cols, rows) }).unwrap();
        assert_eq!(stage.process("x").terminal.size, expected);
        // Back to a size in which a line of its answer fits, through a half that stays.
        stage.client().resize(Resize { target: "x".into(), size: request(200, 50) }).unwrap();
        told_at(&stage, &format!("q{number}"), "50 200");
    }
    stage
        .client()
        .resize(Resize { target: "x".into(), size: SizeRequest { cols: Some(120), rows: None } })
        .unwrap();
    told_at(&stage, "half", "50 120");
}

fn attached(stage: &MarkedDaemon, size: SizeRequest) -> Connection {
    let mut viewer = stage.client();
    let request = Attach { target: "x".into(), size, ..Attach::default() };
    viewer.attach(request).unwrap();
    viewer
}

#[test]
fn t2_a_size_is_clamped_at_attach_and_at_a_view() {
    let stage = stage();
    stage.run("x", testkit::child::run_for_ever());
    stage.wait_pattern("x", "ready");
    for (cols, rows, expected) in BOUNDS {
        let mut viewer = attached(&stage, request(cols, rows));
        // It is alone, so it gets its size.
        stage.until_view("x", |view| view.terminal.viewers == 1 && view.terminal.size == expected);
        viewer.send(Request::View(View::Size(request(80, 24)))).unwrap();
        stage.until_view("x", |view| view.terminal.size == Size::DEFAULT);
        viewer.send(Request::View(View::Size(request(cols, rows)))).unwrap();
        stage.until_view("x", |view| view.terminal.size == expected);
        viewer.send(Request::View(View::Size(request(80, 24)))).unwrap();
        stage.until_view("x", |view| view.terminal.size == Size::DEFAULT);
        drop(viewer);
        stage.until_view("x", |view| view.terminal.viewers == 0);
    }
}

#[test]
fn t6_an_equal_size_is_no_signal_and_another_is_one() {
    let stage = stage();
    stage.run("x", counter());
    stage.wait_pattern("x", "ready");
    for _ in 0..20 {
        stage.client().resize(Resize { target: "x".into(), size: request(80, 24) }).unwrap();
    }
    assert_eq!(told(&stage, "equal"), (0, "24 80".to_owned()));
    stage.client().resize(Resize { target: "x".into(), size: request(90, 30) }).unwrap();
    assert_eq!(told_at(&stage, "other", "30 90"), 1);
    assert_eq!(stage.process("x").terminal.size, Size { cols: 90, rows: 30 });
}

#[test]
fn t6_e5_a_storm_of_resizes_is_few_signals_and_ends_at_the_last_size() {
    let stage = stage();
    stage.run("x", counter());
    stage.wait_pattern("x", "ready");
    let start = Instant::now();
    let each = scaled(700);
    std::thread::scope(|scope| {
        for lane in 0..3u32 {
            let stage = &stage;
            scope.spawn(move || {
                let mut client = stage.client();
                for number in 0..each {
                    let cols = 40 + lane * 20 + u32::try_from(number % 17).unwrap();
                    client.resize(Resize { target: "x".into(), size: request(cols, 24) }).unwrap();
                }
            });
        }
    });
    stage.client().resize(Resize { target: "x".into(), size: request(133, 37) }).unwrap();
    let count = told_at(&stage, "storm", "37 133");
    let limit = 70.0 * start.elapsed().as_secs_f64() + 10.0;
    assert!((count as f64) < limit, "{count} signals, {limit} allowed");
    assert!(count >= 1 && count < 3 * each, "{count}");
}
