//! Pages of a stream put one after the other are its text, for any limit and any bytes.

use proptest::prelude::*;

use super::StreamPage;
use crate::TextStream;

/// Returns the text of every page, one after the other. Every page keeps its limit and takes something.
fn pages(bytes: &[u8], limit: usize, size: usize) -> Vec<String> {
    let (mut at, mut pages) = (0, Vec::new());
    while at < bytes.len() {
        let mut page = StreamPage::new(limit);
        bytes[at..].chunks(size).for_each(|chunk| page.feed(chunk));
        let is_full = page.is_full();
        let (text, taken) = page.finish();
        assert!(text.len() <= limit, "{} > {limit}", text.len());
        assert!(!text.contains('\u{1b}'), "{text:?}");
        pages.push(text);
        if !is_full {
            break;
        }
        assert!(taken > 0, "nothing was taken of {:?}", bytes[at..].escape_ascii().to_string());
        at += usize::try_from(taken).unwrap();
    }
    pages
}

fn in_one(bytes: &[u8]) -> String {
    let mut stream = TextStream::new();
    let text = stream.feed(bytes);
    text + &stream.finish()
}

/// Blanks at the end of lines are trimmed only where the end of the line is known.
fn trimmed(text: &str) -> Vec<&str> {
    text.split('\n').map(|line| line.trim_end_matches(' ')).collect()
}

/// Bytes whose text does not depend on what stood in the line before.
fn printed() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("\r\n".to_owned()),
        Just("\x1b[31;1m".to_owned()),
        Just("\x1b]0;a title that is no text\x07".to_owned()),
        Just("\x1bPq#0;2;0;0;0~\x1b\\".to_owned()),
        Just("日本語😀".to_owned()),
        "[a-zA-Z ]{1,60}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn paging_gives_all_text_exactly_once_for_any_limit(
        bytes in printed(), limit in 4usize..300, size in 1usize..200,
    ) {
        let (text, whole) = (pages(&bytes, limit, size).concat(), in_one(&bytes));
        prop_assert_eq!(trimmed(&text), trimmed(&whole));
    }

    #[test]
    fn any_bytes_end_within_the_limit(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                Just(b"\x1b[999G".to_vec()),
                Just(b"x\x1b[1000b".to_vec()),
                Just(b"\x1b[H".to_vec()),
                Just(b"\xf0\x9f\x98\xff".to_vec()),
                Just(b"\r".to_vec()),
            ],
            0..40,
        ),
        limit in 4usize..300,
    ) {
        pages(&pieces.concat(), limit, 64);
    }
}

#[test]
fn a_page_ends_between_lines_where_it_can() {
    assert_eq!(pages(b"one\ntwo\nthree\n", 9, 3), ["one\ntwo\n", "three\n"]);
    assert_eq!(pages(b"one\nabcdefghijkl\nx", 6, 100), ["one\n", "abcdef", "ghijkl", "\nx"]);
    assert_eq!(pages("ää\u{1f600}".as_bytes(), 4, 100), ["ää", "\u{1f600}"]);
}

#[test]
fn words_in_different_rows_never_join_where_a_page_ends() {
    let words: Vec<String> = (0..500).map(|number| format!("word{number}")).collect();
    let bytes: String = (1..).zip(&words).map(|(row, word)| format!("\x1b[{};7H{word}", row % 24)).collect();
    for limit in [12, 50, 1000] {
        let text = pages(bytes.as_bytes(), limit, 700).concat();
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), words, "{limit}");
    }
}

#[test]
fn two_hundred_kilobytes_without_a_line_feed_come_in_pages_of_exactly_the_limit() {
    let bytes = "0123456789".repeat(20_000);
    let all = pages(bytes.as_bytes(), 12_000, 32 * 1024);
    assert!(all[..all.len() - 1].iter().all(|page| page.len() == 12_000), "{:?}", all.len());
    assert_eq!(all.concat(), bytes);
}

#[test]
fn a_sequence_that_is_not_finished_is_left_for_the_next_page() {
    let mut page = StreamPage::new(100);
    page.feed(b"text \x1b[31");
    assert_eq!(page.finish(), ("text ".to_owned(), 5));
    let long = [b"a".as_slice(), b"\x1b]0;", &vec![b't'; 100_000]].concat();
    let mut page = StreamPage::new(100);
    page.feed(&long);
    assert_eq!(page.finish(), ("a".to_owned(), 1), "a string that is dropped is not begun in its middle");
}

#[test]
fn few_bytes_make_no_flood_of_text() {
    let bytes = b"\x1b[65535Gx\x1b[H".repeat(1000);
    assert!(in_one(&bytes).len() <= 1000 * 1001);
}
