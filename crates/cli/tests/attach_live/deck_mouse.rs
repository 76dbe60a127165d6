//! The mouse in the deck and in its programs, in a real terminal.

use term::{MouseTracking, Screen, Wraps};

use super::deck::SIZE;
use super::deck_facts::{leave, open, shows_bytes};
use super::window::Window;
use super::{sh, stage};

/// What the terminal reports about a button, at a place that is counted from zero.
fn report(code: u16, at: [u16; 2], last: char) -> String {
    format!("\u{1b}[<{code};{};{}{last}", at[0] + 1, at[1] + 1)
}

/// A click with a small move in it; 8 is added while Alt is held.
fn click(held: u16, from: [u16; 2], to: [u16; 2]) -> String {
    [report(held, from, 'M'), report(held + 32, to, 'M'), report(held, to, 'm')].concat()
}

/// Opens a process from the empty deck, and waits for what it says.
fn open_ready(window: &mut Window, name: &str) {
    open(window, name);
    window.until_shows("ready");
}

/// Opens another process at the right.
fn open_right(window: &mut Window, name: &str) {
    window.type_keys("\u{1c}v");
    window.until_shows("Show at the right");
    window.type_keys(&format!("{name}\r"));
    window.until("its pane", |screen| screen.text(Wraps::Keep).contains(&format!("─ {name} ")));
    window.until_shows("ready");
}

/// A place in the right one of two panes.
const RIGHT: [u16; 2] = [80, 9];

#[test]
fn u13_the_click_that_focuses_reaches_no_program_whatever_mouse_it_asked_for() {
    // What the second click says to a program in each mode.
    let modes = [("1000", "<0 <0"), ("1002", "<0 <32 <0"), ("1003", "<0 <32 <0")];
    for (mode, second) in modes {
        let stage = stage();
        shows_bytes(&stage, "plain", "");
        shows_bytes(&stage, "asks", &format!("\\033[?{mode}h\\033[?1006h"));
        let mut window = Window::open(&stage, SIZE, &[]);
        open_ready(&mut window, "plain");
        open_right(&mut window, "asks");
        window.type_keys("\u{1c}h");
        window.until_shows("DECK  plain");
        window.type_keys(&format!("{}end.", click(0, RIGHT, [81, 9])));
        window.until_shows("end.");
        assert!(!window.text().contains("^["), "{mode}: {}", window.text());
        window.type_keys(&format!("{}over.", click(0, RIGHT, [81, 9])));
        window.until_shows("over.");
        let text = window.text().split_once("end.").unwrap().1.split("over.").next().unwrap().to_owned();
        let got: Vec<&str> = text.split("^[[").skip(1).filter_map(|piece| piece.split(';').next()).collect();
        assert_eq!(got.join(" "), second, "{mode}: {text}");
        leave(window);
    }
}

#[test]
fn a_program_that_asked_has_the_wheel_and_its_drag_until_the_release_outside_its_pane() {
    let stage = stage();
    shows_bytes(&stage, "asks", "\\033[?1002h\\033[?1006h");
    let mut window = Window::open(&stage, SIZE, &[]);
    open_ready(&mut window, "asks");
    // The rail is left of the pane: its first column is column 26 of the terminal.
    let keys = [report(64, [49, 9], 'M'), report(65, [49, 9], 'M'), click(0, [49, 9], [3, 9])].concat();
    window.type_keys(&format!("{keys}end."));
    window.until_shows("end.");
    let expected = "^[[<64;24;8M^[[<65;24;8M^[[<0;24;8M^[[<32;1;8M^[[<0;1;8m";
    assert!(window.text().replace('\n', "").contains(expected), "{}", window.text());
    leave(window);
}

#[test]
fn a_program_gets_the_mouse_in_the_form_it_knows() {
    let stage = stage();
    shows_bytes(&stage, "old", "\\033[?1000h");
    let mut window = Window::open(&stage, SIZE, &[]);
    open_ready(&mut window, "old");
    window.type_keys(&format!("{}end.", click(0, [49, 9], [50, 9])));
    window.until_shows("end.");
    assert!(window.text().contains("^[[M 8(^[[M#9("), "{}", window.text());
    leave(window);
}

