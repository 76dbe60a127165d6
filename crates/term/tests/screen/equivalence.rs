//! The same bytes give the same screen, however they are cut and however often it was saved and restored.

use proptest::prelude::*;
use term::{Damage, Depth, Fact, GridSize, Limits, RestoreError, Screen, Wraps};

use crate::streams::{Picture, Step, apply, config, everything, limits, screen, size, steps};

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn s1_a_restored_screen_goes_on_as_if_nothing_happened(
        size in size(),
        steps in steps(),
        cuts in proptest::collection::vec(1usize..40, 1..6),
    ) {
        let mut plain = screen(size);
        let mut saved = screen(size);
        let mut cuts = cuts.into_iter().cycle();
        for step in &steps {
            apply(&mut plain, std::slice::from_ref(step));
            let Step::Feed(bytes) = step else {
                apply(&mut saved, std::slice::from_ref(step));
                continue;
            };
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let (head, tail) = rest.split_at(rest.len().min(cuts.next().unwrap()));
                saved.feed(head);
                saved = Screen::restore(&saved.checkpoint(Depth::Full), limits()).unwrap();
                rest = tail;
            }
        }
        prop_assert_eq!(everything(&saved), everything(&plain));
        prop_assert_eq!(saved.program_status(), plain.program_status());
    }

    #[test]
    fn a_screen_does_not_depend_on_how_bytes_are_cut(size in size(), steps in steps(), chunk in 1usize..9) {
        let mut whole = screen(size);
        let mut cut = screen(size);
        apply(&mut whole, &steps);
        for step in &steps {
            match step {
                Step::Feed(bytes) => bytes.chunks(chunk).for_each(|bytes| cut.feed(bytes)),
                Step::Resize(size) => cut.resize(*size),
            }
        }
        prop_assert_eq!(everything(&cut), everything(&whole));
        prop_assert_eq!(cut.take_replies(), whole.take_replies());
        prop_assert_eq!(cut.take_facts(), whole.take_facts());
    }

    #[test]
    fn a_checkpoint_without_history_keeps_both_grids(size in size(), steps in steps(), more in steps()) {
        let mut plain = screen(size);
        apply(&mut plain, &steps);
        let mut restored = Screen::restore(&plain.checkpoint(Depth::Screen), limits()).unwrap();
        prop_assert_eq!(Picture::of(&restored), Picture::of(&plain));
        // Without history a taller screen has nothing to pull in, so only bytes follow here.
        let bytes: Vec<Step> = more.into_iter().filter(|step| matches!(step, Step::Feed(_))).collect();
        apply(&mut plain, &bytes);
        apply(&mut restored, &bytes);
        prop_assert_eq!(Picture::of(&restored), Picture::of(&plain));
        prop_assert_eq!(restored.next_line(), plain.next_line());
    }

    #[test]
    fn rows_not_reported_as_damaged_are_unchanged(size in size(), steps in steps(), more in steps()) {
        let mut screen = screen(size);
        apply(&mut screen, &steps);
        for step in more {
            let before = Picture::of(&screen);
            let version = screen.version();
            apply(&mut screen, std::slice::from_ref(&step));
            let after = Picture::of(&screen);
            match screen.damage(version) {
                Damage::Everything => {}
                Damage::Nothing => prop_assert_eq!((&after.cells, after.cursor, after.modes), (&before.cells, before.cursor, before.modes)),
                Damage::Rows(rows) => {
                    for row in (0..size_of(&screen)).filter(|row| !rows.contains(row)) {
                        let index = usize::from(row);
                        prop_assert_eq!(&after.cells[index], &before.cells[index], "row {}", row);
                    }
                }
            }
        }
    }

    #[test]
    fn c9_no_stream_and_no_size_makes_the_emulator_fail(size in size(), steps in steps()) {
        let mut screen = screen(size);
        apply(&mut screen, &steps);
        prop_assert!(!screen.take_facts().contains(&Fact::DisplayReset));
    }

    #[test]
    fn any_bytes_are_safe_to_restore(blob in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(screen) = Screen::restore(&blob, limits()) {
            drop(everything(&screen));
        }
    }

    #[test]
    fn a_damaged_checkpoint_is_refused_or_harmless(
        size in size(),
        steps in steps(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        more in steps(),
    ) {
        let mut original = screen(size);
        apply(&mut original, &steps);
        let mut blob = original.checkpoint(Depth::Full);
        for (index, value) in flips {
            let index = 1 + index.index(blob.len() - 1);
            blob[index] = value;
        }
        blob.truncate(blob.len() - cut.index(blob.len() / 2) / 4);
        if let Ok(mut screen) = Screen::restore(&blob, limits()) {
            drop(everything(&screen));
            apply(&mut screen, &more);
            drop(everything(&screen));
        }
    }
}

fn size_of(screen: &Screen) -> u16 {
    screen.size().rows
}

