//! A start happens once, even when a daemon dies during it, and the daemon that it starts inherits nothing of
//! its starter.

use std::process::Command;

use testkit::TestDaemon;

use crate::QD;

/// The places at which a daemon can die between an order and its answer.
#[cfg(debug_assertions)]
const ON_THE_WAY: [daemon::Failpoint; 6] = {
    use daemon::Failpoint::{AfterCommit, BeforeCommit, EffectDone, FactReceived, HolderStarted, Recorded};
    [BeforeCommit, AfterCommit, Recorded, EffectDone, HolderStarted, FactReceived]
};

#[cfg(debug_assertions)]
#[test]
fn s1_a_keyed_spawn_that_a_daemon_died_over_is_carried_out_by_the_next_one() {
    let daemon = TestDaemon::without_start(QD);
    let order = daemon.root().join("order");
    for place in ON_THE_WAY {
        assert!(daemon.command(&["ps"]).env("QD_TEST_FAILPOINTS", &order).output().unwrap().status.success());
        std::fs::write(&order, place.name()).unwrap();
        let starts = daemon.root().join(place.name());
        let script = format!("echo started >> {}; exec sleep 1000000", starts.display());
        let words = ["spawn", "--key", place.name(), "--name", place.name(), "--", "sh", "-c", &script];
        // The daemon dies at this place; the next one, which dies nowhere, answers the same command.
        let spawned = daemon.json(&words);
        assert!(!order.exists(), "{place:?}: the failpoint was not reached");
        assert_eq!(spawned["status"], "running", "{place:?}: {spawned}");
        let again = daemon.json(&words);
        assert_eq!((&again["id"], &again["pid"]), (&spawned["id"], &spawned["pid"]), "{place:?}");
        let pid = i32::try_from(spawned["pid"].as_i64().unwrap()).unwrap();
        assert!(testkit::process_scan::is_alive(pid), "{place:?}");
        testkit::process_scan::eventually("it says that it started", || starts.exists().then_some(()));
        assert_eq!(std::fs::read_to_string(&starts).unwrap(), "started\n", "{place:?}");
        daemon.json(&["shutdown", "--kill"]);
        daemon.json(&["close", place.name()]);
        daemon.json(&["shutdown"]);
    }
}

#[test]
fn d10_a_daemon_keeps_nothing_open_of_whoever_started_it() {
    let daemon = TestDaemon::without_start(QD);
    let lock = daemon.root().join("lock");
    let script = format!("exec 9>{}; flock 9; exec {QD} spawn --name x -- sleep 1000000", lock.display());
    let mut starter = Command::new("bash");
    starter.args(["-c", &script]).envs(daemon.variables());
    assert!(starter.output().unwrap().status.success());
    let is_open = |(number, target): (i32, std::path::PathBuf)| (target == lock).then_some(number);
    let open: Vec<i32> =
        testkit::process_scan::descriptors(daemon.pid()).into_iter().filter_map(is_open).collect();
    assert!(open.is_empty(), "the daemon has it: {open:?}");
    std::fs::File::open(&lock).unwrap().try_lock().expect("the process that had the lock is gone");
}
