//! What a person can do while the daemon is stopped, and what happens to the keys typed meanwhile.

use std::time::{Duration, Instant};

use proto::Size;
use rustix::process::{Pid, Signal, kill_process};
use testkit::process_scan::eventually;
use testkit::{DEADLINE, MarkedDaemon};

use super::window::Window;
use super::{running, runs_on_alone};

/// A daemon that is stopped until this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn stop(stage: &MarkedDaemon) -> Self {
        let pid = Pid::from_raw(stage.pid()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        // Its threads stop one after the other: until then a key may still be read.
        eventually("every thread of the daemon is stopped", || is_stopped(pid).then_some(()));
        Self(pid)
    }
}

pub(crate) fn is_stopped(pid: Pid) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).unwrap();
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.starts_with(" T"))
    })
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).unwrap();
    }
}

/// Draws until the terminal is raw (the daemon has it) or not (the client reads in its place).
fn until_raw(window: &mut Window, is_raw: bool) {
    let end = Instant::now() + DEADLINE;
    while window.pty.is_raw() != is_raw {
        assert!(Instant::now() < end, "the terminal did not change hands");
        window.draw(Instant::now() + Duration::from_millis(5));
    }
}

/// Returns the child that a shell waits for.
fn child_of(shell: i32) -> Pid {
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}

#[test]
fn detaching_works_while_the_daemon_is_stopped() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    let stopped = Stopped::stop(&stage);
    assert_eq!(window.detach().code(), Some(0));
    window.until_shows("[detached from x]");
    assert!(!window.pty.is_raw());
    drop(stopped);
    runs_on_alone(&stage);
}

#[test]
fn keys_typed_while_the_daemon_is_stopped_arrive_once_and_in_order() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    let mut typed = String::new();
    for round in 0..3 {
        let stopped = Stopped::stop(&stage);
        window.type_keys("one ");
        until_raw(&mut window, false);
        window.type_keys("two three");
        drop(stopped);
        // The client reads some of it, and perhaps the daemon some.
        window.type_keys(&format!(" four {round}\r"));
        let line = format!("got:one two three four {round}");
        window.until_shows(&line);
        typed = format!("{typed}\n{line}");
        window.type_keys(&format!("after {round}\r"));
        window.until_shows(&format!("got:after {round}"));
        typed = format!("{typed}\ngot:after {round}");
    }
    assert_eq!(window.text(), format!("ready{typed}"));
    until_raw(&mut window, true);
    assert_eq!(window.detach().code(), Some(0));
}

#[test]
fn what_was_typed_to_a_daemon_that_is_stopped_is_run_by_no_shell() {
    let stage = running();
    let script =
        "\"$0\" attach x; stty sane -echo; echo back; read -r line; echo \"shell:$line\"; read -r line";
    let (mut window, shell) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", script, env!("CARGO_BIN_EXE_qd")]);
    window.until_shows("ready");
    window.type_keys("before\r");
    window.until_shows("got:before");
    let stopped = Stopped::stop(&stage);
    window.type_keys("touch leak\r");
    kill_process(child_of(shell), Signal::TERM).unwrap();
    window.until_shows("back");
    window.type_keys("for the shell\r");
    window.until_shows("shell:for the shell");
    drop(stopped);
    stage.until_view("x", |view| view.terminal.viewers == 0);
}
