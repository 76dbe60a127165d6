//! `qd` without a verb: the deck in a real terminal, against the real daemon.

use proto::Size;
use rustix::process::Signal;
use term::{Cell, Screen, Wraps};

use super::shown_keys::ShownKeys;
use super::window::Window;
use super::{running, runs_on_alone, sh, stage};

pub(crate) const SIZE: Size = Size { cols: 100, rows: 30 };
/// Columns of the rail.
const RAIL: usize = 25;

fn settings(window: &Window) -> String {
    format!("{:?}", window.pty.settings())
}

/// The settings of a terminal that nobody has touched.
fn untouched() -> String {
    format!("{:?}", testkit::Pty::open(SIZE).settings())
}

/// The terminal is as it was before the deck.
pub(crate) fn assert_untouched(window: &Window) {
    assert_eq!(settings(window), untouched());
    let modes = window.screen.modes();
    assert!(!window.screen.is_alternate() && window.screen.cursor().visible);
    assert_eq!(modes.mouse, term::MouseTracking::Off);
    assert!(!modes.bracketed_paste && !modes.focus_events && modes.keyboard_flags == 0 && modes.line_wrap);
}

/// A deck that shows `x`, opened by keys that are on the screen.
pub(crate) fn showing_x(window: &mut Window) {
    window.until_shows("4  Go to a process");
    window.type_keys("4");
    // The palette may open before the deck knows the processes; Enter on an empty list chooses nothing.
    window.until_shows("SWITCH");
    window.type_keys("x\r");
    window.until_shows("ready");
}

/// The cells of the rail.
pub(crate) fn rail(screen: &Screen) -> Vec<Vec<Cell>> {
    (1..SIZE.rows - 1).map(|row| screen.row_cells(row)[..RAIL].to_vec()).collect()
}

#[test]
fn u25_a_process_is_found_typed_to_and_left_running_by_keys_on_the_screen() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    let keys = ShownKeys::read(&mut window);
    keys.press(&mut window, "4", "Go to a process");
    window.until_shows("SWITCH");
    window.type_keys("x");
    keys.press(&mut window, "Enter", "choose");
    window.until_shows("ready");
    window.type_keys("hello\r");
    window.until_shows("got:hello");
    keys.press_in_menu(&mut window, "d", "leave; everything goes on");
    assert_eq!(window.wait_exit().code(), Some(0));
    runs_on_alone(&stage);
}

#[test]
fn u23_the_terminal_is_as_it_was_after_leaving_and_after_a_signal() {
    let stage = running();
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let mut window = Window::open(&stage, SIZE, &[]);
        window.until_shows("COMMANDS");
        assert!(window.pty.is_raw() && window.screen.is_alternate());
        match signal {
            Some(signal) => window.pty.signal(signal),
            None => window.type_keys("\u{1c}d"),
        }
        let expected = signal.map_or(0, |signal| 128 + signal.as_raw());
        assert_eq!(window.wait_exit().code(), Some(expected));
        assert_untouched(&window);
    }
    assert_eq!(stage.process("x").status, proto::Status::Running);
}

#[test]
fn u3_the_rail_is_untouched_while_a_pane_floods() {
    let stage = running();
    stage.run(
        "flood",
        sh("read go; i=0; while [ $i -lt 30000 ]; do echo \"line $i $i $i $i\"; i=$((i+1)); done; echo over; read stay"),
    );
    let mut window = Window::open(&stage, SIZE, &[]);
    window.until_shows("4  Go to a process");
    window.type_keys("4");
    window.until_shows("SWITCH");
    window.type_keys("flood\r");
    window.until("the flood's pane, drawn whole", |screen| {
        !screen.is_synchronizing() && screen.text(Wraps::Keep).contains("─ flood")
    });
    let still = rail(&window.screen);
    window.type_keys("go\r");
    window.until("the end of the flood", |screen| {
        let is_over = screen.text(Wraps::Keep).lines().any(|line| line.contains("│over"));
        // A picture in the making is not looked at.
        assert!(
            screen.is_synchronizing() || rail(screen) == still || is_over,
            "{}",
            screen.text(Wraps::Keep)
        );
        is_over
    });
}

#[test]
fn a_process_that_is_split_beside_another_is_shown_with_it() {
    let stage = running();
    stage.run("y", sh("echo second; cat"));
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    window.type_keys("\u{1c}v");
    window.until_shows("Show at the right");
    window.type_keys("y\r");
    window.until("both panes", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains("ready") && text.contains("second")
    });
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
    // The layout is there again.
    let mut again = Window::open(&stage, SIZE, &[]);
    again.until("both panes again", |screen| {
        let text = screen.text(Wraps::Keep);
        text.contains("ready") && text.contains("second")
    });
    again.type_keys("\u{1c}d");
    assert_eq!(again.wait_exit().code(), Some(0));
}

#[test]
fn the_deck_finds_the_daemon_again_that_was_killed() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    stage.kill_9();
    window.until_shows("the daemon is back");
    window.type_keys("again\r");
    window.until_shows("got:again");
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn without_a_terminal_bare_qd_shows_help() {
    let stage = stage();
    let output = stage.qd::<&str>(&[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("Usage"), "{text}");
}

#[test]
fn a_pane_of_a_tab_that_is_not_shown_is_no_viewer() {
    let stage = running();
    stage.run("y", sh("echo second; cat"));
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    stage.until_view("x", |view| view.terminal.viewers == 1);
    window.type_keys("\u{1c}gy\r");
    window.until_shows("second");
    stage.until_view("x", |view| view.terminal.viewers == 0);
    window.type_keys("\u{1c}1");
    window.until_shows("ready");
    stage.until_view("x", |view| view.terminal.viewers == 1);
    stage.until_view("y", |view| view.terminal.viewers == 0);
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}