#[test]
fn the_wheel_is_three_arrows_on_the_alternate_screen() {
    let stage = stage();
    shows_bytes(&stage, "pages", "\\033[?1049h");
    let mut window = Window::open(&stage, SIZE, &[]);
    open_ready(&mut window, "pages");
    window.type_keys(&format!("{}|{}end.", report(64, [49, 9], 'M'), report(65, [49, 9], 'M')));
    window.until_shows("end.");
    assert!(window.text().contains("^[[A^[[A^[[A|^[[B^[[B^[[Bend."), "{}", window.text());
    leave(window);
}

#[test]
fn alt_and_a_drag_select_although_the_program_asked_for_the_mouse() {
    let stage = stage();
    shows_bytes(&stage, "asks", "\\033[?1003h\\033[?1006h");
    let mut window = Window::open(&stage, SIZE, &[]);
    open_ready(&mut window, "asks");
    // `ready` is in the first row of the pane. Alt is let go before the button.
    let keys = [report(8, [26, 2], 'M'), report(32, [28, 2], 'M'), report(0, [28, 2], 'm')];
    window.type_keys(&keys.concat());
    window.until_drawn(b"\x1b]52;c;cmVh\x07");
    window.type_keys("end.");
    window.until_shows("end.");
    assert!(!window.text().contains("^["), "{}", window.text());
    leave(window);
}

#[test]
fn the_terminal_reports_every_motion_only_while_the_program_that_has_the_keyboard_asked() {
    let stage = stage();
    shows_bytes(&stage, "plain", "");
    shows_bytes(&stage, "asks", "\\033[?1003h\\033[?1006h");
    let mut window = Window::open(&stage, SIZE, &[]);
    let until_mode = |window: &mut Window, wanted: MouseTracking| {
        window.until(&format!("{wanted:?}"), |screen| screen.modes().mouse == wanted);
    };
    open_ready(&mut window, "plain");
    until_mode(&mut window, MouseTracking::Drag);
    open_right(&mut window, "asks");
    until_mode(&mut window, MouseTracking::Motion);
    window.type_keys(&format!("{}end.", report(35, RIGHT, 'M')));
    window.until_shows("end.");
    assert!(window.text().contains("^[[<35;"), "{}", window.text());
    window.type_keys("\u{1c}h");
    until_mode(&mut window, MouseTracking::Drag);
    window.type_keys("\u{1c}l");
    until_mode(&mut window, MouseTracking::Motion);
    // A box over the deck has the mouse, and no use for motion.
    window.type_keys("\u{1c}?");
    until_mode(&mut window, MouseTracking::Drag);
    window.type_keys("\u{1b}");
    until_mode(&mut window, MouseTracking::Motion);
    leave(window);
}

#[test]
fn a_middle_click_on_a_tab_closes_the_view_and_its_process_runs_on() {
    let stage = stage();
    shows_bytes(&stage, "plain", "");
    let mut window = Window::open(&stage, SIZE, &[]);
    open_ready(&mut window, "plain");
    window.type_keys(&[report(1, [3, 0], 'M'), report(1, [3, 0], 'm')].concat());
    window.until_shows("4  Go to a process");
    assert!(stage.process("plain").pid.is_some());
    leave(window);
}

#[test]
fn what_was_under_the_mouse_is_copied_where_history_goes_on_above_blank_rows() {
    let stage = stage();
    stage.run("cleared", sh("seq 100; printf '\\033[H\\033[2Jcopy me please\\r\\nready'; exec cat"));
    stage.wait_pattern("cleared", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    open_ready(&mut window, "cleared");
    let at =
        |screen: &Screen, text: &str| screen.text(Wraps::Keep).lines().position(|row| row.contains(text));
    let before = at(&window.screen, "copy me please");
    let row = u16::try_from(before.unwrap()).unwrap();
    window.type_keys(&[report(0, [26, row], 'M'), report(32, [32, row], 'M')].concat());
    // The lines above have come.
    window.until_shows(" of ");
    assert_eq!(at(&window.screen, "copy me please"), before, "{}", window.text());
    window.type_keys(&report(0, [32, row], 'm'));
    window.until_drawn(b"\x1b]52;c;Y29weSBtZQ==\x07");
    // One notch of the wheel scrolls; `q` returns, and is not typed.
    window.type_keys(&report(64, [49, 9], 'M'));
    window
        .until("three lines further up", |screen| at(screen, "copy me please") == before.map(|row| row + 3));
    window.type_keys("qend.");
    window.until_shows("readyend.");
    assert_eq!(at(&window.screen, "copy me please"), before, "{}", window.text());
    leave(window);
}
