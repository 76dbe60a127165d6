//! How an attachment ends: detached, taken over, signalled, with its child; and how it survives its daemon.

use proto::Size;
use rustix::process::Signal;

use super::window::Window;
use super::{running, runs_on_alone, sh, stage};

fn settings(window: &Window) -> String {
    format!("{:?}", window.pty.settings())
}

/// Returns the settings of an untouched terminal.
fn untouched() -> String {
    format!("{:?}", testkit::Pty::open(Size::DEFAULT).settings())
}

#[test]
fn detaching_works_on_the_first_press_restores_the_terminal_and_the_process_runs_on() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    assert!(window.pty.is_raw());
    assert_eq!(window.detach().code(), Some(0));
    window.until_shows("[detached from x]");
    assert_eq!(settings(&window), untouched());
    runs_on_alone(&stage);
}

#[test]
fn with_the_escape_of_ssh_a_tilde_and_a_dot_detach_at_the_start_of_a_line_only() {
    let stage = running();
    let mut window = Window::open(&stage, Size::DEFAULT, &["attach", "x", "--escape", "ssh"]);
    window.until_shows("ready");
    window.type_keys("a~.\r");
    window.until_shows("got:a~.");
    window.type_keys("~~.\r");
    window.until_shows("got:~.");
    window.type_keys("~x\r");
    window.until_shows("got:~x");
    window.type_keys("~.");
    assert_eq!(window.wait_exit().code(), Some(0));
    window.until_shows("[detached from x]");
    assert_eq!(settings(&window), untouched());
    // Without it they are two keys like any other.
    let mut plain = Window::attached(&stage, "got:~x");
    plain.type_keys("~.\r");
    plain.until_shows("got:~.\ngot:~x\ngot:~.");
    assert_eq!(plain.detach().code(), Some(0));
}

#[test]
fn a_signal_restores_the_terminal_and_the_process_runs_on() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    window.pty.signal(Signal::TERM);
    assert_eq!(window.wait_exit().code(), Some(143));
    assert_eq!(settings(&window), untouched());
    assert_eq!(stage.process("x").status, proto::Status::Running);
}

#[test]
fn the_exit_code_is_the_childs_and_the_terminal_is_restored() {
    for (script, code, words) in
        [("exit 7", 7, "[x: exit 7]"), ("kill -9 $$", 137, "[x: SIGKILL]"), ("exit 0", 0, "[x: exit 0]")]
    {
        let stage = stage();
        stage.run("x", sh(&format!("printf '\\033[?1049h\\033[?25l\\033[?1000hready'; read l; {script}")));
        stage.wait_pattern("x", "ready");
        let mut window = Window::attached(&stage, "ready");
        window.type_keys("\r");
        assert_eq!(window.wait_exit().code(), Some(code));
        window.until_shows(words);
        assert_eq!(settings(&window), untouched());
        // Everything that the child left on is off again: alternate screen, hidden cursor, mouse.
        assert!(!window.screen.is_alternate() && window.screen.cursor().visible, "{script}");
        assert!(!format!("{:?}", window.screen.modes()).contains("Click"), "{:?}", window.screen.modes());
    }
}

#[test]
fn closing_the_process_ends_its_viewers() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    stage.json(&["close", "x"]);
    window.wait_exit();
    assert_eq!(settings(&window), untouched());
}

#[test]
fn a_take_over_ends_the_others_and_says_so() {
    let stage = running();
    let mut first = Window::attached(&stage, "ready");
    let mut second = Window::open(&stage, Size::DEFAULT, &["attach", "x", "--take-over"]);
    second.until_shows("ready");
    assert_eq!(first.wait_exit().code(), Some(0));
    first.until_shows("taken over");
    assert_eq!(settings(&first), untouched());
    stage.until_view("x", |view| view.terminal.viewers == 1);
    second.type_keys("mine\r");
    second.until_shows("got:mine");
}

