//! Kill -9 of a holder ends exactly its own run, and nothing of it is left.

use std::time::Instant;

use proto::event::Event;
use proto::{ExitReason, Status};
use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::{eventually, is_alive, parent, pin, scale, wait_gone};
use testkit::{DEADLINE, Mark, TestDaemon, child};

use crate::QD;

fn kill_holder_of(child: i32) {
    kill_process(Pid::from_raw(parent(child)).unwrap(), Signal::KILL).unwrap();
}

/// A child with a grandchild in a session of its own and one that ignores hang-ups.
const FAMILY: &str =
    "setsid sleep 1000000 & (trap '' HUP TERM; sleep 1000000) & echo ready; exec sleep 1000000";

#[test]
fn s2_a_killed_holder_ends_exactly_its_own_run() {
    let mark = Mark::default();
    let other = Mark::default();
    let daemon = TestDaemon::start(QD);
    let spared = daemon.client().spawn(other.spawn("spared", child::repeat_lines())).unwrap();
    let mut reports = Vec::new();
    for round in 0..5 * scale() {
        let name = format!("victim{round}");
        let victim = daemon.client().spawn(mark.spawn(&name, child::shell(FAMILY))).unwrap();
        daemon.wait_pattern(&name, "ready");
        let mut events = daemon.client();
        events.subscribe().unwrap();
        // A process that is just being executed shows no environment for a moment.
        let family = eventually("the leader and both grandchildren", || {
            Some(mark.living()).filter(|living| living.len() >= 3)
        });
        let family: Vec<_> = family.into_iter().map(pin).collect();
        let began = Instant::now();
        kill_holder_of(victim.pid.unwrap());
        loop {
            let incoming = events.receive_before(began + DEADLINE).unwrap().expect("the loss is announced");
            let client::Incoming::Event(announcement) = incoming else { continue };
            if let Event::Exited { id, exit, .. } = announcement.what {
                assert_eq!(
                    (id, exit.reason, exit.code, exit.signal),
                    (victim.id, ExitReason::Lost, None, None)
                );
                break;
            }
        }
        reports.push(began.elapsed());
        for member in &family {
            wait_gone(member);
        }
        mark.expect_gone();
        let process = daemon.process(&name);
        assert_eq!((process.status, process.exit.unwrap().reason), (Status::Exited, ExitReason::Lost));
    }
    let best = reports.iter().min().unwrap();
    println!("{} losses reported after {best:?} at best", reports.len());
    assert!(is_alive(spared.pid.unwrap()));
    assert_eq!(daemon.process("spared").pid, spared.pid);
    assert!(daemon.qd(&["send", "spared", "hello"]).status.success());
    daemon.wait_pattern("spared", "got:hello");
}

#[test]
fn s2_a_holder_killed_while_no_daemon_runs_is_found_lost_and_swept() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let victim = daemon.client().spawn(mark.spawn("victim", child::shell(FAMILY))).unwrap();
    daemon.wait_pattern("victim", "ready");
    daemon.kill_9();
    kill_holder_of(victim.pid.unwrap());
    let process = daemon.process("victim");
    assert_eq!((process.status, process.exit.unwrap().reason), (Status::Exited, ExitReason::Lost));
    mark.expect_gone();
    assert!(daemon.qd(&["restart", "victim"]).status.success(), "a lost process can be started again");
    daemon.wait_pattern("victim", "ready");
    assert_eq!(daemon.process("victim").run.0, 2);
}

#[test]
fn s2_a_waiter_and_a_viewer_of_a_lost_run_are_told() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let victim = daemon.client().spawn(mark.spawn("victim", child::run_for_ever())).unwrap();
    daemon.wait_pattern("victim", "ready");
    let waiter =
        daemon.command(&["--json", "wait", "victim", "--exit"]).stdout(std::process::Stdio::piped()).spawn();
    let mut viewer = daemon.client();
    let size = proto::request::SizeRequest::default();
    viewer
        .attach(proto::request::Attach {
            target: "victim".into(),
            size,
            read_only: true,
            ..proto::request::Attach::default()
        })
        .unwrap();
    kill_holder_of(victim.pid.unwrap());
    let told = waiter.unwrap().wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&told.stdout).contains("\"lost\""), "{told:?}");
    let until = Instant::now() + DEADLINE;
    let mut reasons = Vec::new();
    while let Ok(Some(incoming)) = viewer.receive_before(until) {
        if let client::Incoming::Notice(proto::Notice::End { reason, .. }) = incoming {
            reasons.push(reason);
        }
    }
    assert_eq!(reasons, ["lost"]);
}
