//! A fault while one run is served: that run loses its screen, and nothing else is lost. The faults are real
//! panics on the threads that serve runs, at failpoints of debug builds.

#![cfg(debug_assertions)]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::time::Duration;

use proto::Request;
use proto::request::{TypedInput, Write};
use testkit::process_scan::{eventually, pause, processor_time};
use testkit::{Mark, ScriptedChild, Tail, TestDaemon, child};

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// At most four threads serve runs, in turn: one of so many neighbours shares its thread with any other run.
const NEIGHBOURS: usize = 4;

/// Returns a daemon whose runs fail when their output contains a failpoint.
fn fragile() -> TestDaemon {
    let daemon = TestDaemon::without_start(QD);
    let started = daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", "1").output().unwrap();
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    daemon
}

/// Returns a run that prints what the test orders, and its log.
fn start_failing(daemon: &TestDaemon, mark: &Mark) -> (ScriptedChild, Tail) {
    let failing = ScriptedChild::new(daemon.root(), "failing");
    daemon.client().spawn(mark.spawn("failing", failing.argv())).unwrap();
    (failing, Tail::live(daemon, "failing"))
}

/// Runs with known bytes, next to one that fails.
struct Neighbours {
    tellers: Vec<ScriptedChild>,
    tails: Vec<Tail>,
    told: Vec<u8>,
}

impl Neighbours {
    fn start(daemon: &TestDaemon, mark: &Mark) -> Self {
        let names: Vec<String> = (0..NEIGHBOURS).map(|number| format!("neighbour{number}")).collect();
        let tellers: Vec<ScriptedChild> =
            names.iter().map(|name| ScriptedChild::new(daemon.root(), name)).collect();
        for (name, scripted_child) in names.iter().zip(&tellers) {
            daemon.client().spawn(mark.spawn(name, scripted_child.argv())).unwrap();
        }
        let tails = names.iter().map(|name| Tail::live(daemon, name)).collect();
        Self { tellers, tails, told: Vec::new() }
    }

    /// All print the same, which depends on the number.
    fn tell(&mut self, number: usize) {
        let bytes: Vec<u8> = (0..20)
            .flat_map(|line| format!("\x1b[3{}m{number}.{line} 日本\x1b[0m\r\n", line % 8).into_bytes())
            .collect();
        self.tellers.iter_mut().for_each(|scripted_child| scripted_child.tell(&bytes));
        self.told.extend(bytes);
    }

    /// Every byte came, and every screen shows what a terminal alone would show.
    fn expect_untouched(&mut self, daemon: &TestDaemon) {
        let size = term::GridSize::DEFAULT;
        let mut alone = term::Screen::new(size, term::Limits::default());
        alone.feed(&self.told);
        for (number, tail) in self.tails.iter_mut().enumerate() {
            assert!(tail.until_length(self.told.len()) == self.told, "neighbour {number}: other bytes");
            assert_eq!(tail.missed, 0);
            let shown = eventually("the neighbour's screen", || {
                let shown = daemon.screen(&format!("neighbour{number}"));
                (shown == alone.text(term::Wraps::Keep)).then_some(shown)
            });
            assert!(!shown.is_empty());
        }
    }
}

/// Returns how often the daemon reports a display reset.
fn resets(daemon: &TestDaemon) -> u32 {
    let status = daemon.json(&["status"]);
    let warnings = status["warnings"].as_array().cloned().unwrap_or_default();
    let warnings = warnings.iter().map(|text| text.as_str().unwrap().to_owned());
    let told: Vec<String> = warnings.filter(|warning| warning.starts_with("the display of p_")).collect();
    assert!(told.len() <= 1, "one warning for one run: {told:?}");
    let times =
        told.first().and_then(|warning| warning.split_once("was reset ")).map(|(_, rest)| rest.to_owned());
    match times.as_deref().and_then(|rest| rest.split(' ').next()) {
        None => 0,
        Some("once") => 1,
        Some(number) => number.parse().unwrap(),
    }
}

