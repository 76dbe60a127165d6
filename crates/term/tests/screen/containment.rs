//! A failing emulator costs one screen's content and nothing else.

use term::{Fact, GridSize, Wraps};

use crate::streams::{everything, screen};

#[test]
fn c9_a_panic_in_the_emulator_resets_one_screen_and_no_other() {
    let script: Vec<Vec<u8>> = (0..100)
        .map(|number| format!("line {number} \x1b[3{}mcolour\x1b[0m 日本\r\n", number % 8).into_bytes())
        .collect();
    let mut failing = screen(GridSize::clamped(30, 8));
    let mut neighbour = screen(GridSize::clamped(30, 8));
    let mut alone = screen(GridSize::clamped(30, 8));
    for (number, bytes) in script.iter().enumerate() {
        let before = failing.next_line();
        failing.fail_engine_once();
        failing.feed(bytes);
        neighbour.feed(bytes);
        alone.feed(bytes);
        assert!(failing.take_facts().contains(&Fact::DisplayReset), "failure {number}");
        assert_eq!(failing.size(), GridSize::clamped(30, 8));
        assert!(failing.next_line() >= before, "line ids never go back");
        failing.feed(format!("after {number}").as_bytes());
        // Only the piece at which the emulator failed is lost with the screen; what came after it is shown.
        assert_eq!(failing.text(Wraps::Keep), format!("colour 日本\nafter {number}"));
        assert_eq!(everything(&neighbour), everything(&alone));
        assert!(neighbour.take_facts().is_empty());
    }
}

#[test]
fn c9_a_failure_between_two_halves_of_a_sequence_does_not_desync_the_parser() {
    let mut screen = screen(GridSize::DEFAULT);
    screen.feed(b"\x1b]2;kept\x07before\x1b[3");
    screen.fail_engine_once();
    screen.feed(b"1mlost?");
    screen.feed(b"\r\nnext\x1b[");
    screen.feed(b"6n");
    assert_eq!(screen.take_facts(), [Fact::Title("kept".into()), Fact::DisplayReset]);
    assert!(screen.text(Wraps::Keep).contains("next"));
    assert!(!screen.text(Wraps::Keep).contains("1m"));
    assert_eq!(screen.take_replies(), b"\x1b[2;5R");
    assert_eq!(screen.title(), "kept");
}

#[test]
fn c9_a_screen_can_be_used_from_another_thread() {
    let mut screen = screen(GridSize::DEFAULT);
    let screen = std::thread::spawn(move || {
        screen.feed(b"moved");
        screen
    })
    .join()
    .unwrap();
    assert_eq!(screen.text(Wraps::Keep), "moved");
}

#[test]
fn c9_a_screen_that_is_not_trusted_any_more_begins_anew_and_its_numbers_go_on() {
    let mut screen = screen(GridSize::clamped(30, 8));
    (0..20).for_each(|number| screen.feed(format!("line {number}\r\n").as_bytes()));
    screen.feed(b"\x1b]2;kept\x07\x1b[?1049h\x1b[?2026h\x1b]0;never ends");
    drop((screen.take_facts(), screen.take_replies()));
    let (version, next) = (screen.version(), screen.next_line());
    screen.reset_display(GridSize::clamped(20, 4));
    assert_eq!(screen.take_facts(), [Fact::DisplayReset]);
    assert_eq!((screen.size(), screen.text(Wraps::Keep).as_str()), (GridSize::clamped(20, 4), ""));
    assert!(screen.version() > version && screen.first_line() >= next, "numbers never go back");
    assert!(!screen.is_alternate() && !screen.is_synchronizing());
    assert_eq!(screen.title(), "kept");
    screen.feed(b"after");
    assert_eq!(screen.text(Wraps::Keep), "after");
}
