//! The memory cost of hostile streams. This file is a program of its own with one test, so that all its
//! memory is this test's.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "screen/hostile.rs"]
mod hostile;

use term::{GridSize, Limits, Screen};

/// The most memory that a mebibyte of any stream may cost one screen.
const ALLOWED: u64 = 16 << 20; // 16 MiB

/// Returns the resident memory of this program in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn c8_a_mebibyte_of_anything_costs_sixteen_at_most() {
    // Streams are made before measuring, and one screen warms up what every first screen costs.
    let streams: Vec<_> = hostile::streams().collect();
    let mut first = Screen::new(GridSize::DEFAULT, Limits::default());
    first.feed(b"warm\r\n");
    let mut worst = ("nothing", 0);
    // All screens are kept: memory that one gave back would hide what the next one takes.
    let mut kept = Vec::new();
    for (name, stream) in &streams {
        let before = resident();
        let mut screen = Screen::new(GridSize::DEFAULT, Limits::default());
        let mut most = before;
        for chunk in stream.chunks(64 * 1024) {
            screen.feed(chunk);
            most = most.max(resident());
        }
        kept.push(screen);
        let grown = most.saturating_sub(before);
        println!("{name}: {} KiB", grown >> 10);
        assert!(grown <= ALLOWED, "{name}: {} KiB", grown >> 10);
        worst = if grown > worst.1 { (name, grown) } else { worst };
    }
    println!("most: {} with {} KiB", worst.0, worst.1 >> 10);
    assert!(worst.1 > 0, "nothing was measured");
}
