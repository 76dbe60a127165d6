//! The same operations over and over: nothing of them stays.

use proto::request::{Close, Resize, SizeRequest};
use testkit::process_scan::{all_pids, command_line, eventually, is_zombie, parent, scale, vitals};
use testkit::{Mark, TestDaemon, child};

use crate::{QD, attach, next};

/// Memory that a thousand cycles may add at most, in KiB.
const SLOPE_KIB: u64 = 1024;
/// How much the allocator's memory may vary from one moment to another, in KiB.
const NOISE_KIB: u64 = 3 * 1024;

fn cycle(daemon: &TestDaemon, mark: &Mark, n: usize) {
    let name = format!("c{n}");
    let mut connection = daemon.client();
    connection.spawn(mark.spawn(&name, child::shell("echo ready; exec sleep 1000000"))).unwrap();
    if n.is_multiple_of(6) {
        let mut viewer = attach(daemon, &name);
        next(&mut viewer);
    }
    let sizes = [(100, 30), (40, 50), (80, 24)];
    for (cols, rows) in sizes.into_iter().take(n % 4) {
        let size = SizeRequest { cols: Some(cols), rows: Some(rows) };
        connection.resize(Resize { target: name.as_str().into(), size }).unwrap();
    }
    connection
        .close(Close { target: name.as_str().into(), keep_background: false, stop: proto::Stop::default() })
        .unwrap();
}

/// Returns the memory that belongs to a process alone, in KiB. Program text comes and goes with what is being
/// done.
fn own_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    own.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Returns the daemon's forkserver.
fn forkserver(daemon: i32) -> i32 {
    let is_it = |pid: &i32| parent(*pid) == daemon && command_line(*pid).contains("hold");
    let found: Vec<i32> = all_pids().into_iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "one forkserver: {found:?}");
    found[0]
}

#[test]
fn a_soak_of_spawns_resizes_viewers_and_closes_leaves_everything_as_it_was() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    (0..90).for_each(|n| cycle(&daemon, &mark, n));
    mark.expect_gone();
    let pids = [daemon.pid(), forkserver(daemon.pid())];
    let before = pids.map(|pid| (vitals(pid), own_kib(pid)));
    let cycles = 240 * scale();
    (0..cycles).for_each(|n| cycle(&daemon, &mark, n));
    mark.expect_gone();
    for (pid, (before, own_before)) in pids.into_iter().zip(before) {
        eventually("descriptors and threads as before", || {
            let now = vitals(pid);
            (now.fds <= before.fds && now.threads <= before.threads).then_some(())
        });
        let own = own_kib(pid);
        println!(
            "{cycles} cycles: {before:?} -> {:?}, memory of its own {own_before} -> {own} KiB",
            vitals(pid)
        );
        let allowed = SLOPE_KIB * cycles as u64 / 1000 + NOISE_KIB;
        assert!(own > 0 && own <= own_before + allowed, "{own_before} -> {own} KiB");
        let is_left = |other: &i32| parent(*other) == pid && is_zombie(*other);
        let zombies: Vec<i32> = all_pids().into_iter().filter(is_left).collect();
        assert!(zombies.is_empty(), "{zombies:?}");
    }
    // A released holder removes its own socket as the last thing it does.
    eventually("no socket of a holder is left", || {
        daemon.dirs().holders().read_dir().unwrap().next().is_none().then_some(())
    });
}
