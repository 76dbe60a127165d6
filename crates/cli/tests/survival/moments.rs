//! Kill -9 of the daemon in the middle of its own work: starting, closing and restarting processes. Nothing escapes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use daemon::Failpoint;
use proto::request::{Close, Empty, Restart, Target};
use proto::{Request, Status};
use rustix::process::{Signal, pidfd_send_signal};
use testkit::process_scan::{eventually, pause, pin, scale};
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

/// Has the daemon stay at another place than before. It never reads half of a name.
#[cfg(debug_assertions)]
fn stay_at(order: &std::path::Path, place: &str) {
    let new = order.with_extension("new");
    std::fs::write(&new, place).unwrap();
    std::fs::rename(&new, order).unwrap();
}

#[cfg(debug_assertions)]
#[test]
fn s1_a_start_is_answered_before_its_second_record_and_a_kill_in_between_loses_nothing() {
    for round in 0..scale() {
        let (mark, daemon, order) = mortal();
        let pinned = pin(daemon.pid());
        stay_at(&order, "unhosted");
        let key = Some(format!("k{round}"));
        let spawn =
            proto::request::Spawn { key, ..mark.spawn("x", child::shell("echo ready; exec sleep 1000000")) };
        let mut connection = daemon.client();
        connection.send(Request::Spawn(Box::new(spawn.clone()))).unwrap();
        let living = mark.expect(1);
        // The holder runs. From now on nothing reaches the disk.
        stay_at(&order, "uncommitted");
        let latest = std::time::Instant::now() + Duration::from_secs(30);
        let Some(client::Incoming::Answer(answer)) = connection.receive_before(latest).unwrap() else {
            panic!("the start is not answered before it is recorded")
        };
        let proto::Outcome::Ok(proto::Reply::Spawned(spawned)) = answer.outcome else {
            panic!("{:?}", answer.outcome)
        };
        assert_eq!((spawned.status, spawned.pid), (Status::Running, living.first().copied()));
        pidfd_send_signal(&pinned, Signal::KILL).unwrap();
        testkit::process_scan::wait_gone(&pinned);
        std::fs::remove_file(&order).unwrap();
        let found = daemon.process("x");
        assert_eq!((found.id, found.status, found.pid), (spawned.id, Status::Running, spawned.pid));
        daemon.wait_pattern("x", "ready");
        let again = daemon.client().spawn(spawn).unwrap();
        assert_eq!((again.id, again.pid, again.run), (spawned.id, spawned.pid, spawned.run), "nothing twice");
        mark.expect(1);
        assert!(daemon.qd(&["close", "x"]).status.success());
        mark.expect_gone();
    }
}

#[test]
fn m7f_a_close_that_is_recorded_is_complete_although_the_daemon_died_before_its_holder_heard_of_it() {
    for restarts in [false, true] {
        let (mark, daemon, order) = mortal();
        daemon.client().spawn(mark.spawn("x", child::shell("echo ready; read -r line"))).unwrap();
        daemon.wait_pattern("x", "ready");
        if restarts {
            assert!(daemon.qd(&["restart", "x"]).status.success());
            daemon.wait_pattern("x", "ready");
        }
        assert!(daemon.qd(&["send", "x", "end"]).status.success());
        daemon.wait_exit("x");
        std::fs::write(&order, Failpoint::Removed.name()).unwrap();
        let _answer = daemon.qd(&["close", "x"]);
        assert!(!order.exists(), "the daemon died");
        assert!(daemon.list().iter().all(|process| process.name.as_str() != "x"), "{restarts}: it is back");
        mark.expect_gone();
    }
}

#[test]
fn m7f_a_close_that_keeps_the_background_keeps_it_although_the_daemon_died_before_its_holder_heard_of_it() {
    let (mark, daemon, order) = mortal();
    let script = "(trap '' HUP; exec sleep 1000) & echo ready $! ready; read -r line";
    daemon.client().spawn(mark.spawn("x", child::shell(script))).unwrap();
    daemon.wait_pattern("x", "ready [0-9]+ ready");
    let text = String::from_utf8(daemon.qd(&["read", "x"]).stdout).unwrap();
    let background: i32 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(daemon.qd(&["send", "x", "end"]).status.success());
    daemon.wait_exit("x");
    let background = pin(background);
    std::fs::write(&order, Failpoint::Removed.name()).unwrap();
    let _answer = daemon.qd(&["close", "--keep-background", "x"]);
    assert!(!order.exists(), "the daemon died");
    assert!(daemon.list().is_empty(), "it is back");
    let sockets = || std::fs::read_dir(daemon.dirs().holders()).map_or(0, Iterator::count);
    eventually("the holder is gone", || (sockets() == 0).then_some(()));
    assert!(pidfd_send_signal(&background, Signal::KILL).is_ok(), "the background was ended");
    mark.expect_gone();
}

/// Starts a daemon that dies at the place that the returned file names.
pub(crate) fn mortal() -> (Mark, TestDaemon, PathBuf) {
    let daemon = TestDaemon::without_start(QD);
    let order = daemon.root().join("die");
    assert!(daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", &order).output().unwrap().status.success());
    (Mark::default(), daemon, order)
}

#[test]
fn s1_a_kill_during_restart_leaves_one_run_at_most() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    let mut dice = Dice::new(5);
    daemon.client().spawn(mark.spawn("again", child::shell("exec sleep 1000000"))).unwrap();
    for _ in 0..12 * scale() {
        let mut connection = daemon.client();
        connection.send(Request::Restart(Restart { target: "again".into(), ..Restart::default() })).unwrap();
        pause(Duration::from_micros(dice.below(15_000) as u64));
        daemon.kill_9();
        expect_all_known(&daemon, &mark);
        assert!(mark.living().len() <= 1, "{:?}", mark.living());
        assert_eq!(daemon.list().len(), 1, "the entry stays");
        // Whatever the kill left, the next restart works, once a run that is being started has started.
        eventually("the next restart works", || {
            let restarted = daemon.qd(&["restart", "again"]);
            let error = String::from_utf8_lossy(&restarted.stderr).into_owned();
            assert!(restarted.status.success() || error.contains("again is starting"), "{error}");
            restarted.status.success().then_some(())
        });
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
