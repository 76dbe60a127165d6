//! The deck while programs draw without pause: how many pictures there are, what stays as it was, what is typed meanwhile, and
//! what the terminal answers to the questions behind pictures.

use std::time::Instant;

use term::Wraps;
use testkit::{DEADLINE, MarkedDaemon};

use super::deck::{SIZE, rail, showing_x};
use super::window::Window;
use super::{running, sh, stage};

/// What a picture of more than one row begins with.
const PICTURE: &[u8] = b"\x1b[?2026h";
/// Asks the terminal whether it has everything.
const QUESTION: &[u8] = b"\x1b[5n";
/// Every line is another one: all rows of the pane change all the time.
const FLOOD: &str = "exec seq 1000000 999999999999";

fn count(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).filter(|window| *window == wanted).count()
}

/// Shows a process at the right of the one that is shown, which keeps the keyboard.
fn show_beside(window: &mut Window, name: &str, text: &str) {
    window.type_keys("\u{1c}v");
    window.until_shows("Show at the right");
    window.type_keys(&format!("{name}\r"));
    window.until_shows(text);
    window.type_keys("\u{1c}h");
}

fn leave(mut window: Window) {
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

#[test]
fn u3_a_flood_is_drawn_at_most_sixty_times_a_second() {
    let stage = stage();
    stage.run(
        "x",
        sh("stty -echo; echo ready; read go; timeout 3 seq 1000000 999999999999; echo; echo over; exec cat"),
    );
    stage.wait_pattern("x", "ready");
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    let before = window.drawn.len();
    let start = Instant::now();
    window.type_keys("go\r");
    window.until("the end of the flood", |screen| {
        screen.text(Wraps::Keep).lines().any(|line| line.contains("│over"))
    });
    let drawn = count(&window.drawn[before..], PICTURE);
    // A busy machine makes the time longer and the pictures fewer. What follows a key at once is beyond the pace.
    let most = (63.0 * start.elapsed().as_secs_f64()) as usize + 30;
    assert!((2..=most).contains(&drawn), "{drawn} pictures, at most {most}");
    leave(window);
}

#[test]
fn u3_the_rail_is_untouched_while_a_pane_floods_and_another_is_typed_into() {
    let stage = running();
    stage.run("flood", sh(&format!("stty -echo; echo waits; read go; {FLOOD}")));
    stage.wait_pattern("flood", "waits");
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    show_beside(&mut window, "flood", "waits");
    window.type_keys("still\r");
    window.until("a whole picture", |screen| {
        !screen.is_synchronizing() && screen.text(Wraps::Keep).contains("got:still")
    });
    let still = rail(&window.screen);
    stage.type_text("flood", "go\n");
    for number in 0..10 {
        window.type_keys(&format!("word{number}\r"));
        window.until("the echo", |screen| {
            let text = screen.text(Wraps::Keep);
            assert!(screen.is_synchronizing() || rail(screen) == still, "{text}");
            text.contains(&format!("got:word{number}"))
        });
    }
    leave(window);
}

/// A deck with a program that shows every byte it gets, which has the keyboard, beside one that draws without pause.
fn beside_a_flood() -> (MarkedDaemon, Window) {
    let stage = stage();
    stage.run("x", sh("stty raw -echo; printf 'ready\\r\\n'; exec cat -v"));
    stage.wait_pattern("x", "ready");
    stage.run("flood", sh(FLOOD));
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    show_beside(&mut window, "flood", "00");
    (stage, window)
}

#[test]
fn u2_a_lone_escape_reaches_its_program_while_a_pane_beside_it_floods() {
    let (_stage, mut window) = beside_a_flood();
    for number in 1..=5 {
        window.type_keys("\u{1b}");
        window.until("the escape", |screen| screen.text(Wraps::Keep).contains(&"^[".repeat(number)));
    }
    leave(window);
}

#[test]
fn u14_the_answers_behind_pictures_reach_no_program_wherever_they_are_cut() {
    let (_stage, mut window) = beside_a_flood();
    let answer = "\u{1b}[0n";
    window.answers = false;
    let mut asked = count(&window.drawn, QUESTION);
    // The last of these was answered.
    for cut in 0..answer.len() {
        let end = Instant::now() + DEADLINE;
        while count(&window.drawn, QUESTION) == asked {
            assert!(window.draw(end), "no question; the window shows:\n{}", window.text());
        }
        asked = count(&window.drawn, QUESTION);
        window.type_keys(&answer[..cut]);
        window.type_keys(&answer[cut..]);
    }
    window.answers = true;
    window.type_keys("end.");
    window.until_shows("end.");
    assert!(!window.text().contains("^["), "{}", window.text());
    leave(window);
}
