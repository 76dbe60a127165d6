//! `qd shutdown` returns when the end has come, also when another caller asked first, and with `--kill`
//! nothing continues, even without a daemon.

use std::process::{Child, Output, Stdio};

use testkit::process_scan::{is_alive, scale};
use testkit::{TestDaemon, child};

use crate::QD;

fn begin(daemon: &TestDaemon, words: &[&str]) -> Child {
    daemon.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("qd starts")
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn t9_everybody_who_asks_for_the_end_at_once_returns_when_it_has_come() {
    let daemon = TestDaemon::start(QD);
    for round in 0..6 * scale() {
        drop(daemon.client());
        let pid = daemon.pid();
        let callers: Vec<Child> = (0..8).map(|_| begin(&daemon, &["shutdown"])).collect();
        for caller in callers {
            let output = caller.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{round}: {}", said(&output));
            assert!(!is_alive(pid), "{round}: it returned before the end");
        }
    }
}

#[test]
fn t9_who_wants_every_process_ended_gets_that_beside_others_who_do_not() {
    let daemon = TestDaemon::start(QD);
    for round in 0..6 * scale() {
        let name = format!("x{round}");
        let pid = daemon.spawn(&name, child::run_for_ever()).pid.unwrap();
        let wishes: [&[&str]; 6] = [
            &["shutdown"],
            &["shutdown", "--kill"],
            &["shutdown"],
            &["shutdown"],
            &["shutdown", "--kill"],
            &["shutdown"],
        ];
        let callers = wishes.map(|words| (words.len() > 1, begin(&daemon, words)));
        for (kills, caller) in callers {
            let output = caller.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{round}: {}", said(&output));
            assert!(!kills || !is_alive(pid), "{round}: it goes on: {}", said(&output));
        }
    }
}

#[test]
fn d2_what_goes_on_without_a_daemon_is_ended_all_the_same() {
    let daemon = TestDaemon::start(QD);
    let pid = daemon.spawn("x", child::run_for_ever()).pid.unwrap();
    assert_eq!(said(&daemon.qd(&["shutdown"])), "the daemon has ended\n");
    assert_eq!(said(&daemon.qd(&["shutdown"])), "not running\n");
    assert!(is_alive(pid));
    let ended = daemon.qd(&["shutdown", "--kill"]);
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(said(&ended), "no daemon was running; the processes that ran without one have ended\n");
    assert!(!is_alive(pid));
    // Now there is nothing, and no daemon is started to find that out.
    assert_eq!(said(&daemon.qd(&["shutdown", "--kill"])), "not running\n");
    assert_eq!(daemon.json(&["shutdown", "--kill"])["was_running"], false);
}
