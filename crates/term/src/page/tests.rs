//! Pages of history put one after the other are the history, for any limit and any lines.

use proptest::prelude::*;

use super::LinePage;
use crate::{GridSize, Limits, LineId, Screen, Wraps};

/// Room for everything.
const ALL: usize = usize::MAX;

fn screen(cols: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = Screen::new(GridSize::clamped(cols.into(), rows.into()), Limits { history_lines: 60 });
    screen.feed(bytes.as_bytes());
    screen
}

fn whole(screen: &Screen, wraps: Wraps) -> LinePage {
    screen.page(screen.written(), wraps, ALL)
}

/// Returns every page from the oldest line to the last.
fn pages(screen: &Screen, wraps: Wraps, limit: usize) -> Vec<LinePage> {
    let (mut since, end) = (screen.written().start, screen.written().end);
    let mut pages = Vec::new();
    while since < end {
        let page = screen.page(since..end, wraps, limit);
        assert!(page.text.len() <= limit, "{} > {limit}", page.text.len());
        assert!(page.first == since && page.next > since, "{page:?}");
        since = page.next;
        pages.push(page);
    }
    pages
}

fn output() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\r\n".to_owned()),
        Just("   ".to_owned()),
        Just("日本語".to_owned()),
        Just("e\u{301}\u{302}".to_owned()),
        Just("\x1b[31m".to_owned()),
        Just("\x1b[2;3H".to_owned()),
        "[a-z ]{1,90}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn paging_gives_every_row_exactly_once_for_any_limit(
        bytes in output(), cols in 2u16..50, rows in 1u16..12, limit in 4usize..400, joins in any::<bool>(),
    ) {
        let wraps = if joins { Wraps::Join } else { Wraps::Keep };
        let screen = screen(cols, rows, &bytes);
        let all = whole(&screen, wraps);
        let pages = pages(&screen, wraps, limit);
        let cut: usize = pages.iter().map(|page| page.cut).sum();
        let text: String = pages.into_iter().map(|page| page.text).collect();
        prop_assert_eq!(text.len() + cut, all.text.len());
        prop_assert!(cut > 0 || text == all.text);
        // A row that fits is never cut.
        let widest = screen.page(screen.written(), Wraps::Keep, ALL).text;
        let widest = widest.lines().map(str::len).max().unwrap_or(0).max(usize::from(cols) * 3);
        prop_assert!(cut == 0 || limit <= widest);
    }

    #[test]
    fn the_newest_that_fit_are_the_end_of_all(
        bytes in output(), cols in 2u16..50, rows in 1u16..12, limit in 4usize..400, joins in any::<bool>(),
    ) {
        let wraps = if joins { Wraps::Join } else { Wraps::Keep };
        let screen = screen(cols, rows, &bytes);
        let end = screen.written().end;
        let page = screen.last_page(screen.written(), wraps, limit);
        prop_assert!(page.text.len() <= limit && page.next == end);
        prop_assert!(page.cut > 0 || whole(&screen, wraps).text.ends_with(&page.text));
        prop_assert!(page.cut > 0 || page.text == screen.page(page.first..end, wraps, ALL).text);
        // One more row would not have fitted.
        if page.cut == 0 && page.first > screen.written().start {
            let more = screen.page(LineId(page.first.0 - 1)..end, wraps, ALL).text;
            prop_assert!(more.len() > limit, "{} {}", more.len(), limit);
        }
    }
}

#[test]
fn rows_are_the_lines_of_the_screen() {
    let screen = screen(10, 4, "0123456789abcdef\r\n\r\nnext");
    assert_eq!(whole(&screen, Wraps::Keep).text, "0123456789\nabcdef\n\nnext\n");
    assert_eq!(whole(&screen, Wraps::Join).text, "0123456789abcdef\n\nnext\n");
}

#[test]
fn a_line_that_does_not_fit_is_cut_between_rows_and_whole_lines_come_first() {
    let screen = screen(10, 8, "one\r\n0123456789abcdefghijKLMNOP\r\nend");
    let texts: Vec<_> = pages(&screen, Wraps::Join, 22).into_iter().map(|page| page.text).collect();
    assert_eq!(texts, ["one\n", "0123456789abcdefghij", "KLMNOP\nend\n"]);
    let page = screen.page(screen.written(), Wraps::Keep, 5);
    assert_eq!((page.text.as_str(), page.cut), ("one\n", 0));
    let page = screen.page(page.next..screen.written().end, Wraps::Keep, 5);
    assert_eq!((page.text.as_str(), page.cut, page.next), ("0123\n", 6, LineId(page.first.0 + 1)));
}

#[test]
fn blank_rows_below_the_text_are_not_read_before_something_is_in_them() {
    let mut screen = screen(20, 6, "one\r\n");
    let first = screen.page(screen.written(), Wraps::Keep, ALL);
    assert_eq!(first.text, "one\n");
    screen.feed(b"\r\nthree\r\nfo");
    assert_eq!(screen.page(first.next..screen.written().end, Wraps::Keep, ALL).text, "\nthree\nfo\n");
    let open = screen.line_being_written(Wraps::Keep);
    screen.feed(b"ur");
    assert_eq!(screen.page(open..screen.written().end, Wraps::Keep, ALL).text, "four\n");
}

#[test]
fn the_line_being_written_is_all_of_it_when_lines_are_joined() {
    let screen = screen(10, 6, "one\r\n0123456789abcd");
    let first = screen.first_line().0;
    assert_eq!(screen.line_being_written(Wraps::Keep), LineId(first + 2));
    assert_eq!(screen.line_being_written(Wraps::Join), LineId(first + 1));
}