#[test]
fn c9_a_hundred_faults_of_the_emulator_cost_one_run_its_picture_and_no_other_anything() {
    let mark = Mark::default();
    let daemon = fragile();
    let (mut failing, mut log) = start_failing(&daemon, &mark);
    let mut neighbours = Neighbours::start(&daemon, &mark);
    let mut told = Vec::new();
    for number in 0..100 {
        let bytes = format!("@fail-emulator@\x1b[m{number}.\r\n").into_bytes();
        failing.tell(&bytes);
        told.extend(bytes);
        neighbours.tell(number);
        // One by one, so that no two are served at once.
        daemon.wait_pattern("failing", &format!("(^|@){number}\\.$"));
    }
    neighbours.expect_untouched(&daemon);
    assert!(log.until_length(told.len()) == told, "the failing run's own log is complete");
    eventually("a hundred resets are told", || (resets(&daemon) == 100).then_some(()));
    failing.tell(b"drawn again");
    eventually("its screen works", || daemon.screen("failing").contains("drawn again").then_some(()));
    // The warning about a run that has gone is removed.
    assert!(daemon.qd(&["close", "failing"]).status.success());
    eventually("no warning is left", || (resets(&daemon) == 0).then_some(()));
}

#[test]
fn c9_faults_outside_the_emulator_stay_in_their_run_which_goes_on_without_a_picture() {
    let mark = Mark::default();
    let daemon = fragile();
    daemon.client().spawn(mark.spawn("failing", child::repeat_lines())).unwrap();
    daemon.wait_pattern("failing", "ready");
    let mut log = Tail::live(&daemon, "failing");
    let mut neighbours = Neighbours::start(&daemon, &mark);
    let mut connection = daemon.client();
    for number in 0..100 {
        let input = TypedInput::Text(format!("@fail-output@ {number}.\n"));
        let write = Write { target: "failing".into(), input, submit: false, timeout_ms: None, key: None };
        connection.call(Request::Write(write)).unwrap();
        log.until(format!("got:@fail-output@ {number}.\r\n").as_bytes());
        neighbours.tell(number);
    }
    neighbours.expect_untouched(&daemon);
    let told = resets(&daemon);
    assert!((1..=20).contains(&told), "it was reset {told} times: it is no longer drawn after a few");
    // A new viewer sees it blank, and it still ends as it should.
    assert!(!daemon.screen("failing").contains("@fail-output@ 0."));
    assert!(daemon.qd(&["key", "failing", "ctrl-d"]).status.success());
    assert_eq!(daemon.wait_exit("failing").satisfied[0].exit.unwrap().code, Some(0));
    assert_eq!(log.to_end().iter().filter(|byte| **byte == b'\n').count(), 101, "ready and a hundred lines");
}

#[test]
fn c9_a_run_whose_every_deadline_fails_does_not_spin_and_its_log_goes_on() {
    let mark = Mark::default();
    let daemon = fragile();
    let (mut failing, mut log) = start_failing(&daemon, &mark);
    let mut neighbours = Neighbours::start(&daemon, &mark);
    failing.tell(b"@fail-deadlines@\r\n");
    let mut told = log.until(b"@fail-deadlines@\r\n").len();
    eventually("it has failed", || {
        // Output soon after other output is reported with a deadline.
        failing.tell(b"some\r\n");
        failing.tell(b"more\r\n");
        told += 12;
        (resets(&daemon) > 0).then_some(())
    });
    let begin = processor_time(daemon.pid());
    for number in 0..10 {
        let bytes = [b'x'; 64 * 1024];
        failing.tell(&bytes);
        told += bytes.len();
        assert_eq!(log.until_length(told).len(), told);
        neighbours.tell(number);
        pause(Duration::from_millis(200));
    }
    let worked = processor_time(daemon.pid()) - begin;
    neighbours.expect_untouched(&daemon);
    assert!(worked < Duration::from_millis(1_500), "{worked:?} of work in two seconds of nothing to do");
    assert!(resets(&daemon) <= 20, "{} resets", resets(&daemon));
    failing.end();
    assert_eq!(daemon.wait_exit("failing").satisfied[0].exit.unwrap().code, Some(7));
}
