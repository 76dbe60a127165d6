//! Lines by id, joined lines, search.

use regex::Regex;
use term::{Depth, Found, GridSize, Limits, Line, LineId, Screen, TextMatch, Wraps};

use crate::streams::screen;

fn texts(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

fn all(screen: &Screen, wraps: Wraps) -> Vec<Line> {
    screen.lines(screen.first_line()..screen.next_line(), wraps)
}

fn line_with(screen: &Screen, text: &str) -> LineId {
    all(screen, Wraps::Keep)
        .into_iter()
        .find(|line| line.text == text)
        .map(|line| line.id)
        .expect("the line is there")
}

#[test]
fn ids_stay_with_their_line_while_it_scrolls() {
    let mut screen = screen(GridSize::clamped(10, 3));
    screen.feed(b"first\r\nsecond\r\n");
    let second = line_with(&screen, "second");
    for number in 0..20 {
        screen.feed(format!("more {number}\r\n").as_bytes());
        assert_eq!(line_with(&screen, "second"), second);
    }
    assert_eq!(texts(&screen.lines(second..LineId(second.0 + 2), Wraps::Keep)), ["second", "more 0"]);
}

#[test]
fn ids_of_lines_that_left_are_gone_and_never_reused() {
    let mut screen = screen(GridSize::clamped(10, 2));
    screen.feed(b"first\r\n");
    let first = line_with(&screen, "first");
    (0..100).for_each(|number| screen.feed(format!("{number}\r\n").as_bytes()));
    assert!(screen.first_line() > first);
    assert!(screen.lines(first..LineId(first.0 + 1), Wraps::Keep).is_empty());
    assert_eq!(screen.next_line().0 - screen.first_line().0, 42);
}

#[test]
fn clearing_the_history_keeps_the_ids_on_the_screen() {
    let mut screen = screen(GridSize::clamped(10, 2));
    screen.feed(b"a\r\nb\r\nc\r\nd");
    let last = line_with(&screen, "d");
    screen.feed(b"\x1b[3J");
    assert_eq!(line_with(&screen, "d"), last);
    assert_eq!(texts(&all(&screen, Wraps::Keep)), ["c", "d"]);
}

#[test]
fn rows_added_or_taken_keep_every_id() {
    let mut screen = screen(GridSize::clamped(10, 4));
    screen.feed(b"a\r\nb\r\nc\r\nd\r\ne\r\nf");
    let ids = ["a", "c", "f"].map(|text| line_with(&screen, text));
    for rows in [2, 6, 1, 9, 4] {
        screen.resize(GridSize::clamped(10, rows));
        assert_eq!(["a", "c", "f"].map(|text| line_with(&screen, text)), ids, "{rows} rows");
    }
}

#[test]
fn wrapping_anew_keeps_the_id_of_the_newest_line() {
    let mut screen = screen(GridSize::clamped(20, 3));
    screen.feed(b"a rather long line here\r\nand one more of those lines\r\nend");
    let before = screen.next_line();
    screen.resize(GridSize::clamped(10, 3));
    assert!(screen.next_line() >= before);
    let narrow = screen.next_line();
    screen.resize(GridSize::clamped(40, 3));
    assert!(screen.next_line() >= narrow);
}

#[test]
fn the_alternate_screen_does_not_hide_the_history() {
    let mut screen = screen(GridSize::clamped(10, 2));
    screen.feed(b"a\r\nb\r\nc");
    let before = all(&screen, Wraps::Keep);
    screen.feed(b"\x1b[?1049hfull\r\nscreen\r\nprogram");
    assert_eq!(all(&screen, Wraps::Keep), before);
    assert_eq!(screen.text(Wraps::Keep), "screen\nprogram");
}

#[test]
fn wrapped_rows_join_into_the_line_the_program_wrote() {
    let mut screen = screen(GridSize::clamped(10, 4));
    screen.feed(b"0123456789abcdef\r\nnext");
    let kept = all(&screen, Wraps::Keep);
    assert_eq!(texts(&kept), ["0123456789", "abcdef", "next", ""]);
    assert_eq!(kept.iter().map(|line| line.wrapped).collect::<Vec<_>>(), [true, false, false, false]);
    let joined = all(&screen, Wraps::Join);
    assert_eq!(texts(&joined), ["0123456789abcdef", "next", ""]);
    assert_eq!(joined[1].id.0 - joined[0].id.0, 2);
    assert_eq!(screen.text(Wraps::Join), "0123456789abcdef\nnext");
}

#[test]
fn search_finds_across_wraps_and_says_where() {
    let mut screen = screen(GridSize::clamped(10, 3));
    screen.feed("nothing\r\nsee https://example.com/page for more\r\nend\r\n日本 end".as_bytes());
    let search = |pattern: &str, limit, bytes| {
        Found::among(&all(&screen, Wraps::Join), &Regex::new(pattern).unwrap(), limit, bytes)
    };
    let found = search(r"https://\S+", 10, 1000).matches;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "see https://example.com/page for more", "the whole line");
    assert_eq!((found[0].start, found[0].end, found[0].skipped, found[0].is_cut), (4, 28, 0, false));
    let line = screen.lines(found[0].line..screen.next_line(), Wraps::Join).swap_remove(0);
    assert_eq!(line.text, found[0].text);
    let counted = |limit, bytes| {
        let found = search("end", limit, bytes);
        (found.matches.len(), found.is_cut)
    };
    assert_eq!((counted(10, 1000), counted(2, 1000)), ((2, false), (2, false)));
    assert_eq!((counted(1, 1000), counted(0, 1000)), ((1, true), (0, true)));
    assert_eq!((counted(10, 13), counted(10, 12)), ((2, false), (1, true)), "by bytes of text");
}

