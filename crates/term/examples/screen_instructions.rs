//! Work for an instruction counter: one hot path of the screen, over fixed input, a given number of times.
//!
//! `screen_instructions CASE PASSES` does the work and prints how many units one pass has; the cases are in `main`. The counter
//! takes the difference between two numbers of passes, so that start-up and the making of the input do not count.
//! `cargo xtask bench --only instructions` runs it so.
#![expect(clippy::print_stdout, reason = "the number of units is read by whoever counts")]

use std::fmt::Write;
use std::hint::black_box;

use term::{Depth, Limits, Screen, Size, View, Wraps};

const BYTES: usize = 256 * 1024;
/// What a terminal hands over at once.
const PIECE: usize = 4096;
const KEYS: usize = 4096;
const VIEWS: usize = 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or_default();
    let passes: usize = arguments.next().and_then(|passes| passes.parse().ok()).unwrap_or(1);
    let units = match case.as_str() {
        "plain" => feed(passes, &plain(), BYTES, PIECE),
        "colour" => feed(passes, &colour(), BYTES, PIECE),
        "true-colour" => feed(passes, &true_colour(), BYTES, PIECE),
        "utf8" => feed(passes, &utf8(), BYTES, PIECE),
        "tui" => feed(passes, &tui(), BYTES, PIECE),
        "keys" => feed(passes, "echo of a key ", KEYS, 1),
        "repaint" => look(passes, |screen| screen.repaint(View::Whole).len()),
        "text" => look(passes, |screen| screen.text(Wraps::Join).len()),
        "checkpoint" => look(passes, |screen| screen.checkpoint(Depth::Screen).len()),
        _ => 0,
    };
    println!("{units}");
}

/// Bytes onto a screen piece by piece, with everything that is asked of it after each piece.
fn feed(passes: usize, pattern: &str, bytes: usize, piece: usize) -> usize {
    let stream: Vec<u8> = pattern.bytes().cycle().take(bytes).collect();
    let mut screen = Screen::new(Size::DEFAULT, Limits::default());
    for _ in 0..passes {
        for piece in stream.chunks(piece) {
            screen.feed(black_box(piece));
            black_box((screen.take_replies(), screen.take_facts(), screen.version()));
            black_box(screen.is_synchronizing());
        }
    }
    bytes
}

/// A view of a full screen of 200×50.
fn look(passes: usize, view: impl Fn(&Screen) -> usize) -> usize {
    let mut screen = Screen::new(Size::clamped(200, 50), Limits::default());
    screen.feed(colour().as_bytes());
    for _ in 0..passes * VIEWS {
        black_box(view(black_box(&screen)));
    }
    VIEWS
}

fn plain() -> String {
    (0..200).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{number:06} the quick brown fox jumps over the lazy dog and runs away\r\n");
        text
    })
}

fn colour() -> String {
    (0..200).fold(String::new(), |mut text, number| {
        let color = number % 8;
        let _ = write!(
            text,
            "\x1b[3{color}mdrwxr-xr-x\x1b[0m 2 user \x1b[1;3{color}mdirectory{number}\x1b[0m \x1b[38;5;{number}mfile\x1b[0m\r\n"
        );
        text
    })
}

/// Ever new pairs.
fn true_colour() -> String {
    (0..4_000u32).fold(String::new(), |mut text, number| {
        let [_, red, green, blue] = number.wrapping_mul(2_654_435_761).to_be_bytes();
        let _ = write!(text, "\x1b[38;2;{red};{green};{blue};48;2;{blue};{red};{green}m##");
        text
    })
}

fn utf8() -> String {
    (0..200).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{number} 日本語のテキスト grün é \u{1f600} e\u{301} ─│┌┐ текст\r\n");
        text
    })
}

/// A full-screen program that draws itself anew.
fn tui() -> String {
    (0..20).fold(String::new(), |mut text, frame| {
        text.push_str("\x1b[?2026h\x1b[?25l");
        for row in 1..=24 {
            let _ = write!(
                text,
                "\x1b[{row};1H\x1b[0m│ \x1b[1;34mitem {row:02}\x1b[0m value {:04} \x1b[2mdetails\x1b[0m\x1b[K",
                frame * row
            );
        }
        text.push_str("\x1b[?25h\x1b[?2026l");
        text
    })
}
