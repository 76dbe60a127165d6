//! Work for an instruction counter: one hot path of the screen, over fixed input, a given number of times.
//!
//! `screen_instructions CASE PASSES` does the work and prints how many units one pass has; the cases are in `main`. The counter
//! takes the difference between two numbers of passes, so that start-up and the making of the input do not count.
//! `cargo xtask bench --only instructions` runs it so.
#![expect(clippy::print_stdout, reason = "the counter reads the number of units")]

mod streams;

use std::hint::black_box;

use term::{Depth, GridSize, Limits, PaintView, Screen, Wraps};

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
        "plain" => feed(passes, &streams::plain(200), BYTES, PIECE),
        "colour" => feed(passes, &streams::colour(200), BYTES, PIECE),
        "true-colour" => feed(passes, &streams::true_colour(4_000), BYTES, PIECE),
        "utf8" => feed(passes, &streams::utf8(200), BYTES, PIECE),
        "tui" => feed(passes, &streams::tui(20), BYTES, PIECE),
        "keys" => feed(passes, "echo of a key ", KEYS, 1),
        "repaint" => look(passes, |screen| screen.repaint(PaintView::Whole).len()),
        "text" => look(passes, |screen| screen.text(Wraps::Join).len()),
        "checkpoint" => look(passes, |screen| screen.checkpoint(Depth::Screen).len()),
        _ => 0,
    };
    println!("{units}");
}

/// Bytes onto a screen piece by piece, with everything that is asked of it after each piece.
fn feed(passes: usize, pattern: &str, bytes: usize, piece: usize) -> usize {
    let stream: Vec<u8> = pattern.bytes().cycle().take(bytes).collect();
    let mut screen = Screen::new(GridSize::DEFAULT, Limits::default());
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
    let mut screen = Screen::new(GridSize::clamped(200, 50), Limits::default());
    screen.feed(streams::colour(200).as_bytes());
    for _ in 0..passes * VIEWS {
        black_box(view(black_box(&screen)));
    }
    VIEWS
}
