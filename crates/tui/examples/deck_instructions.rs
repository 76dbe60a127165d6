//! Work for an instruction counter: pictures of the deck at 200×50, a given number of times.
//!
//! `deck_instructions CASE PASSES` does the work and prints how many units one pass has: `whole` composes and encodes the
//! whole picture, `row` one row of the focused pane. The counter takes the difference between two numbers of passes, so
//! that start-up does not count. `cargo xtask bench --only instructions` runs it so.
#![expect(clippy::print_stdout, reason = "the counter reads the number of units")]

use std::hint::black_box;

use tui::measuring::Picture;

/// Pictures per pass.
const UNITS: usize = 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or_default();
    let passes: usize = arguments.next().and_then(|passes| passes.parse().ok()).unwrap_or(1);
    let mut picture = Picture::default();
    for round in 0..passes * UNITS {
        black_box(match case.as_str() {
            "whole" => picture.whole(),
            "row" => picture.row(round),
            _ => 0,
        });
    }
    println!("{UNITS}");
}
