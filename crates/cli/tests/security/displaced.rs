//! Programs outside every run that link to a holder although its daemon lives: the daemon links again and
//! reports it, and every request about the run is done or refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holder::{FromHolder, Link, ToHolder};
use testkit::process_scan::{eventually, pin, wait_gone};
use testkit::{MarkedDaemon, child};

use crate::{QD, said};

/// Prints a line twice a second, and what is typed.
const TALKER: &str = "i=0; (while :; do i=$((i+1)); echo tick $i; sleep 0.5; done) & \
    while read -r line; do echo \"got $line\"; done";

const TIMEOUT: Duration = Duration::from_secs(20);

/// Starts a run to be taken over; returns its holder's socket.
fn victim(stage: &MarkedDaemon, script: &str) -> PathBuf {
    let victim = stage.run("victim", child::shell(script));
    stage.dirs().holders().join(format!("{}.1", victim.id))
}

fn warnings(stage: &MarkedDaemon) -> String {
    stage.json(&["status"])["warnings"].to_string()
}

fn wait_for_warning(stage: &MarkedDaemon, wanted: &str) {
    eventually(wanted, || warnings(stage).contains(wanted).then_some(()));
}

/// Reads a link until its holder reports that another has it.
fn until_displaced(link: &mut Link) {
    let kind = eventually("the link to be taken back", || match link.receive() {
        Ok(_) => None,
        Err(error) => Some(error.kind()),
    });
    assert_eq!(kind, std::io::ErrorKind::ConnectionAborted);
}

/// Moves the holder's socket where only the attacker finds it, and links to it.
fn link_alone(socket: &Path, hidden: &Path) -> Link {
    std::fs::rename(socket, hidden).unwrap();
    Link::connect(hidden, TIMEOUT).unwrap().0
}

#[test]
fn m4c_a_displaced_daemon_takes_its_place_again_and_says_who_was_there() {
    let stage = MarkedDaemon::start(QD);
    let socket = victim(&stage, TALKER);
    stage.wait_pattern("victim", "tick 1");
    let (mut link, _hello) = Link::connect(&socket, TIMEOUT).unwrap();
    until_displaced(&mut link);
    let own = format!("the holder of {}", stage.process("victim").id);
    wait_for_warning(&stage, "this daemon has it again");
    assert!(warnings(&stage).contains(&own), "{}", warnings(&stage));
    let doctor = said(&stage.qd(&["doctor"]));
    assert!(doctor.contains("was taken over"), "{doctor}");
    let sent = stage.qd(&["send", "victim", "hello"]);
    assert!(sent.status.success(), "{}", said(&sent));
    stage.wait_pattern("victim", "got hello");
    let tick = stage.screen("victim").lines().filter(|line| line.starts_with("tick")).count();
    stage.wait_pattern("victim", &format!("tick {}", tick + 2));
    let closed = stage.qd(&["close", "victim", "--now"]);
    assert!(closed.status.success(), "{}", said(&closed));
    // The warning goes with the run, which may be a moment after the close.
    eventually("the warning to go", || (!warnings(&stage).contains(&own)).then_some(()));
    stage.assert_nobody_left();
}

#[test]
fn m4c_what_an_intruder_leaves_in_a_holder_does_not_outlive_it() {
    let stage = MarkedDaemon::start(QD);
    let socket = victim(&stage, TALKER);
    stage.wait_pattern("victim", "tick 1");
    let (mut link, _hello) = Link::connect(&socket, TIMEOUT).unwrap();
    for message in [
        ToHolder::Checkpoint { offset: 1 << 40, blob: b"not a picture".to_vec() },
        ToHolder::Resize { cols: 7, rows: 3 },
        ToHolder::Input { id: u64::MAX, bytes: b"never\n".to_vec() },
    ] {
        // The daemon may have been faster.
        drop(link.send(&message));
    }
    until_displaced(&mut link);
    wait_for_warning(&stage, "this daemon has it again");
    assert!(stage.qd(&["send", "victim", "one"]).status.success());
    stage.wait_pattern("victim", "got one");
    stage.kill_9();
    assert!(stage.qd(&["send", "victim", "two"]).status.success());
    stage.wait_pattern("victim", "got two");
    assert!(stage.screen("victim").contains("got one"), "{}", stage.screen("victim"));
    assert_eq!(stage.process("victim").terminal.size.cols, 80);
}