#[test]
fn a_checkpoint_may_be_cut_anywhere_without_harm() {
    let mut original = screen(GridSize::clamped(20, 6));
    original.feed("one\r\n\x1b[1;38;2;1;2;3mtwo\x1b]8;;https://e.org\x07日本\x1b[?1049hthree".as_bytes());
    let blob = original.checkpoint(Depth::Full);
    for length in 0..blob.len() {
        assert!(Screen::restore(&blob[..length], limits()).is_err(), "{length}");
    }
    assert!(Screen::restore(&blob, limits()).is_ok());
}

#[test]
fn a_checkpoint_of_an_unknown_format_is_refused_with_its_number() {
    let mut blob = screen(GridSize::DEFAULT).checkpoint(Depth::Screen);
    blob[0] = 99;
    assert_eq!(Screen::restore(&blob, limits()).unwrap_err(), RestoreError::Version(99));
}

/// A checkpoint in the format before shifts of character sets were kept: "one", "two" in red, and "three" in bold on
/// the alternate screen, with line drawing in use.
const BEFORE_SHIFTS: &str = "010a03020000000000000000d0010000000100000003020101010000000066a08d060103010000000101000000000003\
    0100000001010000000000000300030000000000006f6e650300030100000101000074776f0008010001000101000002\
    0000030100000001010000000000000a400a00000001010000000a000300000000000501010001010000746872656500\
    020000000a400a0000";

#[test]
fn a_checkpoint_of_the_format_before_is_still_read() {
    let digits = BEFORE_SHIFTS.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    let blob: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
    let mut screen = Screen::restore(&blob, limits()).unwrap();
    assert_eq!(screen.text(Wraps::Keep), "\n   three");
    screen.feed(b"q\x0f\x1b[?1049l!");
    assert_eq!(screen.text(Wraps::Keep), "one\ntwo!");
    assert_ne!(screen.checkpoint(Depth::Full)[0], blob[0], "what is written is the new format");
}

#[test]
fn a_small_blob_cannot_ask_for_much_memory() {
    let mut original = screen(GridSize::clamped(2, 1));
    original.feed(b"x");
    let blob = original.checkpoint(Depth::Full);
    // Puts a huge number at every byte, one of which is the number of history lines. The blob is refused or
    // stays within the limit.
    for index in 1..blob.len() {
        let mut forged = blob.clone();
        forged.splice(index..=index, [0xff, 0xff, 0xff, 0xff, 0x0f]);
        if let Ok(screen) = Screen::restore(&forged, limits()) {
            assert!(screen.next_line().0 - screen.first_line().0 <= 41);
        }
    }
}

#[test]
fn history_beyond_the_limit_is_dropped_oldest_first() {
    let mut original = screen(GridSize::clamped(10, 2));
    (0..30).for_each(|number| original.feed(format!("{number}\r\n").as_bytes()));
    let blob = original.checkpoint(Depth::Full);
    let restored = Screen::restore(&blob, Limits { history_lines: 5 }).unwrap();
    assert_eq!(restored.next_line(), original.next_line());
    let ids = restored.first_line()..restored.next_line();
    assert_eq!(restored.lines(ids.clone(), Wraps::Keep), original.lines(ids, Wraps::Keep));
    assert_eq!(restored.next_line().0 - restored.first_line().0, 7);
}

#[test]
fn t2_equal_sizes_change_nothing_and_all_sizes_are_clamped() {
    let mut screen = screen(GridSize { cols: 0, rows: 0 });
    assert_eq!(screen.size(), GridSize { cols: 2, rows: 1 });
    screen.feed("日本語 wide in two columns 日".as_bytes());
    let version = screen.version();
    screen.resize(GridSize { cols: 1, rows: 0 });
    assert_eq!(screen.version(), version);
    screen.resize(GridSize { cols: u16::MAX, rows: u16::MAX });
    assert_eq!(screen.size(), GridSize { cols: 1000, rows: 1000 });
    assert_eq!(GridSize::clamped(0, 100_000), GridSize { cols: 2, rows: 1000 });
    assert_eq!(GridSize::default(), GridSize { cols: 80, rows: 24 });
}

#[test]
fn versions_grow_with_what_is_visible_and_only_then() {
    let mut screen = screen(GridSize::DEFAULT);
    let mut version = screen.version();
    for (bytes, visible) in [
        (&b"x"[..], true),
        (b"\x1b[31m", false),
        (b"\x1b]2;title\x07", false),
        (b"\x1b[c", false),
        (b"\x1b[5;5H", true),
        (b"\x1b[?2004h", true),
        (b"\x1b[?25l", true),
        (b"", false),
        (b"\x1b[", false),
        (b"A", true),
    ] {
        screen.feed(bytes);
        assert_eq!(screen.version() > version, visible, "{:?}", bytes.escape_ascii().to_string());
        version = screen.version();
    }
    screen.resize(GridSize::clamped(81, 24));
    assert!(screen.version() > version);
    assert_eq!(screen.damage(version), Damage::Everything);
    assert_eq!(screen.damage(u64::MAX), Damage::Everything);
}
