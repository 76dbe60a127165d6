//! A terminal that was in use before the deck: what it showed, its title, its cursor, its keyboard level and its modes are
//! there again, whatever the program in the deck had asked for and however the deck ends.

use rustix::process::{Pid, Signal, kill_process};
use term::{Cursor, Modes};
use testkit::MarkedDaemon;
use testkit::process_scan::{
    all_pids, command_line, eventually, is_alive, parent, pin, processor_time, wait_gone,
};

use super::deck::{SIZE, showing_x};
use super::silence::is_stopped;
use super::window::Window;
use super::{running, runs_on_alone, sh, stage};

const QD: &str = env!("CARGO_BIN_EXE_qd");

/// What a shell has left in the terminal: lines, a title, a keyboard level of its own, reports of the focus.
const PAST: &[u8] = b"$ make\r\nbuilt\r\n$ \x1b]2;my title\x07\x1b[>5u\x1b[?1004h";

/// What a program in the deck asks for: a cursor, a keyboard, a mouse, a paste and a title of its own.
const ASKS: &str = "printf '\\033[6 q\\033[>31u\\033[?1003h\\033[?1006h\\033[?2004h\\033]2;of the program\\007'; \
                    echo ready; exec cat";

/// All that a person can notice of a terminal.
#[derive(Debug, PartialEq)]
struct TerminalState {
    settings: String,
    text: String,
    title: String,
    cursor: Cursor,
    modes: Modes,
    is_alternate: bool,
}

fn state(window: &Window) -> TerminalState {
    let screen = &window.screen;
    TerminalState {
        settings: format!("{:?}", window.pty.settings()),
        text: window.text(),
        title: screen.title().to_owned(),
        cursor: screen.cursor(),
        modes: screen.modes(),
        is_alternate: screen.is_alternate(),
    }
}

/// A deck in a terminal with a past, and the state of the terminal before it.
fn deck(stage: &MarkedDaemon, program: &str, arguments: &[&str]) -> (Window, TerminalState, i32) {
    let mut window = Window::without_program(SIZE, PAST);
    let before = state(&window);
    let pid = window.start(stage, program, arguments);
    (window, before, pid)
}

fn with_a_demanding_program() -> MarkedDaemon {
    let stage = stage();
    stage.run("x", sh(ASKS));
    stage.wait_pattern("x", "ready");
    stage
}

/// Draws until the program's wishes have reached the terminal.
fn until_asked(window: &mut Window) {
    window.until("the program's cursor and keyboard", |screen| {
        screen.cursor().is_chosen && screen.modes().keyboard_flags == 31
    });
}

#[test]
fn u23_a_terminal_with_a_past_is_as_it_was_after_leaving_and_after_a_signal() {
    let stage = with_a_demanding_program();
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let (mut window, before, _) = deck(&stage, QD, &[]);
        match signal {
            // The layout of the one before is there again.
            Some(_) => window.until_shows("ready"),
            None => showing_x(&mut window),
        }
        until_asked(&mut window);
        match signal {
            Some(signal) => window.pty.signal(signal),
            None => window.type_keys("\u{1c}d"),
        }
        window.wait_exit();
        assert_eq!(state(&window), before, "{signal:?}");
    }
}

#[test]
fn u23_a_terminal_with_a_past_is_as_it_was_while_the_deck_is_stopped() {
    let stage = with_a_demanding_program();
    let (mut window, before, pid) = deck(&stage, QD, &[]);
    showing_x(&mut window);
    until_asked(&mut window);
    window.pty.signal(Signal::TSTP);
    let pid = Pid::from_raw(pid).unwrap();
    eventually("the deck is stopped", || is_stopped(pid).then_some(()));
    window.until("the main screen", |screen| !screen.is_alternate() && screen.modes() == before.modes);
    assert_eq!(state(&window), before);
    window.pty.signal(Signal::CONT);
    until_asked(&mut window);
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    assert_eq!(state(&window), before);
}

