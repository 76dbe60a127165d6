//! Prints what streams cost that ask for much work with few bytes, at two sizes: time and counted work.
//!
//! `cargo run --release -p term --example bombs`. What matters is the last column: the time that one turn of a worker
//! takes at most, whatever the child prints.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

#[path = "../tests/bombs/list.rs"]
mod list;

use std::time::{Duration, Instant};

use term::{GridSize, Limits, Screen};

/// Work of one turn.
const TURN: u64 = 256 * 1024;
const BUDGET: Duration = Duration::from_millis(400);

fn main() {
    println!(
        "{:<32} {:>9} {:>11} {:>11} {:>8} {:>10}",
        "bomb", "size", "units/byte", "ns/byte", "ns/unit", "turn, ms"
    );
    for (cols, rows) in [(200, 60), (1000, 1000)] {
        for bomb in list::all() {
            let mut screen = Screen::new(GridSize::clamped(cols, rows), Limits::default());
            screen.feed(bomb.before.as_bytes());
            let stream = bomb.again.repeat(128 * 1024 / bomb.again.len() + 1).into_bytes();
            let (mut at, mut bytes, begin) = (0, 0, Instant::now());
            let (before, mut longest) = (screen.work(), Duration::ZERO);
            while begin.elapsed() < BUDGET {
                let turn = Instant::now();
                let took = screen.feed_within(&stream[at..], TURN);
                drop((screen.take_replies(), screen.take_facts()));
                longest = longest.max(turn.elapsed());
                bytes += took;
                at = (at + took) % stream.len();
            }
            let (nanos, work) = (begin.elapsed().as_nanos() as f64, (screen.work() - before) as f64);
            let per_byte = |value: f64| value / bytes as f64;
            println!(
                "{:<32} {:>9} {:>11.1} {:>11.1} {:>8.2} {:>10.2}",
                bomb.name,
                format!("{cols}x{rows}"),
                per_byte(work),
                per_byte(nanos),
                nanos / work,
                longest.as_secs_f64() * 1e3
            );
        }
    }
}
