//! Any bytes, cuts and sizes into a screen: it never panics, and a restored checkpoint goes on the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use term::{Depth, Limits, Screen, Size, View, Wraps};

/// Control bytes of the input: what to do with the bytes that follow.
fn drive(screen: &mut Screen, limits: Limits, mut input: &[u8]) {
    while let [operation, length, rest @ ..] = input {
        let (piece, after) = rest.split_at(rest.len().min(usize::from(*length)));
        input = after;
        match operation % 8 {
            0 => screen.resize(Size::clamped(u32::from(*length), piece.first().copied().unwrap_or(1).into())),
            1 => {
                let blob = screen.checkpoint(Depth::Full);
                *screen = Screen::restore(&blob, limits).expect("a checkpoint just taken restores");
                screen.feed(piece);
            }
            2 => {
                // Whatever this is, it must be refused or restored without harm.
                drop(Screen::restore(piece, limits));
            }
            3 => {
                let mut viewer = Screen::new(screen.size(), limits);
                viewer.feed(&screen.repaint(View::Whole));
                assert!(viewer.take_replies().is_empty(), "a repaint asked something");
                drop(screen.repaint(View::Window(Size::clamped(u32::from(*length), 5))));
            }
            _ => screen.feed(piece),
        }
    }
    drop(screen.text(Wraps::Join));
    drop(screen.lines(screen.first_line()..screen.next_line(), Wraps::Keep));
    assert!(screen.take_replies().len() <= 4096);
    drop(screen.take_facts());
}

fuzz_target!(|input: &[u8]| {
    let limits = Limits { history_lines: 50 };
    let mut screen = Screen::new(Size::clamped(20, 6), limits);
    drive(&mut screen, limits, input);
});
