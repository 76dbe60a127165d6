//! Prints how fast a screen takes typical streams, next to the bare emulator, and what its views cost.
//!
//! `cargo run --release -p term --example throughput`. Figures are megabytes per second, the median of five
//! runs over 64 KiB chunks.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

mod streams;

use std::time::Instant;

use rio_vt::ansi::CursorShape;
use rio_vt::crosswords::{Crosswords, CrosswordsSize};
use rio_vt::event::{VoidListener, WindowId};
use rio_vt::performer::handler::Processor;
use term::{Depth, GridSize, Limits, PaintView, Screen, Wraps};

const BYTES: usize = 16 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;
const RUNS: usize = 5;

fn main() {
    println!("{:<12} {:>9} {:>9} {:>7}", "stream", "screen", "emulator", "ratio");
    for (name, pattern) in streams() {
        let stream: Vec<u8> = pattern.bytes().cycle().take(BYTES).collect();
        let ours = median(|| {
            let mut screen = Screen::new(GridSize::DEFAULT, Limits::default());
            stream.chunks(CHUNK).for_each(|chunk| screen.feed(chunk));
        });
        let bare = median(|| {
            let mut emulator = Crosswords::new(
                CrosswordsSize::new(80, 24),
                CursorShape::Block,
                VoidListener,
                WindowId::from(0),
                0,
                10_000,
            );
            let mut parser = Processor::default();
            stream.chunks(CHUNK).for_each(|chunk| parser.advance(&mut emulator, chunk));
        });
        println!("{name:<12} {ours:>9.0} {bare:>9.0} {:>7.2}", ours / bare);
    }
    views();
}

/// Costs of the views of a busy 200×50 screen with full history.
fn views() {
    let mut screen = Screen::new(GridSize::clamped(200, 50), Limits::default());
    let stream: Vec<u8> = streams::colour(1000).bytes().cycle().take(8 * 1024 * 1024).collect();
    screen.feed(&stream);
    let full = screen.checkpoint(Depth::Full);
    let small = screen.checkpoint(Depth::Screen);
    println!();
    println!(
        "checkpoint(screen)  {:>9.0} µs {:>9} bytes",
        micros(|| drop(screen.checkpoint(Depth::Screen))),
        small.len()
    );
    println!(
        "checkpoint(full)    {:>9.0} µs {:>9} bytes",
        micros(|| drop(screen.checkpoint(Depth::Full))),
        full.len()
    );
    println!("restore(screen)     {:>9.0} µs", micros(|| drop(Screen::restore(&small, Limits::default()))));
    println!("restore(full)       {:>9.0} µs", micros(|| drop(Screen::restore(&full, Limits::default()))));
    println!(
        "repaint             {:>9.0} µs {:>9} bytes",
        micros(|| drop(screen.repaint(PaintView::Whole))),
        screen.repaint(PaintView::Whole).len()
    );
    println!("text                {:>9.0} µs", micros(|| drop(screen.text(Wraps::Join))));
    let row = micros(|| (0..50).for_each(|row| drop(screen.row_cells(row))));
    println!("cells of all rows   {row:>9.0} µs");
}

fn streams() -> Vec<(&'static str, String)> {
    vec![
        ("plain", streams::plain(1000)),
        ("long lines", "lorem ipsum dolor sit amet ".repeat(400) + "\r\n"),
        ("colour", streams::colour(1000)),
        // More than the emulator's style table holds.
        ("true colour", streams::true_colour(200_000)),
        ("utf8", streams::utf8(1000)),
        ("tui repaint", streams::tui(200)),
    ]
}

fn median(run: impl Fn()) -> f64 {
    let mut rates: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            BYTES as f64 / 1e6 / start.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[RUNS / 2]
}

fn micros(run: impl Fn()) -> f64 {
    run();
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[10]
}