#[test]
fn u23_a_terminal_with_a_past_is_as_it_was_after_a_fault_of_the_deck_itself() {
    let stage = with_a_demanding_program();
    let (mut window, before, _) = deck(&stage, "env", &["QD_TEST_DECK_PANICS=1", QD]);
    window.answers = false;
    window.until_shows("COMMANDS");
    window.type_keys("k");
    assert_eq!(window.wait_exit().code(), Some(1));
    let after = state(&window);
    assert!(after.text.starts_with(&before.text) && after.text.contains("the deck failed"), "{}", after.text);
    let cursor = Cursor { col: before.cursor.col, row: before.cursor.row, ..after.cursor };
    assert_eq!(TerminalState { text: before.text.clone(), cursor, ..after }, before);
}

#[test]
fn u23_reset_gives_a_terminal_with_a_past_back_what_a_killed_deck_has_left() {
    let stage = with_a_demanding_program();
    let (mut window, before, _) = deck(&stage, QD, &[]);
    showing_x(&mut window);
    until_asked(&mut window);
    window.pty.signal(Signal::KILL);
    window.wait_exit();
    window.start(&stage, QD, &["reset"]);
    assert_eq!(window.wait_exit().code(), Some(0));
    let after = state(&window);
    assert_eq!((&after.settings, &after.text), (&before.settings, &before.text));
    assert!(!after.is_alternate && !after.cursor.is_chosen && after.cursor.visible);
    assert_eq!((after.modes.mouse, after.modes.bracketed_paste), (before.modes.mouse, false));
}

/// The processor time that a deck may use from its terminal's end to its own; the goal is 50 ms in an optimised build.
const CPU: std::time::Duration = std::time::Duration::from_millis(500);

#[test]
fn d7_u23_a_deck_whose_terminal_closes_is_gone_at_once_and_does_not_spin() {
    let stage = running();
    let (mut window, pid) = Window::running(&stage, SIZE, QD, &[]);
    showing_x(&mut window);
    let (pinned, before) = (pin(pid), processor_time(pid));
    let mut deck = window.pty.hang_up().unwrap();
    wait_gone(&pinned);
    let used = processor_time(pid) - before;
    assert!(used < CPU, "{used:?} of processor time after the hang-up");
    deck.wait().unwrap();
    runs_on_alone(&stage);
}

#[test]
fn d7_u23_a_deck_whose_shell_is_killed_is_gone_too_and_does_not_spin() {
    let stage = running();
    let (mut window, shell) = Window::running(&stage, SIZE, "sh", &["-c", &format!("'{QD}'; true")]);
    showing_x(&mut window);
    let deck = all_pids().into_iter().find(|pid| parent(*pid) == shell).unwrap();
    let (pinned, before) = (pin(deck), processor_time(deck));
    kill_process(Pid::from_raw(shell).unwrap(), Signal::KILL).unwrap();
    // It is nobody's child any more, so its last account goes with it.
    let mut used = before;
    eventually("the deck is gone", || match is_alive(deck) {
        true => {
            used = used.max(processor_time(deck));
            None
        }
        false => Some(()),
    });
    wait_gone(&pinned);
    assert!(used - before < CPU, "{:?} of processor time after the end of its shell", used - before);
    runs_on_alone(&stage);
}

#[test]
fn d7_u23_a_deck_that_nobody_tells_of_the_hang_up_sees_it_itself() {
    let stage = running();
    // A session of its own has no terminal that could signal it.
    let script = format!("setsid --wait '{QD}'; true");
    let (mut window, shell) = Window::running(&stage, SIZE, "sh", &["-c", &script]);
    showing_x(&mut window);
    let own =
        all_pids().into_iter().find(|pid| command_line(*pid).trim() == QD && descends(*pid, shell)).unwrap();
    let pinned = pin(own);
    let mut shell = window.pty.hang_up().unwrap();
    wait_gone(&pinned);
    shell.wait().unwrap();
    runs_on_alone(&stage);
}

fn descends(pid: i32, ancestor: i32) -> bool {
    let mut at = pid;
    while at > 1 && at != ancestor {
        at = parent(at);
    }
    at == ancestor
}
