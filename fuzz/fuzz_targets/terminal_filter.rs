//! A child's bytes on their way to a person's terminal: whatever the child prints, in any pieces, the filter
//! neither panics nor emits much more than it gets, and a terminal that gets the rest answers nothing. The
//! oracle is our own emulator, which answers what terminals answer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proto::terminal::{CANCEL, Clipboard, Filter};
use term::{Limits, Screen, GridSize};

/// Past the most that is held, and past the longest string that a terminal collects (64 KiB).
const LONGEST: usize = 80 << 10;
/// The most bytes that one byte of a child may become: a repetition of a few bytes is written out, up to
/// 4,096 characters.
const MOST_SAID: usize = 4096;
/// Reads of a long stretch are at least this long: byte by byte the short ones are enough.
const LONG_READ: usize = 64;

fuzz_target!(|data: &[u8]| fuzz::swiftly(|| one(data)));

fn one(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let printed = fuzz::stretched(rest, fuzz::reach(data, LONGEST));
    let clipboard = if first & 1 == 0 { Clipboard::Refused } else { Clipboard::Writable };
    let cut = usize::from(first >> 1).max(1) * if printed.len() > 1024 { LONG_READ } else { 1 };
    let (whole, is_alternate) = pass(&printed, printed.len().max(1), clipboard);
    assert!(
        pass(&printed, cut, clipboard) == (whole.clone(), is_alternate),
        "the pieces in which bytes arrive must not matter"
    );
    is_not_answered(&whole);
}

fn pass(printed: &[u8], cut: usize, clipboard: Clipboard) -> (Vec<u8>, bool) {
    let mut filter = Filter::new(clipboard);
    let mut passed = Vec::new();
    for piece in printed.chunks(cut) {
        passed.extend_from_slice(&filter.pass(piece));
        assert!(passed.len() <= printed.len() * MOST_SAID, "more came out than the longest repetition says");
    }
    (passed, filter.is_alternate())
}

/// A person's terminal gets what has passed, then a cancel that ends whatever is unfinished.
fn is_not_answered(passed: &[u8]) {
    let mut screen = Screen::new(GridSize::clamped(20, 6), Limits { history_lines: 10 });
    screen.feed(passed);
    screen.feed(&[CANCEL]);
    let replies = screen.take_replies();
    assert!(replies.is_empty(), "the terminal answers {}", replies.escape_ascii());
}
