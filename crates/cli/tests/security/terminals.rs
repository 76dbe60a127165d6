//! Terminals that vanish: a viewer without one ends at once, and the daemon never belonged to one.

use std::ffi::OsStr;
use std::time::Duration;

use proto::Size;
use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::{eventually, is_alive, parent, pin, processor_time, wait_gone};
use testkit::{Mark, Pty, TestDaemon, child};

use crate::QD;

/// The processor time a viewer may use from its terminal's end to its own; the goal is 50 ms in an optimised
/// build.
const CPU: Duration = Duration::from_millis(500);

fn in_terminal(daemon: &TestDaemon, program: &str, arguments: &[&str]) -> (Pty, i32) {
    let mut pty = Pty::open(Size::DEFAULT);
    let variables = daemon.variables();
    let variables: Vec<(&str, &OsStr)> =
        variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    let pid = pty.spawn(OsStr::new(program), arguments, &variables);
    (pty, pid)
}

#[test]
fn d7_a_viewer_whose_terminal_closes_is_gone_at_once_and_does_not_spin() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("shown", child::run_for_ever())).unwrap();
    let (mut pty, pid) = in_terminal(&daemon, QD, &["attach", "shown"]);
    pty.expect(b"ready");
    let (pinned, before) = (pin(pid), processor_time(pid));
    let mut viewer = pty.hang_up().unwrap();
    wait_gone(&pinned);
    let used = processor_time(pid) - before;
    assert!(used < CPU, "{used:?} of processor time after the hang-up");
    viewer.wait().unwrap();
    eventually("the viewer is missed", || (daemon.process("shown").terminal.viewers == 0).then_some(()));
}

#[test]
fn d7_a_viewer_whose_shell_is_killed_is_gone_too() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("shown", child::run_for_ever())).unwrap();
    let script = format!("'{QD}' attach shown; true");
    let (mut pty, shell) = in_terminal(&daemon, "sh", &["-c", &script]);
    pty.expect(b"ready");
    let is_viewer = |pid: &i32| parent(*pid) == shell;
    let viewer = testkit::process_scan::all_pids().into_iter().find(is_viewer).unwrap();
    let pinned = pin(viewer);
    kill_process(Pid::from_raw(shell).unwrap(), Signal::KILL).unwrap();
    wait_gone(&pinned);
    eventually("the viewer is missed", || (daemon.process("shown").terminal.viewers == 0).then_some(()));
}

#[test]
fn d8_closing_the_launching_terminal_leaves_sessions_alive() {
    let mark = Mark::default();
    let daemon = TestDaemon::without_start(QD);
    let (name, value) = mark.variable();
    let script = format!(
        "'{QD}' spawn --name kept --env {name}={value} -- sleep 1000000 && echo started; exec sleep 1000000"
    );
    // Also where the tests themselves were started so that they survive a hang-up.
    let (mut pty, _) = in_terminal(&daemon, "env", &["--default-signal=HUP", "sh", "-c", &script]);
    pty.expect(b"started");
    let (pid, before) = (daemon.pid(), daemon.process("kept"));
    let mut shell = pty.hang_up().unwrap();
    shell.wait().unwrap();
    // Whatever a hang-up would do, it has done by the time the shell has died of it.
    assert!(is_alive(before.pid.unwrap()) && is_alive(pid));
    assert_eq!((daemon.pid(), daemon.process("kept").pid), (pid, before.pid));
}

#[test]
fn d8_a_daemon_in_the_foreground_survives_a_hang_up_signal() {
    let mark = Mark::default();
    let daemon = TestDaemon::start(QD);
    daemon.client().spawn(mark.spawn("kept", child::repeat_lines())).unwrap();
    let pid = daemon.pid();
    for _ in 0..3 {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::HUP).unwrap();
        assert_eq!(daemon.pid(), pid);
    }
    assert!(daemon.qd(&["send", "kept", "hello"]).status.success());
    daemon.wait_pattern("kept", "got:hello");
}
