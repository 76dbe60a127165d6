//! Facts about the deck in a real terminal: floods, a terminal that takes nothing, rest, reports, seen marks, sizes.

use std::time::{Duration, Instant};

use proto::Size;
use term::Wraps;
use testkit::process_scan::eventually;
use testkit::{DEADLINE, MarkedDaemon, scaled};

use super::deck::{SIZE, showing_x};
use super::window::Window;
use super::{running, sh, stage};

/// Opens a process from the empty deck.
pub(super) fn open(window: &mut Window, name: &str) {
    window.until_shows("4  Go to a process");
    window.type_keys("4");
    window.until_shows("SWITCH");
    window.type_keys(&format!("{name}\r"));
    window.until("its pane", |screen| screen.text(Wraps::Keep).contains(&format!("─ {name} ")));
}

/// Leaves the deck by its keys.
pub(super) fn leave(mut window: Window) {
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u2_keys_are_echoed_while_a_pane_beside_them_or_a_hidden_one_floods() {
    let stage = running();
    stage.run("flood", sh("exec yes 'all work and no play'"));
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    window.type_keys("\u{1c}v");
    window.until_shows("Show at the right");
    window.type_keys("flood\r");
    window.until_shows("all work");
    window.type_keys("\u{1c}h");
    for word in ["one", "two"] {
        window.type_keys(&format!("{word}\r"));
        window.until_shows(&format!("got:{word}"));
    }
    window.type_keys("\u{1c}z");
    window.until("the flood is hidden", |screen| !screen.text(Wraps::Keep).contains("all work"));
    window.type_keys("three\r");
    window.until_shows("got:three");
    leave(window);
}

#[test]
fn u4_a_terminal_that_takes_nothing_for_a_while_gets_the_end_and_no_queue_of_pictures() {
    let rounds = scaled(400);
    let stage = stage();
    let script = "stty -echo; echo ready; n=0; while read -r l; do n=$((n+1)); i=0; while [ $i -lt 26 ]; do \
                  echo \"row $i of round $n. ........................................\"; i=$((i+1)); done; done";
    stage.run("x", sh(script));
    stage.wait_pattern("x", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    let before = window.drawn.len();
    // The window is not read while the keys are held.
    for _ in 0..rounds {
        window.type_keys("\r");
    }
    stage.wait_pattern("x", &format!("row 25 of round {rounds}\\."));
    window.until_shows(&format!("row 25 of round {rounds}."));
    let drawn = window.drawn.len() - before;
    assert!(drawn < rounds * 26 * 20, "{drawn} bytes for {rounds} rounds: pictures were queued");
    leave(window);
}

/// How often a process has gone to sleep and been woken.
fn switches(pid: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find(|line| line.starts_with("voluntary_ctxt")).unwrap().to_owned()
}

#[test]
fn u5_a_deck_of_idle_processes_writes_nothing_and_is_not_woken() {
    let stage = stage();
    for number in 0..20 {
        stage.run_terminal(&format!("t{number}"), sh("echo ready; exec cat"));
    }
    let (mut window, pid) = Window::running(&stage, SIZE, env!("CARGO_BIN_EXE_qd"), &[]);
    open(&mut window, "t7");
    window.until_shows("ready");
    // Its first answers and questions are over at some time; a deck with a clock would never come to rest.
    let end = Instant::now() + DEADLINE;
    loop {
        let before = switches(pid);
        let is_drawn = window.draw(Instant::now() + Duration::from_secs(2));
        if !is_drawn && switches(pid) == before {
            break;
        }
        assert!(Instant::now() < end, "it is woken again and again: {}", window.text());
    }
    leave(window);
}

/// A program that shows every byte it gets, and asks for these modes.
pub(super) fn shows_bytes(stage: &MarkedDaemon, name: &str, modes: &str) {
    stage.run(name, sh(&format!("stty raw -echo opost; printf '{modes}ready\\r\\n'; exec cat -v")));
    stage.wait_pattern(name, "ready");
}

/// A click in the first pane, the focus lost and gained.
const REPORTS: &str = "\u{1b}[<0;50;10M\u{1b}[<0;50;10m\u{1b}[O\u{1b}[I";

#[test]
fn u13_reports_of_mouse_and_focus_reach_only_a_program_that_asked() {
    let stage = stage();
    shows_bytes(&stage, "plain", "");
    shows_bytes(&stage, "asks", "\\033[?1000h\\033[?1006h\\033[?1004h");
    let mut window = Window::open(&stage, SIZE, &[]);
    open(&mut window, "plain");
    window.type_keys(&format!("{REPORTS}end."));
    window.until_shows("end.");
    assert!(!window.text().contains("^["), "{}", window.text());
    window.type_keys("\u{1c}g");
    window.until_shows("Go to");
    window.type_keys("asks\r");
    window.until("its pane", |screen| screen.text(Wraps::Keep).contains("─ asks "));
    window.until_shows("ready");
    window.type_keys(&format!("{REPORTS}end."));
    window.until_shows("end.");
    // The place is that within the pane: 26 columns are the rail's, two rows the tabs' and the title's.
    assert!(window.text().contains("^[[<0;24;8M^[[<0;24;8m^[[O^[[I"), "{}", window.text());
    leave(window);
}

#[test]
fn u14_answers_of_the_terminal_that_come_late_reach_no_program() {
    let stage = stage();
    shows_bytes(&stage, "plain", "");
    let mut window = Window::open(&stage, SIZE, &[]);
    window.answers = false;
    open(&mut window, "plain");
    type_in_pieces(&stage, &mut window, "before");
    window.type_keys("\u{1b}[?62;4c\u{1b}[?1u\u{1b}[?2026;2$y\u{1b}]11;rgb:0000/0000/0000\u{1b}\\end.");
    window.until_shows("end.");
    type_in_pieces(&stage, &mut window, "after");
    assert!(!window.text().contains("^[") && !window.text().contains("rgb"), "{}", window.text());
    leave(window);
}

/// What terminals answer to questions about themselves.
const ANSWERS: [&str; 10] = [
    "\u{1b}[?2026;2$y",
    "\u{1b}[?997;1n",
    "\u{1b}[>41;379;0c",
    "\u{1b}[24;80R",
    "\u{1b}[8;30;100t",
    "\u{1b}]4;1;rgb:cdcd/0000/0000\u{7}",
    "\u{1b}]10;rgb:ffff/ffff/ffff\u{1b}\\",
    "\u{1b}]11;rgb:0000/0000/0000\u{1b}\\",
    "\u{1b}P>|XTerm(379)\u{1b}\\",
    "\u{1b}P1$r2 q\u{1b}\\",
];

/// Types each answer cut at each place, with a picture of what `plain` has got between the pieces.
fn type_in_pieces(stage: &MarkedDaemon, window: &mut Window, word: &str) {
    for (number, answer) in ANSWERS.iter().enumerate() {
        // An Escape alone, or one before `[`, is a key after its pause.
        for cut in 3..answer.len() {
            window.type_keys(&answer[..cut]);
            stage.type_text("plain", &format!("\n{word}{number}.{cut}."));
            window.until_shows(&format!("{word}{number}.{cut}."));
            window.type_keys(&answer[cut..]);
            assert!(!window.text().contains("^["), "{}", window.text());
        }
    }
}

#[test]
fn u17_seen_in_the_deck_is_seen_everywhere_and_the_reverse() {
    let stage = stage();
    for name in ["one", "two"] {
        stage.run(name, sh("exit 3"));
        stage.wait_exit(name);
        assert!(stage.process(name).unseen.is_some());
    }
    let mut window = Window::open(&stage, SIZE, &[]);
    window.until_shows("NEEDS YOU");
    open(&mut window, "one");
    eventually("one is seen", || stage.process("one").unseen.is_none().then_some(()));
    assert!(stage.process("two").unseen.is_some());
    assert!(stage.qd(&["see", "two"]).status.success());
    window.until("nobody needs the person", |screen| !screen.text(Wraps::Keep).contains("NEEDS YOU"));
    leave(window);
}

#[test]
fn u22_after_a_storm_of_sizes_the_deck_and_its_process_have_the_last_one() {
    let stage = running();
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    let mut seed = 7_u32;
    for _ in 0..scaled(1_000) {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = Size { cols: 1 + (seed >> 8) as u16 % 300, rows: 1 + (seed >> 20) as u16 % 100 };
        window.resize(size);
        window.draw(Instant::now());
    }
    window.resize(Size { cols: 90, rows: 25 });
    window.until("the last size", |screen| {
        let text = screen.text(Wraps::Keep);
        text.lines().last().is_some_and(|line| line.contains("DECK")) && text.contains("ready")
    });
    window.type_keys("fits\r");
    window.until_shows("got:fits");
    stage.until_view("x", |view| view.terminal.size == Size { cols: 64, rows: 22 });
    leave(window);
}