#[test]
fn s1_an_attached_terminal_survives_kill_9_of_the_daemon() {
    let stage = running();
    let pid = stage.process("x").pid;
    let mut window = Window::attached(&stage, "ready");
    window.type_keys("before\r");
    window.until_shows("got:before");
    for round in 0..2 {
        stage.kill_9();
        stage.until_view("x", |view| view.terminal.viewers == 1);
        // Keys typed without a daemon would have been dropped; from here on they arrive.
        window.type_keys(&format!("after {round}\r"));
        window.until_shows(&format!("got:after {round}"));
    }
    assert_eq!(stage.process("x").pid, pid);
    assert_eq!(window.text(), stage.screen("x").trim_end());
    assert_eq!(window.detach().code(), Some(0));
}

#[test]
fn spawning_attached_shows_the_process_at_once() {
    let stage = stage();
    let words = [
        "spawn",
        "--name",
        "x",
        "--env",
        &stage.mark(),
        "--attach",
        "--",
        "sh",
        "-c",
        "echo hello; read l; exit 3",
    ];
    let mut window = Window::open(&stage, Size::DEFAULT, &words);
    window.until_shows("hello");
    window.type_keys("\r");
    assert_eq!(window.wait_exit().code(), Some(3));
}

#[test]
fn a_process_that_is_spawned_attached_has_the_size_of_the_window_from_its_first_line_on() {
    let stage = stage();
    let words =
        ["spawn", "--name", "x", "--env", &stage.mark(), "--attach", "--", "sh", "-c", "stty size; read l"];
    let mut window = Window::open(&stage, Size { cols: 120, rows: 30 }, &words);
    window.until_shows("30 120");
    window.type_keys("\r");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn a_viewer_of_a_process_that_is_restarted_sees_the_next_run() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    window.type_keys("first\r");
    window.until_shows("got:first");
    for round in 0..2 {
        stage.json(&["restart", "x"]);
        window.until("a new screen", |screen| {
            let text = screen.text(term::Wraps::Keep);
            text.contains("ready") && !text.contains("got:")
        });
        window.type_keys(&format!("round {round}\r"));
        window.until_shows(&format!("got:round {round}"));
    }
    assert_eq!(stage.process("x").run.0, 3);
    assert_eq!(window.detach().code(), Some(0));
    window.until_shows("[detached from x]");
}

#[test]
fn attaching_to_a_run_that_was_lost_says_so_and_fails() {
    let stage = running();
    let holder = testkit::process_scan::parent(stage.process("x").pid.unwrap());
    let holder = rustix::process::Pid::from_raw(holder).unwrap();
    rustix::process::kill_process(holder, Signal::KILL).unwrap();
    stage.until_view("x", |view| view.exit.is_some_and(|exit| exit.reason == proto::ExitReason::Lost));
    let mut window = Window::open(&stage, Size::DEFAULT, &["attach", "x"]);
    assert_eq!(window.wait_exit().code(), Some(1));
    window.until_shows("[x was lost");
    assert_eq!(settings(&window), untouched());
}

#[test]
fn detaching_names_the_process_as_it_is_called_by_then() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    stage.json(&["rename", "x", "renamed"]);
    assert_eq!(window.detach().code(), Some(0));
    window.until_shows("[detached from renamed]");
}

#[test]
fn s3_a_viewer_undoes_no_shutdown_and_goes_on_with_the_next_daemon() {
    let stage = running();
    let mut window = Window::attached(&stage, "ready");
    assert!(stage.qd(&["shutdown"]).status.success());
    // The next request starts the next daemon, and the viewer is back.
    stage.type_text("x", "next\n");
    window.until_shows("got:next");
    window.type_keys("typed\r");
    window.until_shows("got:typed");
    assert!(stage.qd(&["shutdown"]).status.success());
    assert_eq!(window.wait_exit().code(), Some(6));
    assert!(!stage.dirs().socket().exists(), "the viewer has started another daemon");
    assert_eq!(settings(&window), untouched());
    assert_eq!(stage.process("x").status, proto::Status::Running);
}
