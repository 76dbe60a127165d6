//! A paste cannot end itself, with any content and cut anywhere.

use proptest::prelude::*;

use super::{BEGIN, END, PasteEncoder, PastePiece, encode_paste};

/// Cases of each property; `QD_TEST_SCALE=50` makes it a million.
const CASES: u32 = 20_000;

fn cases() -> u32 {
    let scale = std::env::var("QD_TEST_SCALE").ok().and_then(|scale| scale.parse::<u32>().ok());
    CASES.saturating_mul(scale.unwrap_or(1).max(1))
}

/// Returns what the child is given of a paste in these pieces.
fn in_pieces<'b>(pieces: impl IntoIterator<Item = &'b [u8]>, bracketed: bool) -> Vec<u8> {
    let mut encoder = PasteEncoder::default();
    let mut bytes = Vec::new();
    for piece in pieces {
        bytes.extend(encoder.piece(piece).encode(bracketed));
    }
    bytes.extend(encoder.last(&[]).encode(bracketed));
    bytes
}

/// Texts that try to escape: brackets whole, split, nested, and every kind of control.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(END.to_owned()),
        Just(BEGIN.to_owned()),
        Just("\x1b".to_owned()),
        Just("[201~".to_owned()),
        Just("\u{9b}201~".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{202e}\u{200b}\u{200d}".to_owned()),
        Just("\x03\x1c\x15\x1a\x11\x13\x17\x16\x12\x0f\x05\x04\x08\x7f\0".to_owned()),
        any::<char>().prop_map(String::from),
        "[ -~]{0,12}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn count(haystack: &[u8], needle: &str) -> usize {
    haystack.windows(needle.len()).filter(|window| *window == needle.as_bytes()).count()
}

/// Controls that may be in a body.
fn is_harmless(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r') || !character.is_control()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c1_a_bracket_ends_once_and_at_the_end(text in hostile_text()) {
        let bytes = encode_paste(&text, true);
        prop_assert_eq!(count(&bytes, END), 1);
        prop_assert!(bytes.ends_with(END.as_bytes()));
        prop_assert_eq!(count(&bytes, BEGIN), 1);
        let body = std::str::from_utf8(&bytes[BEGIN.len()..bytes.len() - END.len()]).unwrap();
        prop_assert!(body.chars().all(is_harmless), "{:?}", body);
    }

    #[test]
    fn c1_unbracketed_text_has_no_controls_but_tab_and_return(text in hostile_text()) {
        let bytes = encode_paste(&text, false);
        let body = std::str::from_utf8(&bytes).unwrap();
        prop_assert!(body.chars().all(|character| character != '\n' && is_harmless(character)));
        let normalised = text.replace("\r\n", "\n");
        prop_assert_eq!(body.chars().count(), normalised.chars().count());
    }

    #[test]
    fn pieces_encode_like_the_whole(text in hostile_text(), size in 1usize..7) {
        for bracketed in [true, false] {
            let bytes = in_pieces(text.as_bytes().chunks(size), bracketed);
            prop_assert_eq!(bytes, encode_paste(&text, bracketed));
        }
    }

    #[test]
    fn c1_bytes_that_are_no_text_cannot_end_a_bracket(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9), 0..9)) {
        let bytes = in_pieces(pieces.iter().map(Vec::as_slice), true);
        prop_assert_eq!(count(&bytes, END), 1);
        prop_assert!(bytes.ends_with(END.as_bytes()));
        prop_assert!(std::str::from_utf8(&bytes).is_ok());
    }
}

#[test]
fn controls_become_their_pictures_one_for_one() {
    assert_eq!(encode_paste("a\x1b[31mb\x03\x7f\u{9b}c", false), "a␛[31mb␃␡�c".as_bytes());
}

#[test]
fn c21_joiners_and_marks_of_direction_are_pasted_as_they_are() {
    let text = "\u{1f469}\u{200d}\u{1f4bb} \u{2067}שלום\u{2069}\u{202e}";
    assert_eq!(encode_paste(text, false), text.as_bytes());
}

#[test]
fn every_end_of_a_line_is_the_one_that_terminals_send() {
    assert_eq!(encode_paste("a\r\nb\nc\rd\te", false), b"a\rb\rc\rd\te");
    assert_eq!(encode_paste("a\r\nb\rc", true), format!("{BEGIN}a\rb\rc{END}").as_bytes());
}

#[test]
fn a_character_cut_off_at_the_end_is_shown_as_broken() {
    assert_eq!(in_pieces([&b"a\xe2\x82"[..]], false), "a\u{fffd}".as_bytes());
    let mut encoder = PasteEncoder::default();
    assert!(encoder.piece(b"a").is_first());
    assert_eq!(encoder.last(b"\xe2\x82").encode(true), format!("\u{fffd}{END}").as_bytes());
}

#[test]
fn a_paste_of_one_piece_has_both_brackets_and_an_ending_only_the_second() {
    let only = PasteEncoder::default().last(b"x");
    assert!(only.is_first() && only.is_last());
    assert_eq!(only.encode(true), format!("{BEGIN}x{END}").as_bytes());
    assert_eq!(PastePiece::ending().encode(true), END.as_bytes());
    assert!(PastePiece::ending().encode(false).is_empty());
    assert!(only.most() >= only.encode(true).len());
    let mut encoder = PasteEncoder::default();
    assert_eq!(encoder.piece(b"a").encode(true), format!("{BEGIN}a").as_bytes());
    assert_eq!(encoder.last(b"b").beginning_again().encode(true), format!("{BEGIN}b{END}").as_bytes());
}

#[test]
fn u10_without_brackets_a_line_ends_with_the_key_for_a_new_line() {
    let text = "one\r\ntwo\nthree\n";
    let piece = || PastePiece::whole(text).with_line_end(b"\x1b\r".to_vec());
    assert_eq!(piece().encode(false), b"one\x1b\rtwo\x1b\rthree\x1b\r");
    assert_eq!(piece().encode(true), PastePiece::whole(text).encode(true), "brackets make it one text");
    assert_eq!(piece().beginning_again().encode(false), piece().encode(false));
    assert!(piece().most() >= piece().encode(false).len());
    let mut encoder = PasteEncoder::default();
    let halves = [encoder.piece(b"one\r"), encoder.last(b"\ntwo")];
    let halves = halves.map(|half| half.with_line_end(b"\n".to_vec()).encode(false));
    assert_eq!(halves.concat(), b"one\ntwo", "a line end that is cut is one line end");
}
