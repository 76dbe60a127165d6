//! Any bytes, cuts and sizes into a screen: it never panics, and a restored checkpoint continues the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use term::{Depth, Limits, Screen, GridSize, PaintView, Wraps};

/// Past the longest string that a screen collects (64 KiB), with room for what ends it.
const LONGEST: usize = 80 << 10;

/// The most operations: hundreds of repaints are slow without being a finding.
const OPERATIONS: usize = 256;

/// Control bytes of the input: what to do with the bytes that follow.
fn drive(screen: &mut Screen, limits: Limits, mut input: &[u8]) {
    let mut reach = fuzz::reach(input, LONGEST);
    for _ in 0..OPERATIONS {
        let [operation, length, rest @ ..] = input else { break };
        let (piece, after) = rest.split_at(rest.len().min(usize::from(*length)));
        input = after;
        match operation % 8 {
            0 => screen.resize(GridSize::clamped(u32::from(*length), piece.first().copied().unwrap_or(1).into())),
            1 => {
                let blob = screen.checkpoint(Depth::Full);
                *screen = Screen::restore(&blob, limits).expect("a checkpoint just taken restores");
                screen.feed(piece);
            }
            2 => {
                // Any bytes must be refused or restored without harm.
                drop(Screen::restore(piece, limits));
            }
            3 => {
                let mut viewer = Screen::new(screen.size(), limits);
                viewer.feed(&screen.repaint(PaintView::Whole));
                assert!(viewer.take_replies().is_empty(), "a repaint asked something");
                drop(screen.repaint(PaintView::Window(GridSize::clamped(u32::from(*length), 5))));
            }
            4 => {
                let long = fuzz::stretched(piece, reach);
                reach -= long.len();
                screen.feed(&long);
            }
            _ => screen.feed(piece),
        }
    }
    drop(screen.text(Wraps::Join));
    drop(screen.lines(screen.first_line()..screen.next_line(), Wraps::Keep));
    assert!(screen.take_replies().len() <= 4096);
    drop(screen.take_facts());
}

fuzz_target!(|input: &[u8]| fuzz::swiftly(|| one(input)));

fn one(input: &[u8]) {
    let limits = Limits { history_lines: 50 };
    let mut screen = Screen::new(GridSize::clamped(20, 6), limits);
    drive(&mut screen, limits, input);
}