#[test]
fn m4c_an_intruder_that_links_without_end_keeps_nobody_from_ending_the_run() {
    let stage = MarkedDaemon::start(QD);
    let socket = victim(&stage, &format!("trap '' TERM HUP; {TALKER}"));
    stage.wait_pattern("victim", "tick 1");
    let child = pin(stage.process("victim").pid.unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let intruder = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let mut links = 0_u32;
            while !is_over.load(Ordering::Relaxed) {
                let Ok((mut link, _hello)) = Link::connect(&socket, Duration::from_secs(1)) else { continue };
                links += 1;
                while !is_over.load(Ordering::Relaxed) && matches!(link.receive(), Ok(None)) {
                    std::thread::yield_now();
                }
            }
            links
        }
    });
    wait_for_warning(&stage, "was taken over");
    let tick = stage.screen("victim").lines().filter(|line| line.starts_with("tick")).count();
    stage.wait_pattern("victim", &format!("tick {}", tick + 3));
    // Done, or refused; never in doubt for ever.
    let sent = stage.qd(&["send", "victim", "hello"]);
    assert!(sent.status.success() || said(&sent).contains("wrote 0 of"), "{}", said(&sent));
    let closed = stage.qd(&["close", "victim", "--grace", "1"]);
    assert!(closed.status.success(), "{}", said(&closed));
    is_over.store(true, Ordering::Relaxed);
    wait_gone(&child);
    assert!(intruder.join().unwrap() > 0);
    stage.assert_nobody_left();
}

#[test]
fn m4c_a_run_whose_holder_cannot_be_linked_again_is_read_and_ended() {
    let stage = MarkedDaemon::start(QD);
    let socket = victim(&stage, TALKER);
    stage.wait_pattern("victim", "tick 1");
    let link = link_alone(&socket, &stage.root().join("hidden"));
    wait_for_warning(&stage, "cannot be reached");
    let tick = stage.screen("victim").lines().filter(|line| line.starts_with("tick")).count();
    stage.wait_pattern("victim", &format!("tick {}", tick + 2));
    let sent = stage.qd(&["send", "victim", "hello"]);
    assert!(!sent.status.success() && said(&sent).contains("wrote 0 of"), "{}", said(&sent));
    let closed = stage.qd(&["close", "victim", "--grace", "1"]);
    assert!(closed.status.success(), "{}", said(&closed));
    drop(link);
    stage.assert_nobody_left();
}

#[test]
fn m4c_an_exit_that_was_announced_to_an_intruder_is_learnt_from_the_next_link() {
    let stage = MarkedDaemon::start(QD);
    let socket = victim(&stage, "read line; echo got $line; exit 7");
    let hidden = stage.root().join("hidden");
    let mut link = link_alone(&socket, &hidden);
    wait_for_warning(&stage, "cannot be reached");
    link.send(&ToHolder::Input { id: 1, bytes: b"bye\n".to_vec() }).unwrap();
    eventually("the exit", || matches!(link.receive(), Ok(Some(FromHolder::Exited(_)))).then_some(()));
    std::fs::rename(&hidden, &socket).unwrap();
    let exit = stage.wait_exit("victim");
    assert!(format!("{exit:?}").contains('7'), "{exit:?}");
    assert!(stage.screen("victim").contains("got bye"));
    assert!(stage.qd(&["close", "victim"]).status.success());
}

#[test]
fn m4c_what_listens_in_the_place_of_a_holder_is_not_linked_to() {
    let stage = MarkedDaemon::start(QD);
    let socket = victim(&stage, TALKER);
    stage.wait_pattern("victim", "tick 1");
    let link = link_alone(&socket, &stage.root().join("hidden"));
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    wait_for_warning(&stage, "not a holder of ours");
    let closed = stage.qd(&["close", "victim", "--now"]);
    assert!(closed.status.success(), "{}", said(&closed));
    drop(link);
    stage.assert_nobody_left();
}
