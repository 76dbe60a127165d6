//! Children that ask for much work with few bytes: only their own screens fall behind. If anything waited for
//! such a screen, these tests would take minutes to hours: the ring before it holds a million times three
//! bytes, each three of which fill a million cells.

use proto::Size;
use proto::request::{SizeRequest, Spawn};
use testkit::{Mark, TestDaemon, child};

use crate::QD;

/// Fills the whole screen with letters, for ever.
const BOMB: &str = "exec yes \"$(printf '\\033#8\\033#8\\033#8\\033#8\\033#8\\033#8\\033#8\\033#8')\"";

/// Two bombs, one for each worker, and two neighbours.
fn crowd(daemon: &TestDaemon, mark: &Mark) {
    for name in ["bomb1", "bomb2"] {
        let size = SizeRequest::from(Size { cols: 1000, rows: 1000 });
        let spawn = mark.spawn(name, child::shell(BOMB));
        daemon.client().spawn(Spawn { size, ..spawn }).unwrap();
    }
    for name in ["other1", "other2"] {
        daemon.client().spawn(mark.spawn(name, child::repeat_lines())).unwrap();
    }
    for name in ["other1", "other2"] {
        daemon.wait_pattern(name, "ready");
    }
}

fn neighbours_answer(daemon: &TestDaemon, round: &str) {
    for name in ["other1", "other2"] {
        assert!(daemon.qd(&["send", name, &format!("hello {round}")]).status.success());
        daemon.wait_pattern(name, &format!("got:hello {round}"));
    }
}

#[test]
fn m5e_neighbours_of_a_bomb_are_served_and_its_end_does_not_wait_for_its_screen() {
    let (mark, daemon) = (Mark::default(), TestDaemon::start(QD));
    crowd(&daemon, &mark);
    for round in 0..5 {
        neighbours_answer(&daemon, &format!("{round}"));
    }
    for name in ["bomb1", "bomb2"] {
        let closed = daemon.qd(&["close", name]);
        assert!(closed.status.success(), "{closed:?}");
    }
    assert!(daemon.list().iter().all(|process| !process.name.as_str().starts_with("bomb")));
    neighbours_answer(&daemon, "after");
}

#[test]
fn m5e_a_bomb_delays_no_adoption_and_can_be_ended_after_it() {
    let (mark, daemon) = (Mark::default(), TestDaemon::start(QD));
    crowd(&daemon, &mark);
    daemon.kill_9();
    neighbours_answer(&daemon, "again");
    for name in ["bomb1", "bomb2"] {
        let closed = daemon.qd(&["close", name]);
        assert!(closed.status.success(), "{closed:?}");
    }
    neighbours_answer(&daemon, "after");
}
