//! Streams that ask for much work with few bytes: what screens count for them, and that splitting the work
//! into turns changes nothing but when it is done.

mod list;

use term::{GridSize, Limits, Screen, Wraps};

/// Work of one turn.
const TURN: u64 = 256 * 1024;
/// Work of 256 bytes that each scroll a part of a thousand rows, or of 4,096 before the screen notices that
/// they do.
const PIECE: u64 = 4096 * 2200;

const SIZES: [(u32, u32); 2] = [(200, 60), (1000, 1000)];

fn screen(cols: u32, rows: u32, bomb: &list::Bomb) -> (Screen, Vec<u8>) {
    let mut screen = Screen::new(GridSize::clamped(cols, rows), Limits::default());
    screen.feed(bomb.before.as_bytes());
    (screen, bomb.again.repeat(128 * 1024 / bomb.again.len() + 1).into_bytes())
}

#[test]
fn m5e_there_are_forty_kinds_of_bombs_and_more() {
    assert!(list::all().len() >= 40, "{}", list::all().len());
}

#[test]
fn m5e_a_turn_ends_after_its_work_whatever_is_printed() {
    for (cols, rows) in SIZES {
        let screenful = u64::from(cols) * u64::from(rows) / 8 + u64::from(rows) * 2;
        for bomb in list::all() {
            let (mut screen, stream) = screen(cols, rows, &bomb);
            let mut at = 0;
            for turn in 0..8 {
                let before = screen.work();
                let took = screen.feed_within(&stream[at..], TURN);
                let work = screen.work() - before;
                assert!(took > 0 || at == stream.len(), "{}: nothing was done in turn {turn}", bomb.name);
                let most = TURN + 2 * screenful + if turn == 0 { PIECE } else { TURN };
                assert!(work <= most, "{} at {cols}x{rows}: {work} in turn {turn}", bomb.name);
                at += took;
            }
        }
    }
}

#[test]
fn m5e_what_asks_for_a_screen_is_counted_as_a_screen() {
    for (name, sequence) in [("alignment", "\x1b#8"), ("erase", "\x1b#8\x1b[2J"), ("other", "\x1b[?1049h")] {
        let mut screen = Screen::new(GridSize::clamped(1000, 1000), Limits::default());
        screen.feed(sequence.as_bytes());
        assert!(screen.work() >= 125_000, "{name}: {}", screen.work());
    }
}

#[test]
fn m5e_erasing_what_is_blank_costs_rows_and_not_cells() {
    for (cols, rows) in SIZES {
        let mut screen = Screen::new(GridSize::clamped(cols, rows), Limits::default());
        screen.feed(b"some text\r\n\x1b[2J");
        let before = screen.work();
        screen.feed(b"\x1b[2J");
        assert!(screen.work() - before <= u64::from(rows) * 2 + 8, "{}", screen.work() - before);
        screen.feed(b"\x1b[HHere\x1b[2Jagain");
        assert_eq!(screen.text(Wraps::Keep).trim(), "again", "what is not blank is erased all the same");
    }
}

#[test]
fn m5e_what_is_coloured_is_not_taken_for_blank() {
    let mut screen = Screen::new(GridSize::clamped(20, 4), Limits::default());
    screen.feed(b"\x1b[2J\x1b[41m\x1b[2J");
    let coloured = screen.row_cells(3);
    screen.feed(b"\x1b[m\x1b[2J");
    assert_ne!(coloured, screen.row_cells(3));
    let mut blank = Screen::new(GridSize::clamped(20, 4), Limits::default());
    blank.feed(b"x\x1b[2J");
    assert_eq!(screen.row_cells(3), blank.row_cells(3));
}

#[test]
fn m5e_turns_change_nothing_but_when_it_is_done() {
    for bomb in list::all() {
        let (mut whole, stream) = screen(31, 7, &bomb);
        let (mut turns, _) = screen(31, 7, &bomb);
        let stream = &stream[..stream.len().min(20_000)];
        whole.feed(stream);
        let mut at = 0;
        while at < stream.len() {
            at += turns.feed_within(&stream[at..], 64);
        }
        assert_eq!(turns.cursor(), whole.cursor(), "{}", bomb.name);
        assert_eq!(turns.text(Wraps::Keep), whole.text(Wraps::Keep), "{}", bomb.name);
        assert_eq!(turns.next_line(), whole.next_line(), "{}", bomb.name);
        let cells = |screen: &Screen| (0..7).map(|row| screen.row_cells(row)).collect::<Vec<_>>();
        assert!(cells(&turns) == cells(&whole), "{}", bomb.name);
    }
}

/// When every entry for marks is in use, new marks are left out and letters are not.
#[test]
fn m5e_marks_beyond_what_can_be_kept_cost_no_look_at_the_history_each() {
    let mut screen = Screen::new(GridSize::clamped(200, 60), Limits::default());
    let marks = list::all().into_iter().find(|bomb| bomb.name == "ever new marks").unwrap();
    screen.feed(marks.again.as_bytes());
    let before = screen.work();
    screen.feed("\x1b[H\x1b[J".as_bytes());
    screen.feed("a\u{301}\u{34e}b\u{302}\u{34f}日".repeat(20).as_bytes());
    assert!(
        screen.text(Wraps::Keep).replace(|letter: char| !"ab日".contains(letter), "").starts_with("ab日ab日")
    );
    assert!(screen.work() - before < 2_000_000, "{}", screen.work() - before);
}