#[test]
fn of_a_long_line_a_match_carries_the_part_around_it() {
    let mut screen = screen(GridSize::clamped(100, 5));
    let line = format!("{}one{}two{}", "ä".repeat(700), "b".repeat(900), "é".repeat(100));
    screen.feed(line.as_bytes());
    for pattern in ["one", "two", "^.", ".$", "b+", "ä{600}"] {
        let regex = Regex::new(pattern).unwrap();
        let found = Found::among(&all(&screen, Wraps::Join), &regex, 1, 1000).matches.swap_remove(0);
        let real = regex.find(&line).unwrap();
        assert!(
            found.text.len() <= TextMatch::LINE_MAX && found.text.len() > TextMatch::LINE_MAX - 4,
            "{pattern}"
        );
        assert!(line[found.skipped..].starts_with(&found.text), "{pattern}");
        assert_eq!(found.skipped + found.start, real.start(), "{pattern}");
        let shown = &found.text[found.start..found.end];
        assert!(real.as_str().starts_with(shown), "{pattern}");
        assert_eq!(shown.len(), real.len().min(found.text.len() - found.start), "{pattern}");
        assert_eq!(found.is_cut, found.skipped + found.text.len() < line.len(), "{pattern}");
    }
}

#[test]
fn ranges_outside_of_what_exists_give_what_exists() {
    let mut screen = screen(GridSize::clamped(10, 2));
    screen.feed(b"a\r\nb");
    assert_eq!(texts(&screen.lines(LineId(0)..LineId(u64::MAX), Wraps::Keep)), ["a", "b"]);
    assert!(screen.lines(LineId(9)..LineId(3), Wraps::Keep).is_empty());
    assert!(screen.lines(LineId(u64::MAX)..LineId(u64::MAX), Wraps::Join).is_empty());
}

#[test]
fn clearing_a_blank_screen_makes_no_history() {
    let mut screen = screen(GridSize::clamped(10, 3));
    screen.feed(b"\x1b[2J\x1b[2J\x1b[H\x1b[2J");
    assert_eq!((screen.first_line().0, screen.next_line().0), (0, 3));
}

#[test]
fn a_screen_may_keep_no_history_at_all() {
    let mut screen = Screen::new(GridSize::clamped(10, 2), Limits { history_lines: 0 });
    (0..10).for_each(|number| screen.feed(format!("{number}\r\n").as_bytes()));
    assert_eq!(texts(&all(&screen, Wraps::Keep)), ["9", ""]);
    assert_eq!(screen.next_line().0, 11);
}

/// The lines in which prompts begin.
fn prompts(screen: &Screen) -> Vec<u64> {
    let written = screen.written();
    let is_prompt = |id: &u64| screen.line_row(LineId(*id)).is_some_and(|row| row.is_prompt);
    (written.start.0..written.end.0).filter(is_prompt).collect()
}

#[test]
fn u28_prompts_that_a_shell_marks_are_known_in_the_history_and_after_a_checkpoint() {
    let mut screen = Screen::new(GridSize::clamped(20, 4), Limits { history_lines: 100 });
    for command in 0..4 {
        screen.feed(format!("\x1b]133;A\x07$ {command}\x1b]133;B\x07\r\nout\r\nmore\r\n").as_bytes());
    }
    assert_eq!(prompts(&screen), [0, 3, 6, 9]);
    let restored = Screen::restore(&screen.checkpoint(Depth::Full), Limits { history_lines: 100 }).unwrap();
    assert_eq!(prompts(&restored), [0, 3, 6, 9]);
    // Where the oldest lines are not kept, the others are still right.
    let short = Screen::restore(&screen.checkpoint(Depth::Full), Limits { history_lines: 5 }).unwrap();
    assert_eq!(prompts(&short), [6, 9]);
    screen.resize(GridSize::clamped(40, 4));
    assert_eq!(prompts(&screen), [0, 3, 6, 9]);
}
