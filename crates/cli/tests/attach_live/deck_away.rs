//! The deck while there is no daemon: what is typed meanwhile, and what a person is told.

use std::path::Path;
use std::time::{Duration, Instant};

use proto::AgentState;
use proto::request::Until;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use testkit::process_scan::eventually;
use testkit::{DEADLINE, FakeAgents, MarkedDaemon};

use super::deck::{SIZE, showing_x};
use super::silence::is_stopped;
use super::window::Window;
use super::{running, sh, stage};

/// A deck that shows `x`, which writes every byte that it is sent into a file.
fn recording(file: &Path) -> (MarkedDaemon, Window) {
    let stage = stage();
    stage.run("x", sh(&format!("stty raw -echo; echo ready; exec cat > '{}'", file.display())));
    stage.wait_pattern("x", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    (stage, window)
}

/// Draws until `x` was sent exactly this.
fn until_sent(window: &mut Window, file: &Path, typed: &str) {
    let end = Instant::now() + DEADLINE;
    loop {
        let sent = std::fs::read_to_string(file).unwrap();
        assert!(typed.starts_with(&sent), "sent {sent:?} of {typed:?}");
        if sent == typed {
            return;
        }
        assert!(Instant::now() < end, "sent {sent:?} of {typed:?}; the window shows:\n{}", window.text());
        window.draw(Instant::now() + Duration::from_millis(5));
    }
}

/// Types, and remembers it.
fn type_text(window: &Window, typed: &mut String, text: &str) {
    window.type_keys(text);
    typed.push_str(text);
}

/// Stops every thread of the daemon: it reads no key from now on.
fn stop(stage: &MarkedDaemon) -> Pid {
    let pid = Pid::from_raw(stage.pid()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    eventually("every thread of the daemon is stopped", || is_stopped(pid).then_some(()));
    pid
}

/// Kills a daemon that is stopped and cannot be asked who it is.
fn kill_stopped(pid: Pid) {
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    poll(&mut fds, None).unwrap();
}

#[test]
fn u26_keys_that_a_dying_daemon_has_not_read_are_typed_once_by_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("typed");
    let (stage, mut window) = recording(&file);
    let mut typed = String::new();
    for round in 0..4 {
        type_text(&window, &mut typed, &format!("<read {round}>"));
        until_sent(&mut window, &file, &typed);
        let daemon = stop(&stage);
        type_text(&window, &mut typed, &format!("<unread {round}>"));
        // The deck has taken them from its terminal: they are on their way.
        eventually("the deck has read its keys", || {
            (rustix::io::ioctl_fionread(window.pty.slave()).unwrap() == 0).then_some(())
        });
        kill_stopped(daemon);
        type_text(&window, &mut typed, &format!("<away {round}>"));
        until_sent(&mut window, &file, &typed);
    }
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u26_keys_typed_around_the_death_of_the_daemon_arrive_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("typed");
    let (stage, mut window) = recording(&file);
    let mut typed = String::new();
    for round in 0..4 {
        type_text(&window, &mut typed, &format!("<before {round}>"));
        until_sent(&mut window, &file, &typed);
        stage.kill_9();
        for key in ["a", "b", "\u{1b}[A", "c"] {
            type_text(&window, &mut typed, key);
        }
        until_sent(&mut window, &file, &typed);
    }
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u27_after_a_shutdown_the_deck_says_what_goes_on_and_starts_the_daemon_by_a_key() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    assert!(stage.qd(&["shutdown"]).status.success());
    window.until_shows("the daemon was shut down; x goes on");
    window.until_shows("no daemon: Ctrl-\\ A starts one");
    window.type_keys("lost");
    window.until_shows("not typed");
    window.type_keys("\u{1c}A");
    window.until_shows("the daemon is back");
    window.type_keys("typed\r");
    window.until_shows("got:typed");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

/// A deck that shows the agent `a`.
fn showing_an_agent() -> (FakeAgents, Window) {
    let crew = FakeAgents::start(env!("CARGO_BIN_EXE_qd"), env!("CARGO_BIN_EXE_qd-agent-test"));
    crew.enlist("a", &[]);
    crew.until_state("a", AgentState::Idle);
    let mut window = Window::open(&crew, SIZE, &[]);
    window.until_shows("CREW");
    window.type_keys("\u{1c}ga\r");
    window.until_shows("─ a");
    (crew, window)
}

#[test]
fn u37_a_message_that_a_dying_daemon_has_not_taken_is_sent_once_by_the_next() {
    let (crew, mut window) = showing_an_agent();
    let daemon = stop(&crew);
    window.type_keys("\u{1c}m");
    window.until_shows("Message to a");
    window.type_keys("say hello\r");
    // What was typed before is on its way when a later key is shown.
    window.type_keys("\u{1c}?");
    window.until_shows("HELP");
    kill_stopped(daemon);
    crew.wait_until("a", Until::Turn(1));
    assert_eq!(crew.prompts("a"), ["say hello"]);
    window.type_keys("q\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u37_an_act_that_a_dying_daemon_has_not_answered_is_told_as_not_known() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    let daemon = stop(&stage);
    window.type_keys("\u{1c}Kt");
    window.type_keys("\u{1c}?");
    window.until_shows("HELP");
    kill_stopped(daemon);
    window.until_shows("it is not known whether x got the signal");
    window.type_keys("q\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u37_without_a_daemon_nothing_is_done_and_what_was_written_is_there_again() {
    let (crew, mut window) = showing_an_agent();
    assert!(crew.qd(&["shutdown"]).status.success());
    window.until_shows("the daemon was shut down");
    window.type_keys("\u{1c}i");
    window.until_shows("nothing was done: the daemon was shut down");
    window.type_keys("\u{1c}m");
    window.until_shows("Message to a");
    window.type_keys("say hello\r");
    window.until_shows("is kept for the next time");
    window.type_keys("\u{1c}A");
    window.until_shows("the daemon is back");
    window.type_keys("\u{1c}m");
    window.until_shows("say hello");
    window.type_keys("\r");
    crew.wait_until("a", Until::Turn(1));
    assert_eq!(crew.prompts("a"), ["say hello"]);
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}
