//! Prints what one look at a full screen of 200×50 costs, per manifest.
//!
//! `cargo run --release -p agents --example cost_per_look`. Figures are microseconds per look at a screen that has just
//! changed: the median and the 90th percentile of many. The limit is 200.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::time::{Duration, Instant};

use agents::{Catalogue, Detector};
use term::{GridSize, Limits, Screen};

const LOOKS: u32 = 2000;

fn main() {
    println!("{:<14} {:>8} {:>8} {:>8}", "manifest", "dense", "p90", "sparse");
    let catalogue = Catalogue::built_in();
    for name in catalogue.names() {
        let Some(mut detector) = catalogue.get(name).and_then(|manifest| Detector::new(manifest).ok()) else {
            continue;
        };
        let mut cost = |text: fn(u16) -> String| cost_per_look(&mut detector, text);
        let (dense, most) = cost(dense_row);
        let (sparse, _) = cost(sparse_row);
        println!("{name:<14} {:>8.1} {:>8.1} {:>8.1}", micros(dense), micros(most), micros(sparse));
    }
}

/// Returns the median and the 90th percentile of looks at a screen of such rows, each after a change.
fn cost_per_look(detector: &mut Detector, text: fn(u16) -> String) -> (Duration, Duration) {
    let mut screen = Screen::new(GridSize { cols: 200, rows: 50 }, Limits::default());
    for row in 0..50 {
        screen.feed(format!("\x1b[{};1H{}", row + 1, text(row)).as_bytes());
    }
    let mut costs: Vec<Duration> = (0..LOOKS)
        .map(|look| {
            screen.feed(format!("\x1b[25;1H{look:>8}").as_bytes());
            let start = Instant::now();
            std::hint::black_box(detector.look(&screen));
            start.elapsed()
        })
        .collect();
    costs.sort_unstable();
    let at = |percent: usize| costs.get(costs.len() * percent / 100).copied().unwrap_or_default();
    (at(50), at(90))
}

/// Returns prose with frames, marks and numbers: everything a rule might begin to match.
fn dense_row(row: u16) -> String {
    let words =
        ["● 1. Do you want", "❯ ─── esc to", "(3s • enter", "│ ✻ Working…", "› allow? ▄▄▄", "日本語 text"];
    let text: String =
        words.iter().cycle().skip(usize::from(row)).take(20).copied().collect::<Vec<_>>().join(" ");
    text.chars().take(180).collect()
}

fn sparse_row(row: u16) -> String {
    if row.is_multiple_of(4) { "some output of a tool".to_owned() } else { String::new() }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
