//! Kill -9 of the daemon in the middle of its own work: starting, closing and restarting processes. Nothing escapes.

use std::collections::BTreeSet;
use std::time::Duration;

use proto::request::{Close, Empty, Restart, Target};
use proto::{Request, Status};
use testkit::process_scan::{pause, scale};
use testkit::{Mark, TestDaemon, child};

use crate::QD;
use crate::story::Dice;

/// Every living marked process is listed as running by `ps`.
fn expect_all_known(daemon: &TestDaemon, mark: &Mark) {
    let known = || -> BTreeSet<i32> {
        daemon
            .list()
            .iter()
            .filter(|process| matches!(process.status, Status::Running | Status::Starting | Status::Stopping))
            .filter_map(|process| process.pid)
            .collect()
    };
    // A holder that was just being started may still be exiting.
    testkit::process_scan::eventually("every marked process is known", || {
        let living: BTreeSet<i32> = mark.living().into_iter().collect();
        (living == known()).then_some(())
    });
}

#[test]
fn s1_kills_in_a_storm_of_spawns_let_no_child_escape() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut dice = Dice::new(3);
    for round in 0..12 * scale() {
        let mut connection = daemon.client();
        for n in 0..8 {
            let argv = child::shell("exec sleep 1000000");
            connection.send(Request::Spawn(Box::new(mark.spawn(&format!("r{round}-{n}"), argv)))).unwrap();
        }
        pause(Duration::from_micros(dice.below(25_000) as u64));
        daemon.kill_9();
        expect_all_known(&daemon, &mark);
        let mut connection = daemon.client();
        for process in connection.list().unwrap() {
            assert!(process.name.as_str().starts_with(&format!("r{round}-")), "{}", process.name);
            connection
                .close(Close {
                    target: Target(process.id.to_string()),
                    keep_background: false,
                    stop: proto::Stop::default(),
                })
                .unwrap();
        }
        mark.expect_gone();
    }
}

#[test]
fn s1_a_kill_during_close_is_completed_or_can_be_repeated() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut dice = Dice::new(4);
    let stubborn = "trap '' HUP TERM; setsid sleep 1000000 & echo ready; while :; do sleep 1000; done";
    for round in 0..8 * scale() {
        let name = format!("c{round}");
        daemon.client().spawn(mark.spawn(&name, child::shell(stubborn))).unwrap();
        daemon.wait_pattern(&name, "ready");
        let mut connection = daemon.client();
        connection
            .send(Request::Close(Close {
                target: name.as_str().into(),
                keep_background: false,
                stop: proto::Stop::default(),
            }))
            .unwrap();
        pause(Duration::from_micros(dice.below(600_000) as u64));
        daemon.kill_9();
        let code = daemon.qd(&["close", &name]).status.code();
        assert!(matches!(code, Some(0 | 3)), "closed now, or not found because it was: {code:?}");
        assert!(daemon.list().iter().all(|process| process.name.as_str() != name));
        mark.expect_gone();
    }
}

#[test]
fn s1_a_kill_during_restart_leaves_one_run_at_most() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut dice = Dice::new(5);
    daemon.client().spawn(mark.spawn("again", child::shell("exec sleep 1000000"))).unwrap();
    for _ in 0..12 * scale() {
        let mut connection = daemon.client();
        connection
            .send(Request::Restart(Restart { target: "again".into(), stop: proto::Stop::default() }))
            .unwrap();
        pause(Duration::from_micros(dice.below(15_000) as u64));
        daemon.kill_9();
        expect_all_known(&daemon, &mark);
        assert!(mark.living().len() <= 1, "{:?}", mark.living());
        assert_eq!(daemon.list().len(), 1, "the entry stays");
        // Whatever the kill left, the next restart works once a run that had just begun is under way.
        testkit::census::eventually("the run is not starting any more", || {
            (daemon.process("again").status != Status::Starting).then_some(())
        });
        let restarted = daemon.qd(&["restart", "again"]);
        assert!(restarted.status.success(), "{}", String::from_utf8_lossy(&restarted.stderr));
        mark.expect(1);
    }
}

#[test]
fn s1_a_client_that_waits_is_told_when_the_daemon_dies() {
    let daemon = TestDaemon::start(QD);
    let mut connection = daemon.client();
    let id = connection.send(Request::Subscribe(Empty {})).unwrap();
    connection.answer(id).unwrap();
    daemon.kill_9();
    assert!(connection.receive().unwrap().is_none(), "the end of the connection is seen at once");
}
