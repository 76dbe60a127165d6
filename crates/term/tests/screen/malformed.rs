//! Hostile and broken streams: bounded time, bounded memory, and the next line still reads.

use std::time::Duration;

use proptest::prelude::*;
use term::{GridSize, Limits, Screen, Wraps};

use crate::hostile;
use crate::streams::{config, everything, screen};

/// A mebibyte of anything may cost as much as this many mebibytes of plain text. Both are measured in the same run, so a
/// slow or busy machine changes neither side alone.
const MOST_TIMES_PLAIN: u32 = 200;
/// How many mebibytes of plain text are measured: the kernel may count in steps of four milliseconds, and one mebibyte takes
/// less than that.
const PLAIN_MEBIBYTES: u32 = 8;

/// Returns the processor time of this thread so far; other work on the machine does not count.
fn worked() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts");
    let nanos = told.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("processor time comes first"))
}

/// Returns the screen and the processor time after a stream.
fn run(stream: &[u8]) -> (Screen, Duration) {
    let mut screen = screen(GridSize::DEFAULT);
    let begin = worked();
    stream.chunks(64 * 1024).for_each(|chunk| screen.feed(chunk));
    (screen, worked() - begin)
}

/// Returns true if one of five tries costs at most so many times what plain text costs right before and after it. Other
/// work on the machine can slow a try down by emptying caches, but cannot make a slow stream cheap.
fn is_cheap(stream: &[u8], plain: &[u8]) -> bool {
    (0..5).any(|_| {
        let before = run(plain).1;
        let took = run(stream).1;
        took * PLAIN_MEBIBYTES <= before.max(run(plain).1) * MOST_TIMES_PLAIN
    })
}

#[test]
fn c8_a_mebibyte_of_anything_is_cheap_and_leaves_a_working_screen() {
    let line = b"a line of plain text, as programs print it\r\n";
    let plain: Vec<u8> = line.iter().copied().cycle().take((PLAIN_MEBIBYTES as usize) << 20).collect();
    for (name, stream) in hostile::streams() {
        assert!(is_cheap(&stream, &plain), "{name}: {:?}, plain text {:?}", run(&stream).1, run(&plain).1);
        let mut screen = run(&stream).0;
        screen.take_facts();
        // CAN ends whatever is open, RIS whatever is set.
        screen.feed(b"\x18\x1b\\\x1bcstill here");
        assert_eq!(screen.text(Wraps::Keep), "still here", "{name}");
        assert!(!screen.take_facts().contains(&term::Fact::DisplayReset), "{name} broke the emulator");
        assert!(screen.take_replies().len() <= 4096);
    }
}

#[test]
fn c8_a_cell_holds_at_most_eight_marks() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(format!("e{}", "\u{301}".repeat(1_000)).as_bytes());
    for _ in 0..50 {
        screen.feed("\x1b[C\x1b[D\u{302}".as_bytes());
    }
    assert_eq!(screen.text(Wraps::Keep).chars().count(), 9);
    screen.feed(format!("\x1b[?2027l\r\ne{}", "\u{301}".repeat(1_000)).as_bytes());
    assert_eq!(screen.text(Wraps::Keep).lines().last().unwrap().chars().count(), 9);
}

#[test]
fn c8_repetition_fills_at_most_a_screen() {
    let mut screen = Screen::new(GridSize::clamped(10, 4), Limits::default());
    screen.feed(b"x\x1b[65535b");
    assert_eq!(screen.next_line().0, 5, "41 characters are five rows");
}

#[test]
fn c8_an_update_that_never_ends_is_shown_after_a_mebibyte_or_on_release() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(b"\x1b[?2026hframe");
    let version = screen.version();
    screen.feed(b" goes on");
    assert_eq!(screen.version(), version);
    assert!(screen.is_synchronizing());
    screen.release_sync();
    assert!(screen.version() > version && !screen.is_synchronizing());
    screen.feed(b"\x1b[?2026h");
    let version = screen.version();
    (0..17).for_each(|_| screen.feed(&[b'x'; 64 * 1024]));
    assert!(screen.version() > version, "held back for more than a mebibyte");
    screen.feed(b"\x1b[?2026h");
    let version = screen.version();
    screen.feed(b"frame");
    assert_eq!(screen.version(), version);
    screen.feed(b"\x1b[?2026l");
    assert!(screen.version() > version);
}

#[test]
fn c8_the_smallest_screen_survives_wide_characters() {
    for (cols, rows) in [(0, 0), (1, 1), (2, 1), (2, 2), (3, 1)] {
        let mut screen = screen(GridSize::clamped(cols, rows));
        for _ in 0..100 {
            screen.feed("日本\u{1f600}\u{2764}\u{fe0f}e\u{301}\x1b[4h語\x1b[4l\x1b[?7l日\x1b[?7h\x1b[2;1H\x1b[1P\x1b[1@".as_bytes());
        }
        assert!(!screen.take_facts().contains(&term::Fact::DisplayReset), "{cols}x{rows}");
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn c8_random_bytes_never_break_a_screen(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..6)) {
        let mut screen = screen(GridSize::clamped(20, 6));
        chunks.iter().for_each(|chunk| screen.feed(chunk));
        drop(everything(&screen));
    }
}
