//! Exhaustion and slowness: they are reported, and other callers are not delayed.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proto::request::{Until, Wait};
use proto::{ErrorCode, Request, Status};
use testkit::process_scan::{pause, vitals};
use testkit::{DEADLINE, Mark, TestDaemon, child};

use crate::QD;

/// A daemon that was started by hand; reaped with the value.
struct ByHand(Child);

impl Drop for ByHand {
    fn drop(&mut self) {
        drop(self.0.wait());
    }
}

fn start_with_descriptors(daemon: &TestDaemon, limit: u32) -> ByHand {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nofile={limit}:{limit}")).args([QD, "daemon"]).envs(daemon.variables());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("ready "), "{line}");
    ByHand(child)
}

#[test]
fn d10_without_descriptors_the_limit_is_named_and_everybody_else_is_served() {
    let mark = Mark::default();
    let prepared = TestDaemon::without_start(QD);
    let _by_hand = start_with_descriptors(&prepared, 64);
    let daemon = prepared;
    let mut connection = daemon.client();
    let mut count = 0;
    let failure = loop {
        assert!(count < 64, "64 descriptors are not enough for 64 processes");
        match connection.spawn(mark.spawn(&format!("d{count}"), child::repeat_lines())) {
            Ok(_) => count += 1,
            Err(client::ClientError::Failed(failure)) => break failure,
            Err(error) => panic!("{error}"),
        }
    };
    assert!(count >= 3, "only {count} processes with 64 descriptors");
    assert!(failure.message.contains("open files"), "{failure:?}");
    let pid = daemon.pid();
    let visitors: Vec<UnixStream> =
        (0..100).filter_map(|_| UnixStream::connect(daemon.dirs().socket()).ok()).collect();
    let before = vitals(pid).cpu;
    pause(Duration::from_secs(1));
    let used = vitals(pid).cpu - before;
    assert!(used < Duration::from_millis(500), "{used:?} of processor time in one second of refusing");
    let answered = connection.list().unwrap();
    assert_eq!(answered.len(), count, "a connection that was there goes on");
    drop(visitors);
    // The daemon stays at its limit, so a new connection may still be refused while an earlier one is being
    // closed: the next attempt succeeds.
    let served = |arguments: &[&str]| {
        testkit::process_scan::eventually(&format!("qd {arguments:?}"), || {
            daemon.qd(arguments).status.success().then_some(())
        });
    };
    served(&["ps"]);
    served(&["send", "d0", "hello"]);
    connection.wait(pattern_wait("d0", "got:hello")).unwrap();
    served(&["close", "d1"]);
    testkit::process_scan::eventually("a new process in the place of the closed one", || {
        connection.spawn(mark.spawn("after", child::run_for_ever())).ok()
    });
}

fn pattern_wait(name: &str, pattern: &str) -> Wait {
    Wait {
        since: Some(0),
        timeout_ms: u64::try_from(DEADLINE.as_millis()).ok(),
        ..Wait::until(vec![name.into()], Until::Pattern(pattern.to_owned()))
    }
}

/// Keeps a program file from being executed until it is dropped: a lease that the kernel asks back at every
/// open.
struct Lease {
    keeper: Child,
}

impl Lease {
    fn take(program: &std::path::Path) -> Self {
        // 1024 is F_SETLEASE and 1 is F_WRLCK.
        let script = "$SIG{IO} = 'IGNORE'; open(F, '+<', $ARGV[0]) or die; fcntl(F, 1024, 1) or die; \
            $| = 1; print qq(held\\n); <STDIN>";
        let mut command = Command::new("perl");
        command.args(["-e", script]).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self { keeper }
    }

    fn release(mut self) {
        self.keeper.stdin.take().unwrap().write_all(b"\n").unwrap();
        self.keeper.wait().unwrap();
    }
}

#[test]
fn d9_a_program_that_does_not_start_delays_nobody() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("other", child::repeat_lines())).unwrap();
    daemon.wait_pattern("other", "ready");
    let program = daemon.root().join("slow");
    testkit::child::copy_program("/bin/sleep", &program);
    let lease = Lease::take(&program);
    let mut starting = daemon.client();
    let argv = vec![program.display().to_string(), "1000000".to_owned()];
    let call = starting.send(Request::Spawn(Box::new(mark.spawn("slow", argv)))).unwrap();
    for _ in 0..5 {
        let listed = daemon.list();
        let slow = listed.iter().find(|process| process.name.as_str() == "slow");
        assert!(slow.is_none_or(|slow| slow.status == Status::Starting), "{slow:?}");
    }
    assert!(daemon.qd(&["send", "other", "hello"]).status.success());
    daemon.wait_pattern("other", "got:hello");
    daemon.client().spawn(mark.spawn("third", child::run_for_ever())).unwrap();
    assert_eq!(daemon.process("slow").status, Status::Starting, "it is still on its way");
    lease.release();
    starting.answer(call).unwrap();
    assert_eq!(daemon.process("slow").status, Status::Running);
}

#[test]
fn d9_a_close_of_what_is_still_starting_leaves_nothing() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let program = daemon.root().join("slow");
    testkit::child::copy_program("/bin/sleep", &program);
    let lease = Lease::take(&program);
    let mut starting = daemon.client();
    let argv = vec![program.display().to_string(), "1000000".to_owned()];
    starting.send(Request::Spawn(Box::new(mark.spawn("slow", argv)))).unwrap();
    testkit::process_scan::eventually("the entry", || (daemon.list().len() == 1).then_some(()));
    let mut closing =
        daemon.command(&["close", "slow"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    lease.release();
    assert!(testkit::wait_for_end(&mut closing, DEADLINE).success());
    assert!(daemon.list().is_empty());
    mark.expect_gone();
}

#[test]
fn d10_more_than_the_most_calls_of_one_connection_are_all_answered() {
    let daemon = TestDaemon::start(QD);
    let mut connection = daemon.client();
    let calls: Vec<u64> =
        (0..500).map(|_| connection.send(Request::List(proto::request::Empty {})).unwrap()).collect();
    let mut answered = 0;
    while answered < calls.len() {
        match connection.receive_before(Instant::now() + DEADLINE).unwrap() {
            Some(client::Incoming::Answer(_)) => answered += 1,
            Some(other) => panic!("{other:?}"),
            None => panic!("{answered} of {} answered", calls.len()),
        }
    }
    let refused = connection.read(proto::request::Read {
        target: "nobody".into(),
        mode: Default::default(),
        ..proto::request::Read::default()
    });
    assert!(
        matches!(refused, Err(client::ClientError::Failed(failure)) if failure.code == ErrorCode::NotFound)
    );
}
