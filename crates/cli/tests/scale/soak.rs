//! The same things over and over: nothing of them stays.

use testkit::census::{eventually, is_zombie, parent, scale, vitals};
use testkit::{Mark, TestDaemon, child};

use crate::{QD, attach, next};

/// Memory that a thousand cycles may add at most, in KiB; the figure is 1 MB and the rest is the allocator's.
const SLOPE_KIB: u64 = 8 * 1024;

fn cycle(daemon: &TestDaemon, mark: &Mark, n: usize) {
    let name = format!("c{n}");
    daemon.client().spawn(mark.spawn(&name, child::shell("echo ready; exec sleep 1000000"))).unwrap();
    if n.is_multiple_of(6) {
        let mut viewer = attach(daemon, &name);
        next(&mut viewer);
    }
    let close = proto::request::Close { target: name.as_str().into(), keep_background: false };
    daemon.client().close(close).unwrap();
}

#[test]
fn a_soak_of_spawns_closes_and_viewers_leaves_everything_as_it_was() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    (0..60).for_each(|n| cycle(&daemon, &mark, n));
    let pid = daemon.pid();
    let before = vitals(pid);
    let cycles = 300 * scale();
    (0..cycles).for_each(|n| cycle(&daemon, &mark, n));
    mark.expect_gone();
    eventually("descriptors and threads as before", || {
        let now = vitals(pid);
        (now.fds <= before.fds && now.threads <= before.threads).then_some(())
    });
    let after = vitals(pid);
    println!("{cycles} cycles: {before:?} -> {after:?}");
    let allowed = SLOPE_KIB * cycles as u64 / 1000 + 4 * 1024;
    assert!(after.rss_kib <= before.rss_kib + allowed, "{} -> {} KiB", before.rss_kib, after.rss_kib);
    let zombies: Vec<i32> = testkit::census::everybody()
        .into_iter()
        .filter(|other| parent(*other) == pid && is_zombie(*other))
        .collect();
    assert!(zombies.is_empty(), "{zombies:?}");
    // A holder that was let go removes its own socket as the last thing it does.
    eventually("no socket of a holder is left", || {
        daemon.places().holders().read_dir().unwrap().next().is_none().then_some(())
    });
}
