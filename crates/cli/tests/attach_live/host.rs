//! The terminal of `qd attach` is restored afterwards, however the attachment ends.

use proto::Size;
use rustix::process::{Pid, Signal, kill_process};
use term::{Depth, Limits, PaintView, Screen};
use testkit::MarkedDaemon;

use super::window::Window;
use super::{sh, stage};

/// A person's terminal before: a title, colours, a cursor, modes and keyboard levels of its own.
const OWN: &str = "\\033]2;mine\\033\\\\\\033]4;1;rgb:11/22/33\\033\\\\\\033]10;rgb:44/55/66\\033\\\\\\033]11;rgb:77/88/99\\033\\\\\
                   \\033[5 q\\033[?1;5;1002;1004;1006;2004h\\033[?1007;2027l\\033=\\033[>5u\\033[>1u";
/// What a child does to its own.
const WRECK: &str = "\\033]2;child\\033\\\\\\033]4;1;rgb:ff/00/00\\033\\\\\\033]4;200;rgb:ff/00/00\\033\\\\\\033]11;rgb:ff/ff/00\\033\\\\\
                     \\033]12;rgb:00/ff/00\\033\\\\\\033[3 q\\033[?5l\\033[?1003;1016;1007h\\033[?1;2004;1004l\\033>\\033[<9u\\033[>31u\\033[=3;2u\
                     \\033[?1;1000;5s\\033[22t\\033]2;deeper\\033\\\\\\033[53;7m\\033[?6h\\033[5;10r\\033[4h\\033(0";

/// How an attachment ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Detach,
    Exit,
    KilledDaemon,
    Terminated,
}

/// Returns everything that a terminal keeps besides its text, as the repaint of its blank screen. Saved modes
/// are left out: `qd` uses the terminal's slots for them.
fn state(screen: &Screen) -> String {
    let mut copy = Screen::restore(&screen.checkpoint(Depth::Screen), Limits::default()).unwrap();
    copy.feed(b"\x1b[H\x1b[2J\x1b7");
    let drawn = String::from_utf8(copy.repaint(PaintView::Whole)).unwrap();
    drawn.split("\x1b_Qs;").map(|part| part.split_once("\x1b\\").map_or(part, |(_, rest)| rest)).collect()
}

fn child_of(shell: i32) -> Pid {
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}

fn wrecked(stage: &MarkedDaemon, alternate: &str) {
    let script =
        format!("stty raw -echo; printf '{alternate}{WRECK}\\033(Bready'; head -c 1 >/dev/null; exit 3");
    stage.run("x", sh(&script));
    stage.wait_pattern("x", "ready");
}

fn is_left_as_it_was(command: &str, end: End, alternate: &str) {
    let stage = stage();
    wrecked(&stage, alternate);
    let script =
        format!("printf '{OWN}'; echo before; read -r line; \"$0\" {command}; echo after; read -r line");
    let (mut window, shell) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", &script, env!("CARGO_BIN_EXE_qd")]);
    window.until_shows("before");
    let before = state(&window.screen);
    window.type_keys("\r");
    window.until("the child's title", |screen| screen.title() == "deeper");
    assert_ne!(state(&window.screen), before);
    match end {
        End::Detach => window.type_keys("\u{1c}d"),
        End::Exit => window.type_keys("q"),
        End::Terminated => kill_process(child_of(shell), Signal::TERM).unwrap(),
        End::KilledDaemon => {
            stage.kill_9();
            stage.until_view("x", |view| view.terminal.viewers == 1);
            window.type_keys("\u{1c}d");
        }
    }
    window.until_shows("after");
    let after = state(&window.screen);
    assert_eq!(after.escape_debug().to_string(), before.escape_debug().to_string(), "{command} {end:?}");
    assert_eq!((window.screen.title(), window.screen.is_alternate()), ("mine", false));
}

fn is_left_as_it_was_in_every_way(command: &str) {
    for end in [End::Detach, End::Exit, End::KilledDaemon, End::Terminated] {
        is_left_as_it_was(command, end, "");
        is_left_as_it_was(command, end, "\\033[?1049h");
    }
}

#[test]
fn m9e_a_terminal_that_the_daemon_draws_on_is_left_as_it_was() {
    is_left_as_it_was_in_every_way("attach x");
}

#[test]
fn m9e_a_terminal_that_the_client_draws_on_is_left_as_it_was() {
    is_left_as_it_was_in_every_way("attach x </dev/tty");
}

#[test]
fn m9e_a_log_leaves_a_terminal_as_it_was() {
    let stage = stage();
    wrecked(&stage, "");
    let script = format!(
        "printf '{OWN}'; echo before; read -r line; \"$0\" logs x; printf '\\033[H\\033[J'; echo after; read -r line"
    );
    let (mut window, _) =
        Window::running(&stage, Size::DEFAULT, "sh", &["-c", &script, env!("CARGO_BIN_EXE_qd")]);
    window.until_shows("before");
    let before = (window.screen.modes(), window.screen.title().to_owned());
    window.type_keys("\r");
    window.until_shows("after");
    assert_eq!((window.screen.modes(), window.screen.title().to_owned()), before);
}
