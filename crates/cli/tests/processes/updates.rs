//! Synchronized updates of a child: held back, but not for long.

use std::time::{Duration, Instant};

use proto::request::ReadMode;
use testkit::ScriptedChild;
use testkit::process_scan::eventually;

use super::stage;

#[test]
fn c8_an_update_the_child_never_ends_is_shown_after_a_moment() {
    let stage = stage();
    let mut scripted_child = ScriptedChild::new(stage.root(), "x");
    stage.run("x", scripted_child.argv());
    scripted_child.tell(b"before\r\n");
    stage.wait_pattern("x", "before");
    let version = || stage.read("x", ReadMode::Screen).version;
    let mut held = Vec::new();
    for round in 0..5 {
        let shown = version();
        let begin = Instant::now();
        // Nothing follows that would end it.
        scripted_child.tell(format!("\x1b[?2026hround {round}.\r\n").as_bytes());
        eventually("the update is shown", || (version() > shown).then_some(()));
        held.push(begin.elapsed());
        assert!(stage.screen("x").contains(&format!("round {round}.")));
    }
    assert!(*held.iter().max().unwrap() >= Duration::from_millis(100), "it was not held back: {held:?}");
}
