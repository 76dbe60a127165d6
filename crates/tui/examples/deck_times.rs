//! How long the work of one picture takes at 200×50: `deck_times CASE` prints the median in nanoseconds.
//!
//! `whole` composes and encodes the whole picture, `row` one row of the focused pane. `cargo xtask bench --only deck` runs it.
#![expect(clippy::print_stdout, reason = "the bench reads the figure")]

use std::hint::black_box;
use std::time::Instant;

use tui::measuring::Picture;

const ROUNDS: usize = 2_000;

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();
    let mut picture = Picture::default();
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let start = Instant::now();
        black_box(match case.as_str() {
            "whole" => picture.whole(),
            "row" => picture.row(round),
            _ => 0,
        });
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    println!("{}", times[ROUNDS / 2]);
}
