//! A paste of megabytes into a pane: it arrives as it is, what waits of it is shown, and the deck is not stuck meanwhile.

use std::path::PathBuf;
use std::time::Instant;

use term::{Screen, Wraps};
use testkit::MarkedDaemon;

use super::deck::{SIZE, showing_x};
use super::window::Window;
use super::{sh, stage};

fn leave(mut window: Window) {
    window.type_keys("\u{1c}d");
    assert_eq!(window.wait_exit().code(), Some(0));
}

/// A program that takes what is pasted into it once a line comes through a pipe, and keeps it in a file.
fn takes_a_paste(stage: &MarkedDaemon, bytes: usize) -> (PathBuf, PathBuf) {
    let (pipe, kept) = (stage.root().join("pipe"), stage.root().join("kept"));
    let script = format!(
        "mkfifo '{0}'; stty raw -echo; printf '\\033[?2004hready\\r\\n'; read -r go < '{0}'; head -c {bytes} > '{1}'; \
         echo all is there; exec cat",
        pipe.display(),
        kept.display()
    );
    stage.run("x", sh(&script));
    stage.wait_pattern("x", "ready");
    (pipe, kept)
}

/// Lines of text, each another.
fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 64);
    let mut number = 0_u32;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!("{number} {:x} né ▸\r", number.wrapping_mul(2_654_435_761)));
    }
    text
}

/// Types a long text in pieces, and draws what comes meanwhile.
fn type_long(window: &mut Window, text: &str) {
    for piece in text.as_bytes().chunks(16 << 10) {
        window.pty.type_keys(piece);
        while window.draw(Instant::now()) {}
    }
}

#[test]
fn u30_a_paste_of_megabytes_arrives_byte_for_byte_and_what_waits_of_it_is_shown() {
    let stage = stage();
    let text = text(5 << 20);
    let pasted = format!("\u{1b}[200~{text}\u{1b}[201~");
    let (pipe, kept) = takes_a_paste(&stage, pasted.len());
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    type_long(&mut window, &pasted);
    window.until_shows("KiB wait for the program to read");
    // The deck is not stuck meanwhile: its own keys are read.
    window.type_keys("\u{1c}?");
    window.until_shows("╭ Keys");
    window.type_keys("\u{1b}");
    std::fs::write(pipe, "go\n").unwrap();
    window.until_shows("all is there");
    let came = std::fs::read(kept).unwrap();
    let differs = came.iter().zip(pasted.as_bytes()).position(|(came, typed)| came != typed);
    assert_eq!((came.len(), differs), (pasted.len(), None));
    window.until("nothing waits", |screen| !screen.text(Wraps::Keep).contains("KiB wait"));
    window.type_keys("hello");
    window.until_shows("hello");
    leave(window);
}

/// KiB that wait for the program to read, as the status line says.
fn waiting_kib(screen: &Screen) -> Option<u32> {
    let text = screen.text(Wraps::Keep);
    let before =
        text.split(" KiB wait for the program to read").next().filter(|before| before.len() < text.len())?;
    before.rsplit(' ').next()?.parse().ok()
}

#[test]
fn u30_keys_behind_a_paste_that_the_program_does_not_read_yet_arrive_after_it_and_in_their_order() {
    let stage = stage();
    let paste = format!("\u{1b}[200~{}\u{1b}[201~", text(6 << 20));
    let keys = "behind it: ~/x\u{1b}[A\u{1b}OP\tné\r\u{3}";
    let (pipe, kept) = takes_a_paste(&stage, paste.len() + keys.len());
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    type_long(&mut window, &paste);
    // More than a MiB waits in the deck, and the person is told how much.
    window.until("a MiB waits", |screen| waiting_kib(screen).is_some_and(|kib| kib >= 1024));
    for key in ["behind it: ", "~/x", "\u{1b}[A", "\u{1b}OP", "\t", "né", "\r", "\u{3}"] {
        window.type_keys(key);
        while window.draw(Instant::now()) {}
    }
    // The deck has read them all: the key behind them acts.
    window.type_keys("\u{1c}?");
    window.until_shows("╭ Keys");
    window.type_keys("\u{1b}");
    window.until("the list is closed", |screen| !screen.text(Wraps::Keep).contains("╭ Keys"));
    assert!(waiting_kib(&window.screen).is_some_and(|kib| kib >= 1024), "{}", window.text());
    std::fs::write(pipe, "go\n").unwrap();
    window.until_shows("all is there");
    let came = std::fs::read(kept).unwrap();
    let typed = [paste.as_bytes(), keys.as_bytes()].concat();
    let differs = came.iter().zip(&typed).position(|(came, typed)| came != typed);
    assert_eq!((came.len(), differs), (typed.len(), None));
    window.until("nothing waits", |screen| waiting_kib(screen).is_none());
    leave(window);
}

#[test]
fn u30_a_deck_with_a_paste_that_its_program_never_reads_can_be_left() {
    let stage = stage();
    takes_a_paste(&stage, 1);
    let mut window = Window::open(&stage, SIZE, &[]);
    showing_x(&mut window);
    type_long(&mut window, &format!("\u{1b}[200~{}\u{1b}[201~", text(3 << 20)));
    window.until_shows("KiB wait for the program to read");
    leave(window);
    stage.until_view("x", |view| view.terminal.viewers == 0);
}
